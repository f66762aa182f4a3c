//! Margin × squared hinge, Example 2. At μ = 1 this is the critical rule of the squared hinge.

use super::{ClosedForm, LinkValue, PairEntry};
use crate::coordinate::Bias;
use crate::numeric::stable::{chi, lambda, phi};

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &["squared-hinge"],
    rule: "margin",
    form: "logarithms of 1 + mu |s|, 0 for s >= 1",
    make: |_, rule| Box::new(MarginSquaredHinge { mu: rule.numbers[0] }),
};

pub(super) const CRITICAL: PairEntry = PairEntry {
    losses: &["squared-hinge"],
    rule: "critical",
    form: "the margin rule's at mu = 1: linear for s <= 0",
    make: |_, _| Box::new(MarginSquaredHinge { mu: 1.0 }),
};

/// The paper's logarithms, written with φ, χ and λ so that nothing cancels as s → 1 or μ → 0.
#[derive(Debug)]
struct MarginSquaredHinge {
    mu: f64,
}

impl ClosedForm for MarginSquaredHinge {
    fn value(&self, s: f64) -> f64 {
        let mu = self.mu;
        if 1.0 <= s {
            0.0
        } else if 0.0 < s {
            let (d, k) = (1.0 - s, 1.0 + mu * s);
            2.0 * d * d / k * phi(mu * d / k)
        } else {
            let a = -s;
            2.0 * phi(mu) + 2.0 * a * (a * chi(mu * a) + lambda(mu * a))
        }
    }

    fn curvature(&self, s: f64) -> Option<f64> {
        let k = 1.0 + self.mu * s.abs();
        Some(if 1.0 < s {
            0.0
        } else if 0.0 < s {
            2.0 * (1.0 + self.mu) / (k * k)
        } else {
            2.0 * (1.0 - self.mu) / (k * k)
        })
    }

    fn link(&self, bias: Bias) -> Option<LinkValue> {
        let w = self.mu * bias.z;
        Some(LinkValue { value: 2.0 * bias.z * bias.z * phi(w), slope: 2.0 * bias.z * lambda(w) })
    }
}
