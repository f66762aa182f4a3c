//! U of every row of a pool that somebody else keeps, and draws from it without replacement.
//!
//! One pass finds U; then a draw costs a sum over blocks and one over a block, however long a row is.

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut};

use super::scan::{BLOCK, lane_sum, place_of};
use super::{NoRow, sample};
use crate::rule::Rule;

/// U of the rows of a pool, 0 for those drawn already.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    values: Vec<f64>,
    /// Σ U over each block, in block order.
    sums: Vec<f64>,
    left: usize,
}

/// A row drawn by its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Weighed {
    /// Which.
    pub row: usize,
    /// Its U.
    pub uncertainty: f64,
    /// U/ΣU over the rows that were left: the exact chance it had, given the draws before.
    pub probability: f64,
}

impl Weights {
    /// The next rows of the pool: `fill` is given the first of a block and finds U of each. Blocks are filled side by side.
    /// After an error, the first of the pool's order, none of the rows is there.
    ///
    /// # Panics
    /// When rows are added after a block that was not full.
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
            // One block is done before another thread would wake.
            self.values[first..].chunks_mut(BLOCK).enumerate().map(of_block).collect()
        } else {
            self.values[first..].par_chunks_mut(BLOCK).enumerate().map(of_block).collect()
        };
        let found: Result<Vec<f64>, E> = found.into_iter().collect();
        match found {
            Ok(sums) => {
                self.sums.extend(sums);
                self.left += rows;
                Ok(())
            }
            Err(error) => {
                self.values.truncate(first);
                Err(error)
            }
        }
    }

    /// ΣU over the rows that are left.
    pub fn total(&self) -> f64 {
        self.sums.iter().sum()
    }

    /// U of every row, 0 for those drawn already.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// These rows are not drawn.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn retire(&mut self, rows: impl IntoIterator<Item = usize>) {
        let mut touched = vec![false; self.sums.len()];
        for row in rows {
            // A row drawn before has weight 0, but so may one that was not: it is not missed.
            if std::mem::take(&mut self.values[row]) != 0.0 {
                self.left -= 1;
                touched[row / BLOCK] = true;
            }
        }
        for (block, values) in self.values.chunks(BLOCK).enumerate().filter(|(block, _)| touched[*block]) {
            self.sums[block] = lane_sum(values);
        }
    }

    /// The row at ξ, in proportion to U; it is not drawn again.
    pub fn draw(&mut self, coin: f64) -> Result<Weighed, NoRow> {
        if self.left == 0 {
            return Err(NoRow::Exhausted);
        }
        let total = self.total();
        if total <= 0.0 {
            return Err(NoRow::AllZero { left: self.left });
        }
        let (block, rest) = place_of(&self.sums, coin * total);
        let end = self.values.len().min((block + 1) * BLOCK);
        let values = &mut self.values[block * BLOCK..end];
        let (place, _) = place_of(values, rest);
        let uncertainty = std::mem::take(&mut values[place]);
        self.sums[block] = lane_sum(values);
        self.left -= 1;
        Ok(Weighed { row: block * BLOCK + place, uncertainty, probability: uncertainty / total })
    }

    /// The most uncertain rows, the most uncertain first and the first of equals before others. They have no probabilities.
    pub fn top(&self, count: usize) -> Vec<usize> {
        let best = |rows: &mut Vec<usize>| {
            let by = |a: &usize, b: &usize| self.values[*b].total_cmp(&self.values[*a]).then(a.cmp(b));
            if 0 < count && count < rows.len() {
                rows.select_nth_unstable_by(count - 1, by);
                rows.truncate(count);
            }
            rows.sort_unstable_by(by);
        };
        // Of each part its best are enough, so that little is sorted at once.
        let parts: Vec<Vec<usize>> = self
            .values
            .par_chunks(64 * BLOCK)
            .enumerate()
            .map(|(part, values)| {
                let first = part * 64 * BLOCK;
                let mut rows: Vec<usize> = (first..first + values.len()).collect();
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

/// Lets a rule that is relative to the pool take its scale from a sample of the rows; other rules need none. `score` finds the
/// scores of a row, and `rarest` is the class with the fewest answers.
pub fn settle<E>(
    rule: &mut Rule,
    rows: usize,
    outputs: usize,
    rarest: usize,
    mut score: impl FnMut(usize, &mut [f64]) -> Result<(), E>,
) -> Result<(), E> {
    let Rule::Relative(rule) = rule else { return Ok(()) };
    if rows == 0 {
        return Ok(());
    }
    let places = sample(crate::coin::Coin::new(0, "scale"), 0, rows);
    let mut scores = vec![0.0; places.len() * outputs];
    for (scores, place) in scores.chunks_exact_mut(outputs).zip(places) {
        score(place, scores)?;
    }
    rule.settle(&scores, outputs, rarest);
    Ok(())
}
