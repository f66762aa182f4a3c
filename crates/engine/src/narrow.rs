//! Rows of a pool, reduced to the features that occur in the pool.
//!
//! Hashed text has hundreds of thousands of features, and files of numbered features have numbers of any size. A small
//! pool contains only a few hundred of them. The order of features and the values of rows stay, so every sum over a row
//! keeps its bits.

use crate::fit::MANY;
use crate::index::{Coefficients, SlotRow, WIDE};
use crate::rows::{Row, Rows, Sparse, SparseRows};

/// The features of a pool, in ascending order. The slot of a feature is its position among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrow {
    features: Vec<u32>,
}

impl Narrow {
    /// Collects the features of these rows; returns `None` for dense rows.
    pub fn of(rows: &Rows) -> Option<Self> {
        let Rows::Sparse(rows) = rows else { return None };
        let mut features: Vec<u32> = (0..rows.len()).flat_map(|row| rows.row(row).index).copied().collect();
        features.sort_unstable();
        features.dedup();
        Some(Self { features })
    }

    /// Creates the set of these features; returns `None` unless they are strictly ascending.
    pub fn from_features(features: Vec<u32>) -> Option<Self> {
        features.is_sorted_by(|a, b| a < b).then_some(Self { features })
    }

    /// Returns the features in ascending order.
    pub fn features(&self) -> &[u32] {
        &self.features
    }

    /// Returns the number of slots. The last one is for all features that the pool does not have; its weight stays 0.
    pub fn dim(&self) -> usize {
        self.features.len() + 1
    }

    /// Renumbers the features of rows by slots, of which there are `dim` in all.
    ///
    /// # Panics
    /// If `dim` is less than [`Self::dim`].
    pub fn rows(&self, rows: &Rows, dim: usize) -> Rows {
        assert!(self.dim() <= dim, "every feature has a slot");
        let slot = |feature: usize| self.features.binary_search(&(feature as u32)).unwrap_or(self.features.len());
        let mut narrow = SparseRows::new(0);
        (0..rows.len()).for_each(|row| narrow.push_slots(SlotRow::new(rows.row(row), slot).as_sparse()));
        narrow.widen(dim);
        Rows::Sparse(narrow)
    }

    /// Returns parameters that were learned from rows of [`Self::dim`] slots, by features.
    pub fn coefficients(&self, outputs: usize, theta: &[f64], mean: &[f64]) -> Coefficients {
        let gather = |numbers: &[f64]| {
            let (weights, intercepts) = numbers.split_at(numbers.len() - outputs);
            [&weights[..self.features.len() * outputs], intercepts].concat()
        };
        Coefficients { features: Some(self.features.clone()), theta: gather(theta), mean: gather(mean) }
    }
}

/// The original features of rows that were renumbered because their feature numbers are large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbered {
    narrow: Narrow,
    /// The number of features the rows had.
    dim: usize,
}

impl Renumbered {
    /// Renumbers the features of sparse rows that have more than [`WIDE`] of them; returns other rows unchanged.
    pub fn of(rows: Rows) -> (Rows, Option<Self>) {
        let is_wide = WIDE < rows.dim();
        Self::when(rows, is_wide)
    }

    fn when(rows: Rows, is_wide: bool) -> (Rows, Option<Self>) {
        let Some(narrow) = Narrow::of(&rows).filter(|_| is_wide) else { return (rows, None) };
        // Fits take the features of answers alone where there are many, so results keep their bits.
        let slots = narrow.rows(&rows, narrow.dim().max(MANY + 1));
        (slots, Some(Self { narrow, dim: rows.dim() }))
    }

    /// Returns the features.
    pub fn narrow(&self) -> &Narrow {
        &self.narrow
    }

    /// Returns the bytes of a row with the numbers that its features had.
    pub(crate) fn row_bytes(&self, row: Row<'_>) -> Vec<u8> {
        let Row::Sparse(Sparse { index, value }) = row else { return row.to_bytes() };
        let index: Vec<u32> = index.iter().map(|slot| self.narrow.features[*slot as usize]).collect();
        Row::Sparse(Sparse { index: &index, value }).to_bytes()
    }

    /// Returns runs of parameters as they are for all features: a number of zeros, then numbers.
    pub(crate) fn runs<'a>(
        &'a self,
        parameters: &'a [f64],
        outputs: usize,
    ) -> impl Iterator<Item = (usize, &'a [f64])> {
        let (weights, intercepts) = parameters.split_at(parameters.len() - outputs);
        let mut features = self.narrow.features.iter().map(|feature| *feature as usize);
        let before = [None].into_iter().chain(features.clone().map(Some));
        let gaps = before.zip(features.clone()).map(|(before, next)| next - before.map_or(0, |before| before + 1));
        let last = self.dim - features.next_back().map_or(0, |last| last + 1);
        let weights = gaps.zip(weights.chunks_exact(outputs));
        weights.chain([(last, intercepts)]).map(move |(gap, numbers)| (gap * outputs, numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renumbered_rows_and_parameters_map_back_to_their_features() {
        let mut rows = SparseRows::new(10);
        rows.push(Sparse { index: &[2, 7], value: &[1.0, 2.0] });
        let rows = Rows::Sparse(rows);
        let (slots, renumbered) = Renumbered::when(rows.clone(), true);
        let renumbered = renumbered.unwrap();
        assert_eq!(renumbered.row_bytes(slots.row(0)), rows.row(0).to_bytes());
        let mut parameters = vec![0.0; 2 * (slots.dim() + 1)];
        parameters[..4].copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
        let runs: Vec<(usize, &[f64])> = renumbered.runs(&parameters, 2).collect();
        assert_eq!(runs, [(4, &[1.0, 2.0][..]), (8, &[3.0, 4.0]), (4, &[0.0, 0.0])]);
        assert_eq!(Renumbered::of(rows.clone()), (rows, None));
    }

    #[test]
    fn rows_keep_their_numbers() {
        let mut rows = SparseRows::new(1 << 27);
        rows.push(Sparse { index: &[7, 90_000_000], value: &[1.0, 2.0] });
        rows.push(Sparse { index: &[500, 90_000_000], value: &[3.0, 4.0] });
        let rows = Rows::Sparse(rows);
        let narrow = Narrow::of(&rows).unwrap();
        assert_eq!(narrow.features(), [7, 500, 90_000_000]);
        let slots = narrow.rows(&rows, narrow.dim());
        assert_eq!(slots.row(1), Row::Sparse(Sparse { index: &[1, 2], value: &[3.0, 4.0] }));
        let mut others = SparseRows::new(1 << 27);
        others.push(Sparse { index: &[6, 7, 8], value: &[5.0, 6.0, 7.0] });
        let others = narrow.rows(&Rows::Sparse(others), 10);
        assert_eq!(others.row(0), Row::Sparse(Sparse { index: &[3, 0, 3], value: &[5.0, 6.0, 7.0] }));
        assert_eq!(others.dim(), 10);
        let found = narrow.coefficients(1, &[1.0, 2.0, 3.0, 0.0, 9.0], &[0.0; 5]);
        assert_eq!((found.theta, found.mean), (vec![1.0, 2.0, 3.0, 9.0], vec![0.0; 4]));
    }
}
