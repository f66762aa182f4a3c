//! Rows whose probabilities are so small that draws do not represent them.

use querist_engine::estimate::{DrawProbability, Estimator, Judgement, Range, Warning};

/// Returns draws from 200 rows of a pool of 2,000, without the other rows.
fn draws_from_a_tenth(count: u32) -> Vec<DrawProbability> {
    (0..count).map(|m| DrawProbability::exact(1.0 / f64::from(200 - m), 0.0)).collect()
}

/// Draws from a tenth of the pool carry no information about the rest.
#[test]
fn rows_that_are_never_drawn_widen_intervals() {
    let draws = draws_from_a_tenth(100);
    let estimator = Estimator::new(2000);
    let share = estimator.share(&[true; 100], &draws).unwrap();
    assert!(matches!(share.warning, Some(Warning::MissingRows { share }) if (share - 0.93).abs() < 0.01), "{share:?}");
    assert!(share.low < 0.1 && share.high == 1.0, "{share:?}");
    let mean = estimator.mean(&[1.0; 100], &draws, Range::Within(0.0, 2.0)).unwrap();
    assert!(mean.low < 0.11 && 1.9 < mean.high, "{mean:?}");
    let unbounded = estimator.mean(&[1.0; 100], &draws, Range::Unbounded).unwrap();
    assert!(unbounded.low < 0.11 && unbounded.high == f64::INFINITY, "{unbounded:?}");
    let signs: Vec<f64> = (0..100).map(|m| f64::from(m % 2) - 0.5).collect();
    let of_signs = estimator.mean(&signs, &draws, Range::Unbounded).unwrap();
    assert!(of_signs.low == f64::NEG_INFINITY && of_signs.high == f64::INFINITY, "{of_signs:?}");
    let judged = vec![Judgement { loss: 0.1, predicted: 0, truth: 0 }; 100];
    let precision = estimator.class_scores(&judged, &draws, 0, None).unwrap().precision.unwrap();
    assert!(precision.low < 0.11 && precision.high == 1.0, "{precision:?}");
}

/// A few draws of likely rows do not show that others are missing.
#[test]
fn a_few_draws_do_not_show_that_rows_are_missing() {
    for count in 1..=3 {
        let draws: Vec<DrawProbability> =
            (0..count).map(|m| DrawProbability::exact(1.25 / f64::from(2000 - m), 0.0)).collect();
        let share = Estimator::new(2000).share(&vec![true; draws.len()], &draws).unwrap();
        assert_eq!(share.warning, Some(Warning::FewDraws { draws: draws.len() }));
    }
}

/// All missing rows could be true positives, each of which adds 2 to both sums of F1, although no draw was one.
#[test]
fn missing_rows_could_be_true_positives() {
    let draws = draws_from_a_tenth(100);
    let judged: Vec<Judgement> =
        (0..100).map(|m| Judgement { loss: 0.1, predicted: m % 2, truth: 1 - m % 2 }).collect();
    let f1 = Estimator::new(2000).class_scores(&judged, &draws, 1, None).unwrap().f1.unwrap();
    assert!(matches!(f1.warning, Some(Warning::MissingRows { .. })), "{f1:?}");
    // Of 2,000 rows, 200 add 1 to the denominator, and 1,800 could add 2 to both sums.
    let best = 2.0 * 1800.0 / (2.0 * 1800.0 + 200.0);
    assert!(f1.value == 0.0 && best <= f1.high, "{f1:?} {best}");
}
