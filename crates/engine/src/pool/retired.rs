//! The rows of a pool that will not be asked again, as a bit set.

use prefetch_index::prefetch_index;

/// A set of rows that will not be asked again.
#[derive(Clone, Debug, Default)]
pub(super) struct Retired {
    bits: Vec<u64>,
    rows: usize,
    left: usize,
}

impl Retired {
    /// Creates an empty set for a pool of this many rows.
    pub(super) fn new(rows: usize) -> Self {
        Self { bits: vec![0; rows.div_ceil(64)], rows, left: rows }
    }

    /// Returns the number of rows in the pool.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of rows that are left.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Prefetches the word that `contains` will read.
    #[inline]
    pub(super) fn fetch(&self, row: usize) {
        prefetch_index(&self.bits, row / 64);
    }

    #[inline]
    pub(super) fn contains(&self, row: usize) -> bool {
        self.bits[row / 64] >> (row % 64) & 1 == 1
    }

    /// Sets the values of retired rows from `first` on to 0; `first` is a multiple of 64.
    pub(super) fn clear(&self, first: usize, values: &mut [f64]) {
        // Most words are 0 for most of a run.
        for (word, values) in self.bits[first / 64..].iter().zip(values.chunks_mut(64)).filter(|(word, _)| **word != 0)
        {
            for (bit, value) in values.iter_mut().enumerate() {
                if word >> bit & 1 == 1 {
                    *value = 0.0;
                }
            }
        }
    }

    pub(super) fn retire(&mut self, row: usize) {
        if !self.contains(row) {
            self.bits[row / 64] |= 1 << (row % 64);
            self.left -= 1;
        }
    }

    /// Adds rows that can be asked.
    pub(super) fn grow(&mut self, rows: usize) {
        self.rows += rows;
        self.left += rows;
        self.bits.resize(self.rows.div_ceil(64), 0);
    }

    /// Returns the n-th of the remaining rows, counted from 0.
    pub(super) fn nth_left(&self, mut n: usize) -> Option<usize> {
        for (word, bits) in self.bits.iter().enumerate() {
            let in_word = (self.rows - 64 * word).min(64) - bits.count_ones() as usize;
            if n < in_word {
                return (64 * word..).filter(|row| !self.contains(*row)).nth(n);
            }
            n -= in_word;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nth_left_agrees_with_a_list_of_the_remaining_rows() {
        let mut retired = Retired::new(100);
        retired.grow(50);
        for row in (0..150).filter(|row| row % 3 == 0 || (60..130).contains(row)) {
            retired.retire(row);
        }
        let left: Vec<usize> = (0..150).filter(|row| !retired.contains(*row)).collect();
        assert_eq!(retired.left(), left.len());
        for (n, row) in left.iter().enumerate() {
            assert_eq!(retired.nth_left(n), Some(*row));
        }
        assert_eq!(retired.nth_left(left.len()), None);
    }
}
