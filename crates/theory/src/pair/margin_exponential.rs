//! Margin × exponential loss: exponential integrals.

use super::{ClosedForm, PairEntry};
use crate::numeric::exponential_integral::{scaled_e1, scaled_ei};
use crate::numeric::quadrature::integrate;

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &["exponential"],
    rule: "margin",
    form: "e^(1/mu) E1(1/mu + s)/mu for s >= 0, Ei below",
    make: |_, rule| Box::new(MarginExponential { mu: rule.numbers[0] }),
};

/// ℓ̃(s) = e^{1/μ} E₁(1/μ + s)/μ for s ≥ 0; ℓ̃(0) + e^{−1/μ}(Ei(1/μ − s) − Ei(1/μ))/μ below.
#[derive(Debug)]
struct MarginExponential {
    mu: f64,
}

impl MarginExponential {
    /// Returns ∫₀ᵃ eˣ/(1 + μx) dx.
    fn growth(&self, a: f64) -> f64 {
        // The difference of two Ei cancels for small a, and 1/μ overflows as μ → 0.
        if a < 2.0 || self.mu < 1e-3 {
            let near = integrate(&|y| (-y).exp() / (1.0 + self.mu * (a - y)), 0.0, a.min(60.0), &[1.0, 5.0, 20.0]);
            return a.exp() * near;
        }
        let x = 1.0 / self.mu;
        (a.exp() * scaled_ei(x + a) - scaled_ei(x)) / self.mu
    }
}

impl ClosedForm for MarginExponential {
    fn value(&self, s: f64) -> f64 {
        if self.mu == 0.0 {
            return (-s).exp();
        }
        let x = 1.0 / self.mu;
        if 0.0 <= s { (-s).exp() * scaled_e1(x + s) / self.mu } else { scaled_e1(x) / self.mu + self.growth(-s) }
    }
}
