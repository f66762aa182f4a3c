//! Laws of pools that another model scores.

use super::*;
use crate::rows::DenseRows;

fn settings(rows: usize, rule: &str, seed: u64) -> ScoredPoolSettings {
    ScoredPoolSettings { rows, rule: rule.to_owned(), classes: None, cold: ColdMethod::None, precision: None, seed }
}

/// Returns probabilities of rows, from sharp to even.
fn table(rows: usize, classes: usize) -> Vec<f64> {
    let coin = Coin::new(1, "table");
    let mut values: Vec<f64> = (0..rows * classes).map(|at| coin.unit(at as u64).powf(1.0 + (at % 7) as f64)).collect();
    for row in values.chunks_exact_mut(classes) {
        let sum: f64 = row.iter().sum();
        for p in row {
            *p /= sum;
        }
    }
    values
}

const RULES: [&str; 6] = ["boundary", "rare", "entropy", "least-confidence", "constant", "boundary:share=0.05"];

#[test]
fn u_of_probabilities_is_that_of_their_logarithms() {
    for classes in [2, 3, 10] {
        let values = table(3000, classes);
        let logs: Vec<f64> = values.iter().map(|p| p.ln()).collect();
        let one = Predictions::new(PredictionValues::F64(&values), classes, PredictionKind::Probabilities);
        let other = Predictions::new(PredictionValues::F64(&logs), classes, PredictionKind::Scores);
        for rule in RULES {
            let mut pool = ScoredPool::new(settings(3000, rule, 1)).unwrap();
            pool.set_classes(classes).unwrap();
            let rule_of = |predictions| pool.settled_rule(predictions).unwrap();
            let (mut a, mut b) = (vec![0.0; 3000], vec![0.0; 3000]);
            one.fill(&rule_of(&one), 0, &mut a).unwrap();
            other.fill(&rule_of(&other), 0, &mut b).unwrap();
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * a.max(1e-6);
            assert!(a.iter().zip(&b).all(close), "{rule} of {classes}");
            // A single row has the same bits as the pool.
            let rule = rule_of(&one);
            assert!((0..3000).all(|row| one.prediction(row).unwrap().uncertainty(&rule).to_bits() == a[row].to_bits()));
        }
    }
}

#[test]
fn a_single_column_is_the_second_of_two_classes() {
    let values = table(500, 2);
    let seconds: Vec<f64> = values.iter().skip(1).step_by(2).map(|p| p.clamp(0.0, 0.999_999)).collect();
    let firsts: Vec<f64> = seconds.iter().flat_map(|p| [1.0 - p, *p]).collect();
    let logits: Vec<f64> = seconds.iter().map(|p| p.ln() - (1.0 - p).ln()).collect();
    let draws = |values: &[f64], columns, kind| {
        let predictions = Predictions::new(PredictionValues::F64(values), columns, kind);
        let mut pool = ScoredPool::new(settings(500, "boundary", 3)).unwrap();
        pool.draw(Some(&predictions), None, 50).unwrap().iter().map(|draw| draw.row).collect::<Vec<_>>()
    };
    let expected = draws(&firsts, 2, PredictionKind::Probabilities);
    assert_eq!(draws(&seconds, 1, PredictionKind::Probabilities), expected);
    assert_eq!(draws(&logits, 1, PredictionKind::Scores), expected);
}

#[test]
fn probabilities_are_exact_and_at_least_the_floor() {
    let values = table(2000, 3);
    let predictions = Predictions::new(PredictionValues::F64(&values), 3, PredictionKind::Probabilities);
    for rule in RULES {
        let mut pool = ScoredPool::new(settings(2000, rule, 3)).unwrap();
        for _ in 0..5 {
            let settled = {
                pool.set_classes(3).unwrap();
                pool.settled_rule(&predictions).unwrap()
            };
            let mut u = vec![0.0; 2000];
            predictions.fill(&settled, 0, &mut u).unwrap();
            pool.draws().iter().for_each(|draw| u[draw.row] = 0.0);
            for draw in pool.draw(Some(&predictions), None, 20).unwrap() {
                let sum: f64 = u.iter().sum();
                assert!((draw.probability / (u[draw.row] / sum) - 1.0).abs() < 1e-9, "{rule}");
                u[draw.row] = 0.0;
                pool.record(draw);
            }
        }
        assert!(pool.probabilities().iter().all(|draw| draw.floor <= draw.probability));
        if rule == "boundary" {
            let floors = pool.probabilities();
            assert!(floors.iter().enumerate().all(|(index, draw)| 0.19 < draw.floor * (2000 - index) as f64));
        }
    }
}

#[test]
fn a_cold_start_lasts_until_every_class_has_a_label() {
    let values = table(300, 3);
    let predictions = Predictions::new(PredictionValues::F64(&values), 3, PredictionKind::Probabilities);
    let rows = Rows::Dense(DenseRows::from_values(2, table(300, 2).iter().map(|x| *x as f32).collect()).unwrap());
    for cold in [ColdMethod::Random, ColdMethod::Coverage] {
        let mut pool = ScoredPool::new(ScoredPoolSettings { cold, ..settings(300, "boundary", 5) }).unwrap();
        let mut methods = vec![];
        // The last class appears with the ninth label.
        for step in 0..12 {
            let given = (0 < step).then_some(&predictions);
            let draw = pool.draw(given, Some(&rows), 1).unwrap().remove(0);
            methods.push(draw.method);
            pool.record(draw);
            pool.answer(step, if step == 8 { 2 } else { step % 2 });
        }
        let is_cold = |method: &DrawMethod| *method != DrawMethod::Rule;
        assert!(methods[..9].iter().all(is_cold) && !methods[9..].iter().any(is_cold), "{methods:?}");
        assert_eq!(pool.draw(None, None, 1), Err(ScoredPoolError::NoPredictions));
    }
    let mut pool =
        ScoredPool::new(ScoredPoolSettings { cold: ColdMethod::Coverage, ..settings(300, "boundary", 5) }).unwrap();
    assert_eq!(pool.draw(None, None, 1), Err(ScoredPoolError::NoFeatures));
}
