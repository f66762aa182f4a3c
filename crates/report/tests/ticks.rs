//! The positions and labels of ticks.

#![allow(clippy::float_cmp, reason = "the values must match exactly")]

use querist_report::{AxisScale, Tick, ticks};

const RANGES: [(f64, f64); 12] = [
    (0.0, 1.0),
    (-3.0, 3.0),
    (0.1, 0.3),
    (0.001, 0.0017),
    (-1e-7, 3e-7),
    (12.0, 12.5),
    (99_990.0, 100_010.0),
    (-2.5e9, 7.1e9),
    (0.0, 7.0),
    (-100.0, -99.0),
    (1e-250, 3e-250),
    (-1e240, 1e240),
];

/// Returns the significant digits of a number, without its exponent.
fn digits(value: f64) -> String {
    let text = format!("{value:.9e}");
    let mantissa = text.split('e').next().unwrap_or_default();
    mantissa.trim_end_matches('0').trim_end_matches('.').into()
}

fn values(found: &[Tick]) -> Vec<f64> {
    found.iter().map(|tick| tick.value).collect()
}

#[test]
fn linear_ticks_lie_in_the_range_at_steps_of_1_2_or_5() {
    for (low, high) in RANGES {
        for wanted in 1..=12 {
            let found = values(&ticks((low, high), AxisScale::Linear, wanted));
            assert!(found.len() >= 2, "{low} {high} {wanted}");
            assert!(found.len() <= 2 * wanted + 4, "{low} {high} {wanted}");
            assert!(found.iter().all(|value| (low..=high).contains(value)));
            let step = found[1] - found[0];
            assert!(["1", "2", "5"].contains(&digits(step).as_str()), "{step}");
            for pair in found.windows(2) {
                assert!((pair[1] - pair[0] - step).abs() <= 1e-6 * step);
            }
            let multiple = found[0] / step;
            assert!((multiple - multiple.round()).abs() < 1e-6);
        }
    }
}

#[test]
fn log_ticks_lie_in_the_range_and_are_1_2_or_5() {
    for (low, high) in [(1.0, 1e6), (0.02, 0.9), (3e-5, 2e3), (1e-200, 1e200), (2.0, 30.0)] {
        let found = values(&ticks((low, high), AxisScale::Log, 6));
        assert!((2..=10).contains(&found.len()), "{low} {high} {found:?}");
        assert!(found.iter().all(|value| (low..=high).contains(value)));
        assert!(found.iter().all(|&value| ["1", "2", "5"].contains(&digits(value).as_str())));
    }
}

#[test]
fn a_narrow_log_range_still_has_ticks() {
    let found = values(&ticks((3.1, 3.9), AxisScale::Log, 5));
    assert!(found.len() >= 2);
    assert!(found.iter().all(|value| (3.1..=3.9).contains(value)));
}

#[test]
fn labels_are_short_and_have_true_minus_signs() {
    let labels = |range, scale| -> Vec<String> {
        let found = ticks(range, scale, 4);
        found.into_iter().map(|tick| tick.label).collect()
    };
    assert_eq!(labels((-0.5, 0.5), AxisScale::Linear), ["−0.4", "−0.2", "0.0", "0.2", "0.4"]);
    assert_eq!(labels((0.0, 4e6), AxisScale::Linear)[1], "1×10⁶");
    assert_eq!(labels((1e-6, 1e-3), AxisScale::Log), ["10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³"]);
    assert_eq!(labels((1.0, 1000.0), AxisScale::Log), ["1", "10", "100", "1000"]);
    assert_eq!(labels((1.0, 10.0), AxisScale::Log), ["1", "2", "5", "10"]);
}

#[test]
fn labels_read_back_as_their_values() {
    for (low, high) in [(0.0, 1.0), (-3.0, 3.0), (0.001, 0.0017), (12.0, 12.5), (0.0, 80_000.0)] {
        for tick in ticks((low, high), AxisScale::Linear, 6) {
            let read: f64 = tick.label.replace('−', "-").parse().expect("a plain number");
            assert_eq!(read, tick.value);
        }
    }
}

#[test]
fn invalid_ranges_have_no_ticks() {
    assert!(ticks((f64::NAN, 1.0), AxisScale::Linear, 5).is_empty());
    assert!(ticks((0.0, f64::INFINITY), AxisScale::Linear, 5).is_empty());
    assert!(ticks((-1.0, 1.0), AxisScale::Log, 5).is_empty());
    assert!(ticks((0.0, 1.0), AxisScale::Linear, usize::MAX).len() < 1000);
}
