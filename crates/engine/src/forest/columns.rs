//! The answered rows by columns, each value replaced by its rank, so that splits depend only on the order of values.

use crate::rows::Rows;

/// The code of a missing value.
pub(super) const MISSING: u16 = u16::MAX;
/// The largest number of codes of a feature. With more distinct values, neighbors share a code.
const MOST_CODES: usize = MISSING as usize;

/// The ranks of values, column by column.
#[derive(Debug)]
pub(super) struct Columns {
    rows: usize,
    codes: Vec<u16>,
    rankings: Vec<Ranking>,
}

/// The values of a column in order, which its codes count.
#[derive(Debug)]
struct Ranking {
    /// The distinct values in increasing order.
    values: Vec<f32>,
    /// The number of neighboring values that share a code.
    step: usize,
    has_missing: bool,
}

impl Columns {
    /// Ranks the values of some rows.
    pub(super) fn new(rows: &Rows, used: &[usize]) -> Self {
        let dim = rows.dim();
        let mut dense = vec![0.0; used.len() * dim];
        for (out, row) in dense.chunks_exact_mut(dim.max(1)).zip(used) {
            super::write_dense(rows.row(*row), out);
        }
        let mut codes = vec![0; dense.len()];
        let fill = |(j, codes): (usize, &mut [u16])| ranked(&dense, j, dim, codes);
        let rankings = codes.chunks_exact_mut(used.len().max(1)).enumerate().map(fill).collect();
        Self { rows: used.len(), codes, rankings }
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of features.
    pub(super) fn features(&self) -> usize {
        self.rankings.len()
    }

    /// Returns the codes of a feature.
    #[inline]
    pub(super) fn codes(&self, feature: usize) -> &[u16] {
        &self.codes[feature * self.rows..(feature + 1) * self.rows]
    }

    /// Returns whether a feature has missing values.
    pub(super) fn has_missing(&self, feature: usize) -> bool {
        self.rankings[feature].has_missing
    }

    /// Returns a number t such that exactly the values with codes up to `cut` are at most t.
    pub(super) fn threshold(&self, feature: usize, cut: u16) -> f32 {
        let ranking = &self.rankings[feature];
        let above = (usize::from(cut) + 1) * ranking.step;
        match (ranking.values.get(above - 1), ranking.values.get(above)) {
            (Some(low), Some(high)) => between(*low, *high),
            // Every present value goes left, and only missing ones go right.
            _ => f32::INFINITY,
        }
    }
}

/// Writes the codes of a feature.
fn ranked(dense: &[f32], feature: usize, dim: usize, codes: &mut [u16]) -> Ranking {
    let column = || dense.iter().skip(feature).step_by(dim);
    let mut values: Vec<f32> = column().copied().filter(|x| !x.is_nan()).collect();
    let has_missing = values.len() < codes.len();
    values.sort_unstable_by(f32::total_cmp);
    values.dedup();
    let step = values.len().div_ceil(MOST_CODES).max(1);
    for (code, x) in codes.iter_mut().zip(column()) {
        let rank = values.partition_point(|value| value < x) / step;
        *code = if x.is_nan() { MISSING } else { rank as u16 };
    }
    Ranking { values, step, has_missing }
}

/// Returns a number t with low ≤ t < high, in the middle if there is one.
fn between(low: f32, high: f32) -> f32 {
    let middle = low + (high - low) / 2.0;
    if low <= middle && middle < high { middle } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::DenseRows;

    #[test]
    fn thresholds_separate_the_codes_they_were_made_for() {
        let values = vec![1.0, f32::NAN, f32::INFINITY, -0.0, 0.0, f32::NEG_INFINITY, f32::MAX, 1.0_f32.next_up()];
        let rows = Rows::Dense(DenseRows::from_values(1, values.clone()).unwrap());
        let columns = Columns::new(&rows, &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(columns.codes(0), [2, MISSING, 5, 1, 1, 0, 4, 3]);
        assert!(columns.has_missing(0));
        for cut in 0..6 {
            let threshold = columns.threshold(0, cut);
            for (x, code) in values.iter().zip(columns.codes(0)).filter(|(_, code)| **code != MISSING) {
                assert_eq!(*x <= threshold, *code <= cut, "{x} at {threshold}");
            }
        }
    }
}
