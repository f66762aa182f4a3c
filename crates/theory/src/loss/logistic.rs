//! Logistic loss, Examples 1 and 3.

use std::sync::Arc;

use super::{Ground, Loss, LossFacts, LossTask};
use crate::coordinate::{Bias, Coordinate, Jet, Probability};
use crate::expression::{Enclosure, Function, Interval};
use crate::numeric::stable::{artanh, binary_divergence, log1p_exp, sigmoid};
use crate::rate::{Bound, Rate};
use crate::registry::Entry;

pub(super) const ENTRY: Entry<dyn Loss> = Entry {
    name: "logistic",
    summary: "log(1 + e^-s)",
    params: &[],
    make: |_| Ok(Arc::new(Logistic)),
    samples: &["logistic"],
    source: "Examples 1 and 3",
};

/// ℓ(s) = log(1 + e⁻ˢ).
#[derive(Clone, Copy, Debug)]
pub struct Logistic;

impl Loss for Logistic {
    #[inline]
    fn value(&self, s: f64) -> f64 {
        log1p_exp(-s)
    }

    #[inline]
    fn slope(&self, s: f64) -> f64 {
        -sigmoid(-s)
    }

    fn curvature(&self, s: f64) -> f64 {
        sigmoid(s) * sigmoid(-s)
    }

    fn drop_between(&self, s: f64, t: f64) -> f64 {
        let (high, low) = (self.value(s), self.value(t));
        // Close together the plain difference cancels; far apart the logarithm of a product loses accuracy.
        if high < 2.0 * low { (sigmoid(-t) * (t - s).exp_m1()).ln_1p() } else { high - low }
    }

    fn in_probability(&self, at: Probability) -> Jet {
        Jet { value: at.surprise(), slope: -1.0 / at.right, curvature: 1.0 / (at.right * at.right) }
    }

    fn minimizer(&self, bias: Bias) -> Option<f64> {
        Some(2.0 * artanh(bias.z, bias.gap))
    }

    fn bias_of(&self, s: f64) -> Option<Bias> {
        Some(Bias { z: (0.5 * s).tanh(), gap: 2.0 * sigmoid(-s) })
    }

    fn link(&self, bias: Bias) -> Option<Jet> {
        Some(Jet {
            value: binary_divergence(bias.z, bias.gap),
            slope: artanh(bias.z, bias.gap),
            curvature: 1.0 / (bias.gap * (1.0 + bias.z)),
        })
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        Enclosure::variable(over).negated().apply(Function::Softplus)
    }

    fn facts(&self) -> LossFacts {
        LossFacts {
            task: LossTask::Classification,
            coordinate: Coordinate::Score,
            kinks: vec![],
            ground: Ground::Infinity,
            defined: Some("its formula has a slope at every s".into()),
            falls_at_zero: Some("ℓ′(0) = −1/2".into()),
            convex: Some("ℓ″ = σ(s)σ(−s) > 0".into()),
            decreasing: Some("ℓ′ = −σ(−s) < 0".into()),
            lipschitz: Some((1.0, "|ℓ′| = σ(−s) < 1".into())),
            rate_left: Some(Bound::new(Rate::sigmoid(0.0, 1.0), "ℓ″/|ℓ′| = σ(s), which is σ(−a) at s = −a")),
            rate_right: Some(Bound::new(Rate::sigmoid(1.0, -1.0), "ℓ″/|ℓ′| = σ(s)")),
        }
    }
}
