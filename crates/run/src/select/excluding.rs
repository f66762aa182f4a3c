//! Rows that are not part of a pool, by id.

use querist_data::DataFault;
use querist_engine::select::{IdSet, RowIds};

use super::pass::Taker;

/// A taker that gets all rows but those with some ids.
pub struct Excluding<'a, T> {
    /// The taker of the other rows.
    pub inner: T,
    pub(super) exclude: Option<&'a IdSet>,
    pub(super) outputs: usize,
}

impl<T: Taker> Taker for Excluding<'_, T> {
    fn take(&mut self, ids: &RowIds<'_>, scores: &[f64], position: u64) -> Result<(), (usize, DataFault)> {
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
