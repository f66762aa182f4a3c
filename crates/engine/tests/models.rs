//! Models of a pool that are not linear: their scores, their draws, and the choice among them.

mod common;

use common::{fitted, plain};
use querist_engine::coin::Coin;
use querist_engine::model_kind::ModelKind;
use querist_engine::pool::{LabeledDraw, PoolLearner, RefitPool};
use querist_engine::scorer::Scorer;
use querist_engine::task::Labels;
use querist_rows::kernel::KernelSettings;
use querist_rows::{DenseRows, Features, Rows};

const RULE: &str = "boundary:half=0.05,floor=0.2";
const KINDS: [&str; 4] = ["linear", "kernel:landmarks=40", "forest:trees=30", "auto"];
const LABELS: [Labels; 3] = [Labels::Binary, Labels::Classes(3), Labels::Numbers];

fn pool(rows: &Rows, labels: Labels, kind: &str) -> RefitPool {
    let rule = if labels == Labels::Numbers { "conditional-loss" } else { RULE };
    let kind: ModelKind = kind.parse().unwrap();
    fitted(rows, labels, rule, 5).with_models(kind.candidates(rows).unwrap())
}

/// Generates points in a square, of which those inside a circle are positive.
fn circle(n: usize, seed: u64) -> (Rows, Vec<f64>) {
    let coin = Coin::new(seed, "circle");
    let values: Vec<f32> = (0..2 * n).map(|i| (4.0 * coin.unit(i as u64) - 2.0) as f32).collect();
    let label = |x: &[f32]| if x[0] * x[0] + x[1] * x[1] < 2.0 { 1.0 } else { -1.0 };
    let labels = values.chunks(2).map(label).collect();
    (Rows::Dense(DenseRows::from_values(2, values).unwrap()), labels)
}

/// Asks and answers, and returns the answers.
fn ask<'a>(pool: &mut RefitPool, rows: &'a Rows, labels: &[f64], asks: usize) -> Vec<LabeledDraw<'a>> {
    let mut answers = vec![];
    for _ in 0..asks {
        let drawn = pool.ask(rows).unwrap();
        let (x, label) = (rows.row(drawn.row), labels[drawn.row]);
        answers.push(LabeledDraw { x, drawn, label, loss: 0.0 });
        pool.answer(&[(x, drawn, label)]).unwrap();
    }
    answers
}

fn bits(scorer: &Scorer) -> Vec<u64> {
    scorer.numbers().into_iter().map(f64::to_bits).collect()
}

fn accuracy(pool: &RefitPool, rows: &Rows, labels: &[f64]) -> f64 {
    let (scorer, task, mut scores) = (pool.scorer(), pool.learner().task(), [0.0]);
    let is_right = |row: &usize| {
        scorer.scores(rows.row(*row), &mut scores);
        task.decide(&scores) == labels[*row]
    };
    (0..rows.len()).filter(is_right).count() as f64 / rows.len() as f64
}

#[test]
fn scores_of_many_rows_are_those_of_each_row() {
    for labels in LABELS {
        let (rows, truth) = plain(203, 5, 1, labels);
        for kind in KINDS {
            let mut pool = pool(&rows, labels, kind);
            ask(&mut pool, &rows, &truth, 40);
            let scorer = pool.scorer();
            let outputs = scorer.outputs();
            let mut all = vec![0.0; 203 * outputs];
            scorer.scores_of_range(&rows, 0..203, &mut all);
            let mut part = vec![0.0; 30 * outputs];
            scorer.scores_of_range(&rows, 101..131, &mut part);
            assert_eq!(part, all[101 * outputs..131 * outputs], "{kind}");
            let mut one = vec![0.0; outputs];
            for row in 0..203 {
                scorer.scores(rows.row(row), &mut one);
                assert_eq!(one, all[row * outputs..(row + 1) * outputs], "{kind}, row {row}");
            }
        }
    }
}

#[test]
fn draws_have_their_stated_probabilities() {
    for labels in LABELS {
        let (rows, truth) = plain(150, 3, 2, labels);
        for kind in KINDS {
            let mut pool = pool(&rows, labels, kind);
            let mut asked: Vec<usize> =
                ask(&mut pool, &rows, &truth, 45).iter().map(|answer| answer.drawn.row).collect();
            for _ in 0..5 {
                let drawn = pool.ask(&rows).unwrap();
                let left = (0..150).filter(|row| !asked.contains(row));
                let total: f64 = left.map(|row| pool.uncertainty(rows.row(row))).sum();
                let stated = drawn.draw_probability(150 - asked.len()).unwrap().probability;
                assert!((stated - drawn.uncertainty / total).abs() < 1e-12, "{kind}: {stated}");
                asked.push(drawn.row);
                pool.answer(&[(rows.row(drawn.row), drawn, truth[drawn.row])]).unwrap();
            }
        }
    }
}

#[test]
fn a_model_depends_on_its_answers_alone() {
    for labels in LABELS {
        let (rows, truth) = plain(200, 3, 3, labels);
        for kind in KINDS {
            let mut first = pool(&rows, labels, kind);
            let answers = ask(&mut first, &rows, &truth, 70);
            let learned = |parts: &[usize]| {
                let mut pool = pool(&rows, labels, kind);
                let mut rest = answers.as_slice();
                for part in parts {
                    let (now, later) = rest.split_at(*part);
                    pool.add_answers(now, 200);
                    rest = later;
                }
                (bits(&pool.scorer()), pool.models().kind(), pool.models().choice().cloned())
            };
            let whole = learned(&[70]);
            for parts in [&[1, 69][..], &[29, 1, 1, 39], &[33, 37], &[69, 1]] {
                assert_eq!(learned(parts), whole, "{kind}, {labels:?}, {parts:?}");
            }
        }
    }
}

/// The truth is a circle: a linear model is hardly better than a guess.
#[test]
fn answers_choose_a_model_that_follows_a_circle() {
    let (rows, truth) = circle(600, 4);
    let mut of_kinds = KINDS.map(|kind| {
        let mut pool = pool(&rows, Labels::Binary, kind);
        ask(&mut pool, &rows, &truth, 120);
        (accuracy(&pool, &rows, &truth), pool)
    });
    let [linear, kernel, forest, (auto, pool)] = &mut of_kinds;
    assert!(linear.0 < 0.75 && 0.97 < kernel.0 && 0.92 < forest.0, "{} {} {}", linear.0, kernel.0, forest.0);
    assert!(0.95 < *auto, "{auto}");
    let choice = pool.models().choice().unwrap();
    let loss = |name: &str| choice.losses.iter().find(|loss| loss.name == name).unwrap().mean;
    assert!(pool.models().kind() != "linear" && loss(pool.models().kind()) < 0.5 * loss("linear"), "{choice:?}");
    assert!(choice.answers <= 120 && pool.models().theta().is_none());
}

/// The truth is linear: the choice costs less than 2 points on average, and keeps the linear model in most runs.
#[test]
fn answers_keep_a_linear_model_where_it_is_right() {
    let (rows, truth) = plain(600, 4, 6, Labels::Binary);
    let (mut lost, mut kept) = (0.0, 0);
    for seed in 0..5 {
        let [linear, auto] = [ModelKind::Linear, ModelKind::Auto].map(|kind| {
            let mut pool = fitted(&rows, Labels::Binary, RULE, seed).with_models(kind.candidates(&rows).unwrap());
            ask(&mut pool, &rows, &truth, 100);
            pool
        });
        lost += (accuracy(&linear, &rows, &truth) - accuracy(&auto, &rows, &truth)) / 5.0;
        kept += u32::from(auto.models().kind() == "linear");
    }
    assert!(lost < 0.02 && 3 <= kept, "{lost}, {kept} of 5");
}

#[test]
fn a_forest_is_assessed_like_any_model() {
    let (rows, truth) = circle(500, 9);
    let mut pool = pool(&rows, Labels::Binary, "forest:trees=40");
    ask(&mut pool, &rows, &truth, 120);
    let assessed = pool.assess(Some(&rows)).unwrap();
    let right = accuracy(&pool, &rows, &truth);
    assert!(assessed.score.low <= right && right <= assessed.score.high, "{right} in {:?}", assessed.score);
    assert!(assessed.score.high - assessed.score.low < 0.3 && assessed.twin.is_some());
}

/// Kernel models of numbers do not depend on the origin of the numbers.
#[test]
fn an_offset_of_numbers_moves_predictions_by_the_offset() {
    let (rows, _) = circle(300, 11);
    let number = |row: usize| {
        let mut product = 1.0;
        rows.row(row).each(|_, x| product *= x);
        product
    };
    let predictions = |offset: f64| {
        let truth: Vec<f64> = (0..300).map(|row| number(row) + offset).collect();
        let mut pool = fitted(&rows, Labels::Numbers, "constant", 3)
            .with_models(ModelKind::Kernel(KernelSettings::default()).candidates(&rows).unwrap());
        ask(&mut pool, &rows, &truth, 80);
        let mut scores = vec![0.0; 300];
        pool.scorer().scores_of_range(&rows, 0..300, &mut scores);
        scores
    };
    let plain = predictions(0.0);
    let errors: f64 = plain.iter().enumerate().map(|(row, score)| (score - number(row)).powi(2)).sum();
    assert!(errors / 300.0 < 0.05, "{}", errors / 300.0);
    for offset in [2000.0, -1e6] {
        for (moved, plain) in predictions(offset).iter().zip(&plain) {
            assert!((moved - offset - plain).abs() < 0.05, "{offset}: {} for {plain}", moved - offset);
        }
    }
}
