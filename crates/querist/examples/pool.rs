//! Draws rows from a pool, fits after each label, and estimates the accuracy on the whole pool.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use querist::engine::coin::Coin;
use querist::prelude::*;

fn main() -> Result<()> {
    let coin = Coin::new(1, "rows");
    let values: Vec<f32> = (0..4000).map(|at| 2.0 * coin.unit(at) as f32 - 1.0).collect();
    let rows = Rows::Dense(DenseRows::from_values(4, values).expect("whole rows"));
    // One class lies right of a line; 10 % of the labels are flipped.
    let flips = Coin::new(1, "flips");
    let label = |row: usize| {
        let is_right = matches!(rows.row(row), Row::Dense(x) if 0.0 < x[0] - 0.5 * x[1]);
        if is_right == (0.1 < flips.unit(row as u64)) { 1.0 } else { -1.0 }
    };

    let mut pool = LearnerBuilder::new(Labels::Binary).seed(1).pool(&rows)?;
    for _ in 0..150 {
        let drawn = pool.ask(&rows)?;
        pool.answer(&[(rows.row(drawn.row), drawn, label(drawn.row))])?;
    }

    let assessment = pool.assess(Some(&rows))?;
    let (score, truth) = (assessment.score, accuracy(&pool, &rows, label));
    println!("{} of {} rows labeled", pool.answered(), rows.len());
    println!("estimated accuracy {:.3}, 95 % interval {:.3} to {:.3}", score.value, score.low, score.high);
    println!("true accuracy      {truth:.3}");
    Ok(())
}

fn accuracy(pool: &RefitPool, rows: &Rows, label: impl Fn(usize) -> f64) -> f64 {
    let learner = pool.learner();
    let correct = (0..rows.len()).filter(|row| {
        let mut score = [0.0];
        learner.scores(rows.row(*row), &mut score);
        learner.task().decide(&score) == label(*row)
    });
    correct.count() as f64 / rows.len() as f64
}
