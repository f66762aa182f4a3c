//! Dense rows for a walk: whole arrays of lanes are read of each.

// These are bodies of a dispatched loop.
#![allow(clippy::inline_always)]

use prefetch_index::prefetch_index;

use super::{AHEAD, walk};
use crate::features::LINE;
use crate::lanes::{Eight, LANES};
use crate::parameters::Parameters;

const ALL: [u32; LANES] = [u32::MAX; LANES];

/// Rows one after the other.
pub(super) struct Ground<'a> {
    /// The rows from the block's first on, to the end of all there are.
    values: &'a [f32],
    dim: usize,
    mask: [u32; LANES],
    intercepts: &'a mut [f64],
    weights: &'a mut [[f64; LANES]],
    late_intercepts: &'a mut [f64],
    lates: &'a mut [[f64; LANES]],
}

impl<'a> Ground<'a> {
    /// Of so many features each, at least one.
    pub(super) fn new(values: &'a [f32], dim: usize, theta: &'a mut Parameters, behind: &'a mut Parameters) -> Self {
        let ((intercepts, weights), (late_intercepts, lates)) = (theta.lines_mut(), behind.lines_mut());
        Self { values, dim, mask: mask(dim), intercepts, weights, late_intercepts, lates }
    }
}

impl<'a> walk::Ground for Ground<'a> {
    type Row = &'a [[f32; LANES]];

    #[inline(always)]
    fn row(&self, place: usize) -> Option<Self::Row> {
        let start = place * self.dim;
        let row = self.values.get(start..start + LANES * self.weights.len())?;
        for line in (0..self.dim).step_by(LINE) {
            prefetch_index(self.values, start + AHEAD + line);
        }
        Some(row.as_chunks().0)
    }

    #[inline(always)]
    fn score<E: Eight>(&self, eight: E, row: Self::Row) -> f64 {
        let [intercept] = *self.intercepts else { return 0.0 };
        intercept + dot(eight, row, self.weights, &self.mask)
    }

    #[inline(always)]
    fn norm_squared_at_most(&self, row: Self::Row) -> f64 {
        self.dim as f64 * largest_squared(row, &self.mask)
    }

    #[inline(always)]
    fn change<E: Eight>(&mut self, eight: E, row: Self::Row, down: f64, late: f64) {
        let ([intercept], [late_intercept]) = (&mut *self.intercepts, &mut *self.late_intercepts) else { return };
        *intercept += down;
        *late_intercept += late;
        add(eight, row, &self.mask, (down, self.weights), (late, self.lates));
    }
}

/// All bits for the features of the last lanes, none beyond the row.
fn mask(dim: usize) -> [u32; LANES] {
    let last = dim - (dim - 1) / LANES * LANES;
    std::array::from_fn(|lane| if lane < last { u32::MAX } else { 0 })
}

#[inline(always)]
fn dot<E: Eight>(eight: E, x: &[[f32; LANES]], w: &[[f64; LANES]], mask: &[u32; LANES]) -> f64 {
    let (Some((x_last, xs)), Some((w_last, ws))) = (x.split_last(), w.split_last()) else { return 0.0 };
    let mut lanes = eight.splat(0.0);
    for (x, w) in xs.iter().zip(ws) {
        lanes = eight.add(lanes, eight.multiply(eight.widen(x, &ALL), eight.load(w)));
    }
    lanes = eight.add(lanes, eight.multiply(eight.widen(x_last, mask), eight.load(w_last)));
    eight.sum(lanes)
}

#[inline(always)]
fn add<E: Eight>(
    eight: E,
    x: &[[f32; LANES]],
    mask: &[u32; LANES],
    (scale, w): (f64, &mut [[f64; LANES]]),
    (more, u): (f64, &mut [[f64; LANES]]),
) {
    let (Some((x_last, xs)), Some((w_last, ws)), Some((u_last, us))) =
        (x.split_last(), w.split_last_mut(), u.split_last_mut())
    else {
        return;
    };
    let (scale, more) = (eight.splat(scale), eight.splat(more));
    for ((x, w), u) in xs.iter().zip(ws).zip(us) {
        let x = eight.widen(x, &ALL);
        add_to(eight, x, scale, w);
        add_to(eight, x, more, u);
    }
    let x = eight.widen(x_last, mask);
    add_to(eight, x, scale, w_last);
    add_to(eight, x, more, u_last);
}

#[inline(always)]
fn add_to<E: Eight>(eight: E, x: E::Numbers, scale: E::Numbers, w: &mut [f64; LANES]) {
    eight.store(eight.multiply_add(scale, x, eight.load(w)), w);
}

/// The largest x², NaN where one is.
#[inline(always)]
fn largest_squared(x: &[[f32; LANES]], mask: &[u32; LANES]) -> f64 {
    // Without their signs floats are ordered as their bits, NaN above all.
    let Some((last, xs)) = x.split_last() else { return 0.0 };
    let mut most: [u32; LANES] = std::array::from_fn(|lane| last[lane].abs().to_bits() & mask[lane]);
    for x in xs {
        for lane in 0..LANES {
            most[lane] = most[lane].max(x[lane].abs().to_bits());
        }
    }
    let largest = f64::from(f32::from_bits(most.into_iter().fold(0, u32::max)));
    largest * largest
}
