//! Exponential integrals, scaled so that neither end overflows.

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Returns eˣ E₁(x) = ∫₀^∞ e⁻ᵗ/(x + t) dt for x > 0.
pub fn scaled_e1(x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    if x < 0.5 {
        let mut term = 1.0;
        let mut sum = 0.0;
        for k in 1..=30 {
            let k = f64::from(k);
            term *= -x / k;
            sum -= term / k;
        }
        return x.exp() * (sum - EULER - x.ln());
    }
    // 1/(x + 1/(1 + 1/(x + 2/(1 + 2/(x + …))))) from its end: all terms are positive, so an error shrinks at every
    // step. The truncation error is below e^(−4√(nx)).
    let terms = (110.0 / x) as u32 + 12;
    let mut rest = x;
    for k in (1..=terms).rev() {
        let k = f64::from(k);
        rest = x + k / (1.0 + k / rest);
    }
    1.0 / rest
}

/// Returns e⁻ˣ Ei(x) for x > 0.
pub fn scaled_ei(x: f64) -> f64 {
    if x < 40.0 {
        let mut term = 1.0;
        let mut sum = 0.0;
        for k in 1..=200 {
            let k = f64::from(k);
            term *= x / k;
            sum += term / k;
            if term / k < f64::EPSILON * 1e-3 * sum {
                break;
            }
        }
        return (-x).exp() * (EULER + x.ln() + sum);
    }
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..40 {
        term *= f64::from(k) / x;
        sum += term;
        if term < f64::EPSILON * 1e-2 {
            break;
        }
    }
    sum / x
}
