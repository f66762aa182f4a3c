//! U of every row of an external pool, with draws from it without replacement.
//!
//! One pass computes U; then a draw costs a sum over blocks and a sum over one block, however long a row is.

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut};

use super::NoRow;
use super::retired::Retired;
use super::scan::{BLOCK, index_at, lane_sum};
use crate::coin::Coin;
use crate::rule::Rule;

/// Sums of U up to this count as 0: below it ξ·ΣU loses digits, so rows would not be drawn in proportion to U.
const NEGLIGIBLE: f64 = 1e-290;

/// The number of rows in a sample of the pool from which a rule takes its scale.
const SAMPLE: usize = 2048;
/// The same for older forms of rules, which also count rows that will not be asked again.
const OLD_SAMPLE: usize = 1024;

/// U of the rows of a pool, 0 for retired ones.
#[derive(Clone, Debug, Default)]
pub struct RowWeights {
    values: Vec<f64>,
    /// Σ U over each block, in block order.
    sums: Vec<f64>,
    retired: Retired,
}

/// A row drawn by its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct WeightedDraw {
    /// The index of the row.
    pub row: usize,
    /// U of the row.
    pub uncertainty: f64,
    /// The exact probability of this draw, given the earlier ones: U/ΣU over the rows that were left, or one over their
    /// number for a uniform draw.
    pub probability: f64,
    /// `true` if it was drawn uniformly, because U was 0 for every row that was left.
    pub is_uniform: bool,
}

impl RowWeights {
    /// Appends rows of the pool. `fill` gets the index of the first row of a block and computes U of its rows; blocks
    /// are filled in parallel. Returns the first error in the order of the pool; then no rows are appended.
    ///
    /// # Panics
    /// If rows are added after a block that was not full.
    pub fn extend<E: Send>(
        &mut self,
        rows: usize,
        fill: impl Fn(usize, &mut [f64]) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let first = self.values.len();
        assert!(first.is_multiple_of(BLOCK), "only the last block is not full");
        self.values.resize(first + rows, 0.0);
        let of_block = |(block, room): (usize, &mut [f64])| fill(first + block * BLOCK, room).map(|()| lane_sum(room));
        let found: Vec<Result<f64, E>> = if rows <= BLOCK {
            // One block is done before another thread would wake up.
            self.values[first..].chunks_mut(BLOCK).enumerate().map(of_block).collect()
        } else {
            self.values[first..].par_chunks_mut(BLOCK).enumerate().map(of_block).collect()
        };
        let found: Result<Vec<f64>, E> = found.into_iter().collect();
        match found {
            Ok(sums) => {
                self.sums.extend(sums);
                self.retired.grow(rows);
                Ok(())
            }
            Err(error) => {
                self.values.truncate(first);
                Err(error)
            }
        }
    }

    /// Returns ΣU over the remaining rows.
    pub fn total(&self) -> f64 {
        self.sums.iter().sum()
    }

    /// Returns U of every row, 0 for retired ones.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Excludes rows from draws.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn retire(&mut self, rows: impl IntoIterator<Item = usize>) {
        let mut touched = vec![false; self.sums.len()];
        for row in rows {
            self.retired.retire(row);
            touched[row / BLOCK] |= std::mem::take(&mut self.values[row]) != 0.0;
        }
        for (block, values) in self.values.chunks(BLOCK).enumerate().filter(|(block, _)| touched[*block]) {
            self.sums[block] = lane_sum(values);
        }
    }

    /// Draws the row at the random number `coin` in [0, 1) with probability proportional to U, without replacement.
    pub fn draw(&mut self, coin: f64) -> Result<WeightedDraw, NoRow> {
        let left = self.retired.left();
        if left == 0 {
            return Err(NoRow::Exhausted);
        }
        let total = self.total();
        if !total.is_finite() {
            return Err(NoRow::NotFinite { total });
        }
        if total <= NEGLIGIBLE {
            return Err(NoRow::AllZero { left });
        }
        let (block, rest) = index_at(&self.sums, coin * total);
        let end = self.values.len().min((block + 1) * BLOCK);
        let (index, _) = index_at(&self.values[block * BLOCK..end], rest);
        let row = block * BLOCK + index;
        let uncertainty = self.take(row);
        Ok(WeightedDraw { row, uncertainty, probability: uncertainty / total, is_uniform: false })
    }

    /// Draws like [`Self::draw`], but uniformly if U is 0 for every remaining row.
    pub fn draw_or_uniform(&mut self, coin: f64) -> Result<WeightedDraw, NoRow> {
        let drawn = self.draw(coin);
        let Err(NoRow::AllZero { left }) = drawn else { return drawn };
        let nth = ((coin * left as f64) as usize).min(left - 1);
        let row = self.retired.nth_left(nth).ok_or(NoRow::Exhausted)?;
        let uncertainty = self.take(row);
        Ok(WeightedDraw { row, uncertainty, probability: 1.0 / left as f64, is_uniform: true })
    }

    /// Retires a drawn row and returns its U.
    fn take(&mut self, row: usize) -> f64 {
        self.retired.retire(row);
        let uncertainty = std::mem::take(&mut self.values[row]);
        let block = row / BLOCK;
        let end = self.values.len().min((block + 1) * BLOCK);
        self.sums[block] = lane_sum(&self.values[block * BLOCK..end]);
        uncertainty
    }

    /// Returns the most uncertain remaining rows, in descending order of U, the first of equals first. They have no
    /// probabilities.
    pub fn top(&self, count: usize) -> Vec<usize> {
        let best = |rows: &mut Vec<usize>| {
            let by = |a: &usize, b: &usize| self.values[*b].total_cmp(&self.values[*a]).then(a.cmp(b));
            if 0 < count && count < rows.len() {
                rows.select_nth_unstable_by(count - 1, by);
                rows.truncate(count);
            }
            rows.sort_unstable_by(by);
        };
        // The best of each part suffice, so that little is sorted at a time.
        let parts: Vec<Vec<usize>> = self
            .values
            .par_chunks(64 * BLOCK)
            .enumerate()
            .map(|(part, values)| {
                let first = part * 64 * BLOCK;
                let mut rows: Vec<usize> =
                    (first..first + values.len()).filter(|row| !self.retired.contains(*row)).collect();
                best(&mut rows);
                rows
            })
            .collect();
        let mut rows = parts.concat();
        best(&mut rows);
        rows.truncate(count);
        rows
    }
}

/// Lets a rule in units of the pool take its scale from a sample of the rows; other rules stay unchanged. Rows at the
/// indices in `exclude` cannot be asked. `score` computes the scores of a row, and `rarest` is the class with the fewest
/// answers.
pub fn settle<E>(
    rule: &mut Rule,
    (rows, exclude): (usize, &[usize]),
    outputs: usize,
    rarest: usize,
    mut score: impl FnMut(usize, &mut [f64]) -> Result<(), E>,
) -> Result<(), E> {
    let mut retired = Retired::new(rows);
    exclude.iter().filter(|row| **row < rows).for_each(|row| retired.retire(*row));
    settle_on(rule, &retired, outputs, rarest, |rows, scores| {
        let mut each = rows.iter().zip(scores.chunks_exact_mut(outputs));
        each.try_for_each(|(row, scores)| score(*row, scores))
    })
}

/// Lets a rule take its scale from a sample of the rows that are left. `score` computes the scores of these rows.
pub(super) fn settle_on<E>(
    rule: &mut Rule,
    retired: &Retired,
    outputs: usize,
    rarest: usize,
    score: impl FnOnce(&[usize], &mut [f64]) -> Result<(), E>,
) -> Result<(), E> {
    let Rule::Relative(rule) = rule else { return Ok(()) };
    if retired.left() == 0 {
        return Ok(());
    }
    let sampled = if rule.is_of_remaining_rows() {
        sample(retired, SAMPLE)
    } else {
        sample(&Retired::new(retired.rows()), OLD_SAMPLE)
    };
    let mut scores = vec![0.0; sampled.len() * outputs];
    score(&sampled, &mut scores)?;
    rule.settle(&scores, outputs, rarest);
    Ok(())
}

/// Returns indices of rows that are left: all of a few, otherwise a random sample of this size.
fn sample(retired: &Retired, size: usize) -> Vec<usize> {
    let coin = Coin::new(0, "scale");
    let is_left = |row: &usize| !retired.contains(*row);
    if retired.left() <= size {
        (0..retired.rows()).filter(is_left).collect()
    } else {
        (0..).map(|at| coin.below(at, retired.rows())).filter(is_left).take(size).collect()
    }
}
