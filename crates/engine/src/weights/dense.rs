//! Weights for dense rows, eight at a time in explicit SIMD vectors.

// These functions are parts of dispatched loops.
#![allow(clippy::inline_always)]

use super::{RowStep, WeightStore};
use crate::simd::{LANES, Simd};

/// The intercepts, and the weights by cache lines; numbers after the last weight are 0.
type LaneWeights<'a> = (&'a mut [f64], &'a mut [[f64; LANES]]);

/// [`super::SeparateWeights`] of a model with one score, for dense rows with a number for every weight.
pub(crate) struct DenseStore<'a> {
    intercepts: &'a mut [f64],
    weights: &'a mut [[f64; LANES]],
    intercept_sums: &'a mut [f64],
    weight_sums: &'a mut [[f64; LANES]],
}

/// A dense row in whole vectors, the last of which may extend into the next row.
#[derive(Clone, Copy)]
pub(crate) struct LaneRow<'a> {
    pub(crate) lanes: &'a [[f32; LANES]],
    /// All bits set for the numbers of the last vector that belong to the row, 0 for the others.
    pub(crate) mask: [u32; LANES],
}

const ALL: [u32; LANES] = [u32::MAX; LANES];

impl<'a> DenseStore<'a> {
    pub(super) fn new((intercepts, weights): LaneWeights<'a>, (intercept_sums, weight_sums): LaneWeights<'a>) -> Self {
        Self { intercepts, weights, intercept_sums, weight_sums }
    }
}

impl WeightStore<LaneRow<'_>> for DenseStore<'_> {
    #[inline(always)]
    fn score<S: Simd>(&self, simd: S, row: LaneRow<'_>) -> f64 {
        let [intercept] = *self.intercepts else { return 0.0 };
        let Some((w_last, ws)) = self.weights.split_last() else { return intercept };
        let Some((x_last, xs)) = row.lanes.split_last() else { return intercept };
        let mut lanes = simd.splat(0.0);
        for (x, w) in xs.iter().zip(ws) {
            lanes = simd.add(lanes, simd.multiply(simd.widen(x, &ALL), simd.load(w)));
        }
        lanes = simd.add(lanes, simd.multiply(simd.widen(x_last, &row.mask), simd.load(w_last)));
        intercept + simd.sum(lanes)
    }

    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, row: LaneRow<'_>, step: RowStep) {
        if let ([b], [b_sum]) = (&mut *self.intercepts, &mut *self.intercept_sums) {
            step.add_to_intercept(b, b_sum);
        }
        let Some((w_last, ws)) = self.weights.split_last_mut() else { return };
        let Some((u_last, us)) = self.weight_sums.split_last_mut() else { return };
        let Some((x_last, xs)) = row.lanes.split_last() else { return };
        let (theta, sum) = (simd.splat(step.theta), simd.splat(step.sum));
        for ((x, w), u) in xs.iter().zip(ws).zip(us) {
            let x = simd.widen(x, &ALL);
            add_to(simd, theta, x, w);
            add_to(simd, sum, x, u);
        }
        let x = simd.widen(x_last, &row.mask);
        add_to(simd, theta, x, w_last);
        add_to(simd, sum, x, u_last);
    }
}

/// Adds scale·x to w.
#[inline(always)]
fn add_to<S: Simd>(simd: S, scale: S::Vector, x: S::Vector, w: &mut [f64; LANES]) {
    simd.store(simd.multiply_add(scale, x, simd.load(w)), w);
}

impl LaneRow<'_> {
    /// Returns the largest x², or NaN if one is NaN.
    #[inline(always)]
    pub(crate) fn largest_squared(self) -> f64 {
        // Without their signs floats have the order of their bits, with NaN above all.
        let Some((last, xs)) = self.lanes.split_last() else { return 0.0 };
        let mut most: [u32; LANES] = std::array::from_fn(|lane| last[lane].abs().to_bits() & self.mask[lane]);
        for x in xs {
            for lane in 0..LANES {
                most[lane] = most[lane].max(x[lane].abs().to_bits());
            }
        }
        let largest = f64::from(f32::from_bits(most.into_iter().fold(0, u32::max)));
        largest * largest
    }
}
