//! Exponential × exponential (label eg:exponential). At μ = 1 this is the critical rule of the exponential loss.

use super::{ClosedForm, LinkValue, PairEntry};
use crate::coordinate::Bias;
use crate::numeric::stable::{artanh, expm1_over};

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &["exponential"],
    rule: "exponential",
    form: "exponentials of -(1+mu) s and -(1-mu) s, 1 at s = 0",
    make: |_, rule| Box::new(ExponentialExponential { mu: rule.numbers[0] }),
};

pub(super) const CRITICAL: PairEntry = PairEntry {
    losses: &["exponential"],
    rule: "critical",
    form: "the exponential rule's at mu = 1: linear for s <= 0",
    make: |_, _| Box::new(ExponentialExponential { mu: 1.0 }),
};

/// ℓ̃ = (e^{−(1+μ)s} + μ)/(1 + μ) for s ≥ 0, (e^{−(1−μ)s} − μ)/(1 − μ) below.
#[derive(Debug)]
struct ExponentialExponential {
    mu: f64,
}

impl ClosedForm for ExponentialExponential {
    fn value(&self, s: f64) -> f64 {
        if 0.0 <= s {
            self.mu / (1.0 + self.mu) + self.above_infimum(s)
        } else {
            1.0 - s * expm1_over((self.mu - 1.0) * s)
        }
    }

    fn above_infimum(&self, s: f64) -> f64 {
        let sum = 1.0 + self.mu;
        if 0.0 <= s { (-sum * s).exp() / sum } else { 1.0 / sum - s * expm1_over((self.mu - 1.0) * s) }
    }

    fn curvature(&self, s: f64) -> Option<f64> {
        let sum = 1.0 + self.mu;
        let difference = 1.0 - self.mu;
        Some(if 0.0 <= s {
            sum * (-sum * s).exp()
        } else if difference == 0.0 {
            0.0
        } else {
            difference * (-difference * s).exp()
        })
    }

    fn link(&self, bias: Bias) -> Option<LinkValue> {
        let mu = self.mu;
        let Bias { z, gap } = bias;
        if gap == 0.0 {
            let slope = if mu <= 1.0 { f64::INFINITY } else { self.slope_at(f64::INFINITY) };
            return Some(LinkValue { value: 1.0 / (1.0 + mu), slope });
        }
        let s = artanh(z, gap);
        // For large μ the series alternates and cancels, while the closed form does not.
        let value = if z < 0.25 && mu * z < 1.0 {
            series(mu, z)
        } else {
            let t = 2.0 * s;
            (2.0 * z - gap * t * expm1_over(0.5 * (1.0 - mu) * t)) / (2.0 * (1.0 + mu))
        };
        Some(LinkValue { value, slope: self.slope_at(s) })
    }
}

impl ExponentialExponential {
    /// Returns ψ′ where s* = s.
    fn slope_at(&self, s: f64) -> f64 {
        let sum = 1.0 + self.mu;
        let left = if s.is_infinite() { 1.0 / (self.mu - 1.0) } else { s * expm1_over((1.0 - self.mu) * s) };
        0.5 * (left - (-sum * s).exp_m1() / sum)
    }
}

/// Returns ψ = Σ cₙ zⁿ⁺²/((n + 1)(n + 2)) with c₀ = 1, c₁ = −μ, (n + 1)cₙ₊₁ = −μ cₙ + (n + 2)cₙ₋₁.
fn series(mu: f64, z: f64) -> f64 {
    // bₙ = cₙ zⁿ, because cₙ alone grows like μⁿ/n!.
    let (mut before, mut now) = (0.0, 1.0);
    let mut sum = 0.0;
    for n in 0..60 {
        let n = f64::from(n);
        sum += now / ((n + 1.0) * (n + 2.0));
        let next = (-mu * z * now + (n + 2.0) * z * z * before) / (n + 1.0);
        before = now;
        now = next;
    }
    sum * z * z
}
