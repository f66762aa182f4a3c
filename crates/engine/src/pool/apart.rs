//! Several rows drawn before any answer should differ: what nearly repeats one of them is drawn less.
//!
//! Less, and not never: U of such a row counts for [`LESS`] of itself until the next answer, so every row keeps a chance, the
//! chance is known, and estimates stay unbiased.

use rayon::prelude::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use crate::features::Features;
use crate::rows::{Row, Rows};

/// What U counts for where a row nearly repeats one that was drawn.
pub const LESS: f64 = 0.1;

/// The rows drawn since the last answer, and which others are near one of them.
#[derive(Debug)]
pub(super) struct Apart {
    /// x and y are near where ‖x − y‖² ≤ within·(‖x‖² + ‖y‖²).
    within: f64,
    dim: usize,
    /// The rows drawn, feature by feature, with ‖·‖².
    points: Vec<(Vec<f64>, f64)>,
    /// A bit a row of the pool, and how many points it knows.
    near: Vec<u64>,
    known: usize,
}

impl Apart {
    pub(super) fn new(within: f64, dim: usize) -> Self {
        Self { within, dim, points: vec![], near: vec![], known: 0 }
    }

    /// A row was drawn.
    pub(super) fn draw(&mut self, x: Row<'_>) {
        let mut point = vec![0.0; self.dim];
        x.add_to(1.0, &mut point);
        self.points.push((point, x.norm_squared()));
    }

    /// Answers came: all rows count in full.
    pub(super) fn forget(&mut self) {
        self.points.clear();
        self.near.clear();
        self.known = 0;
    }

    /// No row counts for less of its U than this.
    pub(super) fn least(&self) -> f64 {
        if self.points.is_empty() { 1.0 } else { LESS }
    }

    /// Finds what is near them in the whole pool, as a pass needs it.
    pub(super) fn look(&mut self, rows: &Rows) {
        let new = &self.points[self.known..];
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
        self.known = self.points.len();
    }

    /// What U of a row counts for.
    pub(super) fn share(&self, x: impl Features) -> f64 {
        if is_near(x, &self.points, self.within) { LESS } else { 1.0 }
    }

    /// Lessens U of the rows from `first` on; `first` is a multiple of 64.
    pub(super) fn lessen(&self, first: usize, values: &mut [f64]) {
        let words = self.near.get(first / 64..).unwrap_or_default();
        for (word, values) in words.iter().zip(values.chunks_mut(64)).filter(|(word, _)| **word != 0) {
            for (bit, value) in values.iter_mut().enumerate() {
                if word >> bit & 1 == 1 {
                    *value *= LESS;
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
