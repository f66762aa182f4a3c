//! Elementary functions in numerically stable forms, accurate at both ends of the real line.

use std::f64::consts::LN_2;

/// Returns σ(x) = 1/(1 + e⁻ˣ), to full relative precision for both signs.
#[inline]
pub fn sigmoid(x: f64) -> f64 {
    if 0.0 <= x {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// Returns log(1 + eˣ).
#[inline]
pub fn log1p_exp(x: f64) -> f64 {
    // For x ≫ 0, exp(x) overflows although the result is just x.
    if 0.0 < x { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

/// Returns log(1 + x)/x, 1 at zero.
pub fn lambda(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.ln_1p() / x }
}

/// Returns (eˣ − 1)/x, 1 at zero.
pub fn expm1_over(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.exp_m1() / x }
}

/// Returns ∫₀ᵃ e^{−μx} dx = (1 − e^{−μa})/μ, which is a at μ = 0, also for infinite a.
pub fn faded(mu: f64, a: f64) -> f64 {
    let y = mu * a;
    if mu == 0.0 {
        a
    } else if y < 1.0 {
        a * expm1_over(-y)
    } else {
        -(-y).exp_m1() / mu
    }
}

/// Returns (eˣ − 1 − x)/x², 1/2 at zero.
pub fn expm1_over_twice(x: f64) -> f64 {
    if 1.0 <= x.abs() {
        return (x.exp_m1() - x) / (x * x);
    }
    // 1/2 + x/6 + x²/24 + …
    let mut nested = 1.0;
    for level in (3..=20).rev() {
        nested = 1.0 + x / f64::from(level) * nested;
    }
    0.5 * nested
}

/// Returns (x − log(1 + x))/x² for x ≥ 0, 1/2 at zero.
pub fn chi(x: f64) -> f64 {
    if 1.0 <= x {
        return (1.0 - lambda(x)) / x;
    }
    // log(1 + x) = 2 artanh(x/(2 + x)), whose series does not cancel.
    let ratio = x / (2.0 + x);
    let y = ratio * ratio;
    let series = horner_reciprocals(y, 19, |k| 2.0 * k + 3.0);
    (1.0 - 2.0 * x / ((2.0 + x) * (2.0 + x)) * series) / (2.0 + x)
}

/// Returns ((1 + w) log(1 + w) − w)/w² for w ≥ 0, 1/2 at zero.
pub fn phi(w: f64) -> f64 {
    if w < 1.0 { 1.0 - (1.0 + w) * chi(w) } else { ((1.0 + w) * lambda(w) - 1.0) / w }
}

/// Returns u + e⁻ᵘ − 1 for 0 ≤ u ≤ log 2: u²/2 (1 − u/3 (1 − u/4 (1 − …))).
pub fn excess_exponential(u: f64) -> f64 {
    let mut nested = 1.0;
    for level in (3..=18).rev() {
        nested = 1.0 - u / f64::from(level) * nested;
    }
    0.5 * u * u * nested
}

/// Returns h(z) = ((1 + z) log(1 + z) + (1 − z) log(1 − z))/2, the link of the logistic loss; `gap` = 1 − z.
pub fn binary_divergence(z: f64, gap: f64) -> f64 {
    if z < 0.3 {
        let y = z * z;
        return y * horner_reciprocals(y, 16, |k| (2.0 * k + 1.0) * (2.0 * k + 2.0));
    }
    let wrong_side = if gap == 0.0 { 0.0 } else { gap * gap.ln() };
    0.5 * ((1.0 + z) * z.ln_1p() + wrong_side)
}

/// Returns artanh z from z and 1 − z.
pub fn artanh(z: f64, gap: f64) -> f64 {
    if z < 0.5 { z.atanh() } else { 0.5 * ((1.0 + z) / gap).ln() }
}

/// Returns −x log x, 0 at zero.
pub fn entropy_term(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { -x * x.ln() }
}

/// Returns the binary entropy in nats of a label whose less likely value has probability `small` ≤ 1/2.
pub fn binary_entropy(small: f64) -> f64 {
    if small == 0.5 {
        return LN_2;
    }
    entropy_term(small) - (1.0 - small) * (-small).ln_1p()
}

/// Returns Σ_{k < terms} yᵏ / denominator(k), by Horner's rule.
fn horner_reciprocals(y: f64, terms: u32, denominator: impl Fn(f64) -> f64) -> f64 {
    (0..terms).rev().fold(0.0, |sum, k| sum * y + 1.0 / denominator(f64::from(k)))
}
