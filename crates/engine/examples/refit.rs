//! Measures the time of a fit and of the next ask: `cargo run --release -p querist-engine --example refit`.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement prints times")]

use std::time::Instant;

use querist_engine::coin::Coin;
use querist_engine::fit::Refit;
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::pool::{Draw, Objective, PoolLearner, RefitPool, RefitSettings};
use querist_engine::rule;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::Rules;
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows};

const DIM: usize = 100;

fn main() {
    let (rows, labels) = data(1_000_000);
    fits(&rows, &labels);
    for draw in [Draw::Scan, Draw::Reject] {
        asks(&rows, &labels, draw);
    }
}

fn data(n: usize) -> (Rows, Vec<f64>) {
    let coin = Coin::new(1, "data");
    let values: Vec<f32> = (0..n * DIM).map(|i| (2.0 * coin.unit(i as u64) - 1.0) as f32).collect();
    let noise = Coin::new(1, "noise");
    let label = |row: &[f32]| row[0] + 0.5 * row[1] - 0.3 * row[2];
    let labels = values
        .chunks_exact(DIM)
        .enumerate()
        .map(|(i, row)| if f64::from(label(row)) + 0.6 * noise.unit(i as u64) < 0.3 { -1.0 } else { 1.0 })
        .collect();
    (Rows::Dense(DenseRows::from_values(DIM, values).expect("whole rows")), labels)
}

/// Measures fits from 900 to 1,100 answers, one more each, while λ is chosen repeatedly. Every fit is repeated five
/// times, bit for bit, and its shortest time counts, because the others may have been interrupted.
fn fits(rows: &Rows, labels: &[f64]) {
    let mut times = vec![f64::INFINITY; 200];
    for _ in 0..5 {
        let task = task::parse("logistic", Labels::Binary).expect("a loss");
        let mut refit = Refit::new(&*task, true, rows.empty_like(), None, 1).expect("smooth");
        for index in 0..1100 {
            refit.add(index as u64, rows.row(index), labels[index]);
            if index % 50 == 0 || 900 <= index {
                let weights = vec![1.0; index + 1];
                let start = Instant::now();
                refit.fit(&weights);
                if let Some(time) = index.checked_sub(900).map(|at| &mut times[at]) {
                    *time = time.min(start.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
    }
    let (mean, longest) = (times.iter().sum::<f64>() / times.len() as f64, times.iter().copied().fold(0.0, f64::max));
    println!("fit at 1,000 answers × {DIM}: {mean:.2} ms, at most {longest:.2} ms");
}

fn asks(rows: &Rows, labels: &[f64], draw: Draw) {
    let task = task::parse("logistic", Labels::Binary).expect("a loss");
    let refit = Refit::new(&*task, true, rows.empty_like(), None, 1).expect("smooth");
    let rules = Rules::only(rule::parse("margin:share=0.01", "logistic", Labels::Binary).expect("a rule"));
    let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
    let learner = Learner::new(task, true, DIM, optimizer, Steps::new(StepSize::Auto), None).unwrap();
    let settings = RefitSettings { draw, seed: 1, refit, objective: Objective::AsAsked, labels: Labels::Binary };
    let mut pool = RefitPool::new(learner, rules, rows.len(), settings).unwrap();
    let mut times = vec![];
    for _ in 0..60 {
        let start = Instant::now();
        let drawn = pool.ask(rows).expect("rows are left");
        times.push(start.elapsed().as_secs_f64() * 1e3);
        pool.answer(&[(rows.row(drawn.row), drawn, labels[drawn.row])]).expect("a fit");
    }
    let warm = &mut times[20..];
    warm.sort_by(f64::total_cmp);
    println!("ask of {} rows × {DIM} by {draw:?}: {:.3} ms", rows.len(), warm[warm.len() / 2]);
}
