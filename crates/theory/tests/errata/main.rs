//! The errata of the paper, each demonstrated numerically: the printed statement fails, and that of this crate holds.
//!
//! `ERRATA.md` lists them. Both sides are compared with a computation that uses no closed form. It is U·ℓ′ written
//! out in the test, integrated, and minimized over predictions by brute force; or finite differences; or a
//! counterexample.
//! Functions marked `as printed` are wrong on purpose.

mod forms;
mod statements;

use querist_theory::certificate::{Claim, Verdict, Witness, certify};
use querist_theory::equivalent::Queried;
use querist_theory::numeric::quadrature::integrate;
use querist_theory::numeric::search::maximum;

/// The tolerance for values after a few thousand roundings.
const CLOSE: f64 = 1e-12;
/// The tolerance for finite differences: rounding over a step of 10⁻³, with a margin for steep functions.
const BY_DIFFERENCES: f64 = 1e-10;
/// The distance from the true value beyond which rounding cannot be the cause.
const APART: f64 = 1e-3;

fn pair(loss: &str, rule: &str) -> Queried {
    Queried::parse(loss, rule).unwrap()
}

fn assert_close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected.abs().max(1.0);
    assert!(error <= tolerance, "{what}: found {found}, expected {expected}, off by {error:e}");
}

fn assert_apart(what: &str, printed: f64, right: f64) {
    assert!(APART < (printed - right).abs(), "{what}: the printed {printed} is no worse than {right}");
}

fn is_proved(pair: &Queried, claim: Claim) -> bool {
    matches!(certify(pair).verdict(claim), Verdict::Proved(_))
}

fn refutation(pair: &Queried, claim: Claim) -> Witness {
    match certify(pair).verdict(claim) {
        Verdict::Refuted(witness) => witness.clone(),
        other => panic!("{} of {} by {}: {other:?}", claim.name(), pair.loss().name, pair.rule().name),
    }
}

fn logistic_slope(s: f64) -> f64 {
    -1.0 / (1.0 + s.exp())
}

fn squared_hinge_slope(s: f64) -> f64 {
    if s < 1.0 { -2.0 * (1.0 - s) } else { 0.0 }
}

fn hinge_slope(s: f64) -> f64 {
    if s < 1.0 { -1.0 } else { 0.0 }
}

fn exponential_slope(s: f64) -> f64 {
    -(-s).exp()
}

/// An equivalent loss given by its slope U·ℓ′ and its kinks only. Values are relative to the one at s = 0.
struct ByQuadrature<'a> {
    slope: &'a dyn Fn(f64) -> f64,
    kinks: &'a [f64],
}

impl ByQuadrature<'_> {
    /// Returns ℓ̃(s) − ℓ̃(0).
    fn rise(&self, s: f64) -> f64 {
        if s < 0.0 { -integrate(self.slope, s, 0.0, self.kinks) } else { integrate(self.slope, 0.0, s, self.kinks) }
    }

    /// Returns the cost of the prediction s relative to the prediction 0, where y = +1 has probability p.
    fn cost(&self, p: f64, s: f64) -> f64 {
        p * self.rise(s) + (1.0 - p) * self.rise(-s)
    }

    /// Returns H(p) − ℓ̃(0).
    fn bayes(&self, p: f64) -> f64 {
        least(&|s| self.cost(p, s), -20.0, 20.0).1
    }

    /// Returns the minimizer of H⁻(p), and H⁻(p) − ℓ̃(0), for p ≥ 1/2.
    fn wrong_side(&self, p: f64) -> (f64, f64) {
        least(&|s| self.cost(p, s), -20.0, 0.0)
    }

    /// Returns H⁻ − H at p = (1 + z)/2.
    fn link(&self, z: f64) -> f64 {
        let p = 0.5 * (1.0 + z);
        self.wrong_side(p).1 - self.bayes(p)
    }
}

/// Returns the minimizer and minimum of f on [low, high], from a grid of step 1/20 with the best point refined.
fn least(f: &dyn Fn(f64) -> f64, low: f64, high: f64) -> (f64, f64) {
    let count = (20.0 * (high - low)).round() as u32;
    let points: Vec<f64> = (0..=count).map(|i| low + (high - low) * f64::from(i) / f64::from(count)).collect();
    let (at, value) = maximum(&|s| -f(s), &points).unwrap();
    (at, -value)
}

/// Returns f′(s) from four values, exact for polynomials of degree four.
fn derivative(f: &dyn Fn(f64) -> f64, s: f64, step: f64) -> f64 {
    let across = |h: f64| f(s + h) - f(s - h);
    (8.0 * across(step) - across(2.0 * step)) / (12.0 * step)
}

/// Returns how far the middle of a chord lies below the function; positive where the function is not convex.
fn above_chord(f: &dyn Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    f(0.5 * (low + high)) - 0.5 * (f(low) + f(high))
}
