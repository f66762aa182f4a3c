//! Derivatives against explicit formulas and against finite differences.

use super::parsed;
use super::sample::{EXPRESSIONS, HashedNumbers};

type Formula = fn(f64) -> f64;

/// An expression, the ends of an interval of test points, and its value and derivatives.
type Row = (&'static str, f64, f64, [Formula; 3]);

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-11 * (1.0 + expected.abs())
}

fn check(rows: &[Row]) {
    let mut sample = HashedNumbers::new(1);
    for (text, low, high, formulas) in rows {
        let expression = parsed(text);
        for _ in 0..400 {
            let s = sample.between(*low, *high);
            let jet = expression.jet(s);
            let found = [jet.value, jet.slope, jet.curvature];
            for (order, formula) in formulas.iter().enumerate() {
                let expected = formula(s);
                assert!(
                    close(found[order], expected),
                    "{text}: derivative {order} at {s} is {} instead of {expected}",
                    found[order],
                );
            }
        }
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

const ALGEBRAIC: [Row; 9] = [
    ("s^5", -2.0, 2.0, [|s| s.powi(5), |s| 5.0 * s.powi(4), |s| 20.0 * s.powi(3)]),
    ("s*s", -3.0, 3.0, [|s| s * s, |s| 2.0 * s, |_| 2.0]),
    ("s^-2", 0.5, 3.0, [|s| s.powi(-2), |s| -2.0 * s.powi(-3), |s| 6.0 * s.powi(-4)]),
    (
        "1/(1+s^2)",
        -5.0,
        5.0,
        [
            |s| 1.0 / (1.0 + s * s),
            |s| -2.0 * s / (1.0 + s * s).powi(2),
            |s| (6.0 * s * s - 2.0) / (1.0 + s * s).powi(3),
        ],
    ),
    (
        "s/(1+abs(s))",
        -5.0,
        5.0,
        [|s| s / (1.0 + s.abs()), |s| (1.0 + s.abs()).powi(-2), |s| -2.0 * s.signum() * (1.0 + s.abs()).powi(-3)],
    ),
    ("sqrt(1+s^2)", -5.0, 5.0, [|s| s.hypot(1.0), |s| s / s.hypot(1.0), |s| s.hypot(1.0).powi(-3)]),
    ("s^2.5", 0.1, 4.0, [|s| s.powf(2.5), |s| 2.5 * s.powf(1.5), |s| 3.75 * s.sqrt()]),
    (
        "max(0, 1-s)^2",
        -3.0,
        3.0,
        [|s| (1.0 - s).max(0.0).powi(2), |s| -2.0 * (1.0 - s).max(0.0), |s| if s < 1.0 { 2.0 } else { 0.0 }],
    ),
    ("min(s^2, 2*abs(s)-1)", 1.1, 4.0, [|s| 2.0 * s - 1.0, |_| 2.0, |_| 0.0]),
];

#[test]
fn algebraic() {
    check(&ALGEBRAIC);
}

const EXPONENTIAL: [Row; 9] = [
    ("exp(-2*s)", -2.0, 2.0, [|s| (-2.0 * s).exp(), |s| -2.0 * (-2.0 * s).exp(), |s| 4.0 * (-2.0 * s).exp()]),
    (
        "exp(-s^2)",
        -2.0,
        2.0,
        [|s| (-s * s).exp(), |s| -2.0 * s * (-s * s).exp(), |s| (4.0 * s * s - 2.0) * (-s * s).exp()],
    ),
    ("expm1(s)", -2.0, 2.0, [f64::exp_m1, f64::exp, f64::exp]),
    ("log(s)", 0.2, 5.0, [f64::ln, |s| 1.0 / s, |s| -1.0 / (s * s)]),
    ("log1p(s)", -0.7, 5.0, [f64::ln_1p, |s| 1.0 / (1.0 + s), |s| -(1.0 + s).powi(-2)]),
    ("log(1+exp(-s))", -20.0, 20.0, [|s| (1.0 + (-s).exp()).ln(), |s| -logistic(-s), |s| logistic(s) * logistic(-s)]),
    (
        "2^s",
        -3.0,
        3.0,
        [|s| s.exp2(), |s| std::f64::consts::LN_2 * s.exp2(), |s| std::f64::consts::LN_2.powi(2) * s.exp2()],
    ),
    (
        "s^s",
        0.2,
        3.0,
        [|s| s.powf(s), |s| s.powf(s) * (s.ln() + 1.0), |s| s.powf(s) * ((s.ln() + 1.0).powi(2) + 1.0 / s)],
    ),
    (
        "sigmoid(s)",
        -20.0,
        20.0,
        [logistic, |s| logistic(s) * logistic(-s), |s| logistic(s) * logistic(-s) * (logistic(-s) - logistic(s))],
    ),
];

#[test]
fn exponential_and_logarithmic() {
    check(&EXPONENTIAL);
}

const TRIGONOMETRIC: [Row; 7] = [
    ("sin(s)", -9.0, 9.0, [f64::sin, f64::cos, |s| -s.sin()]),
    ("cos(2*s)", -9.0, 9.0, [|s| (2.0 * s).cos(), |s| -2.0 * (2.0 * s).sin(), |s| -4.0 * (2.0 * s).cos()]),
    ("sinh(s)", -4.0, 4.0, [f64::sinh, f64::cosh, f64::sinh]),
    ("cosh(s)", -4.0, 4.0, [f64::cosh, f64::sinh, f64::cosh]),
    ("tanh(s)", -4.0, 4.0, [f64::tanh, |s| 1.0 - s.tanh().powi(2), |s| -2.0 * s.tanh() * (1.0 - s.tanh().powi(2))]),
    ("atan(s)", -9.0, 9.0, [f64::atan, |s| 1.0 / (1.0 + s * s), |s| -2.0 * s / (1.0 + s * s).powi(2)]),
    ("s*sin(s)", -9.0, 9.0, [|s| s * s.sin(), |s| s.sin() + s * s.cos(), |s| 2.0 * s.cos() - s * s.sin()]),
];

#[test]
fn trigonometric_and_hyperbolic() {
    check(&TRIGONOMETRIC);
}

/// Compares with central differences of the value and of the slope, away from kinks.
#[test]
fn derivatives_match_central_differences() {
    const STEP: f64 = 1e-5;
    let mut sample = HashedNumbers::new(2);
    for text in EXPRESSIONS {
        let expression = parsed(text);
        let kinks = expression.kinks();
        for _ in 0..200 {
            let s = sample.between(-3.0, 3.0);
            let margin = 0.05;
            let bad = |point: f64| (s - point).abs() < margin;
            // Zero, one and minus one are poles or borders of some domains.
            if kinks.iter().copied().any(bad) || [-1.0, 0.0, 1.0].into_iter().any(bad) {
                continue;
            }
            let (before, at, after) = (expression.jet(s - STEP), expression.jet(s), expression.jet(s + STEP));
            if at.value.is_nan() {
                continue;
            }
            let slope = (after.value - before.value) / (2.0 * STEP);
            let curvature = (after.slope - before.slope) / (2.0 * STEP);
            let size = 1.0 + at.value.abs() + at.slope.abs() + at.curvature.abs();
            assert!((slope - at.slope).abs() <= 2e-6 * size, "{text} at {s}");
            assert!((curvature - at.curvature).abs() <= 2e-6 * size, "{text} at {s}");
        }
    }
}
