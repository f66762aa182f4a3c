//! Which rows of a pool have been asked: a bit a row.

use prefetch_index::prefetch_index;

/// Rows that will not be asked again.
#[derive(Clone, Debug)]
pub(super) struct Retired {
    bits: Vec<u64>,
    rows: usize,
    left: usize,
}

impl Retired {
    /// None of this many.
    pub(super) fn new(rows: usize) -> Self {
        Self { bits: vec![0; rows.div_ceil(64)], rows, left: rows }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// How many are left.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Asks memory for what `contains` will read.
    #[inline]
    pub(super) fn fetch(&self, row: usize) {
        prefetch_index(&self.bits, row / 64);
    }

    #[inline]
    pub(super) fn contains(&self, row: usize) -> bool {
        self.bits[row / 64] >> (row % 64) & 1 == 1
    }

    /// Puts 0 in the places of those from `first` on that are no longer left; `first` is a multiple of 64.
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
}
