//! Diversification of rows drawn before any answer: the distribution of the draws, and estimates from them.

mod common;

use common::{LearnerRecipe, plain, without_zeros};
use querist_engine::fit::Refit;
use querist_engine::pool::{
    Draw, Drawn, NEAR_FACTOR, Objective, PoolLearner, RefitPool, RefitSettings, Replacement, SgdPool, SgdSettings,
};
use querist_engine::stream::Importance;
use querist_engine::task::{self, Labels};
use querist_rows::Features;
use querist_rows::{DenseRows, Rows};

const WITHIN: f64 = 0.1;

/// Returns `n` rows: copies of every row four at a time, slightly perturbed.
fn repeated(n: usize) -> (Rows, Vec<f64>) {
    let (origins, labels) = plain(n / 4, 3, 6, Labels::Binary);
    let (moves, _) = plain(n, 3, 8, Labels::Binary);
    let Rows::Dense(mut rows) = origins.empty_like() else { panic!("plain rows are dense") };
    for row in 0..n {
        let mut x = vec![0.0; 3];
        origins.row(row / 4).add_to(1.0, &mut x);
        moves.row(row).add_to(0.02, &mut x);
        rows.push(&x.iter().map(|x| *x as f32).collect::<Vec<_>>());
    }
    (Rows::Dense(rows), (0..n).map(|row| labels[row / 4]).collect())
}

fn learner(rows: &Rows, draw: Draw, seed: u64) -> SgdPool {
    let recipe =
        LearnerRecipe { start: Some(vec![1.5, -0.5, 0.25, 0.0]), ..LearnerRecipe::new("logistic", "entropy", 3) };
    let importance = Importance::Equivalent;
    let settings = SgdSettings { draw, replacement: Replacement::Without, importance, seed };
    let mut pool = SgdPool::new(recipe.learner(), recipe.rules(), rows.len(), settings).unwrap();
    pool.diversify(WITHIN).unwrap();
    pool
}

/// Returns whether two rows are near, computed from the definition.
fn are_near(rows: &Rows, a: usize, b: usize) -> bool {
    let point = |row: usize| {
        let mut x = vec![0.0; rows.dim()];
        rows.row(row).add_to(1.0, &mut x);
        x
    };
    let (a, b) = (point(a), point(b));
    let difference: f64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
    difference <= WITHIN * a.iter().chain(&b).map(|x| x * x).sum::<f64>()
}

/// Returns U of every row after these were drawn, computed from the definition.
fn by_definition(learner: &SgdPool, rows: &Rows, drawn: &[usize], asked: &[usize]) -> Vec<f64> {
    let share = |row: usize| if drawn.iter().any(|other| are_near(rows, row, *other)) { NEAR_FACTOR } else { 1.0 };
    let left = |row: usize| f64::from(u8::from(!asked.contains(&row)));
    (0..rows.len()).map(|row| left(row) * share(row) * learner.uncertainty(rows.row(row))).collect()
}

#[test]
fn probabilities_within_a_batch_are_exact_and_reset_by_an_answer() {
    let (dense, labels) = repeated(400);
    for rows in [dense.clone(), without_zeros(&dense)] {
        let mut learner = learner(&rows, Draw::Scan, 2);
        let mut asked = vec![];
        for _ in 0..6 {
            let mut batch: Vec<Drawn> = vec![];
            for _ in 0..6 {
                let before: Vec<usize> = batch.iter().map(|drawn| drawn.row).collect();
                let law = by_definition(&learner, &rows, &before, &asked);
                let drawn = learner.ask(&rows).unwrap();
                let total: f64 = law.iter().sum();
                assert!((drawn.probability.unwrap() - law[drawn.row] / total).abs() < 1e-12);
                let chance = drawn.draw_probability(rows.len() - asked.len()).unwrap();
                assert!((chance.probability - law[drawn.row] / total).abs() < 1e-12);
                let least = law.iter().copied().filter(|u| 0.0 < *u).fold(1.0, f64::min);
                assert!(chance.floor <= least / total * (1.0 + 1e-12));
                asked.push(drawn.row);
                batch.push(drawn);
            }
            let answers: Vec<_> = batch.iter().map(|drawn| (rows.row(drawn.row), *drawn, labels[drawn.row])).collect();
            learner.answer(&answers).unwrap();
        }
    }
}

/// Proposals have the distribution of a pass: the second row of a batch, over many seeds, is within 6 standard errors
/// of its probability.
#[test]
fn proposals_are_diversified_with_the_same_distribution() {
    let (rows, _) = repeated(40);
    let first = learner(&rows, Draw::Scan, 1).ask(&rows).unwrap();
    let mut counts = [0_u32; 40];
    for seed in 0..800 {
        let mut learner = learner(&rows, Draw::Reject, seed);
        learner.record(&first, rows.row(first.row));
        counts[learner.ask(&rows).unwrap().row] += 1;
    }
    let law = by_definition(&learner(&rows, Draw::Scan, 1), &rows, &[first.row], &[first.row]);
    let (n, total) = (f64::from(counts.iter().sum::<u32>()), law.iter().sum::<f64>());
    for (count, u) in counts.iter().zip(&law) {
        let p = u / total;
        assert!((f64::from(*count) - n * p).abs() <= 6.0 * (n * p * (1.0 - p)).sqrt(), "{count} of {}", n * p);
    }
}

/// Batches repeat near rows at least four times less often, and the mean of the accuracies estimated from them is that
/// of the pool.
#[test]
fn batches_repeat_near_rows_less_and_estimates_stay_unbiased() {
    let (rows, labels) = repeated(240);
    let (mut repeats, mut differences) = ([0, 0], vec![]);
    for seed in 0..150 {
        for (index, is_diversified) in [false, true].into_iter().enumerate() {
            let task = task::parse("logistic", Labels::Binary).unwrap();
            let refit = Refit::new(&*task, true, rows.empty_like(), Some(1.0), seed).unwrap();
            let recipe = LearnerRecipe { seed, ..LearnerRecipe::new("logistic", "margin:share=0.1,floor=0.3", 3) };
            let (draw, objective) = (Draw::Scan, Objective::AsAsked);
            let settings = RefitSettings { draw, seed, refit, objective, labels: Labels::Binary };
            let mut learner = RefitPool::new(recipe.learner(), recipe.rules(), rows.len(), settings).unwrap();
            if is_diversified {
                learner.diversify(WITHIN).unwrap();
            }
            for _ in 0..12 {
                let batch: Vec<Drawn> = (0..6).map(|_| learner.ask(&rows).unwrap()).collect();
                for (at, drawn) in batch.iter().enumerate() {
                    repeats[index] +=
                        u32::from(batch[..at].iter().any(|before| are_near(&rows, before.row, drawn.row)));
                }
                let answers: Vec<_> =
                    batch.iter().map(|drawn| (rows.row(drawn.row), *drawn, labels[drawn.row])).collect();
                learner.answer(&answers).unwrap();
            }
            if is_diversified {
                let right = (0..rows.len()).filter(|row| {
                    let mut score = [0.0];
                    learner.learner().scores(rows.row(*row), &mut score);
                    score[0] * labels[*row] > 0.0
                });
                differences.push(learner.assess(None).unwrap().score.value - right.count() as f64 / rows.len() as f64);
            }
        }
    }
    assert!(4 * repeats[1] < repeats[0], "{repeats:?}");
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let deviation = (differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    assert!(mean.abs() < 4.0 * deviation / n.sqrt(), "{mean} of {deviation}");
}

#[test]
fn rows_without_features_are_near_each_other_only() {
    let mut rows = DenseRows::new(1);
    for x in [0.0, 0.0, 1.0] {
        rows.push(&[x]);
    }
    let rows = Rows::Dense(rows);
    let recipe = LearnerRecipe::new("logistic", "constant", 1);
    let (replacement, importance) = (Replacement::Without, Importance::Equivalent);
    for seed in 0..50 {
        let settings = SgdSettings { draw: Draw::Scan, replacement, importance, seed };
        let mut learner = SgdPool::new(recipe.learner(), recipe.rules(), 3, settings).unwrap();
        learner.diversify(WITHIN).unwrap();
        let (first, second) = (learner.ask(&rows).unwrap(), learner.ask(&rows).unwrap());
        let expected = match (first.row, second.row) {
            (2, _) => 0.5,
            (_, 2) => 1.0 / (1.0 + NEAR_FACTOR),
            _ => NEAR_FACTOR / (1.0 + NEAR_FACTOR),
        };
        assert!((second.probability.unwrap() - expected).abs() < 1e-12);
    }
}
