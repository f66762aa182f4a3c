//! The features of an observation: stored as f32, computed with as f64.
//!
//! Sums run in eight lanes, the j-th number of a row in lane j mod 8, and the lanes are added in one fixed order. So
//! narrow and wide registers give the same bits. A sparse row is summed like a dense row of only its stored numbers, so
//! the last digits may differ if zeros are dropped.

use prefetch_index::prefetch_index;

use crate::rows::{Row, Sparse};
use crate::simd::{LANES, dispatch, wide};

/// The features of one observation.
pub trait Features: Copy {
    /// Returns the number of stored values.
    fn numbers(self) -> usize;

    /// Prefetches the features.
    fn fetch(self);

    /// Returns x·w.
    fn dot(self, w: &[f64]) -> f64;

    /// Returns x·w with the weights from a function, bit-identical to [`Self::dot`].
    fn dot_by(self, w: impl Fn(usize) -> f64) -> f64;

    /// Returns ‖x‖².
    fn norm_squared(self) -> f64;

    /// Returns an upper bound on ‖x‖² up to rounding, faster than ‖x‖² itself; NaN if a feature is NaN.
    fn norm_squared_at_most(self) -> f64;

    /// Calls `take` with every stored feature, zeros included, in the order of storage.
    fn each(self, take: impl FnMut(usize, f64));

    /// Computes w += scale·x.
    fn add_to(self, scale: f64, w: &mut [f64]);

    /// Computes w += scale·x and u += more·x, in one pass.
    fn add_to_two(self, scale: f64, w: &mut [f64], more: f64, u: &mut [f64]);
}

/// The number of features in a cache line.
pub const LINE: usize = 16;
/// The prefetch distance of a pass over rows, in features.
const AHEAD: usize = 512;
/// The number of parts of its rows that a pass reads in parallel. Memory bandwidth is higher when several locations are
/// read.
const PARTS: usize = 4;

impl Features for &[f32] {
    #[inline]
    fn numbers(self) -> usize {
        self.len()
    }

    #[inline]
    fn fetch(self) {
        for place in (0..self.len()).step_by(LINE) {
            prefetch_index(self, place);
        }
        // The end may be in another cache line.
        prefetch_index(self, self.len().saturating_sub(1));
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "in the loop to the next query a call for every row costs a fifth")]
    fn dot(self, w: &[f64]) -> f64 {
        wide(
            self.len(),
            #[inline(always)]
            move || dense_dot(self, w),
        )
    }

    #[inline]
    fn dot_by(self, w: impl Fn(usize) -> f64) -> f64 {
        let near: Vec<f64> = (0..self.len()).map(w).collect();
        self.dot(&near)
    }

    #[inline]
    fn norm_squared(self) -> f64 {
        wide(
            self.len(),
            #[inline(always)]
            move || dense_norm_squared(self),
        )
    }

    #[inline]
    fn norm_squared_at_most(self) -> f64 {
        let largest = f64::from(wide(
            self.len(),
            #[inline(always)]
            move || largest(self),
        ));
        self.len() as f64 * largest * largest
    }

    #[inline]
    fn each(self, mut take: impl FnMut(usize, f64)) {
        for (j, x) in self.iter().enumerate() {
            take(j, f64::from(*x));
        }
    }

    #[inline]
    fn add_to(self, scale: f64, w: &mut [f64]) {
        dispatch(
            #[inline(always)]
            move || {
                for (w, x) in w.iter_mut().zip(self) {
                    *w = scale.mul_add(f64::from(*x), *w);
                }
            },
        );
    }

    #[inline]
    fn add_to_two(self, scale: f64, w: &mut [f64], more: f64, u: &mut [f64]) {
        dispatch(
            #[inline(always)]
            move || {
                for ((w, u), x) in w.iter_mut().zip(u).zip(self) {
                    *w = scale.mul_add(f64::from(*x), *w);
                    *u = more.mul_add(f64::from(*x), *u);
                }
            },
        );
    }
}

#[allow(clippy::inline_always, reason = "parts of dispatched loops")]
impl Features for Sparse<'_> {
    #[inline(always)]
    fn numbers(self) -> usize {
        self.value.len()
    }

    #[inline(always)]
    fn fetch(self) {
        for place in (0..self.index.len()).step_by(LINE) {
            prefetch_index(self.index, place);
            prefetch_index(self.value, place);
        }
    }

    #[inline(always)]
    fn dot(self, w: &[f64]) -> f64 {
        self.dot_by(|j| w[j])
    }

    #[inline(always)]
    fn dot_by(self, w: impl Fn(usize) -> f64) -> f64 {
        let (js, j_rest) = self.index.as_chunks::<LANES>();
        let (xs, x_rest) = self.value.as_chunks::<LANES>();
        let mut lanes = [0.0; LANES];
        for (j, x) in js.iter().zip(xs) {
            let near: [f64; LANES] = std::array::from_fn(|lane| w(j[lane] as usize));
            for lane in 0..LANES {
                lanes[lane] += f64::from(x[lane]) * near[lane];
            }
        }
        // Adding 0 changes no lane: lanes start at +0 and so are never −0.
        let product = |lane: usize| match (j_rest.get(lane), x_rest.get(lane)) {
            (Some(j), Some(x)) => f64::from(*x) * w(*j as usize),
            _ => 0.0,
        };
        sum(std::array::from_fn(|lane| lanes[lane] + product(lane)))
    }

    #[inline(always)]
    fn norm_squared(self) -> f64 {
        self.value.norm_squared()
    }

    #[inline(always)]
    fn norm_squared_at_most(self) -> f64 {
        self.value.norm_squared_at_most()
    }

    #[inline(always)]
    fn each(self, mut take: impl FnMut(usize, f64)) {
        for (j, x) in self.index.iter().zip(self.value) {
            take(*j as usize, f64::from(*x));
        }
    }

    #[inline(always)]
    fn add_to(self, scale: f64, w: &mut [f64]) {
        dispatch(
            #[inline(always)]
            move || {
                for (j, x) in self.index.iter().zip(self.value) {
                    let w = &mut w[*j as usize];
                    *w = scale.mul_add(f64::from(*x), *w);
                }
            },
        );
    }

    #[inline(always)]
    fn add_to_two(self, scale: f64, w: &mut [f64], more: f64, u: &mut [f64]) {
        dispatch(
            #[inline(always)]
            move || {
                for (j, x) in self.index.iter().zip(self.value) {
                    let (w, u) = (&mut w[*j as usize], &mut u[*j as usize]);
                    *w = scale.mul_add(f64::from(*x), *w);
                    *u = more.mul_add(f64::from(*x), *u);
                }
            },
        );
    }
}

impl Features for Row<'_> {
    #[inline]
    fn numbers(self) -> usize {
        match self {
            Row::Dense(x) => x.numbers(),
            Row::Sparse(x) => x.numbers(),
        }
    }

    #[inline]
    fn fetch(self) {
        match self {
            Row::Dense(x) => x.fetch(),
            Row::Sparse(x) => x.fetch(),
        }
    }

    #[inline]
    fn dot(self, w: &[f64]) -> f64 {
        match self {
            Row::Dense(x) => x.dot(w),
            Row::Sparse(x) => x.dot(w),
        }
    }

    #[inline]
    fn dot_by(self, w: impl Fn(usize) -> f64) -> f64 {
        match self {
            Row::Dense(x) => x.dot_by(w),
            Row::Sparse(x) => x.dot_by(w),
        }
    }

    #[inline]
    fn norm_squared(self) -> f64 {
        match self {
            Row::Dense(x) => x.norm_squared(),
            Row::Sparse(x) => x.norm_squared(),
        }
    }

    #[inline]
    fn norm_squared_at_most(self) -> f64 {
        match self {
            Row::Dense(x) => x.norm_squared_at_most(),
            Row::Sparse(x) => x.norm_squared_at_most(),
        }
    }

    #[inline]
    fn each(self, take: impl FnMut(usize, f64)) {
        match self {
            Row::Dense(x) => x.each(take),
            Row::Sparse(x) => x.each(take),
        }
    }

    #[inline]
    fn add_to(self, scale: f64, w: &mut [f64]) {
        match self {
            Row::Dense(x) => x.add_to(scale, w),
            Row::Sparse(x) => x.add_to(scale, w),
        }
    }

    #[inline]
    fn add_to_two(self, scale: f64, w: &mut [f64], more: f64, u: &mut [f64]) {
        match self {
            Row::Dense(x) => x.add_to_two(scale, w, more, u),
            Row::Sparse(x) => x.add_to_two(scale, w, more, u),
        }
    }
}

/// Returns Σ x·w.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn dense_dot(x: &[f32], w: &[f64]) -> f64 {
    // Iterating over arrays avoids a bounds check for every index, which would prevent vectorization.
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let (ws, w_rest) = w[..x.len()].as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (x, w) in xs.iter().zip(ws) {
        for lane in 0..LANES {
            lanes[lane] += f64::from(x[lane]) * w[lane];
        }
    }
    sum(add_rest(lanes, x_rest, w_rest))
}

/// Adds the products of the last few features: first four at once, then a case for each remaining count. A loop over
/// them would spill the lanes to memory.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn add_rest(lanes: [f64; LANES], x: &[f32], w: &[f64]) -> [f64; LANES] {
    let [a, b, c, d, e, f, g, h] = lanes;
    let fours = (x.split_first_chunk::<4>(), w.split_first_chunk::<4>());
    let ([a, b, c, d], [e, f, g, h]) = if let (Some((x, x_rest)), Some((w, w_rest))) = fours {
        (add_four([a, b, c, d], *x, *w), add_few([e, f, g, h], x_rest, w_rest))
    } else {
        (add_few([a, b, c, d], x, w), [e, f, g, h])
    };
    [a, b, c, d, e, f, g, h]
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn add_four(lanes: [f64; 4], x: [f32; 4], w: [f64; 4]) -> [f64; 4] {
    std::array::from_fn(|lane| lanes[lane] + f64::from(x[lane]) * w[lane])
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn add_few(lanes: [f64; 4], x: &[f32], w: &[f64]) -> [f64; 4] {
    // Adding 0·0 changes no lane: lanes start at +0 and so are never −0.
    match (x, w) {
        ([x], [w]) => add_four(lanes, [*x, 0.0, 0.0, 0.0], [*w, 0.0, 0.0, 0.0]),
        ([x, y], [w, v]) => add_four(lanes, [*x, *y, 0.0, 0.0], [*w, *v, 0.0, 0.0]),
        ([x, y, z], [w, v, u]) => add_four(lanes, [*x, *y, *z, 0.0], [*w, *v, *u, 0.0]),
        _ => lanes,
    }
}

/// Returns Σ x².
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn dense_norm_squared(x: &[f32]) -> f64 {
    let (xs, rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for x in xs {
        for lane in 0..LANES {
            lanes[lane] += f64::from(x[lane]) * f64::from(x[lane]);
        }
    }
    let mut same = [0.0; LANES];
    let same = &mut same[..rest.len()];
    for (same, x) in same.iter_mut().zip(rest) {
        *same = f64::from(*x);
    }
    sum(add_rest(lanes, rest, same))
}

/// Returns the largest |x|, or NaN if one is NaN.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn largest(x: &[f32]) -> f32 {
    // Without their signs floats have the order of their bits, with NaN above all; the maximum of integers does not
    // depend on their order.
    f32::from_bits(x.iter().fold(0, |most, x| most.max(x.abs().to_bits())))
}

/// Adds the lanes in one fixed order.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
pub fn sum(l: [f64; LANES]) -> f64 {
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

/// Computes the scores of contiguous dense rows under one θ with its intercept first.
pub fn dense_scores(values: &[f32], theta: &[f64], out: &mut [f64]) {
    let (intercept, weights) = (theta[0], &theta[1..]);
    if weights.is_empty() {
        out.fill(intercept);
        return;
    }
    dispatch(
        #[inline(always)]
        move || {
            let (dim, part) = (weights.len(), out.len().div_ceil(PARTS));
            for first in 0..part {
                // A manual loop: `step_by` would divide to compute the number of steps.
                let mut row = first;
                while row < out.len() {
                    // The hardware prefetcher stops at each page.
                    for place in (0..dim).step_by(LINE) {
                        prefetch_index(values, row * dim + place + AHEAD);
                    }
                    out[row] = intercept + dense_dot(&values[row * dim..(row + 1) * dim], weights);
                    row += part;
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_norm_is_no_more_than_its_bound() {
        let value: Vec<f32> = (0..100_u8).map(|j| f32::from(j) * 0.37 - 19.0).collect();
        let index: Vec<u32> = (0..100).map(|j| 3 * j + j % 2).collect();
        for n in 0..value.len() {
            let (dense, sparse) = (&value[..n], Sparse { index: &index[..n], value: &value[..n] });
            assert!(dense.norm_squared() <= dense.norm_squared_at_most() * (1.0 + 1e-12), "{n} features");
            assert_eq!(dense.norm_squared_at_most(), sparse.norm_squared_at_most());
        }
        assert_eq!([f32::MIN, 1.0].as_slice().norm_squared_at_most(), 2.0 * f64::from(f32::MAX).powi(2));
        assert!([1.0, -f32::NAN, 2.0].as_slice().norm_squared_at_most().is_nan());
    }
}
