//! Laws of forests: what a fit depends on, and what scores may be.

mod common;

use common::{plain, without_zeros};
use querist_engine::coin::Coin;
use querist_engine::forest::{Forest, ForestError, ForestSettings, SavedForest};
use querist_engine::task::Labels;
use querist_rows::{DenseRows, Row, Rows, Sparse, SparseRows};

const KINDS: [Labels; 4] = [Labels::Binary, Labels::Classes(2), Labels::Classes(5), Labels::Numbers];
const SMALL: ForestSettings = forest_settings(40);

const fn forest_settings(trees: usize) -> ForestSettings {
    ForestSettings { trees, least_leaf: 1, features_per_split: None }
}

fn fit(rows: &Rows, labels: &[f64], weights: &[f64], kind: Labels) -> Forest {
    Forest::fit(rows, labels, weights, kind, &SMALL, 3).expect("valid answers")
}

fn all_scores(forest: &Forest, rows: &Rows) -> Vec<f64> {
    let mut out = vec![0.0; rows.len() * forest.outputs()];
    forest.scores_of_rows(rows, 0..rows.len(), &mut out);
    out
}

/// Returns the same rows with some values changed.
fn changed(rows: &Rows, mut change: impl FnMut(usize, usize, f32) -> f32) -> Rows {
    let Rows::Dense(rows) = rows else { panic!("dense rows") };
    let dim = rows.dim();
    let values = rows.values().iter().enumerate().map(|(at, x)| change(at / dim, at % dim, *x)).collect();
    Rows::Dense(DenseRows::from_values(dim, values).unwrap())
}

/// Returns the same rows, of which a share misses values.
fn with_gaps(rows: &Rows, share: f64, seed: u64) -> Rows {
    let coin = Coin::new(seed, "gaps");
    changed(rows, |row, j, x| if coin.unit((1000 * row + j) as u64) < share { f32::NAN } else { x })
}

/// Returns the share of right predictions, or R² in regression.
fn quality(forest: &Forest, rows: &Rows, labels: &[f64]) -> f64 {
    let scores = all_scores(forest, rows);
    let right = |(scores, label): (&[f64], &f64)| match forest.labels() {
        Labels::Binary => f64::from((0.0 < scores[0]) == (0.0 < *label)),
        _ => f64::from(scores.iter().all(|score| *score <= scores[*label as usize])),
    };
    if forest.labels() != Labels::Numbers {
        return scores.chunks_exact(forest.outputs()).zip(labels).map(right).sum::<f64>() / labels.len() as f64;
    }
    let mean = labels.iter().sum::<f64>() / labels.len() as f64;
    let squares = |other: &dyn Fn(usize) -> f64| -> f64 {
        labels.iter().enumerate().map(|(at, label)| (label - other(at)).powi(2)).sum()
    };
    1.0 - squares(&|at| scores[at]) / squares(&|_| mean)
}

#[test]
fn a_fit_depends_neither_on_threads_nor_on_repetition() {
    for kind in KINDS {
        let (rows, labels) = plain(120, 6, 5, kind);
        let rows = with_gaps(&rows, 0.05, 1);
        let forest = fit(&rows, &labels, &[1.0; 120], kind);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| fit(&rows, &labels, &[1.0; 120], kind)), forest, "{kind:?}");
        }
        let other = Forest::fit(&rows, &labels, &[1.0; 120], kind, &SMALL, 4).unwrap();
        assert_ne!(other, forest, "the seed matters");
    }
}

#[test]
fn weight_zero_means_absent_and_only_ratios_of_weights_count() {
    for kind in KINDS {
        let (rows, labels) = plain(90, 5, 6, kind);
        let weights: Vec<f64> = (0..90).map(|i| [1.0, 0.0, 2.5][i % 3]).collect();
        let mut present = rows.empty_like();
        let mut kept = (vec![], vec![]);
        for row in (0..90).filter(|row| weights[*row] != 0.0) {
            present.push(rows.row(row));
            kept.0.push(labels[row]);
            kept.1.push(weights[row]);
        }
        // A skipped row may have any label.
        let mut invalid = labels.clone();
        invalid[1] = f64::NAN;
        let forest = fit(&rows, &invalid, &weights, kind);
        assert_eq!(forest, fit(&present, &kept.0, &kept.1, kind), "{kind:?}");
        let doubled: Vec<f64> = weights.iter().map(|weight| 2.0 * weight).collect();
        assert_eq!(forest, fit(&rows, &labels, &doubled, kind), "{kind:?}");
    }
}

/// Scores of blocks, single rows, parts of a range and sparse rows agree bit for bit.
#[test]
fn all_ways_to_score_agree() {
    for kind in KINDS {
        for share in [0.0, 0.1] {
            let (rows, labels) = plain(333, 7, 7, kind);
            let rows = changed(&rows, |row, j, x| if (row + j) % 3 == 0 { 0.0 } else { x });
            let rows = with_gaps(&rows, share, 2);
            let forest = fit(&rows, &labels, &[1.0; 333], kind);
            let (scores, outputs) = (all_scores(&forest, &rows), forest.outputs());
            let mut one = vec![0.0; outputs];
            for row in 0..333 {
                forest.scores(rows.row(row), &mut one);
                assert_eq!(one, scores[row * outputs..(row + 1) * outputs], "{kind:?}, row {row}");
            }
            let mut part = vec![0.0; 90 * outputs];
            forest.scores_of_rows(&rows, 200..290, &mut part);
            assert_eq!(part, scores[200 * outputs..290 * outputs]);
            let sparse = without_zeros(&rows);
            assert_eq!(all_scores(&forest, &sparse), scores);
            assert_eq!(fit(&sparse, &labels, &[1.0; 333], kind), forest);
        }
    }
}

#[test]
fn scores_are_finite_and_probabilities_sum_to_one() {
    let extreme = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -0.0, f32::MIN_POSITIVE];
    for kind in KINDS {
        for n in [1, 2, 19, 20, 21, 150] {
            let (rows, labels) = plain(n, 4, n as u64, kind);
            let rows = changed(&rows, |row, j, x| if (row + j) % 5 == 0 { extreme[(row + j) % 6] } else { x });
            let forest = fit(&rows, &labels, &vec![1.0; n], kind);
            let tests =
                changed(&plain(60, 4, 1, kind).0, |row, j, x| if row % 2 == 0 { extreme[(row + j) % 6] } else { x });
            for scores in all_scores(&forest, &tests).chunks_exact(forest.outputs()) {
                assert!(scores.iter().all(|score| score.is_finite()), "{kind:?}, {n}: {scores:?}");
                let sum: f64 = scores.iter().map(|score| score.exp()).sum();
                assert!(1 == scores.len() || (sum - 1.0).abs() < 1e-12, "{kind:?}, {n}: {sum}");
            }
            let spread = forest.spread(Row::Dense(&[f32::NAN; 4]));
            assert_eq!(spread.is_some(), kind == Labels::Numbers);
            assert!(spread.is_none_or(|spread| 0.0 <= spread && spread.is_finite()), "{n}: {spread:?}");
        }
    }
}

#[test]
fn one_class_or_one_row_is_predicted_but_not_with_certainty() {
    for kind in [Labels::Binary, Labels::Classes(3)] {
        let label = kind.label(1);
        let mut last = 0.0;
        for n in [1, 10, 100] {
            let (rows, _) = plain(n, 3, 1, kind);
            let forest = fit(&rows, &vec![label; n], &vec![1.0; n], kind);
            let mut scores = vec![0.0; forest.outputs()];
            forest.scores(rows.row(0), &mut scores);
            let sure = if kind == Labels::Binary { scores[0] } else { scores[1] - scores[0] };
            assert!(last < sure && sure < 12.0, "{kind:?}, {n}: {sure}");
            last = sure;
        }
    }
    let row = Rows::Dense(DenseRows::from_values(2, vec![1.0, 2.0]).unwrap());
    let forest = fit(&row, &[1e6], &[0.3], Labels::Numbers);
    assert_eq!(all_scores(&forest, &row), [1e6]);
    assert_eq!(forest.spread(row.row(0)), Some(0.0));
}

#[test]
fn rows_without_features_get_the_shares_of_the_classes() {
    let mut rows = SparseRows::new(0);
    for _ in 0..30 {
        rows.push(Sparse { index: &[], value: &[] });
    }
    let labels: Vec<f64> = (0..30).map(|row| if row < 10 { 1.0 } else { -1.0 }).collect();
    let rows = Rows::Sparse(rows);
    let scores = all_scores(&fit(&rows, &labels, &[1.0; 30], Labels::Binary), &rows);
    assert!(scores.iter().all(|score| (score + 2.0_f64.ln()).abs() < 0.2), "{scores:?}");
}

/// The order of values decides, and thresholds lie between values of the fit.
#[test]
fn increasing_transformations_change_no_prediction_for_the_answers() {
    for kind in KINDS {
        let (rows, labels) = plain(150, 5, 8, kind);
        let rows = with_gaps(&rows, 0.05, 3);
        let bent = changed(&rows, |_, j, x| match j {
            0 => x.exp(),
            1 => x * x * x,
            2 => 1000.0 * x - 7.0,
            3 => x.atan(),
            _ => x,
        });
        let (forest, other) = (fit(&rows, &labels, &[1.0; 150], kind), fit(&bent, &labels, &[1.0; 150], kind));
        assert_eq!(all_scores(&forest, &rows), all_scores(&other, &bent), "{kind:?}");
    }
}

/// A decreasing map of the target is one of the mean, and the spread scales with it.
#[test]
fn predictions_in_regression_follow_the_unit_of_the_target() {
    let (rows, labels) = plain(200, 4, 9, Labels::Numbers);
    let other: Vec<f64> = labels.iter().map(|label| 3.0 - 8.0 * label).collect();
    let [forest, mapped] = [&labels, &other].map(|labels| fit(&rows, labels, &[1.0; 200], Labels::Numbers));
    let (mut errors, mut count) = (0.0, 0.0);
    for (a, b) in all_scores(&forest, &rows).iter().zip(all_scores(&mapped, &rows)) {
        errors += (3.0 - 8.0 * a - b).abs();
        count += 1.0;
    }
    // The folds follow the order of targets, so the trees are not the same.
    assert!(errors / count < 0.4, "{}", errors / count);
    let shifted: Vec<f64> = labels.iter().map(|label| 16.0 * label).collect();
    let scaled = fit(&rows, &shifted, &[1.0; 200], Labels::Numbers);
    for row in 0..200 {
        let [a, b] = [&forest, &scaled].map(|forest| forest.spread(rows.row(row)).unwrap());
        assert!((16.0 * a / b - 1.0).abs() < 1e-6, "{a} and {b}");
    }
}

#[test]
fn forests_learn_also_with_missing_values_and_from_missing_values() {
    for kind in KINDS {
        let (rows, labels) = plain(500, 5, 10, kind);
        let (tests, expected) = plain(500, 5, 11, kind);
        let (least, least_with_gaps) = if kind == Labels::Classes(5) { (0.55, 0.42) } else { (0.6, 0.45) };
        let forest = fit(&rows, &labels, &[1.0; 500], kind);
        let reached = quality(&forest, &tests, &expected);
        assert!(least < reached, "{kind:?}: {reached}");
        let forest = fit(&with_gaps(&rows, 0.2, 4), &labels, &[1.0; 500], kind);
        let reached = quality(&forest, &with_gaps(&tests, 0.2, 5), &expected);
        assert!(least_with_gaps < reached, "{kind:?} with gaps: {reached}");
    }
    // Whether a value is missing is all there is to know.
    let label = |row: usize| if row.is_multiple_of(3) { 1.0 } else { -1.0 };
    let rows =
        changed(&plain(300, 2, 12, Labels::Binary).0, |row, j, x| if row % 3 == 0 && j == 1 { f32::NAN } else { x });
    let labels: Vec<f64> = (0..300).map(label).collect();
    let forest = fit(&rows, &labels, &[1.0; 300], Labels::Binary);
    assert_eq!(quality(&forest, &rows, &labels), 1.0);
    let mut score = [0.0];
    forest.scores(Row::Dense(&[0.1, f32::NAN]), &mut score);
    assert!(2.0 < score[0], "{score:?}");
}

/// In ten thousand predictions, those of about p are right about p of the time.
#[test]
fn probabilities_are_calibrated() {
    let (rows, labels) = plain(600, 4, 13, Labels::Binary);
    let forest = Forest::fit(&rows, &labels, &[1.0; 600], Labels::Binary, &ForestSettings::default(), 1).unwrap();
    let (tests, expected) = plain(10_000, 4, 14, Labels::Binary);
    let mut bins = [(0.0, 0.0, 0.0); 5];
    for (score, label) in all_scores(&forest, &tests).iter().zip(&expected) {
        let p = 1.0 / (1.0 + (-score).exp());
        let bin = &mut bins[((p * 5.0) as usize).min(4)];
        *bin = (bin.0 + 1.0, bin.1 + p, bin.2 + f64::from(0.0 < *label));
    }
    for (count, p, right) in bins {
        assert!((p - right).abs() / count < 0.08, "{count} of {} are {}", p / count, right / count);
    }
}

#[test]
fn a_saved_forest_has_the_same_bits_and_a_damaged_one_is_rejected() {
    for kind in KINDS {
        let (rows, labels) = plain(80, 4, 15, kind);
        let forest = fit(&with_gaps(&rows, 0.1, 6), &labels, &[1.0; 80], kind);
        let restored = Forest::try_from(SavedForest::from(&forest)).unwrap();
        assert_eq!(restored, forest);
        assert_eq!(all_scores(&restored, &rows), all_scores(&forest, &rows));
    }
}

#[test]
fn invalid_answers_are_errors() {
    let (rows, labels) = plain(3, 2, 1, Labels::Classes(3));
    let try_fit = |rows: &Rows, labels: &[f64], weights: &[f64], trees: usize| {
        Forest::fit(rows, labels, weights, Labels::Classes(3), &forest_settings(trees), 1).unwrap_err()
    };
    assert_eq!(try_fit(&rows, &labels, &[0.0; 3], 5), ForestError::NoAnswers);
    assert_eq!(try_fit(&rows.empty_like(), &[], &[], 5), ForestError::NoAnswers);
    assert_eq!(try_fit(&rows, &labels, &[1.0; 3], 0), ForestError::NoTrees);
    let lengths = ForestError::Lengths { rows: 3, labels: 3, weights: 2 };
    assert_eq!(try_fit(&rows, &labels, &[1.0; 2], 5), lengths);
    assert_eq!(try_fit(&rows, &labels, &[1.0, -1.0, 1.0], 5), ForestError::Weight { answer: 1, weight: -1.0 });
    let label = ForestError::Label { answer: 2, label: 3.0, labels: Labels::Classes(3) };
    assert_eq!(try_fit(&rows, &[0.0, 1.0, 3.0], &[1.0; 3], 5), label);
    assert_eq!(label.to_string(), "label 3 of answer 2 is not a whole number from 0 to 2");
    let wide = Rows::Sparse(SparseRows::new(5000));
    assert_eq!(try_fit(&wide, &[], &[], 5), ForestError::Sparse { features: 5000 });
}
