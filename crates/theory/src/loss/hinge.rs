//! Hinge loss, the paper's "ordinary margin loss" (label eg:Hinge).

use std::sync::Arc;

use super::{Ground, Loss, LossFacts, LossTask};
use crate::coordinate::{Bias, Coordinate, Jet};
use crate::expression::{Enclosure, Interval};
use crate::rate::{Bound, Rate};
use crate::registry::Entry;

pub(super) const ENTRY: Entry<dyn Loss> = Entry {
    name: "hinge",
    summary: "max(0, 1 - s)",
    params: &[],
    make: |_| Ok(Arc::new(Hinge)),
    samples: &["hinge"],
    source: "label eg:Hinge",
};

/// ℓ(s) = max(0, 1 − s).
#[derive(Clone, Copy, Debug)]
pub struct Hinge;

impl Loss for Hinge {
    #[inline]
    fn value(&self, s: f64) -> f64 {
        (1.0 - s).max(0.0)
    }

    #[inline]
    fn slope(&self, s: f64) -> f64 {
        if s < 1.0 { -1.0 } else { 0.0 }
    }

    fn curvature(&self, _s: f64) -> f64 {
        0.0
    }

    fn drop_between(&self, s: f64, t: f64) -> f64 {
        t.min(1.0) - s.min(1.0)
    }

    fn minimizer(&self, _bias: Bias) -> Option<f64> {
        Some(1.0)
    }

    fn link(&self, bias: Bias) -> Option<Jet> {
        Some(Jet { value: bias.z, slope: 1.0, curvature: 0.0 })
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        Enclosure::number(1.0).minus(&Enclosure::variable(over)).larger(&Enclosure::number(0.0))
    }

    fn facts(&self) -> LossFacts {
        LossFacts {
            task: LossTask::Classification,
            coordinate: Coordinate::Score,
            kinks: vec![1.0],
            ground: Ground::Infinity,
            defined: Some("its formula has a slope at every s".into()),
            falls_at_zero: Some("ℓ′(0) = −1".into()),
            convex: Some("the larger of two affine functions".into()),
            decreasing: Some("slope −1 below 1 and 0 above".into()),
            lipschitz: Some((1.0, "slope −1 or 0".into())),
            rate_left: Some(Bound::new(Rate::zero(), "ℓ″ = 0 below 1")),
            rate_right: None,
        }
    }
}
