//! Values and derivatives at chosen points, including extreme ones.

use super::parsed;

fn value(text: &str, s: f64) -> f64 {
    parsed(text).value(s)
}

#[test]
fn precedence_and_association() {
    let cases = [
        ("-s^2", 3.0, -9.0),
        ("2^3^2", 0.0, 512.0),
        ("2^-s", 1.0, 0.5),
        ("2*-s", 3.0, -6.0),
        ("1-2-3", 0.0, -4.0),
        ("8/4/2", 0.0, 1.0),
        ("--s", 4.0, 4.0),
        ("(-s)^2", 3.0, 9.0),
        ("-2^2", 0.0, -4.0),
        ("1+2*3", 0.0, 7.0),
        (".5 + 1e-3 + 2.", 0.0, 2.501),
        ("  s\t*\ns ", 5.0, 25.0),
        ("1E2*s", 1.0, 100.0),
        ("max(1, min(s, 3))", 7.0, 3.0),
        ("ln(e)", 0.0, 1.0),
        ("cos(pi)", 0.0, -1.0),
        ("sign(s)", 0.0, 0.0),
        ("sign(s)", -2.0, -1.0),
    ];
    for (text, s, expected) in cases {
        assert_eq!(value(text, s), expected, "{text} at {s}");
    }
}

#[test]
fn integer_powers_of_negative_numbers() {
    assert_eq!(value("s^3", -2.0), -8.0);
    assert_eq!(value("s^-3", -2.0), -0.125);
    assert_eq!(value("s^101", -1.0), -1.0);
    assert_eq!(value("s^(6/2)", -2.0), -8.0);
    assert_eq!(value("s^0", 0.0), 1.0);
    assert_eq!(value("s^1e9", -1.0), 1.0);
    let jet = parsed("s^2").jet(0.0);
    assert_eq!((jet.slope, jet.curvature), (0.0, 2.0));
    let jet = parsed("s^3").jet(-2.0);
    assert_eq!((jet.slope, jet.curvature), (12.0, -12.0));
}

#[test]
fn general_powers() {
    assert!(value("s^1.5", -1.0).is_nan());
    assert_eq!(value("s^1.5", 0.0), 0.0);
    assert_eq!(value("s^1.5", 4.0), 8.0);
    assert_eq!(value("0^s", 2.0), 0.0);
    let jet = parsed("s^1.5").jet(0.0);
    assert_eq!((jet.slope, jet.curvature), (0.0, f64::INFINITY));
}

#[test]
fn outside_the_domain_everything_is_nan() {
    for text in ["log(s)", "sqrt(s)", "s^0.3", "log1p(s-1)", "max(0, log(s))", "0*log(s)"] {
        let jet = parsed(text).jet(-1.0);
        assert!(jet.value.is_nan(), "{text}");
        assert!(jet.slope.is_nan(), "{text}");
        assert!(jet.curvature.is_nan(), "{text}");
    }
}

#[test]
fn root_at_zero_is_vertical() {
    let jet = parsed("sqrt(s)").jet(0.0);
    assert_eq!(jet.value, 0.0);
    assert_eq!(jet.slope, f64::INFINITY);
    assert_eq!(jet.curvature, f64::NEG_INFINITY);
    assert_eq!(parsed("sqrt(s)").jet(-0.0).slope, f64::INFINITY);
    assert_eq!(parsed("sqrt(-s)").jet(0.0).slope, f64::NEG_INFINITY);
    let flat = parsed("sqrt(max(0, s))").jet(-1.0);
    assert_eq!((flat.slope, flat.curvature), (0.0, 0.0));
}

#[test]
fn undetermined_limits_are_nan() {
    for text in ["sqrt(s)*sqrt(2*s)", "sqrt(1-cos(s))", "abs(s)^(1+s^2)", "max(s, abs(s)^(1+s^2))"] {
        let jet = parsed(text).jet(0.0);
        assert_eq!(jet.value, 0.0, "{text}");
        assert!(jet.slope.is_nan(), "{text}");
        assert!(jet.curvature.is_nan(), "{text}");
    }
    let jet = parsed("s*sqrt(s)").jet(0.0);
    assert_eq!((jet.slope, jet.curvature), (0.0, f64::INFINITY));
}

#[test]
fn derivatives_to_the_right_of_kinks() {
    let cases = [
        ("abs(s)", 0.0, 1.0, 0.0),
        ("abs(-s)", 0.0, 1.0, 0.0),
        ("abs(1-s)", 1.0, 1.0, 0.0),
        ("max(0, 1-s)", 1.0, 0.0, 0.0),
        ("min(0, 1-s)", 1.0, -1.0, 0.0),
        ("max(0, s)", 0.0, 1.0, 0.0),
        ("max(s, s^2)", 0.0, 1.0, 0.0),
        ("max(s, s^2)", 1.0, 2.0, 2.0),
        ("max(0, s^2)", 0.0, 0.0, 2.0),
        ("max(0, 1-s)^2", 1.0, 0.0, 0.0),
        ("max(0, 1-s)^2", 0.5, -1.0, 2.0),
        ("exp(-abs(s))", 0.0, -1.0, 1.0),
        ("sign(s)*s", 0.0, 1.0, 0.0),
        ("sqrt(s^2)", 0.0, 1.0, 0.0),
        ("sqrt(s^4)", 0.0, 0.0, 2.0),
        ("(s^2)^0.5", 0.0, 1.0, 0.0),
    ];
    for (text, s, slope, curvature) in cases {
        let jet = parsed(text).jet(s);
        assert_eq!((jet.slope, jet.curvature), (slope, curvature), "{text} at {s}");
    }
}

#[test]
fn extreme_arguments_give_finite_values() {
    let texts = [
        "exp(-abs(s))",
        "exp(-s^2)",
        "exp(-exp(s))",
        "1/(1+s^2)",
        "1/(1+s^4)",
        "1/(1+exp(s))",
        "1/(2+exp(s))",
        "log(1+exp(-s))",
        "log(1+e^(-s))",
        "tanh(s)",
        "sigmoid(s)",
        "atan(s)",
        "max(0,1-s)",
        "log(1+s^2)",
        "s*exp(-abs(s))",
        "s*sigmoid(s)",
    ];
    for text in texts {
        for s in [-1e150, -1000.0, -800.0, -700.0, 700.0, 800.0, 1000.0, 1e150] {
            let jet = parsed(text).jet(s);
            assert!(jet.value.is_finite(), "{text} at {s}: {jet:?}");
            assert!(jet.slope.is_finite(), "{text} at {s}: {jet:?}");
            assert!(jet.curvature.is_finite(), "{text} at {s}: {jet:?}");
        }
    }
}

#[test]
fn overflow_and_cancellation_are_avoided() {
    assert_eq!(value("log(1+exp(-s))", -800.0), 800.0);
    assert_eq!(value("log(exp(s)+1)", 800.0), 800.0);
    assert_eq!(value("log1p(exp(s))", 1e6), 1e6);
    assert_eq!(value("log(1+exp(-s))", 100.0), (-100_f64).exp());
    assert_eq!(value("log(1+s)", 1e-20), 1e-20);
    assert_eq!(value("log(1-s)", 1e-20), -1e-20);
    assert_eq!(value("exp(s)-1", 1e-20), 1e-20);
    assert_eq!(value("1/(1+exp(-s))", -800.0), 0.0);
    let jet = parsed("log(1+exp(-s))").jet(-800.0);
    assert_eq!((jet.slope, jet.curvature), (-1.0, 0.0));
    let jet = parsed("exp(-abs(s))").jet(1000.0);
    assert_eq!((jet.value, jet.slope, jet.curvature), (0.0, 0.0, 0.0));
}
