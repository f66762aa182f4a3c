//! U of every row of a pool, with sums over blocks: a draw needs no pass over the rows.

use super::event::DrawTerms;
use super::ids::RowId;
use crate::pool::BLOCK;

/// U of the remaining rows, with its sums over blocks.
#[derive(Clone, Debug)]
pub(super) struct SamplingTable {
    uncertainty: Vec<f64>,
    sums: Vec<f64>,
    left: usize,
    /// A lower bound on U of the remaining rows.
    least: f64,
}

impl SamplingTable {
    /// Creates a table of all rows with their U.
    pub(super) fn new(uncertainty: Vec<f64>, least: f64) -> Self {
        let sums = uncertainty.chunks(BLOCK).map(sum).collect();
        let left = uncertainty.len();
        Self { uncertainty, sums, left, least }
    }

    /// Creates a table of equally likely rows.
    pub(super) fn uniform(rows: usize) -> Self {
        Self::new(vec![1.0; rows], 1.0)
    }

    /// Removes these rows.
    pub(super) fn without(mut self, rows: impl Iterator<Item = RowId>) -> Self {
        for RowId(row) in rows {
            self.left -= usize::from(self.uncertainty[row] != REMOVED);
            self.uncertainty[row] = REMOVED;
        }
        self.sums = self.uncertainty.chunks(BLOCK).map(sum).collect();
        self
    }

    /// Returns the number of remaining rows.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Returns whether a row has not been removed.
    pub(super) fn is_left(&self, RowId(row): RowId) -> bool {
        self.uncertainty[row] != REMOVED
    }

    /// Iterates over the remaining rows.
    pub(super) fn remaining(&self) -> impl Iterator<Item = RowId> {
        (0..self.uncertainty.len()).map(RowId).filter(|row| self.is_left(*row))
    }

    /// Returns the row at the random number `coin` in [0, 1), in proportion to U, with the terms of its
    /// probability. If U is 0 for all remaining rows, they become equally likely.
    pub(super) fn row_at(&mut self, coin: f64) -> Option<(RowId, DrawTerms)> {
        if self.left == 0 {
            return None;
        }
        let mut total: f64 = self.sums.iter().sum();
        if total <= 0.0 {
            self.uncertainty.iter_mut().filter(|u| **u != REMOVED).for_each(|u| *u = 1.0);
            self.least = 1.0;
            self.sums = self.uncertainty.chunks(BLOCK).map(sum).collect();
            total = self.sums.iter().sum();
        }
        let (block, rest) = find(&self.sums, coin * total);
        let row = block * BLOCK + find(self.block(block), rest).0;
        Some((RowId(row), self.terms(row, Some(total))))
    }

    /// Returns the most uncertain row, the first of equals. Its draw has no probability.
    pub(super) fn top(&self) -> Option<(RowId, DrawTerms)> {
        let mut most = self.remaining().next()?.0;
        for (row, uncertainty) in self.uncertainty.iter().enumerate() {
            // Comparisons with NaN fail, so that it counts as the least U.
            if self.uncertainty[most].max(0.0) < *uncertainty {
                most = row;
            }
        }
        Some((RowId(most), self.terms(most, None)))
    }

    fn terms(&self, row: usize, total: Option<f64>) -> DrawTerms {
        DrawTerms { uncertainty: self.uncertainty[row].max(0.0), total, left: self.left, least: self.least }
    }

    /// Removes a row.
    pub(super) fn remove(&mut self, RowId(row): RowId) {
        if self.uncertainty[row] == REMOVED {
            return;
        }
        self.uncertainty[row] = REMOVED;
        self.left -= 1;
        // Recomputed rather than subtracted, so that sums do not drift.
        self.sums[row / BLOCK] = sum(self.block(row / BLOCK));
    }

    fn block(&self, block: usize) -> &[f64] {
        let first = block * BLOCK;
        &self.uncertainty[first..(first + BLOCK).min(self.uncertainty.len())]
    }
}

/// Marks a row that was removed, unlike one whose U is 0.
const REMOVED: f64 = -1.0;

fn sum(values: &[f64]) -> f64 {
    values.iter().map(|value| value.max(0.0)).sum()
}

/// Returns the index where the running sum passes `rest`, and the remainder there. If rounding puts `rest` slightly
/// beyond the end, this is the last index with a positive value.
fn find(values: &[f64], mut rest: f64) -> (usize, f64) {
    let (mut found, mut inside) = (0, 0.0);
    for (index, value) in values.iter().enumerate().filter(|(_, value)| 0.0 < **value) {
        (found, inside) = (index, rest);
        if rest < *value {
            break;
        }
        rest -= value;
    }
    (found, inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Saturated models yield U = 0 (and no rule yields NaN), but draws stay valid: no row twice, and 1/left each.
    #[test]
    fn rows_are_drawn_uniformly_if_no_positive_u_is_left() {
        for nothing in [0.0, f64::NAN] {
            let mut table = SamplingTable::new(vec![nothing; 600], 0.0).without([3, 599].map(RowId).into_iter());
            let mut seen = [3, 599].map(RowId).to_vec();
            while let Some((row, odds)) = table.row_at(seen.len() as f64 / 601.0) {
                assert!(!seen.contains(&row), "{row:?} twice");
                assert_eq!(odds.probability(), Some(1.0 / table.left() as f64));
                table.remove(row);
                seen.push(row);
            }
            assert_eq!(seen.len(), 600);
        }
        // A single row with U > 0 is drawn first, with certainty.
        let mut table = SamplingTable::new(vec![0.0, 0.3, 0.0], 0.0);
        let (row, odds) = table.row_at(0.99).unwrap();
        assert_eq!((row, odds.probability()), (RowId(1), Some(1.0)));
        table.remove(row);
        assert_eq!(table.row_at(0.0).unwrap().1.probability(), Some(0.5));
    }

    #[test]
    fn the_top_row_is_the_first_most_uncertain_one_left() {
        let mut table = SamplingTable::new(vec![0.1, f64::NAN, 0.4, 0.4, 0.0], 0.0);
        let mut order = vec![];
        while let Some((row, odds)) = table.top() {
            assert_eq!((odds.probability(), odds.left), (None, 5 - order.len()));
            assert!(!odds.uncertainty.is_nan());
            table.remove(row);
            order.push(row.0);
        }
        assert_eq!(order, [2, 3, 0, 1, 4]);
    }
}
