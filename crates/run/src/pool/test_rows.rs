//! Rows that are never queried, to measure the model on.

use std::path::Path;

use querist_data::{Batch, Encoder, ReadOptions, load_with};
use querist_engine::index::Coefficients;
use querist_engine::narrow::Narrow;
use querist_engine::pool::PoolLearner as _;
use querist_engine::scorer::Score;

use super::RunLearner;
use crate::error::Result;
use crate::feed::HoldOut;
use crate::files::input;
use crate::model_file::TestScoring;

/// The location of the test rows.
pub(super) enum TestRows {
    /// Rows in a file of their own, and the number of unreadable rows of the file.
    File(Batch, u64),
    /// Rows of the pool, by their indices: a copy would need their memory twice.
    Pool(Vec<u32>),
}

impl TestRows {
    /// Loads the rows of a file.
    pub(super) fn load(path: &Path, encoder: &Encoder, options: &ReadOptions) -> Result<Self> {
        let (batch, bad) = load_with(encoder, &input(path), options)?;
        Ok(TestRows::File(batch, bad.skipped))
    }

    /// Holds out rows of the pool.
    pub(super) fn hold_out(learner: &mut RunLearner, rows: usize, seed: u64, fraction: f64) -> Self {
        let hold = HoldOut::new(seed, fraction);
        let held: Vec<u32> = (0..rows as u32).filter(|row| hold.holds(u64::from(*row) + 1)).collect();
        for row in &held {
            learner.retire(*row as usize);
        }
        TestRows::Pool(held)
    }

    /// Returns the number of rows of the pool that are held out.
    pub(super) fn held(&self) -> usize {
        if let TestRows::Pool(rows) = self { rows.len() } else { 0 }
    }

    /// Returns the number of unreadable rows of the file.
    pub(super) fn skipped(&self) -> u64 {
        if let TestRows::File(_, skipped) = self { *skipped } else { 0 }
    }

    /// Renumbers the features of a file's rows like those of the pool.
    pub(super) fn renumber(&mut self, narrow: &Narrow) {
        if let TestRows::File(batch, _) = self {
            batch.rows = narrow.rows(&batch.rows, narrow.dim());
        }
    }

    /// Returns the scores of θ̄ and θ on the test rows.
    pub(super) fn scores(&self, learner: &RunLearner, pool: &Batch) -> (Score, Score) {
        let of_steps = learner.learner();
        let mut scoring = match learner.as_refit() {
            Some(fitted) => TestScoring::of_fitted(of_steps.task(), fitted.scorer()),
            None => {
                let found = Coefficients::dense(of_steps.theta(), of_steps.mean());
                TestScoring::new(of_steps, &found, of_steps.dim())
            }
        };
        match self {
            TestRows::File(batch, _) => scoring.add(batch, 0..batch.rows.len()),
            TestRows::Pool(rows) => scoring.add(pool, rows.iter().map(|row| *row as usize)),
        }
        scoring.scores()
    }
}
