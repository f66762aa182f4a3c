//! A wanted precision is reached at about the expected cost, with recorded probabilities.

use querist_engine::coin::Coin;
use querist_engine::pool::{Draw, Objective, PoolLearner, Precision, PrecisionGoal, RefitPool};
use querist_engine::stop::StopRule;
use querist_engine::task::Labels;
use querist_rows::{DenseRows, Rows};

mod common;

use common::fitted_by;

const ROWS: usize = 4000;
const DIM: usize = 4;

/// Returns rows of a noisy linear problem, of which a good model predicts about nine in ten.
fn noisy_rows() -> (Rows, Vec<f64>) {
    let coin = Coin::new(3, "rows");
    let value = |at: usize| coin.unit(at as u64) as f32 - 0.5;
    let values: Vec<f32> = (0..ROWS * DIM).map(value).collect();
    let label = |row: usize| {
        let score: f64 = values[row * DIM..][..DIM].iter().map(|value| f64::from(*value)).sum();
        let noise = coin.unit((ROWS * DIM + row) as u64) - 0.5;
        if score + 0.4 * noise < 0.0 { -1.0 } else { 1.0 }
    };
    let labels = (0..ROWS).map(label).collect();
    (Rows::Dense(DenseRows::from_values(DIM, values).unwrap()), labels)
}

fn pool(rows: &Rows, rule: &str, seed: u64) -> RefitPool {
    fitted_by(rows, Labels::Binary, rule, Draw::Scan, Objective::AsAsked, seed)
}

fn accuracy(half_width: f64) -> Precision {
    Precision { goal: PrecisionGoal::Accuracy, half_width, labels: None }
}

#[test]
fn draws_are_spread_late_and_the_precision_is_reached() {
    let (rows, labels) = noisy_rows();
    let precision = accuracy(0.05);
    let rule = StopRule::Precision(precision);
    for seed in 0..4 {
        let mut pool = pool(&rows, "boundary", seed).with_precision(precision).unwrap();
        let (mut shares, mut stopped) = (vec![], None);
        while stopped.is_none() && pool.answered() < 600 {
            let drawn = pool.ask(&rows).unwrap();
            shares.push(drawn.least / drawn.rate.unwrap());
            pool.answer(&[(rows.row(drawn.row), drawn, labels[drawn.row])]).unwrap();
            if pool.answered().is_multiple_of(20) && !pool.is_cold() {
                let assessment = pool.assess(Some(&rows)).unwrap();
                let is_reached = rule.advise(&assessment.progress()).stop;
                stopped = is_reached.then_some((pool.answered(), assessment.score));
            }
        }
        let (labels, score) = stopped.expect("it stops");
        assert!(score.high - score.low <= 0.1, "{score:?}");
        // The rule takes its scale from 2,048 rows. U of a row has a coefficient of variation of about 5, so the mean of U has
        // an error of 8 %: shares are off by up to 0.12, three standard errors.
        assert!((shares[80] - 0.2).abs() < 0.05, "{}", shares[80]);
        assert!(shares[100..].iter().all(|share| (share - 0.5).abs() < 0.12), "{:?}", &shares[100..]);
        let plan = precision.plan(score.value, 0.2, ROWS);
        assert!(labels < 2 * plan.labels && plan.labels < 2 * labels, "{labels} labels, planned {plan:?}");
    }
}

#[test]
fn a_precision_needs_a_rule_with_a_floor() {
    let (rows, _) = noisy_rows();
    let message = pool(&rows, "entropy", 1).with_precision(accuracy(0.05)).unwrap_err().to_string();
    assert!(message.contains("a rule with a floor"), "{message}");
    for half_width in [0.0, 0.5, f64::NAN] {
        assert!(pool(&rows, "boundary", 1).with_precision(accuracy(half_width)).is_err());
    }
}
