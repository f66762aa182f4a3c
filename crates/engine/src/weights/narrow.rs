//! Weights for dense rows of a few features.
//!
//! With few features the latency of the score dominates a step, and the sum of eight lanes takes longer than that of
//! four.

// These functions are parts of dispatched loops.
#![allow(clippy::inline_always)]

use super::{RowStep, WeightStore};
use crate::simd::Simd;

/// The maximum number of features of a narrow row.
pub(crate) const NARROW: usize = 4;

/// [`super::SeparateWeights`] of a model with one score and at most [`NARROW`] features.
pub(crate) struct NarrowStore<'a> {
    pub(super) intercept: &'a mut f64,
    /// Numbers after the last weight are 0.
    pub(super) weights: &'a mut [f64; NARROW],
    pub(super) intercept_sum: &'a mut f64,
    pub(super) weight_sums: &'a mut [f64; NARROW],
}

/// A dense row; numbers after the last feature are 0.
pub(crate) type NarrowRow = [f64; NARROW];

impl WeightStore<NarrowRow> for NarrowStore<'_> {
    #[inline(always)]
    fn score<S: Simd>(&self, _simd: S, x: NarrowRow) -> f64 {
        let [a, b, c, d]: NarrowRow = std::array::from_fn(|j| x[j] * self.weights[j]);
        // This is the order of `features::sum` without its zeros. Like them, 0 turns an intercept of −0 into +0.
        (*self.intercept + 0.0) + ((a + c) + (b + d))
    }

    #[inline(always)]
    fn add<S: Simd>(&mut self, _simd: S, x: NarrowRow, step: RowStep) {
        step.add_to_intercept(self.intercept, self.intercept_sum);
        for j in 0..NARROW {
            self.weights[j] = step.theta.mul_add(x[j], self.weights[j]);
            self.weight_sums[j] = step.sum.mul_add(x[j], self.weight_sums[j]);
        }
    }
}
