//! A block of rows is bit-identical to its rows offered one by one, however it is divided. Storing or dropping zeros
//! changes results only by rounding.

mod common;

use common::without_zeros;
use querist_engine::coin::Coin;
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Beta, Clock, Constraint, Momentum, Optimizer};
use querist_engine::rule;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner, Totals, Trace, Warm};
use querist_engine::synthetic::Mixture;
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows, Sparse, SparseRows};

/// The settings of a learner.
#[derive(Clone, Copy)]
struct LearnerSetup {
    loss: &'static str,
    rule: &'static str,
    warm: Option<(&'static str, u64)>,
    step: StepSize,
    momentum: Momentum,
    constraint: Constraint,
    importance: Importance,
    intercept: bool,
}

const PLAIN: LearnerSetup = LearnerSetup {
    loss: "logistic",
    rule: "entropy",
    warm: None,
    step: StepSize::Fixed(1e-2),
    momentum: Momentum::None,
    constraint: Constraint { l2: 0.0, radius: None },
    importance: Importance::Equivalent,
    intercept: true,
};

/// The complete result of a run.
#[derive(Debug, PartialEq)]
struct RunResult {
    theta: Vec<f64>,
    mean: Vec<f64>,
    totals: Totals,
    recent_rate: f64,
    probabilities: Vec<f64>,
    scores: Vec<f64>,
    asked: Vec<usize>,
}

fn learner(setting: &LearnerSetup, dim: usize) -> StreamLearner {
    let labels = Labels::Binary;
    let task = task::parse(setting.loss, labels).unwrap();
    let optimizer = Optimizer::new(setting.momentum, Clock::Query, setting.constraint);
    let learner = Learner::new(task, setting.intercept, dim, optimizer, Steps::new(setting.step), None).unwrap();
    let rule = |name: &str| rule::parse(name, setting.loss, labels).unwrap();
    let warm = setting.warm.map(|(name, labels)| Warm { rule: rule(name), labels });
    StreamLearner::new(learner, Rules { warm, rule: rule(setting.rule) }, 7, setting.importance).unwrap()
}

fn outcome(mut learner: StreamLearner, probabilities: Vec<f64>, scores: Vec<f64>, asked: Vec<usize>) -> RunResult {
    let (totals, recent_rate, mean) = (*learner.totals(), learner.recent_rate(), learner.mean());
    RunResult { theta: learner.learner().theta(), mean, totals, recent_rate, probabilities, scores, asked }
}

fn one_by_one(setting: &LearnerSetup, rows: &Rows, labels: &[f64]) -> RunResult {
    continue_one_by_one(learner(setting, rows.dim()), rows, labels)
}

fn continue_one_by_one(mut learner: StreamLearner, rows: &Rows, labels: &[f64]) -> RunResult {
    let (mut probabilities, mut scores, mut asked) = (vec![], vec![], vec![]);
    for (place, label) in labels.iter().enumerate() {
        let x = rows.row(place);
        let mut score = [0.0];
        learner.learner().scores(x, &mut score);
        let offer = learner.offer(x);
        scores.push(score[0]);
        probabilities.push(offer.probability);
        if offer.asked {
            asked.push(place);
            learner.answer(x, offer.probability, *label).unwrap();
        }
    }
    outcome(learner, probabilities, scores, asked)
}

fn in_blocks(setting: &LearnerSetup, rows: &Rows, labels: &[f64], size: usize) -> RunResult {
    let mut learner = learner(setting, rows.dim());
    let (mut probabilities, mut scores, mut asked) = (vec![], vec![], vec![]);
    let mut trace = Trace::default();
    for first in (0..labels.len()).step_by(size) {
        let end = labels.len().min(first + size);
        // Prefetching weights changes nothing, whether they exist or not.
        learner.fetch(&[0, 7, u32::MAX]);
        learner.learn_rows(&part(rows, first, end), &labels[first..end], &mut trace).unwrap();
        assert_eq!(trace.first, first as u64 + 1);
        probabilities.extend_from_slice(&trace.probabilities);
        scores.extend_from_slice(&trace.scores);
        asked.extend(trace.asked.iter().map(|place| first + *place as usize));
    }
    outcome(learner, probabilities, scores, asked)
}

fn part(rows: &Rows, first: usize, end: usize) -> Rows {
    match rows {
        Rows::Dense(dense) => {
            let values = dense.values()[first * dense.dim()..end * dense.dim()].to_vec();
            Rows::Dense(DenseRows::from_values(dense.dim(), values).unwrap())
        }
        Rows::Sparse(sparse) => {
            let mut part = SparseRows::new(sparse.dim());
            (first..end).for_each(|place| part.push(sparse.row(place)));
            Rows::Sparse(part)
        }
    }
}

/// Returns the paper's 2-D mixture; in other dimensions, rows in which a third of the numbers are 0 and some are large.
fn rows(dim: usize, n: usize) -> (Rows, Vec<f64>) {
    let mut labels = vec![0.0; n];
    if dim == 2 {
        let mut rows = Rows::Dense(DenseRows::new(2));
        Mixture::new(3).fill(1, &mut rows, &mut labels);
        return (rows, labels);
    }
    let (features, noise) = (Coin::new(3, "features"), Coin::new(3, "noise"));
    let mut values = vec![0.0; n * dim];
    for (place, (row, label)) in values.chunks_exact_mut(dim).zip(&mut labels).enumerate() {
        let mut score = 4.0 * noise.unit(place as u64) - 2.0;
        for (j, x) in row.iter_mut().enumerate() {
            let unit = features.unit((place * dim + j) as u64);
            *x = if unit < 0.33 { 0.0 } else { (6.0 * (unit - 0.665)) as f32 };
            score += f64::from(*x) * if j % 2 == 0 { 1.0 } else { -0.5 };
        }
        *label = if score < 0.0 { -1.0 } else { 1.0 };
    }
    (Rows::Dense(DenseRows::from_values(dim, values).unwrap()), labels)
}

/// Checks both layouts without comparing one with the other.
fn check(what: &str, setting: &LearnerSetup, dim: usize, n: usize) -> [RunResult; 2] {
    let (dense, labels) = rows(dim, n);
    let sparse = without_zeros(&dense);
    [("dense", dense), ("sparse", sparse)]
        .map(|(layout, rows)| check_rows(&format!("{what}, {layout} of dim {dim}"), setting, &rows, &labels))
}

fn check_rows(what: &str, setting: &LearnerSetup, rows: &Rows, labels: &[f64]) -> RunResult {
    let (n, expected) = (labels.len(), one_by_one(setting, rows, labels));
    assert!(!expected.asked.is_empty() && expected.asked.len() <= n, "{what}: nothing was asked");
    for size in [1, 7, 1000, n] {
        same(&format!("{what}, in blocks of {size}"), &in_blocks(setting, rows, labels, size), &expected);
    }
    expected
}

fn same(what: &str, found: &RunResult, expected: &RunResult) {
    // `assert_eq` on thousands of numbers would hide which of them differ.
    let same = [
        ("asked", found.asked == expected.asked),
        ("scores", found.scores == expected.scores),
        ("probabilities", found.probabilities == expected.probabilities),
        ("theta", found.theta == expected.theta),
        ("mean", found.mean == expected.mean),
        ("totals", found.totals == expected.totals && found.recent_rate == expected.recent_rate),
    ];
    for (part, same) in same {
        assert!(same, "{what}: {part} differ");
    }
}

/// Compares the layouts as well. Steps must be so small that sums in another order end in nearly the same θ.
fn check_alike(what: &str, setting: &LearnerSetup, dim: usize, n: usize) {
    let [dense, sparse] = check(what, setting, dim, n);
    assert_eq!(sparse.asked, dense.asked, "{what}: sparse rows of dim {dim} are asked otherwise than dense ones");
    for (part, sparse, dense) in [("theta", sparse.theta, dense.theta), ("mean", sparse.mean, dense.mean)] {
        let apart = sparse.iter().zip(&dense).map(|(sparse, dense)| (sparse - dense).abs() / dense.abs().max(1.0));
        let most = apart.fold(0.0, f64::max);
        assert!(most <= 1e-10, "{what}: {part} of sparse rows of dim {dim} is off by {most}");
    }
}

#[test]
fn blocks_match_single_rows_for_every_rule_and_loss() {
    let losses = ["logistic", "hinge", "squared-hinge", "exponential"];
    let rules =
        ["entropy", "least-confidence", "margin:mu=1", "exponential:mu=1", "threshold:gamma=1", "constant:p=0.3"];
    for loss in losses {
        for rule in rules {
            let setting = LearnerSetup { loss, rule, ..PLAIN };
            check_alike(&format!("{rule} x {loss}"), &setting, 2, 3000);
            check_alike(&format!("{rule} x {loss}"), &setting, 11, 1500);
        }
    }
}

#[test]
fn blocks_match_single_rows_for_every_step() {
    let pilot = StepSize::Pilot { unit: 0.05, u_max: 1.0, window: 1500 };
    // The steps range from so small that θ is constant within a block to so large that it jumps.
    let steps = [StepSize::Auto, pilot, StepSize::InverseSqrt(0.5)].into_iter();
    let fixed = [1e-6, 1e-4, 0.1, 3.0].map(StepSize::Fixed);
    for step in steps.chain(fixed) {
        for (dim, n) in [(1, 3000), (2, 6000), (3, 3000), (8, 1000), (17, 1000), (30, 2000)] {
            check(&format!("{step:?}"), &LearnerSetup { step, ..PLAIN }, dim, n);
        }
    }
}

#[test]
fn a_warm_start_ends_within_a_block() {
    for labels in [1, 2, 40, 600] {
        for step in [StepSize::Auto, StepSize::Fixed(0.05)] {
            let setting = LearnerSetup { warm: Some(("critical", labels)), rule: "margin:mu=2", step, ..PLAIN };
            check_alike(&format!("warm for {labels}, {step:?}"), &setting, 2, 5000);
            check_alike(&format!("warm for {labels}, {step:?}"), &setting, 5, 2000);
        }
    }
}

#[test]
fn settings_without_a_fast_path_match_single_rows() {
    let heavy = LearnerSetup { momentum: Momentum::HeavyBall(Beta::Constant(0.9)), ..PLAIN };
    let nesterov = LearnerSetup { momentum: Momentum::Nesterov(Beta::Rising { first: 0.0 }), ..PLAIN };
    let original = LearnerSetup { importance: Importance::Original, step: StepSize::Fixed(1e-3), ..PLAIN };
    let short = LearnerSetup { constraint: Constraint { l2: 0.01, radius: Some(0.5) }, ..PLAIN };
    let plain = LearnerSetup { intercept: false, ..PLAIN };
    let own = LearnerSetup { rule: "critical", ..PLAIN };
    let settings = [heavy, nesterov, original, short, plain, own];
    for (what, setting) in
        ["heavy ball", "nesterov", "original", "constraint", "no intercept", "own"].iter().zip(settings)
    {
        check_alike(what, &setting, 2, 3000);
        check_alike(what, &setting, 9, 1500);
    }
}

#[test]
fn without_an_intercept_b_stays_0() {
    let plain = LearnerSetup { intercept: false, ..PLAIN };
    let settings = [
        ("fixed", plain),
        ("auto", LearnerSetup { step: StepSize::Auto, ..plain }),
        ("pilot", LearnerSetup { step: StepSize::Pilot { unit: 0.05, u_max: 1.0, window: 300 }, ..plain }),
        ("heavy ball", LearnerSetup { momentum: Momentum::HeavyBall(Beta::Constant(0.9)), ..plain }),
        ("nesterov", LearnerSetup { momentum: Momentum::Nesterov(Beta::Rising { first: 0.0 }), ..plain }),
        ("constraint", LearnerSetup { constraint: Constraint { l2: 0.01, radius: Some(0.5) }, ..plain }),
        ("original", LearnerSetup { importance: Importance::Original, step: StepSize::Fixed(1e-3), ..plain }),
    ];
    let (many, many_labels) = few_of_many(50_000, 1000);
    for (what, setting) in settings {
        let outcomes = [2, 5, 17].into_iter().flat_map(|dim| check(what, &setting, dim, 1000));
        // Momentum and constraints move every weight, which takes long with this many.
        let is_sparse = setting.momentum == Momentum::None && setting.constraint == PLAIN.constraint;
        let of_many = is_sparse.then(|| check_rows(what, &setting, &many, &many_labels));
        for outcome in outcomes.chain(of_many) {
            for part in [outcome.theta, outcome.mean] {
                let (b, w) = part.split_last().unwrap();
                assert!(*b == 0.0 && w.iter().any(|w| *w != 0.0), "{what}: b = {b}");
            }
        }
    }
}

/// Returns rows with a dozen of very many features.
fn few_of_many(dim: u32, n: usize) -> (Rows, Vec<f64>) {
    let (coin, mut rows) = (Coin::new(5, "few of many"), SparseRows::new(dim as usize));
    let labels = (0..n as u64).map(|place| {
        let unit = |i: u64| coin.unit(100 * place + i);
        let mut index: Vec<u32> = (0..12).map(|i| (unit(i).powi(4) * f64::from(dim)) as u32).collect();
        index.sort_unstable();
        index.dedup();
        let value: Vec<f32> = (20..20 + index.len() as u64).map(|i| (2.0 * unit(i) - 1.0) as f32).collect();
        let score = index.iter().zip(&value).map(|(j, x)| if j % 2 == 0 { *x } else { -x }).sum::<f32>();
        rows.push(Sparse { index: &index, value: &value });
        if score < 0.0 { -1.0 } else { 1.0 }
    });
    let labels = labels.collect();
    (Rows::Sparse(rows), labels)
}

#[test]
fn blocks_match_single_rows_with_very_many_weights() {
    let (rows, labels) = few_of_many(50_000, 3000);
    let warm = Some(("critical", 300));
    let settings = [
        ("fixed", PLAIN),
        ("auto", LearnerSetup { step: StepSize::Auto, ..PLAIN }),
        ("warm", LearnerSetup { warm, step: StepSize::Fixed(0.3), ..PLAIN }),
        ("no intercept", LearnerSetup { intercept: false, ..PLAIN }),
        ("heavy ball", LearnerSetup { momentum: Momentum::HeavyBall(Beta::Constant(0.9)), ..PLAIN }),
    ];
    for (what, setting) in settings {
        check_rows(what, &setting, &rows, &labels);
    }
}

/// A learner that has processed blocks continues with single rows, of either layout and with more features, directly
/// and after a restore.
#[test]
fn single_rows_continue_after_blocks_with_very_many_weights() {
    let setting = LearnerSetup { step: StepSize::Fixed(0.3), ..PLAIN };
    let ((first, first_labels), (second, second_labels)) = (few_of_many(50_000, 1200), few_of_many(120_000, 800));
    let (short, short_labels) = rows(30, 400);
    let expected = {
        let mut learner = learner(&setting, 50_000);
        for (rows, labels) in [(&first, &first_labels), (&short, &short_labels)] {
            for (place, label) in labels.iter().enumerate() {
                let offer = learner.offer(rows.row(place));
                if offer.asked {
                    learner.answer(rows.row(place), offer.probability, *label).unwrap();
                }
            }
        }
        learner.widen(120_000);
        continue_one_by_one(learner, &second, &second_labels)
    };
    let mut learned = learner(&setting, 50_000);
    let mut trace = Trace::default();
    learned.learn_rows(&first, &first_labels, &mut trace).unwrap();
    learned.learn_rows(&short, &short_labels, &mut trace).unwrap();
    let mut again = learner(&setting, 50_000);
    again.restore(&learned.state().unwrap()).unwrap();
    for (what, mut learner) in [("as it is", learned), ("put aside", again)] {
        learner.widen(120_000);
        same(what, &continue_one_by_one(learner, &second, &second_labels), &expected);
    }
}

#[test]
fn blocks_match_single_rows_with_fewer_features_than_the_learner() {
    let (whole, whole_labels) = rows(40, 500);
    for dim in [2, 30] {
        let (short, labels) = rows(dim, 600);
        let learned = || {
            let mut learner = learner(&PLAIN, 40);
            learner.learn_rows(&whole, &whole_labels, &mut Trace::default()).unwrap();
            learner
        };
        let expected = continue_one_by_one(learned(), &short, &labels);
        let (mut learner, mut trace) = (learned(), Trace::default());
        learner.learn_rows(&short, &labels, &mut trace).unwrap();
        let asked = trace.asked.iter().map(|place| *place as usize).collect();
        let found = outcome(learner, trace.probabilities, trace.scores, asked);
        same(&format!("{dim} of 40 features"), &found, &expected);
    }
}
