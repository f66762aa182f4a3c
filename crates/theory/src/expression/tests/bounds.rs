//! Bounds that must be exact, and the domains of functions.

use super::super::Interval;
use super::parsed;

fn range(text: &str, low: f64, high: f64) -> (f64, f64, bool) {
    let bounds = parsed(text).range(Interval::new(low, high));
    (bounds.low, bounds.high, bounds.defined)
}

const INFINITE: f64 = f64::INFINITY;

#[test]
fn exact_ranges_over_everything() {
    let cases = [
        ("1/(1+s^2)", 0.0, 1.0),
        ("1/(1+s^4)", 0.0, 1.0),
        ("1/(1+s*s)", 0.0, 1.0),
        ("exp(-abs(s))", 0.0, 1.0),
        ("exp(-s^2)", 0.0, 1.0),
        ("0.5+0.5*exp(-abs(s))", 0.5, 1.0),
        ("tanh(s)", -1.0, 1.0),
        ("sigmoid(s)", 0.0, 1.0),
        ("1/(1+exp(-s))", 0.0, 1.0),
        ("1/(2+exp(s))", 0.0, 0.5),
        ("sin(s)", -1.0, 1.0),
        ("cos(s)^2", 0.0, 1.0),
        ("cosh(s)", 1.0, INFINITE),
        ("log(1+exp(-s))", 0.0, INFINITE),
        ("log(1+s^2)", 0.0, INFINITE),
        ("max(0, 1-s)", 0.0, INFINITE),
        ("min(abs(s), 1)", 0.0, 1.0),
        ("sign(s)", -1.0, 1.0),
        ("1/cosh(s)", 0.0, 1.0),
        ("s^3", f64::NEG_INFINITY, INFINITE),
        ("sqrt(s^2)", 0.0, INFINITE),
        ("e^(-abs(s))", 0.0, 1.0),
        ("2^(-abs(s))", 0.0, 1.0),
    ];
    for (text, low, high) in cases {
        let expected = (low, high, true);
        assert_eq!(range(text, f64::NEG_INFINITY, INFINITE), expected, "{text}");
    }
}

#[test]
fn exact_ranges_over_short_intervals() {
    let cases = [
        ("s^2", -1.0, 2.0, 0.0, 4.0),
        ("s^4", -1.0, 1.0, 0.0, 1.0),
        ("s^3", -2.0, 1.0, -8.0, 1.0),
        ("s^200", -1.0, 1.0, 0.0, 1.0),
        ("s^0.5", 0.0, 1.0, 0.0, 1.0),
        ("s^0.3", 0.0, 1.0, 0.0, 1.0),
        ("sqrt(s)", 4.0, 9.0, 2.0, 3.0),
        ("max(0, 1-s)^2", 0.0, 2.0, 0.0, 1.0),
        ("0.25*s-3", 4.0, 8.0, -2.0, -1.0),
        ("1/s", 2.0, 4.0, 0.25, 0.5),
        ("1/s", -4.0, -2.0, -0.5, -0.25),
        ("cos(s)", -1e-3, 0.0, 0.999_999_500_000_041_2, 1.0),
    ];
    for (text, from, to, low, high) in cases {
        assert_eq!(range(text, from, to), (low, high, true), "{text}");
    }
}

/// Checks that widening never crosses the value at a point where it is known exactly.
#[test]
fn known_values_are_not_crossed() {
    assert_eq!(range("exp(s)", 1e-300, 1.0).0, 1.0);
    assert_eq!(range("exp(s)", -1.0, -1e-300).1, 1.0);
    assert_eq!(range("tanh(s)", 5e-324, 1.0).0, 0.0);
    assert!(range("log(s)", 1.0_f64.next_up(), 2.0).0 >= 0.0);
    assert_eq!(range("cosh(s)", 1e-300, 1.0).0, 1.0);
}

#[test]
fn inexact_constants_are_widened() {
    let third = parsed("1/3").range(Interval::point(0.0));
    assert!(third.low < third.high);
    let tenth = parsed("0.1").range(Interval::point(0.0));
    assert!(tenth.low < 0.1 && 0.1 < tenth.high);
    let half = parsed("0.5").range(Interval::point(0.0));
    assert_eq!((half.low, half.high), (0.5, 0.5));
    let circle = parsed("pi").range(Interval::point(0.0));
    assert!(circle.low < circle.high);
    for exact in ["1e22", "1.50", "0.000", "25e-2", "1e-400*0"] {
        let bounds = parsed(exact).range(Interval::point(0.0));
        assert_eq!(bounds.low, bounds.high, "{exact}");
    }
}

#[test]
fn domains() {
    let cases = [
        ("log(s)", 1.0, 2.0, true),
        ("log(s)", 0.0, 2.0, false),
        ("log(s)", -1.0, 2.0, false),
        ("log(s)", -2.0, -1.0, false),
        ("log1p(s)", -0.5, 2.0, true),
        ("log1p(s)", -1.0, 2.0, false),
        ("sqrt(s)", 0.0, 2.0, true),
        ("sqrt(s)", -0.1, 2.0, false),
        ("1/s", 0.0, 2.0, false),
        ("1/s", -1.0, 2.0, false),
        ("1/s", 0.5, 2.0, true),
        ("s^-2", -1.0, 1.0, false),
        ("s^-2", 1.0, 2.0, true),
        ("s^0.5", 0.0, 2.0, true),
        ("s^0.3", 0.0, 2.0, true),
        ("s^0.3", -1.0, 2.0, false),
        ("s^-0.3", 0.0, 2.0, false),
        ("max(0, log(s))", -1.0, 2.0, false),
        ("0*log(s)", -1.0, 2.0, false),
        ("log(-1)", 0.0, 1.0, false),
        ("1/0", 0.0, 1.0, false),
    ];
    for (text, low, high, defined) in cases {
        assert_eq!(range(text, low, high).2, defined, "{text} over {low}, {high}");
    }
}

#[test]
fn improper_intervals_give_unknown_bounds() {
    let expression = parsed("s^2");
    let improper = [
        Interval::new(1.0, 0.0),
        Interval::new(f64::NAN, 0.0),
        Interval::new(0.0, f64::NAN),
        Interval::point(f64::INFINITY),
    ];
    for over in improper {
        assert_eq!(expression.range(over), Interval::UNKNOWN);
        assert_eq!(expression.slope_range(over), Interval::UNKNOWN);
        assert_eq!(expression.curvature_range(over), Interval::UNKNOWN);
    }
    assert_eq!(parsed("1/sin(s)").range(Interval::EVERYTHING), Interval::UNKNOWN);
    let undefined = Interval::UNKNOWN;
    assert!(expression.range(undefined).defined);
}

#[test]
fn derivative_bounds_of_usual_functions() {
    let everything = Interval::EVERYTHING;
    let cases = [
        ("log(1+exp(-s))", (-1.0, 0.0, true), (0.0, 0.25, true)),
        ("sigmoid(s)", (0.0, 0.25, true), (-0.0963, 0.0963, true)),
        ("1/(1+exp(s))", (-0.25, 0.0, true), (-0.0963, 0.0963, true)),
        ("tanh(s)", (0.0, 1.0, true), (-0.7699, 0.7699, true)),
        ("atan(s)", (0.0, 1.0, true), (-0.6496, 0.6496, true)),
        ("exp(-abs(s))", (-1.0, 1.0, true), (0.0, 1.0, false)),
        ("max(0, 1-s)", (-1.0, 0.0, true), (0.0, 0.0, false)),
        ("s^2", (f64::NEG_INFINITY, INFINITE, true), (2.0, 2.0, true)),
        ("sin(s)", (-1.0, 1.0, true), (-1.0, 1.0, true)),
        ("abs(s)^2", (f64::NEG_INFINITY, INFINITE, true), (2.0, 2.0, true)),
        ("max(0, 1-s)^2", (f64::NEG_INFINITY, 0.0, true), (0.0, 2.0, true)),
        ("sign(s)", (0.0, 0.0, false), (0.0, 0.0, false)),
    ];
    for (text, slope, curvature) in cases {
        let expression = parsed(text);
        let bounds = |found: Interval| (found.low, found.high, found.defined);
        assert_eq!(bounds(expression.slope_range(everything)), slope, "{text}");
        assert_eq!(bounds(expression.curvature_range(everything)), curvature, "{text}");
    }
    let right = parsed("exp(-abs(s))").slope_range(Interval::new(0.0, INFINITE));
    assert_eq!((right.low, right.high), (-1.0, 0.0));
    let hinge = parsed("max(0, 1-s)^2").slope_range(Interval::new(0.0, 3.0));
    assert_eq!((hinge.low, hinge.high, hinge.defined), (-2.0, 0.0, true));
}
