//! Squared hinge loss, Example 2.

use std::sync::Arc;

use super::{Ground, Hinge, Loss, LossFacts, LossTask};
use crate::coordinate::{Bias, Coordinate, Jet};
use crate::expression::{Enclosure, Interval};
use crate::rate::{Bound, Rate};
use crate::registry::Entry;

pub(super) const ENTRY: Entry<dyn Loss> = Entry {
    name: "squared-hinge",
    summary: "max(0, 1 - s)^2",
    params: &[],
    make: |_| Ok(Arc::new(SquaredHinge)),
    samples: &["squared-hinge"],
    source: "Example 2; Raj and Bach 2022",
};

/// ℓ(s) = max(0, 1 − s)².
#[derive(Clone, Copy, Debug)]
pub struct SquaredHinge;

impl Loss for SquaredHinge {
    #[inline]
    fn value(&self, s: f64) -> f64 {
        let gap = (1.0 - s).max(0.0);
        gap * gap
    }

    #[inline]
    fn slope(&self, s: f64) -> f64 {
        if s < 1.0 { -2.0 * (1.0 - s) } else { 0.0 }
    }

    fn curvature(&self, s: f64) -> f64 {
        if s < 1.0 { 2.0 } else { 0.0 }
    }

    fn drop_between(&self, s: f64, t: f64) -> f64 {
        let (s, t) = (s.min(1.0), t.min(1.0));
        (t - s) * ((1.0 - s) + (1.0 - t))
    }

    fn minimizer(&self, bias: Bias) -> Option<f64> {
        Some(bias.z)
    }

    fn bias_of(&self, s: f64) -> Option<Bias> {
        Some(Bias::new(s.min(1.0)))
    }

    fn link(&self, bias: Bias) -> Option<Jet> {
        Some(Jet { value: bias.z * bias.z, slope: 2.0 * bias.z, curvature: 2.0 })
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        Hinge.enclose(over).integer_power(2.0)
    }

    fn facts(&self) -> LossFacts {
        LossFacts {
            task: LossTask::Classification,
            coordinate: Coordinate::Score,
            kinks: vec![1.0],
            ground: Ground::Infinity,
            defined: Some("its formula has a slope at every s".into()),
            falls_at_zero: Some("ℓ′(0) = −2".into()),
            convex: Some("square of a convex non-negative function".into()),
            decreasing: Some("slope −2·max(0, 1 − s) ≤ 0".into()),
            lipschitz: None,
            rate_left: Some(Bound::new(
                Rate::hyperbolic(1.0, 1.0),
                "ℓ″/|ℓ′| = 1/(1 − s), which is 1/(1 + a) at s = −a",
            )),
            rate_right: Some(Bound::new(Rate::constant(1.0), "ℓ″/|ℓ′| = 1/(1 − s) ≥ 1 on (0, 1), and ℓ′ = 0 beyond")),
        }
    }
}
