//! The quantile of Student's t distribution.

use super::normal_quantile;

/// From this many degrees of freedom on, Fisher's expansion is as precise as the normal quantile in it.
const EXPANDED_FROM: f64 = 1000.0;
/// The largest number of Newton steps. Three to six suffice except for `p` next to 0 or 1.
const MAX_STEPS: usize = 100;

/// Returns the quantile of Student's t for `p` in (0, 1) and at least one degree of freedom, to nine digits.
///
/// Degrees of freedom may be fractional or infinite. Returns NaN for fewer than one.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    if !(1.0 <= freedom) {
        return f64::NAN;
    }
    let start = expanded(p, freedom);
    if EXPANDED_FROM <= freedom || start == 0.0 {
        return start;
    }
    // The logarithm of the tail is a concave function of log t, so Newton's method converges from everywhere.
    let (tail, expected) = (UpperTail::new(freedom), p.min(1.0 - p));
    let mut t = start.abs();
    for _ in 0..MAX_STEPS {
        let (above, density) = tail.at(t);
        let change = (above / expected).ln() * above / (t * density);
        t *= change.exp();
        if change.abs() < 1e-12 {
            break;
        }
    }
    t.copysign(start)
}

/// Returns the probability that |t| is at least this large, the two-sided p-value of a t-test; NaN for fewer than one
/// degree of freedom or a `t` that is NaN.
pub fn student_two_sided(t: f64, freedom: f64) -> f64 {
    if !(1.0 <= freedom) || t.is_nan() {
        return f64::NAN;
    }
    if t.is_infinite() { 0.0 } else { 2.0 * UpperTail::new(freedom).at(t.abs()).0 }
}

/// Returns Fisher's expansion around the normal quantile in 1/ν.
fn expanded(p: f64, freedom: f64) -> f64 {
    let z = normal_quantile(p);
    let s = z * z;
    let terms = [
        (s + 1.0) / 4.0,
        ((5.0 * s + 16.0) * s + 3.0) / 96.0,
        (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0,
        ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92160.0,
    ];
    z * (1.0 + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / freedom))
}

/// The probability above a positive t, an incomplete beta function: ½ `I_x(a, ½)` with a = ν/2 and x = ν/(ν + t²).
struct UpperTail {
    freedom: f64,
    /// B(a, ½).
    beta: f64,
}

impl UpperTail {
    fn new(freedom: f64) -> Self {
        Self { freedom, beta: beta_with_half(0.5 * freedom) }
    }

    /// Returns the probability above t > 0 and the density at t.
    fn at(&self, t: f64) -> (f64, f64) {
        let a = 0.5 * self.freedom;
        let square = t * t / self.freedom;
        let (x, y) = (1.0 / (1.0 + square), square / (1.0 + square));
        let density = x.powf(a + 0.5) / (self.freedom.sqrt() * self.beta);
        let scale = x.powf(a) * y.sqrt() / self.beta;
        let above =
            if x < (a + 1.0) / (a + 2.5) { 0.5 * scale / a * fraction(a, x) } else { 0.5 - scale * series(a, y) };
        (above, density)
    }
}

/// Returns Σₙ yⁿ (a + ½)…(a + n − ½) / (3/2 … (n + ½)), with which `I_y(½, a)` = 2 xᵃ √y / B · this sum.
fn series(a: f64, y: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0, 1.0, 0.0);
    while 1e-17 * sum < term {
        term *= y * (a + 0.5 + n) / (1.5 + n);
        sum += term;
        n += 1.0;
    }
    sum
}

/// Returns the continued fraction 1/(1 + d₁/(1 + d₂/(1 + …))) of `I_x(a, ½)` · a B / (xᵃ √(1 − x)), by Lentz's method.
fn fraction(a: f64, x: f64) -> f64 {
    const MAX_TERMS: u32 = 1000;
    let (mut upper, mut lower) = (1.0, 1.0 / (1.0 - (a + 0.5) * x / (a + 1.0)));
    let mut value = lower;
    for m in (1..=MAX_TERMS).map(f64::from) {
        let even = m * (0.5 - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + 0.5 + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for coefficient in [even, odd] {
            lower = 1.0 / (1.0 + coefficient * lower);
            upper = 1.0 + coefficient / upper;
            value *= upper * lower;
        }
        if (value - before).abs() <= 1e-15 * value.abs() {
            break;
        }
    }
    value
}

/// Returns B(a, ½) = √π Γ(a)/Γ(a + ½), by its asymptotic series from a = 30 on and by recursion below.
fn beta_with_half(a: f64) -> f64 {
    // Γ(a + ½)/Γ(a) = √a (1 − 1/(8a) + 1/(128a²) + …).
    const TERMS: [f64; 7] =
        [1.0, -1.0 / 8.0, 1.0 / 128.0, 5.0 / 1024.0, -21.0 / 32768.0, -399.0 / 262_144.0, 869.0 / 4_194_304.0];
    let (mut a, mut factor) = (a, std::f64::consts::PI.sqrt());
    while a < 30.0 {
        factor *= (a + 0.5) / a;
        a += 1.0;
    }
    factor / (a.sqrt() * TERMS.iter().rev().fold(0.0, |sum, term| sum / a + term))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::{student_quantile, student_two_sided};

    fn check(p: f64, freedom: f64, expected: f64) {
        let found = student_quantile(p, freedom);
        assert!((found / expected - 1.0).abs() < 1e-9, "p = {p}, ν = {freedom}: {found}, expected {expected}");
    }

    #[test]
    fn quantiles_of_one_and_two_degrees_of_freedom_agree_with_their_closed_forms() {
        for p in [1e-15, 1e-6, 0.0005, 0.005, 0.025, 0.05, 0.25, 0.4, 0.49, 0.4999] {
            check(p, 1.0, -1.0 / (PI * p).tan());
            check(p, 2.0, (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt());
        }
        check(0.975, 1.0, 12.706_204_736_174_706);
        check(0.975, 2.0, 4.302_652_729_749_462);
        assert_eq!(student_quantile(0.5, 1.0), 0.0);
    }

    #[test]
    fn quantiles_of_four_degrees_of_freedom_agree_with_their_closed_form() {
        for p in [0.6_f64, 0.9, 0.975, 0.999] {
            let root = (4.0 * p * (1.0 - p)).sqrt();
            check(p, 4.0, 2.0 * ((root.acos() / 3.0).cos() / root - 1.0).sqrt());
        }
    }

    #[test]
    fn quantiles_agree_with_tables() {
        for (freedom, expected) in [
            (3.0, 3.182_446_305_283_710),
            (5.0, 2.570_581_835_636_316),
            (10.0, 2.228_138_851_986_275),
            (30.0, 2.042_272_456_301_238),
            (100.0, 1.983_971_518_523_552),
            (999.0, 1.962_341_461_133_450),
            (1000.0, 1.962_339_080_826_408),
            (f64::INFINITY, 1.959_963_984_540_054),
        ] {
            check(0.975, freedom, expected);
        }
    }

    #[test]
    fn quantiles_of_fractional_degrees_of_freedom_lie_between_their_neighbors() {
        let mut before = f64::INFINITY;
        for step in 10..=200 {
            let found = student_quantile(0.975, f64::from(step) / 10.0);
            assert!(found < before, "{step}: {found} {before}");
            before = found;
        }
        assert!(student_quantile(0.975, 0.9).is_nan());
    }

    #[test]
    fn two_sided_probabilities_invert_quantiles() {
        for freedom in [1.0, 2.0, 7.0, 19.0, 59.5, 999.0] {
            for p in [1e-9, 1e-4, 0.01, 0.05, 0.3, 0.9] {
                let found = student_two_sided(-student_quantile(1.0 - 0.5 * p, freedom), freedom);
                // 1 − p/2 is rounded to 1e-16.
                assert!((found / p - 1.0).abs() < 1e-9 + 1e-15 / p, "p = {p}, ν = {freedom}: {found}");
            }
        }
        assert_eq!([student_two_sided(0.0, 3.0), student_two_sided(f64::INFINITY, 3.0)], [1.0, 0.0]);
        assert!(student_two_sided(f64::NAN, 3.0).is_nan() && student_two_sided(1.0, 0.0).is_nan());
    }
}
