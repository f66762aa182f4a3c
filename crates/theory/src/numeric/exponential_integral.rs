//! Exponential integrals, scaled so that neither end overflows.

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// eˣ E₁(x) = ∫₀^∞ e⁻ᵗ/(x + t) dt for x > 0.
pub fn scaled_e1(x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    if x < 1.0 {
        let mut term = 1.0;
        let mut sum = 0.0;
        for k in 1..=30 {
            let k = f64::from(k);
            term *= -x / k;
            sum -= term / k;
        }
        return x.exp() * (sum - EULER - x.ln());
    }
    // Lentz's algorithm on 1/(x + 1 − 1/(x + 3 − 4/(x + 5 − …))).
    let mut b = x + 1.0;
    let mut c = f64::INFINITY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..=300 {
        let a = -f64::from(i) * f64::from(i);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        let change = c * d;
        fraction *= change;
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}

/// e⁻ˣ Ei(x) for x > 0.
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
