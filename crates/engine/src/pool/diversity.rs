//! Diversification of rows drawn before any answer: rows near one of them are drawn less often.
//!
//! Their U is multiplied by [`NEAR_FACTOR`] until the next answer. So every row keeps a positive and known probability, and
//! estimates stay unbiased.

use rayon::prelude::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use crate::features::Features;
use crate::rows::{Row, Rows};

/// The factor of U for rows near one that was drawn.
pub const NEAR_FACTOR: f64 = 0.1;

/// The rows drawn since the last answer, and the rows near one of them.
#[derive(Debug)]
pub(super) struct Diversity {
    /// x and y are near where ‖x − y‖² ≤ within·(‖x‖² + ‖y‖²).
    within: f64,
    dim: usize,
    /// The drawn rows as dense vectors, with ‖·‖².
    points: Vec<(Vec<f64>, f64)>,
    /// One bit per row of the pool.
    near: Vec<u64>,
    /// The number of points that `near` accounts for.
    compared: usize,
}

impl Diversity {
    pub(super) fn new(within: f64, dim: usize) -> Self {
        Self { within, dim, points: vec![], near: vec![], compared: 0 }
    }

    /// Records a drawn row.
    pub(super) fn add(&mut self, x: Row<'_>) {
        let mut point = vec![0.0; self.dim];
        x.add_to(1.0, &mut point);
        self.points.push((point, x.norm_squared()));
    }

    /// Forgets the drawn rows after answers; all rows regain their full weight.
    pub(super) fn forget(&mut self) {
        self.points.clear();
        self.near.clear();
        self.compared = 0;
    }

    /// Returns the least factor of U for any row.
    pub(super) fn least_factor(&self) -> f64 {
        if self.points.is_empty() { 1.0 } else { NEAR_FACTOR }
    }

    /// Finds the rows of the whole pool that are near the drawn ones, as a pass needs them.
    pub(super) fn find_near(&mut self, rows: &Rows) {
        let new = &self.points[self.compared..];
        if new.is_empty() {
            return;
        }
        self.near.resize(rows.len().div_ceil(64), 0);
        let within = self.within;
        self.near.par_iter_mut().enumerate().for_each(|(word, bits)| {
            for row in 64 * word..rows.len().min(64 * word + 64) {
                *bits |= u64::from(is_near(rows.row(row), new, within)) << (row % 64);
            }
        });
        self.compared = self.points.len();
    }

    /// Returns the factor of U for a row.
    pub(super) fn factor(&self, x: impl Features) -> f64 {
        if is_near(x, &self.points, self.within) { NEAR_FACTOR } else { 1.0 }
    }

    /// Reduces U of the rows from `first` on that are near a drawn one; `first` is a multiple of 64.
    pub(super) fn reduce(&self, first: usize, values: &mut [f64]) {
        let words = self.near.get(first / 64..).unwrap_or_default();
        for (word, values) in words.iter().zip(values.chunks_mut(64)).filter(|(word, _)| **word != 0) {
            for (bit, value) in values.iter_mut().enumerate() {
                if word >> bit & 1 == 1 {
                    *value *= NEAR_FACTOR;
                }
            }
        }
    }
}

fn is_near(x: impl Features, points: &[(Vec<f64>, f64)], within: f64) -> bool {
    let norm = x.norm_squared();
    // ‖x − y‖² = ‖x‖² + ‖y‖² − 2x·y
    points.iter().any(|(point, other)| (1.0 - within) * (norm + other) <= 2.0 * x.dot(point))
}
