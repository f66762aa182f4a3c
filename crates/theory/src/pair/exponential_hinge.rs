//! Exponential rule × hinge.

use super::{ClosedForm, LinkValue, PairEntry, linear_link};
use crate::coordinate::Bias;
use crate::numeric::stable::{expm1_over, faded};

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &["hinge"],
    rule: "exponential",
    form: "(e^(-mu s) - e^-mu)/mu on [0, 1], 0 above",
    make: |_, rule| Box::new(ExponentialHinge { mu: rule.numbers[0] }),
};

/// ℓ̃ = ∫ₛ¹ e^{−μ|t|} dt for s < 1, 0 above.
#[derive(Debug)]
struct ExponentialHinge {
    mu: f64,
}

impl ClosedForm for ExponentialHinge {
    fn value(&self, s: f64) -> f64 {
        let mu = self.mu;
        if 1.0 <= s {
            0.0
        } else if 0.0 < s {
            (-mu).exp() * (1.0 - s) * expm1_over(mu * (1.0 - s))
        } else {
            expm1_over(-mu) + faded(mu, -s)
        }
    }

    fn link(&self, bias: Bias) -> Option<LinkValue> {
        Some(linear_link(expm1_over(-self.mu), bias))
    }
}
