//! Squared error of a prediction against a target: regression (§6.1).

use std::sync::Arc;

use super::{Ground, Loss, LossFacts, LossTask};
use crate::coordinate::Coordinate;
use crate::expression::{Enclosure, Interval};
use crate::registry::{Entry, Param, ParamKind};

pub(super) const ENTRY: Entry<dyn Loss> = Entry {
    name: "squared",
    summary: "(s - target)^2, regression: s is the prediction",
    params: &[Param { name: "target", kind: ParamKind::Number(Some(0.0)) }],
    make: |arguments| Ok(Arc::new(Squared { target: arguments.number(0) })),
    samples: &["squared", "squared:target=1.5", "squared:target=-40"],
    source: "label sec:multi_dim",
};

/// ℓ(ŷ) = (ŷ − y)² at the target y.
#[derive(Clone, Copy, Debug)]
pub struct Squared {
    /// y.
    pub target: f64,
}

impl Loss for Squared {
    fn value(&self, s: f64) -> f64 {
        (s - self.target) * (s - self.target)
    }

    fn slope(&self, s: f64) -> f64 {
        2.0 * (s - self.target)
    }

    fn curvature(&self, _s: f64) -> f64 {
        2.0
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        Enclosure::variable(over).minus(&Enclosure::number(self.target)).integer_power(2.0)
    }

    fn facts(&self) -> LossFacts {
        LossFacts {
            task: LossTask::Regression,
            coordinate: Coordinate::Score,
            kinks: vec![],
            ground: Ground::Point(self.target),
            defined: Some("its formula has a slope at every s".into()),
            falls_at_zero: None,
            convex: Some("ℓ″ = 2".into()),
            decreasing: None,
            lipschitz: None,
            rate_left: None,
            rate_right: None,
        }
    }
}
