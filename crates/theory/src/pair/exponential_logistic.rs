//! Exponential rule × logistic: a hypergeometric function, summed as a fast series.

use super::{ClosedForm, PairEntry};
use crate::numeric::stable::faded;

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &["logistic", "cross-entropy"],
    rule: "exponential",
    form: "a 2F1 in e^-|s|, plus (1 - e^(-mu |s|))/mu for s < 0",
    make: |_, rule| Box::new(ExponentialLogistic { mu: rule.numbers[0] }),
};

/// With x = e^{−|s|}, w = x/(1 + x): x^{μ+1}/((μ + 1)(1 + x)) Σ n!/(μ + 2)ₙ wⁿ; below 0 plus (1 − e^{−μ|s|})/μ.
#[derive(Debug)]
struct ExponentialLogistic {
    mu: f64,
}

impl ClosedForm for ExponentialLogistic {
    fn value(&self, s: f64) -> f64 {
        let mu = self.mu;
        let a = s.abs();
        let x = (-a).exp();
        let w = x / (1.0 + x);
        let (mut term, mut sum) = (1.0, 1.0);
        for n in 0..70 {
            let n = f64::from(n);
            term *= w * (n + 1.0) / (mu + 2.0 + n);
            sum += term;
        }
        let tail = (-(mu + 1.0) * a).exp() / ((mu + 1.0) * (1.0 + x)) * sum;
        // By reflection ℓ̃(−a) = ℓ̃(a) + ∫₀ᵃ U for the logistic loss.
        if 0.0 <= s { tail } else { tail + faded(mu, a) }
    }
}
