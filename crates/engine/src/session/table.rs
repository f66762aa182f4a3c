//! U of every row of a pool, to draw from at once: a draw costs the same however large the pool is.

use super::event::Odds;
use crate::pool::BLOCK;

/// U of the rows that are left, with its sums over blocks.
#[derive(Clone, Debug)]
pub(super) struct Table {
    uncertainty: Vec<f64>,
    sums: Vec<f64>,
    left: usize,
    /// No U of a row that is left is below this.
    least: f64,
}

impl Table {
    /// All rows, each with its U.
    pub(super) fn new(uncertainty: Vec<f64>, least: f64) -> Self {
        let sums = uncertainty.chunks(BLOCK).map(sum).collect();
        let left = uncertainty.len();
        Self { uncertainty, sums, left, least }
    }

    /// All rows as likely.
    pub(super) fn uniform(rows: usize) -> Self {
        Self::new(vec![1.0; rows], 1.0)
    }

    /// Without these rows.
    pub(super) fn without(mut self, rows: impl Iterator<Item = usize>) -> Self {
        for row in rows {
            self.left -= usize::from(self.uncertainty[row] != GONE);
            self.uncertainty[row] = GONE;
        }
        self.sums = self.uncertainty.chunks(BLOCK).map(sum).collect();
        self
    }

    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The row at ξ, in proportion to U, and how it is drawn; where U is 0 for all that are left, all are as likely.
    pub(super) fn look(&mut self, coin: f64) -> Option<(usize, Odds)> {
        if self.left == 0 {
            return None;
        }
        let mut total: f64 = self.sums.iter().sum();
        if total <= 0.0 {
            self.uncertainty.iter_mut().filter(|u| **u != GONE).for_each(|u| *u = 1.0);
            self.least = 1.0;
            self.sums = self.uncertainty.chunks(BLOCK).map(sum).collect();
            total = self.sums.iter().sum();
        }
        let (block, rest) = find(&self.sums, coin * total);
        let row = block * BLOCK + find(self.block(block), rest).0;
        Some((row, Odds { uncertainty: self.uncertainty[row], total, left: self.left, least: self.least }))
    }

    /// A row is drawn no more.
    pub(super) fn remove(&mut self, row: usize) {
        if self.uncertainty[row] == GONE {
            return;
        }
        self.uncertainty[row] = GONE;
        self.left -= 1;
        // Added up anew rather than subtracted: sums do not drift.
        self.sums[row / BLOCK] = sum(self.block(row / BLOCK));
    }

    fn block(&self, block: usize) -> &[f64] {
        let first = block * BLOCK;
        &self.uncertainty[first..(first + BLOCK).min(self.uncertainty.len())]
    }
}

/// Stands in the place of a row that is not left, to tell it from one whose U is 0.
const GONE: f64 = -1.0;

fn sum(values: &[f64]) -> f64 {
    values.iter().map(|value| value.max(0.0)).sum()
}

/// The place where the running sum passes `rest`, and what is then left of it; the last place that has any, where rounding
/// leaves `rest` a hair beyond the end.
fn find(values: &[f64], mut rest: f64) -> (usize, f64) {
    let (mut found, mut inside) = (0, 0.0);
    for (place, value) in values.iter().enumerate().filter(|(_, value)| 0.0 < **value) {
        (found, inside) = (place, rest);
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

    /// Saturated models give U = 0, and no rule gives NaN, but a draw is valid all the same: no row twice, and 1/left each.
    #[test]
    fn rows_are_drawn_uniformly_where_no_u_is_left() {
        for nothing in [0.0, f64::NAN] {
            let mut table = Table::new(vec![nothing; 600], 0.0).without([3, 599].into_iter());
            let mut seen = vec![3, 599];
            while let Some((row, odds)) = table.look(seen.len() as f64 / 601.0) {
                assert!(!seen.contains(&row), "row {row} twice");
                assert_eq!(odds.probability(), 1.0 / table.left() as f64);
                table.remove(row);
                seen.push(row);
            }
            assert_eq!(seen.len(), 600);
        }
        // A single row that has some is drawn first, with certainty.
        let mut table = Table::new(vec![0.0, 0.3, 0.0], 0.0);
        let (row, odds) = table.look(0.99).unwrap();
        assert_eq!((row, odds.probability()), (1, 1.0));
        table.remove(row);
        assert_eq!(table.look(0.0).unwrap().1.probability(), 0.5);
    }
}
