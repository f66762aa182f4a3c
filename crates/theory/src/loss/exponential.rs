//! Exponential loss (label eg:exponential).

use std::sync::Arc;

use super::{Ground, Loss, LossFacts, LossTask};
use crate::coordinate::{Bias, Coordinate, Jet};
use crate::expression::{Enclosure, Function, Interval};
use crate::numeric::stable::artanh;
use crate::rate::{Bound, Rate};
use crate::registry::Entry;

pub(super) const ENTRY: Entry<dyn Loss> = Entry {
    name: "exponential",
    summary: "e^-s",
    params: &[],
    make: |_| Ok(Arc::new(Exponential)),
    samples: &["exponential"],
    source: "label eg:exponential",
};

/// ℓ(s) = e⁻ˢ.
#[derive(Clone, Copy, Debug)]
pub struct Exponential;

impl Loss for Exponential {
    #[inline]
    fn value(&self, s: f64) -> f64 {
        (-s).exp()
    }

    #[inline]
    fn slope(&self, s: f64) -> f64 {
        -(-s).exp()
    }

    fn curvature(&self, s: f64) -> f64 {
        (-s).exp()
    }

    fn drop_between(&self, s: f64, t: f64) -> f64 {
        (-t).exp() * (t - s).exp_m1()
    }

    fn log_steepness(&self, s: f64) -> f64 {
        -s
    }

    fn minimizer(&self, bias: Bias) -> Option<f64> {
        Some(artanh(bias.z, bias.gap))
    }

    fn bias_of(&self, s: f64) -> Option<Bias> {
        let e = (-2.0 * s).exp();
        Some(Bias { z: s.tanh(), gap: 2.0 * e / (1.0 + e) })
    }

    fn link(&self, bias: Bias) -> Option<Jet> {
        let Bias { z, gap } = bias;
        let spread = gap * (1.0 + z);
        let root = spread.sqrt();
        Some(Jet {
            // 1 − √(1 − z²), rationalized.
            value: z * z / (1.0 + root),
            slope: z / root,
            curvature: 1.0 / (spread * root),
        })
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        Enclosure::variable(over).negated().apply(Function::Exponential)
    }

    fn facts(&self) -> LossFacts {
        LossFacts {
            task: LossTask::Classification,
            coordinate: Coordinate::Score,
            kinks: vec![],
            ground: Ground::Infinity,
            defined: Some("its formula has a slope at every s".into()),
            falls_at_zero: Some("ℓ′(0) = −1".into()),
            convex: Some("ℓ″ = e⁻ˢ > 0".into()),
            decreasing: Some("ℓ′ = −e⁻ˢ < 0".into()),
            lipschitz: None,
            rate_left: Some(Bound::new(Rate::constant(1.0), "ℓ″/|ℓ′| = 1")),
            rate_right: Some(Bound::new(Rate::constant(1.0), "ℓ″/|ℓ′| = 1")),
        }
    }
}
