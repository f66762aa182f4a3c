//! Entropy × logistic, Example 1: a dilogarithm.

use std::f64::consts::PI;

use super::{ClosedForm, LinkValue, PairEntry, ProbabilityForm};
use crate::coordinate::{Bias, Probability};
use crate::numeric::dilogarithm::{dilogarithm, from_logarithm, odd_part};
use crate::numeric::stable::{entropy_term, excess_exponential, sigmoid};

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &["logistic", "cross-entropy"],
    rule: "entropy",
    form: "pi^2/6 - Li2(r) - U",
    make: |_, rule| Box::new(EntropyLogistic { scale: scale(rule.numbers[0]) }),
};

/// ℓ̃ = Li₂(1) − Li₂(r) − U, with r = σ(s).
#[derive(Debug)]
struct EntropyLogistic {
    scale: f64,
}

fn scale(base: f64) -> f64 {
    crate::uncertainty::Entropy::new(base).map_or(f64::NAN, |rule| rule.scale())
}

impl EntropyLogistic {
    /// Returns the value at a margin of size a on the right side, with u = log(1 + e⁻ᵃ).
    ///
    /// Li₂(1) − Li₂(r) − U loses half its digits at s = 18 and all at s = 36; this form keeps them.
    fn right(&self, a: f64, u: f64) -> f64 {
        let excess = excess_exponential(u);
        // a may be infinite where the excess has underflowed.
        let far = if excess == 0.0 { 0.0 } else { a * excess };
        self.scale * (u * u * (0.75 + u * odd_part(u * u)) + far)
    }

    /// Returns the value at a margin of size a on the wrong side, with `small` = σ(−a).
    fn left(&self, a: f64, u: f64, small: f64) -> f64 {
        let entropy = if small == 0.0 { 0.0 } else { u + a * small };
        self.scale * (PI * PI / 6.0 - (from_logarithm(u) + entropy))
    }
}

impl ClosedForm for EntropyLogistic {
    fn value(&self, s: f64) -> f64 {
        let a = s.abs();
        let u = (-a).exp().ln_1p();
        if 0.0 <= s { self.right(a, u) } else { self.left(a, u, sigmoid(-a)) }
    }

    fn curvature(&self, s: f64) -> Option<f64> {
        let a = s.abs();
        let (large, small) = (sigmoid(a), sigmoid(-a));
        let u = (-a).exp().ln_1p();
        if small == 0.0 {
            return Some(if 0.0 <= s { 0.0 } else { -0.0 });
        }
        let bracket = if 0.0 <= s { 2.0 * a * small + u } else { u - a * (large - small) };
        Some(self.scale * large * small * bracket)
    }

    fn in_probability(&self, at: Probability) -> Option<ProbabilityForm> {
        let small = at.small();
        let u = -(-small).ln_1p();
        let a = -small.ln() - u;
        let value = if at.wrong <= at.right { self.right(a, u) } else { self.left(a, u, small) };
        let surprise_of_wrong = Probability { right: at.wrong, wrong: at.right }.surprise();
        // −log(1 − r)/r², which is 1/r for small r; r² would underflow.
        let curvature = if at.right == 0.0 { f64::INFINITY } else { surprise_of_wrong / at.right / at.right };
        Some(ProbabilityForm { value, curvature: self.scale * curvature })
    }

    fn link(&self, bias: Bias) -> Option<LinkValue> {
        let slope = 0.5 * (dilogarithm(0.5 * (1.0 + bias.z)) - dilogarithm(0.5 * bias.gap));
        let (value, slope) = if bias.z < 0.85 { series(bias.z) } else { (closed(bias), slope) };
        Some(LinkValue { value: self.scale * value, slope: self.scale * slope })
    }
}

/// The value ψ(1) = π²/12 + (log 2)²/2 − log 2.
const AT_ONE: f64 = 0.36954635982326862;

/// Returns ψ = p Li₂(p) + (1 − p) Li₂(1 − p) − Li₂(1/2) − h(z), expanded about ψ(1) in 1 − p.
fn closed(bias: Bias) -> f64 {
    let rest = 0.5 * bias.gap;
    let p = 1.0 - rest;
    let surprise = -p * (-rest).ln_1p();
    let log = if rest == 0.0 { 0.0 } else { surprise * rest.ln() };
    AT_ONE - (rest * PI * PI / 6.0 + (p - rest) * dilogarithm(rest) - log - surprise - entropy_term(rest))
}

/// Returns ψ = Σ dₖ z²ᵏ⁺²/((2k + 1)(2k + 2)) and ψ′ = Σ dₖ z²ᵏ⁺¹/(2k + 1), all terms positive.
///
/// dₖ = log 2 − Σ_{j ≤ k} 1/(2j(2j − 1)) = Σ_{j > k} 1/(2j(2j − 1)) is summed from its tail, which avoids subtraction.
fn series(z: f64) -> (f64, f64) {
    const TERMS: usize = 135;
    let tails = tails();
    let y = z * z;
    let (mut value, mut slope) = (0.0, 0.0);
    for k in (0..TERMS).rev() {
        let odd = (2 * k + 1) as f64;
        value = value * y + tails[k] / (odd * (odd + 1.0));
        slope = slope * y + tails[k] / odd;
    }
    (value * y, slope * z)
}

/// Returns dₖ for k < 135: an asymptotic tail, accurate to 2e-21, to which the terms are added backward.
fn tails() -> [f64; 135] {
    let n = 135.0;
    // Σ_{j > n} 1/(2j(2j − 1)) ~ 1/(4n) − 1/(16n²) + 1/(128n⁴) − 1/(256n⁶) + 17/(4096n⁸).
    let m: f64 = 1.0 / (n * n);
    let mut tail = 1.0 / (4.0 * n) + m * (-1.0 / 16.0 + m * (1.0 / 128.0 + m * (-1.0 / 256.0 + m * 17.0 / 4096.0)));
    let mut tails = [0.0; 135];
    for k in (0..135).rev() {
        let j = (k + 1) as f64;
        tail += 1.0 / (2.0 * j * (2.0 * j - 1.0));
        tails[k] = tail;
    }
    tails
}
