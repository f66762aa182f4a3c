//! Margin × hinge (label eg:Hinge).

use super::{ClosedForm, LinkValue, PairEntry, linear_link};
use crate::coordinate::Bias;
use crate::numeric::stable::lambda;

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &["hinge"],
    rule: "margin",
    form: "logarithms of 1 + mu |s|, 0 for s >= 1",
    make: |_, rule| Box::new(MarginHinge { mu: rule.numbers[0] }),
};

/// ℓ̃ = (log(1 + μ) − log(1 + μs))/μ on [0, 1], (log(1 + μ) + log(1 − μs))/μ below.
#[derive(Debug)]
struct MarginHinge {
    mu: f64,
}

impl ClosedForm for MarginHinge {
    fn value(&self, s: f64) -> f64 {
        let mu = self.mu;
        if 1.0 <= s {
            0.0
        } else if 0.0 < s {
            let (d, k) = (1.0 - s, 1.0 + mu * s);
            d / k * lambda(mu * d / k)
        } else {
            lambda(mu) - s * lambda(-mu * s)
        }
    }

    fn link(&self, bias: Bias) -> Option<LinkValue> {
        Some(linear_link(lambda(self.mu), bias))
    }
}
