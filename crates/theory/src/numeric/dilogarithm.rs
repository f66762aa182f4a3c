//! The dilogarithm Li₂(x) = −∫₀ˣ log(1 − t)/t dt for real x ≤ 1.
//!
//! Some libraries define `spence(x)` as Li₂(1 − x) (erratum 28).

use std::f64::consts::PI;

/// B₂ₖ/(2k + 1)! for k = 1, 2, …: the odd part of Li₂ in u = −log(1 − x).
const COEFFICIENTS: [f64; 9] = [
    1.0 / 36.0,
    -1.0 / 3600.0,
    1.0 / 211_680.0,
    -1.0 / 10_886_400.0,
    1.0 / 526_901_760.0,
    -4.0647616451442256e-11,
    8.9216910204564526e-13,
    -1.9939295860721076e-14,
    4.5189800296199182e-16,
];

/// Returns P(y) with Li₂ = u − u²/4 + u³ P(u²).
pub(crate) fn odd_part(y: f64) -> f64 {
    COEFFICIENTS.iter().rev().fold(0.0, |sum, c| sum * y + c)
}

/// Returns Li₂(x) for x ≤ 1; NaN above, where it is not real.
pub fn dilogarithm(x: f64) -> f64 {
    if x.is_nan() || 1.0 < x {
        f64::NAN
    } else if x == 1.0 {
        PI * PI / 6.0
    } else if 0.5 < x {
        PI * PI / 6.0 - x.ln() * (-x).ln_1p() - dilogarithm(1.0 - x)
    } else if 0.0 <= x {
        from_logarithm(-(-x).ln_1p())
    } else {
        let log = (-x).ln_1p();
        // x/(x − 1) tends to 1 as x → −∞ without a division of infinities.
        let reflected = if x.is_infinite() { 1.0 } else { x / (x - 1.0) };
        -dilogarithm(reflected) - 0.5 * log * log
    }
}

/// Returns Li₂(1 − e⁻ᵘ) for 0 ≤ u ≤ log 2.
pub(crate) fn from_logarithm(u: f64) -> f64 {
    u - 0.25 * u * u + u * u * u * odd_part(u * u)
}
