//! Exponential rule × squared hinge.

use super::{ClosedForm, LinkValue, PairEntry};
use crate::coordinate::Bias;
use crate::numeric::stable::{expm1_over, expm1_over_twice, faded};

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &["squared-hinge"],
    rule: "exponential",
    form: "2/mu^2 times exponentials and linear terms, 0 for s >= 1",
    make: |_, rule| Box::new(ExponentialSquaredHinge { mu: rule.numbers[0] }),
};

/// ℓ̃ = 2∫ₛ¹ (1 − t) e^{−μ|t|} dt for s < 1, 0 above, written with (eˣ − 1)/x and (eˣ − 1 − x)/x².
#[derive(Debug)]
struct ExponentialSquaredHinge {
    mu: f64,
}

impl ClosedForm for ExponentialSquaredHinge {
    fn value(&self, s: f64) -> f64 {
        let mu = self.mu;
        if 1.0 <= s {
            0.0
        } else if 0.0 < s {
            // ∫₀ᵈ x e^{μx} dx = d² ((y − 1)eʸ + 1)/y² at y = μd.
            let d = 1.0 - s;
            2.0 * (-mu * s).exp() * d * d * expm1_over_twice(-mu * d)
        } else {
            let a = -s;
            2.0 * (expm1_over_twice(-mu) + faded(mu, a) + ramp(mu, a))
        }
    }

    fn link(&self, bias: Bias) -> Option<LinkValue> {
        let z = bias.z;
        let y = -self.mu * z;
        Some(LinkValue { value: 2.0 * z * z * expm1_over_twice(y), slope: 2.0 * z * expm1_over(y) })
    }
}

/// Returns ∫₀ᵃ x e^{−μx} dx = (1 − (1 + y)e⁻ʸ)/μ² at y = μa.
fn ramp(mu: f64, a: f64) -> f64 {
    let y = mu * a;
    let e = (-y).exp();
    // For small y the difference cancels; for large y the factored form would be 0·∞.
    if y < 1.0 {
        a * a * e * expm1_over_twice(y)
    } else if e == 0.0 {
        1.0 / (mu * mu)
    } else {
        (1.0 - (1.0 + y) * e) / (mu * mu)
    }
}
