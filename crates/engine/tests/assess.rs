//! Assessments by fitting learners, over many runs with the default rule: unbiased, with valid intervals.

mod common;
#[path = "common/record.rs"]
mod record;

use common::{fitted, fitted_by};
use querist_engine::coin::{Coin, shuffled};
use querist_engine::estimate::Estimate;
use querist_engine::linear::Linear;
use querist_engine::pool::{Draw, Objective, PoolLearner, RefitPool};
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows};
use record::CoverageRecord;

const RULE: &str = "boundary:half=0.01,floor=0.2";

/// A pool with all its labels.
struct LabeledPool {
    name: &'static str,
    rows: Rows,
    labels: Vec<f64>,
    kind: Labels,
}

impl LabeledPool {
    /// Reads a random sample of a table with an id, numbers and a class; the numbers are standardized.
    fn of_table(name: &'static str, text: &str, size: usize, kind: Labels) -> Self {
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let chosen = shuffled(Coin::new(5, name), lines.len());
        let cells: Vec<Vec<f64>> = chosen[..size]
            .iter()
            .map(|at| lines[*at as usize].split(',').skip(1).map(|cell| cell.parse().unwrap()).collect())
            .collect();
        let dim = cells[0].len() - 1;
        let mut values = vec![0.0; size * dim];
        for column in 0..dim {
            let mean = cells.iter().map(|row| row[column]).sum::<f64>() / size as f64;
            let square = cells.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / size as f64;
            for (index, row) in cells.iter().enumerate() {
                values[index * dim + column] = ((row[column] - mean) / square.sqrt().max(1e-9)) as f32;
            }
        }
        let labels = cells.iter().map(|row| kind.label(row[dim] as usize)).collect();
        Self { name, rows: Rows::Dense(DenseRows::from_values(dim, values).unwrap()), labels, kind }
    }

    fn waveform() -> Self {
        Self::of_table("waveform", include_str!("../../../data/waveform.csv"), 2000, Labels::Classes(3))
    }

    fn spambase() -> Self {
        Self::of_table("spambase", include_str!("../../../data/spambase.csv"), 2000, Labels::Binary)
    }

    /// Generates two clouds; `share` is the fraction of rows in one of them.
    fn clouds(name: &'static str, size: usize, share: f64, distance: f64) -> Self {
        let coin = Coin::new(11, name);
        let normal = |at: u64| {
            let (u, v) = (coin.unit(2 * at), coin.unit(2 * at + 1));
            (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        let is_one = |index: usize| index < (share * size as f64) as usize;
        let values = (0..3 * size).map(|at| {
            let center = if at % 3 == 0 && is_one(at / 3) { distance } else { 0.0 };
            (center + normal(at as u64)) as f32
        });
        let rows = Rows::Dense(DenseRows::from_values(3, values.collect()).unwrap());
        let labels = (0..size).map(|index| Labels::Binary.label(usize::from(is_one(index)))).collect();
        Self { name, rows, labels, kind: Labels::Binary }
    }

    /// Runs a learner for this number of labels.
    fn run(&self, labels: usize, seed: u64) -> RefitPool {
        let mut learner = fitted(&self.rows, self.kind, RULE, seed);
        for _ in 0..labels {
            let drawn = learner.ask(&self.rows).unwrap();
            learner.answer(&[(self.rows.row(drawn.row), drawn, self.labels[drawn.row])]).unwrap();
        }
        learner
    }

    /// Returns the true scores of the fitted model on the whole pool: accuracy, mean loss, and precision, recall, F1 of
    /// each class.
    fn truths(&self, learner: &RefitPool) -> Vec<f64> {
        let task = task::parse("logistic", self.kind).unwrap();
        let (model, classes) = (Linear { outputs: task.outputs(), intercept: true }, self.kind.classes());
        let mut counts = vec![vec![0.0; classes]; classes];
        let (mut scores, mut loss) = (vec![0.0; task.outputs()], 0.0);
        for (row, label) in self.labels.iter().enumerate() {
            model.scores(learner.models().theta().unwrap(), self.rows.row(row), &mut scores);
            loss += task.loss(&scores, *label);
            counts[self.kind.class(*label)][self.kind.class(task.decide(&scores))] += 1.0;
        }
        let n = self.labels.len() as f64;
        let right: f64 = (0..classes).map(|class| counts[class][class]).sum();
        let mut truths = vec![right / n, loss / n];
        for class in 0..classes {
            let found = counts[class][class];
            let (is, said) = (counts[class].iter().sum::<f64>(), counts.iter().map(|of| of[class]).sum::<f64>());
            truths.extend([found / said, found / is, 2.0 * found / (is + said)]);
        }
        truths
    }

    fn estimates(&self, learner: &RefitPool) -> Vec<Option<Estimate>> {
        let assessed = learner.assess(Some(&self.rows)).unwrap();
        let mut all = vec![Some(assessed.score), assessed.loss];
        for class in assessed.classes {
            all.extend([class.precision, class.recall, class.f1]);
        }
        all
    }
}

/// Records all estimates over these seeds, with their names.
fn runs(pool: &LabeledPool, labels: usize, seeds: std::ops::Range<u64>) -> Vec<(String, CoverageRecord)> {
    let mut records: Vec<(String, CoverageRecord)> =
        ["accuracy", "loss"].map(|name| (name.to_owned(), CoverageRecord::default())).into();
    for class in 0..pool.kind.classes() {
        records.extend(
            ["precision", "recall", "F1"].map(|name| (format!("{name} of {class}"), CoverageRecord::default())),
        );
    }
    for seed in seeds {
        let learner = pool.run(labels, seed);
        let all = pool.estimates(&learner).into_iter().zip(pool.truths(&learner));
        for ((_, record), (estimate, truth)) in records.iter_mut().zip(all) {
            record.add(estimate.filter(|_| truth.is_finite()), truth);
        }
    }
    records
}

/// Asserts that estimates are unbiased within four standard errors, and that intervals cover in at least 93 % of runs,
/// less three standard errors.
fn check_estimates(pool: &LabeledPool, labels: usize, seeds: std::ops::Range<u64>) -> Vec<(String, CoverageRecord)> {
    let records = runs(pool, labels, seeds);
    for (name, record) in &records {
        let chance = 3.0 * (0.93 * 0.07 / record.runs).sqrt();
        let what = format!("{} with {labels} labels, {name}: {record}", pool.name);
        assert!(0.0 < record.runs && 0.93 - chance <= record.coverage(), "{what}");
        assert!(0.95 - chance <= record.always / record.runs, "{what}");
        // Runs that met none of one in a hundred are too optimistic; their intervals account for that.
        assert!(record.bias().abs() < 4.0 || pool.name == "rare", "{what}");
    }
    records
}

#[test]
fn estimates_are_unbiased_and_intervals_cover() {
    let records = check_estimates(&LabeledPool::clouds("even", 800, 0.5, 2.0), 80, 0..150);
    let (_, accuracy) = &records[0];
    assert!(accuracy.width / accuracy.runs < 0.55, "an interval of everything is none: {accuracy}");
}

/// `reject` estimates ΣU from a sample of rows, which adds noise to probabilities.
#[test]
fn intervals_cover_with_draws_by_proposals() {
    let pool = LabeledPool::clouds("proposals", 3000, 0.5, 2.0);
    let (mut score, mut class) = (CoverageRecord::default(), CoverageRecord::default());
    for seed in 0..150 {
        let mut learner = fitted_by(&pool.rows, pool.kind, RULE, Draw::Reject, Objective::AsAsked, seed);
        for _ in 0..20 {
            let mut answers = vec![];
            for _ in 0..5 {
                let drawn = learner.ask(&pool.rows).unwrap();
                answers.push((pool.rows.row(drawn.row), drawn, pool.labels[drawn.row]));
            }
            learner.answer(&answers).unwrap();
        }
        let (estimates, truths) = (pool.estimates(&learner), pool.truths(&learner));
        score.add(estimates[0], truths[0]);
        class.add(estimates[4], truths[4]);
    }
    // Three standard deviations below 95 % of 150 runs.
    for record in [score, class] {
        assert!(0.89 < record.coverage() && 0.9 < record.always / record.runs && record.bias().abs() < 4.0, "{record}");
    }
}

/// With every label known, nothing is left to estimate: cross-fitted judgments are wrong on some rows where the fitted
/// model is right, and must not count.
#[test]
fn a_completely_labeled_pool_has_the_exact_scores_of_its_model() {
    for kind in [Labels::Binary, Labels::Classes(3)] {
        let mut pool = LabeledPool::clouds("small", 90, 0.5, 1.5);
        if kind == Labels::Classes(3) {
            pool.labels = (0..90).map(|row| f64::from(row / 30)).collect();
            pool.kind = kind;
        }
        let learner = pool.run(90, 3);
        for (estimate, truth) in pool.estimates(&learner).into_iter().zip(pool.truths(&learner)) {
            let estimate = estimate.unwrap();
            let (low, high) = estimate.anytime.unwrap_or((estimate.low, estimate.high));
            assert!((estimate.value - truth).abs() < 1e-9, "{estimate:?} {truth}");
            assert!(estimate.low <= truth + 1e-9 && truth <= estimate.high + 1e-9, "{estimate:?} {truth}");
            assert!(low <= estimate.low && estimate.high <= high, "{estimate:?}");
        }
    }
}

/// Checks estimates from few labels and from more.
fn check_early_and_late(pool: &LabeledPool) {
    for labels in [100, 300] {
        check_estimates(pool, labels, 0..200);
    }
}

#[test]
#[ignore = "minutes: `./check --long` runs it"]
fn estimates_are_unbiased_and_intervals_cover_on_waveform() {
    check_early_and_late(&LabeledPool::waveform());
}

#[test]
#[ignore = "a minute: `./check --long` runs it"]
fn estimates_are_unbiased_and_intervals_cover_on_spambase() {
    check_early_and_late(&LabeledPool::spambase());
}

#[test]
#[ignore = "a minute: `./check --long` runs it"]
fn estimates_are_unbiased_and_intervals_cover_on_clouds() {
    check_early_and_late(&LabeledPool::clouds("even", 2000, 0.5, 2.0));
}

#[test]
#[ignore = "a minute: `./check --long` runs it"]
fn intervals_cover_for_a_class_of_one_in_a_hundred() {
    check_early_and_late(&LabeledPool::clouds("rare", 4000, 0.01, 3.0));
}
