//! Every computed value lies within the bounds over any interval around it.

use super::super::{Expression, Interval};
use super::parsed;
use super::sample::{EXPRESSIONS, HashedNumbers, grown};

fn random_interval(sample: &mut HashedNumbers) -> Interval {
    let (first, second) = match sample.below(4) {
        0 => (sample.between(-3.0, 3.0), sample.between(-3.0, 3.0)),
        1 => {
            let middle = sample.between(-3.0, 3.0);
            (middle, middle + 1e-6 * sample.unit())
        }
        2 => {
            let whole = sample.between(-3.0, 3.0).round();
            (whole, whole + sample.below(3) as f64)
        }
        _ => (sample.wild(), sample.wild()),
    };
    let mut interval = Interval::new(first.min(second), first.max(second));
    if sample.below(16) == 0 {
        interval.low = f64::NEG_INFINITY;
    }
    if sample.below(16) == 0 {
        interval.high = f64::INFINITY;
    }
    interval
}

/// Returns a point of the interval, often one of its ends.
fn random_point(sample: &mut HashedNumbers, over: Interval) -> f64 {
    let (low, high) = (over.low.max(-1e4), over.high.min(1e4));
    if low > high {
        return f64::midpoint(over.low.max(f64::MIN), over.high.min(f64::MAX));
    }
    match sample.below(8) {
        0 => low,
        1 => high,
        2 if over.contains(0.0) => 0.0,
        _ => sample.between(low, high),
    }
}

fn check_point(expression: &Expression, over: Interval, s: f64) {
    let text = expression.source();
    let jet = expression.jet(s);
    let range = expression.range(over);
    // At a pole the double arithmetic continues with an infinity of either sign, although the
    // function has no value there.
    if jet.value.is_nan() || !expression.range(Interval::point(s)).defined {
        return;
    }
    assert!(range.contains(jet.value), "{text} over {over:?} at {s}: {range:?} misses {}", jet.value);
    // The rules for doubles may round in a different order than those for intervals, so the
    // derivatives get a small tolerance.
    let near = |bounds: Interval, found: f64, kind: &str| {
        let slack = 1e-10 * (1.0 + found.abs());
        let inside = bounds.low - slack <= found && found <= bounds.high + slack;
        assert!(inside || !found.is_finite(), "{kind} of {text} over {over:?} at {s}: {bounds:?} misses {found}");
    };
    near(expression.slope_range(over), jet.slope, "slope");
    near(expression.curvature_range(over), jet.curvature, "curvature");
}

#[test]
fn random_points_of_random_intervals() {
    let mut sample = HashedNumbers::new(3);
    for text in EXPRESSIONS {
        let expression = parsed(text);
        for _ in 0..300 {
            let over = random_interval(&mut sample);
            for _ in 0..12 {
                let s = random_point(&mut sample, over);
                check_point(&expression, over, s);
                // Far from zero, an overflow may hide a value that exists.
                let missing = expression.value(s).is_nan() && s.abs() < 30.0;
                assert!(!(missing && expression.range(over).defined), "{text} at {s}");
            }
        }
    }
}

#[test]
fn single_points() {
    let mut sample = HashedNumbers::new(4);
    for text in EXPRESSIONS {
        let expression = parsed(text);
        for _ in 0..500 {
            let s = sample.between(-4.0, 4.0);
            check_point(&expression, Interval::point(s), s);
        }
    }
}

/// Asserts that a function changes between two points no faster than its slope bounds allow.
/// Asserts the same of the slope and its curvature bounds. Checks only what is guaranteed.
fn check_guarantees(expression: &Expression, over: Interval, points: [f64; 2], allowance: f64) {
    let [first, second] = points;
    let (from, to) = (expression.jet(first), expression.jet(second));
    let pairs = [
        (expression.slope_range(over), from.value, to.value),
        (expression.curvature_range(over), from.slope, to.slope),
    ];
    for (bounds, start, end) in pairs {
        let change = end - start;
        if !bounds.defined || !change.is_finite() || first == second {
            continue;
        }
        let fastest = bounds.high.max(-bounds.low);
        let slack = allowance * (1.0 + start.abs() + end.abs());
        assert!(
            change.abs() <= fastest * (second - first).abs() + slack,
            "{} from {first} to {second} within {over:?}: {bounds:?}",
            expression.source()
        );
    }
}

#[test]
fn continuity_guarantees_hold() {
    let mut sample = HashedNumbers::new(5);
    for text in EXPRESSIONS {
        let expression = parsed(text);
        for _ in 0..300 {
            let over = random_interval(&mut sample);
            let first = random_point(&mut sample, over);
            let second = random_point(&mut sample, over);
            check_guarantees(&expression, over, [first, second], 1e-9);
        }
    }
}

/// Checks the same for random, unrealistic expressions.
#[test]
fn random_trees() {
    let mut sample = HashedNumbers::new(10);
    for _ in 0..20_000 {
        let depth = 1 + sample.below(4);
        let expression = parsed(&grown(&mut sample, depth));
        for _ in 0..4 {
            let over = random_interval(&mut sample);
            let first = random_point(&mut sample, over);
            let second = random_point(&mut sample, over);
            check_point(&expression, over, first);
            // Such expressions may cancel badly when computed in doubles.
            check_guarantees(&expression, over, [first, second], 1e-4);
        }
    }
}
