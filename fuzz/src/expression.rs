//! Expressions: bounds that contain values, correct parity and sign, text that parses again, kinks in order.

use querist_theory::expression::{Expression, Interval, Parity};

/// The points at which expressions are evaluated.
const POINTS: [f64; 16] =
    [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.5, 3.0, 1e-3, -1e-8, 10.0, -30.0, 700.0, 1e300, -1e-300, -1e8];

/// Checks one input.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Some((points, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let expression = match Expression::parse(text) {
        Ok(expression) => expression,
        Err(error) => {
            assert!((1..=text.chars().count() + 1).contains(&error.at), "{error} is not in the text");
            assert!(!error.message.is_empty(), "an error without a reason");
            return;
        }
    };
    // Constants may be NaN, so values are compared by their bits.
    let again = Expression::parse(expression.source()).expect("text that was read before");
    assert_eq!(again.source(), expression.source(), "its own text read again");
    let bits = |expression: &Expression| POINTS.map(|s| expression.value(s).to_bits());
    assert_eq!(bits(&again), bits(&expression), "its own text read again");
    let (a, b) = (POINTS[usize::from(points & 15)], POINTS[usize::from(points >> 4)]);
    let over = Interval::new(a.min(b), a.max(b));
    for s in [a, b, f64::midpoint(a, b)] {
        check_bounds(&expression, over, s);
        check_symmetry(&expression, s);
    }
    for s in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let _ = expression.jet(s);
        let _ = checked_bounds(&expression, Interval::new(a, s));
    }
    let _ = checked_bounds(&expression, Interval::EVERYTHING);
}

/// Checks the kinks of an expression. The search for them takes milliseconds, so it is a separate target.
///
/// # Panics
///
/// If a property is violated.
pub fn kinks(data: &[u8]) {
    let Some(expression) = std::str::from_utf8(data).ok().and_then(|text| Expression::parse(text).ok()) else { return };
    let kinks = expression.kinks();
    assert!(kinks.iter().all(|kink| kink.is_finite()), "kinks {kinks:?}");
    assert!(kinks.windows(2).all(|pair| pair[0] < pair[1]), "kinks {kinks:?}");
}

/// Returns the bounds of value, slope and curvature, each of which must contain at least one number.
fn checked_bounds(expression: &Expression, over: Interval) -> [Interval; 3] {
    let bounds = [expression.range(over), expression.slope_range(over), expression.curvature_range(over)];
    for bounds in bounds {
        assert!(bounds.is_proper(), "{bounds:?} over {over:?}");
    }
    bounds
}

/// Checks that bounds over an interval and at one of its points overlap, and that the value lies within both.
fn check_bounds(expression: &Expression, over: Interval, s: f64) {
    let (wide, narrow) = (checked_bounds(expression, over), checked_bounds(expression, Interval::point(s)));
    for (wide, narrow) in wide.iter().zip(&narrow).filter(|(_, narrow)| narrow.defined) {
        assert!(meet(*wide, *narrow), "{narrow:?} at {s} is outside {wide:?} over {over:?}");
    }
    let jet = expression.jet(s);
    assert_eq!(jet.value.to_bits(), expression.value(s).to_bits(), "one value at {s}");
    if narrow[0].defined && !jet.value.is_nan() {
        assert!(narrow[0].contains(jet.value), "{} at {s} is outside {:?}", jet.value, narrow[0]);
        assert!(wide[0].contains(jet.value), "{} at {s} is outside {:?} over {over:?}", jet.value, wide[0]);
    }
}

/// Checks the sign and the parity of an expression at a point.
fn check_symmetry(expression: &Expression, s: f64) {
    let (here, there) = (expression.range(Interval::point(s)), expression.range(Interval::point(-s)));
    if here.defined && expression.is_positive() {
        assert!(0.0 < here.high, "a positive expression is in {here:?} at {s}");
    }
    if here.defined && there.defined {
        let mirrored = match expression.parity() {
            Parity::Even => there,
            Parity::Odd => -there,
            Parity::Unknown => return,
        };
        assert!(meet(here, mirrored), "{:?}: {here:?} at {s}, {there:?} at its negative", expression.parity());
    }
}

fn meet(left: Interval, right: Interval) -> bool {
    left.low <= right.high && right.low <= left.high
}
