//! The rows of a block, as loops read them.

// These functions are parts of dispatched loops.
#![allow(clippy::inline_always)]

use prefetch_index::prefetch_index;

use crate::features::{Features, LINE};
use crate::rows::{Sparse, SparsePart};
use crate::simd::LANES;
use crate::weights::{LaneRow, NARROW, NarrowRow};

/// The prefetch distance for features, in numbers.
const AHEAD: usize = 512;

/// The rows of a block, which a loop reads by index.
pub(super) trait BlockRows {
    type Row: Copy;

    /// Prefetches the features that are `AHEAD` numbers after the start of a row, as many as the row has.
    fn prefetch_behind(&self, index: usize);

    fn row(&self, index: usize) -> Self::Row;

    /// Returns a row, or `None` after the last.
    fn get(&self, index: usize) -> Option<Self::Row>;

    /// Returns an upper bound on ‖x‖² up to rounding, or NaN if a feature is NaN.
    fn norm_squared_at_most(&self, row: Self::Row) -> f64;
}

/// Dense rows, read in whole vectors.
pub(super) struct LaneRows<'a> {
    /// The values from the block's first row to the end of all rows: the last vector of a row extends past the row.
    values: &'a [f32],
    dim: usize,
    mask: [u32; LANES],
}

impl<'a> LaneRows<'a> {
    /// Makes rows of `dim` features, at least one.
    pub(super) fn new(values: &'a [f32], dim: usize) -> Self {
        let last = dim - (dim - 1) / LANES * LANES;
        Self { values, dim, mask: std::array::from_fn(|lane| if lane < last { u32::MAX } else { 0 }) }
    }

    /// Returns the number of rows that can be read in whole vectors.
    pub(super) fn len(&self) -> usize {
        self.values.len().checked_sub(self.padded()).map_or(0, |left| left / self.dim + 1)
    }

    #[inline(always)]
    fn padded(&self) -> usize {
        self.dim.next_multiple_of(LANES)
    }
}

impl<'a> BlockRows for LaneRows<'a> {
    type Row = LaneRow<'a>;

    #[inline(always)]
    fn prefetch_behind(&self, index: usize) {
        prefetch_values(self.values, index * self.dim + AHEAD, self.dim);
    }

    #[inline(always)]
    fn row(&self, index: usize) -> LaneRow<'a> {
        let start = index * self.dim;
        LaneRow { lanes: self.values[start..start + self.padded()].as_chunks().0, mask: self.mask }
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<LaneRow<'a>> {
        (index < self.len()).then(|| self.row(index))
    }

    #[inline(always)]
    fn norm_squared_at_most(&self, row: LaneRow<'a>) -> f64 {
        self.dim as f64 * row.largest_squared()
    }
}

/// Dense rows of at most [`NARROW`] features.
pub(super) struct NarrowRows<'a> {
    /// The values from the block's first row to the end of all rows: a read extends past the end of its row.
    values: &'a [f32],
    dim: usize,
    mask: [u32; NARROW],
}

impl<'a> NarrowRows<'a> {
    pub(super) fn new(values: &'a [f32], dim: usize) -> Self {
        Self { values, dim, mask: std::array::from_fn(|j| if j < dim { u32::MAX } else { 0 }) }
    }

    /// Returns the number of rows that have enough numbers after their start.
    pub(super) fn len(&self) -> usize {
        self.values.len().checked_sub(NARROW).map_or(0, |left| left / self.dim + 1)
    }
}

impl BlockRows for NarrowRows<'_> {
    type Row = NarrowRow;

    #[inline(always)]
    fn prefetch_behind(&self, index: usize) {
        prefetch_index(self.values, index * self.dim + AHEAD);
    }

    #[inline(always)]
    fn row(&self, index: usize) -> NarrowRow {
        let start = index * self.dim;
        let values = &self.values[start..start + NARROW];
        std::array::from_fn(|j| f64::from(f32::from_bits(values[j].to_bits() & self.mask[j])))
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<NarrowRow> {
        (index < self.len()).then(|| self.row(index))
    }

    #[inline(always)]
    fn norm_squared_at_most(&self, [a, b, c, d]: NarrowRow) -> f64 {
        (a * a + c * c) + (b * b + d * d)
    }
}

/// Dense rows without padding.
pub(super) struct PlainRows<'a> {
    pub(super) values: &'a [f32],
    pub(super) dim: usize,
}

impl<'a> BlockRows for PlainRows<'a> {
    type Row = &'a [f32];

    #[inline(always)]
    fn prefetch_behind(&self, index: usize) {
        prefetch_values(self.values, index * self.dim + AHEAD, self.dim);
    }

    #[inline(always)]
    fn row(&self, index: usize) -> &'a [f32] {
        &self.values[index * self.dim..(index + 1) * self.dim]
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<&'a [f32]> {
        self.values.get(index * self.dim..(index + 1) * self.dim)
    }

    #[inline(always)]
    fn norm_squared_at_most(&self, row: &'a [f32]) -> f64 {
        row.norm_squared_at_most()
    }
}

impl<'a> BlockRows for SparsePart<'a> {
    type Row = Sparse<'a>;

    #[inline(always)]
    fn prefetch_behind(&self, index: usize) {
        self.fetch_behind(index, AHEAD);
    }

    #[inline(always)]
    fn row(&self, index: usize) -> Sparse<'a> {
        SparsePart::row(*self, index)
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<Sparse<'a>> {
        SparsePart::get(*self, index)
    }

    #[inline(always)]
    fn norm_squared_at_most(&self, row: Sparse<'a>) -> f64 {
        row.norm_squared_at_most()
    }
}

#[inline(always)]
fn prefetch_values(values: &[f32], start: usize, count: usize) {
    for line in (0..count).step_by(LINE) {
        prefetch_index(values, start + line);
    }
}
