//! Modified Huber loss: the squared hinge, extended linearly where it would grow too steep.

use std::sync::Arc;

use super::{Ground, Hinge, Loss, LossFacts, LossTask, SquaredHinge};
use crate::coordinate::{Bias, Coordinate, Jet};
use crate::expression::{Enclosure, Interval};
use crate::registry::Entry;

pub(super) const ENTRY: Entry<dyn Loss> = Entry {
    name: "modified-huber",
    summary: "max(0, 1 - s)^2 for s >= -1, -4 s below: a squared hinge that forgives outliers",
    params: &[],
    make: |_| Ok(Arc::new(ModifiedHuber)),
    samples: &["modified-huber"],
    source: "Zhang 2004",
};

/// ℓ(s) = max(0, 1 − s)² for s ≥ −1, −4s below.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModifiedHuber;

impl Loss for ModifiedHuber {
    fn value(&self, s: f64) -> f64 {
        if s < -1.0 { -4.0 * s } else { SquaredHinge.value(s) }
    }

    fn slope(&self, s: f64) -> f64 {
        if s < -1.0 { -4.0 } else { SquaredHinge.slope(s) }
    }

    fn curvature(&self, s: f64) -> f64 {
        if s < -1.0 { 0.0 } else { SquaredHinge.curvature(s) }
    }

    fn drop_between(&self, s: f64, t: f64) -> f64 {
        let (bent_s, bent_t) = (s.max(-1.0), t.max(-1.0));
        SquaredHinge.drop_between(bent_s, bent_t) + 4.0 * ((bent_s - s) - (bent_t - t))
    }

    // Minimizers and their mirror images lie within [−1, 1], where the loss equals the squared hinge.
    fn minimizer(&self, bias: Bias) -> Option<f64> {
        SquaredHinge.minimizer(bias)
    }

    fn bias_of(&self, s: f64) -> Option<Bias> {
        SquaredHinge.bias_of(s)
    }

    fn link(&self, bias: Bias) -> Option<Jet> {
        SquaredHinge.link(bias)
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        // Subtracts the square of the part beyond −1, which makes the loss linear there.
        let beyond = Enclosure::number(-1.0).minus(&Enclosure::variable(over)).larger(&Enclosure::number(0.0));
        let gap = Hinge.enclose(over).value;
        let slope = Interval::point(-2.0) * Interval::new(gap.low.min(2.0), gap.high.min(2.0));
        Enclosure { slope, ..SquaredHinge.enclose(over).minus(&beyond.integer_power(2.0)) }
    }

    fn facts(&self) -> LossFacts {
        LossFacts {
            task: LossTask::Classification,
            coordinate: Coordinate::Score,
            kinks: vec![-1.0, 1.0],
            ground: Ground::Infinity,
            defined: Some("its formula has a slope at every s".into()),
            falls_at_zero: Some("ℓ′(0) = −2".into()),
            convex: Some("its slope −4, −2(1 − s), 0 rises in s".into()),
            decreasing: Some("its slope −4, −2(1 − s), 0 is never positive".into()),
            lipschitz: Some((4.0, "its slope is between −4 and 0".into())),
            rate_left: None,
            rate_right: None,
        }
    }
}
