//! The rows of a pool that can be drawn: without those that are excluded by id, and with scores from their probabilities.

use querist_data::DataFault;
use querist_engine::select::{IdSet, RowIds};

use super::pass::Taker;
use super::probabilities::to_scores;

/// A taker of the rows that can be drawn.
pub struct AskableRows<'a, T> {
    /// The taker of their scores.
    pub inner: T,
    pub(super) exclude: Option<&'a IdSet>,
    pub(super) outputs: usize,
    /// Whether numbers are probabilities, of which scores are the logarithms.
    pub(super) are_probabilities: bool,
    pub(super) room: Vec<f64>,
}

impl<T: Taker> AskableRows<'_, T> {
    /// Passes on rows without those that are excluded.
    fn take_scores(&mut self, ids: &RowIds<'_>, scores: &[f64], position: u64) -> Result<(), (usize, DataFault)> {
        let Some(exclude) = self.exclude.filter(|exclude| !exclude.is_empty()) else {
            return self.inner.take(ids, scores, position);
        };
        let rows = scores.len() / self.outputs;
        let mut start = 0;
        // Runs of consecutive rows keep their positions.
        while start < rows {
            let is_excluded = |row: &usize| exclude.contains(ids.get(*row));
            let end = (start..rows).find(is_excluded).unwrap_or(rows);
            if start < end {
                let scores = &scores[start * self.outputs..end * self.outputs];
                let taken = self.inner.take(&ids.slice(start..end), scores, position + start as u64);
                taken.map_err(|(row, fault)| (start + row, fault))?;
            }
            start = end + 1;
        }
        Ok(())
    }
}

impl<T: Taker> Taker for AskableRows<'_, T> {
    fn take(&mut self, ids: &RowIds<'_>, scores: &[f64], position: u64) -> Result<(), (usize, DataFault)> {
        if !self.are_probabilities {
            return self.take_scores(ids, scores, position);
        }
        let mut room = std::mem::take(&mut self.room);
        let taken = to_scores(scores, self.outputs, &mut room).and_then(|()| self.take_scores(ids, &room, position));
        self.room = room;
        taken
    }
}
