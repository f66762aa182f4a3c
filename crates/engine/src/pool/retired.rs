//! Which rows of a pool have been asked: a bit a row.

/// Rows that will not be asked again.
#[derive(Clone, Debug)]
pub(super) struct Retired {
    bits: Vec<u64>,
    left: usize,
}

impl Retired {
    /// None of this many.
    pub(super) fn new(rows: usize) -> Self {
        Self { bits: vec![0; rows.div_ceil(64)], left: rows }
    }

    /// How many are left.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    #[inline]
    pub(super) fn contains(&self, row: usize) -> bool {
        self.bits[row / 64] >> (row % 64) & 1 == 1
    }

    pub(super) fn retire(&mut self, row: usize) {
        if !self.contains(row) {
            self.bits[row / 64] |= 1 << (row % 64);
            self.left -= 1;
        }
    }
}
