//! The performance of a model on labeled rows.

use super::Scorer;
use crate::rows::Rows;
use crate::task::Task;

/// The performance of a model on labeled rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// The number of rows with a label.
    pub rows: usize,
    /// The mean loss on them.
    pub loss: f64,
    /// The fraction decided correctly; for numbers R², 1 − (mean squared error)/(variance).
    pub accuracy: f64,
}

impl Scorer {
    /// Measures the performance on these rows; skips those without a label (NaN).
    pub fn score(&mut self, task: &dyn Task, rows: &Rows, labels: &[f64]) -> Score {
        let mut tally = Tally::default();
        self.tally(task, rows, labels, 0..rows.len(), &mut tally);
        tally.score(task)
    }

    /// Adds the rows at these indices to a tally; skips those without a label (NaN).
    pub fn tally(
        &mut self,
        task: &dyn Task,
        rows: &Rows,
        labels: &[f64],
        indices: impl Iterator<Item = usize>,
        tally: &mut Tally,
    ) {
        self.widen(rows.dim());
        let mut scores = vec![0.0; self.outputs()];
        for (row, label) in indices.map(|row| (row, labels[row])).filter(|(_, label)| !label.is_nan()) {
            self.scores(rows.row(row), &mut scores);
            tally.rows += 1;
            tally.loss += task.loss(&scores, label);
            tally.right += usize::from(task.decide(&scores) == label);
            tally.sum += label;
            tally.squares += label * label;
        }
    }
}

/// Running sums of a model's performance on labeled rows that arrive in blocks, which need not be kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    rows: usize,
    loss: f64,
    right: usize,
    sum: f64,
    squares: f64,
}

impl Tally {
    /// Returns the score on all rows added to the tally.
    pub fn score(&self, task: &dyn Task) -> Score {
        let count = f64::max(self.rows as f64, 1.0);
        let variance = self.squares / count - (self.sum / count) * (self.sum / count);
        let loss = self.loss / count;
        let accuracy = if task.is_classification() { self.right as f64 / count } else { 1.0 - loss / variance };
        Score { rows: self.rows, loss, accuracy }
    }
}
