//! Kernel features of rows, and the similarities that they are made of.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use super::whitening;
use crate::elementary::exp_neg;
use crate::features::Features;
use crate::numbers::Numbers;
use crate::rows::DenseRows;
use crate::simd::{LANES, dispatch};

/// The similarities of rows to landmarks.
#[derive(Clone, Debug, PartialEq)]
pub struct Similarities {
    dim: usize,
    /// The landmarks in groups of [`LANES`], a group feature by feature; the last group is filled with zeros.
    groups: Vec<f64>,
    norms: Vec<f64>,
    rate: f64,
}

/// A map with the factor of its landmarks.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFeatures {
    similarities: Arc<Similarities>,
    /// √V·L⁻¹, column by column.
    whitening: Vec<f64>,
}

/// The least number of rows for which another thread is started.
const ROWS_PER_THREAD: usize = 1024;
/// The number of rows whose similarities are computed together, while a group of landmarks is in registers.
const ROWS: usize = 4;

impl Similarities {
    /// Prepares landmarks with `dim` features each, for the kernel e^(−rate·‖x − z‖²).
    pub(super) fn new(dim: usize, landmarks: &[f32], rate: f64) -> Self {
        let norms = landmarks.chunks_exact(dim).map(Features::norm_squared).collect();
        Self { dim, groups: grouped(dim, landmarks), norms, rate }
    }

    /// Returns the number of features of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of landmarks.
    pub fn landmarks(&self) -> usize {
        self.norms.len()
    }

    /// Computes the similarities of rows to all landmarks, row by row. Those of a row do not depend on the others.
    pub fn of_rows(&self, rows: &[f32], out: &mut [f64]) {
        let count = self.norms.len();
        let blocks = rows.chunks(ROWS * self.dim).zip(out.chunks_mut(ROWS * count));
        for (rows, out) in blocks {
            if rows.len() == ROWS * self.dim {
                self.of_block::<ROWS>(rows, out);
            } else {
                for (x, out) in rows.chunks_exact(self.dim).zip(out.chunks_exact_mut(count)) {
                    self.of_block::<1>(x, out);
                }
            }
        }
    }

    fn of_block<const N: usize>(&self, rows: &[f32], out: &mut [f64]) {
        let (dim, count, rate) = (self.dim, self.norms.len(), self.rate);
        let (groups, norms) = (&self.groups[..], &self.norms[..]);
        let x: [&[f32]; N] = std::array::from_fn(|row| &rows[row * dim..(row + 1) * dim]);
        let own = x.map(Features::norm_squared);
        dispatch(
            #[inline(always)]
            move || {
                for (at, (group, norms)) in groups.chunks_exact(LANES * dim).zip(norms.chunks(LANES)).enumerate() {
                    let products = products(x, group);
                    for row in 0..N {
                        let out = &mut out[row * count + at * LANES..][..norms.len()];
                        for ((out, norm), product) in out.iter_mut().zip(norms).zip(products[row]) {
                            *out = exp_neg((own[row] + norm - 2.0 * product).max(0.0) * rate);
                        }
                    }
                }
            },
        );
    }

    /// Adds the products of the similarities of a row with weights, `out.len()` numbers for each landmark.
    pub fn add_products(&self, similarities: &[f64], weights: &[f64], out: &mut [f64]) {
        if let [score] = out {
            *score += dot(similarities, weights);
            return;
        }
        let outputs = out.len();
        for (similarity, weights) in similarities.iter().zip(weights.chunks_exact(outputs)) {
            for (score, weight) in out.iter_mut().zip(weights) {
                *score += similarity * weight;
            }
        }
    }
}

impl KernelFeatures {
    /// Factors the similarities of these landmarks. Kernel features have this scale.
    pub(super) fn new(similarities: Similarities, landmarks: &[f32], scale: f64) -> Self {
        let count = similarities.landmarks();
        let mut matrix = vec![0.0; count * count];
        similarities.of_rows(landmarks, &mut matrix);
        let whitening = whitening(&mut matrix, count, scale);
        Self { similarities: Arc::new(similarities), whitening }
    }

    /// Returns the similarities that the features are made of.
    pub fn similarities(&self) -> &Arc<Similarities> {
        &self.similarities
    }

    /// Returns the number of features of a row without its kernel features.
    pub fn dim(&self) -> usize {
        self.similarities.dim
    }

    /// Returns the number of kernel features.
    pub fn landmarks(&self) -> usize {
        self.similarities.landmarks()
    }

    /// Returns rows with their own features, followed by their kernel features. Threads do not change the result.
    pub fn extend(&self, rows: &DenseRows) -> DenseRows {
        let (dim, wide) = (self.dim(), self.dim() + self.landmarks());
        let mut values = vec![0.0; rows.len() * wide];
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let share = rows.len().div_ceil(threads).max(ROWS_PER_THREAD);
        thread::scope(|scope| {
            let parts = values.chunks_mut(share * wide).zip(rows.values().chunks(share * dim));
            for (out, x) in parts {
                if rows.len() <= share {
                    self.extend_rows(x, out);
                } else {
                    scope.spawn(move || self.extend_rows(x, out));
                }
            }
        });
        DenseRows::from_numbers(wide, Numbers::from(values)).unwrap_or_else(|| DenseRows::new(wide))
    }

    /// Writes the features and kernel features of rows that are stored contiguously.
    pub fn extend_rows(&self, rows: &[f32], out: &mut [f32]) {
        let (dim, count) = (self.dim(), self.landmarks());
        let (mut similarities, mut features) = (vec![0.0; count], vec![0.0; count]);
        for (x, out) in rows.chunks_exact(dim).zip(out.chunks_exact_mut(dim + count)) {
            let (own, kernel) = out.split_at_mut(dim);
            own.copy_from_slice(x);
            self.similarities.of_rows(x, &mut similarities);
            self.whiten(&similarities, &mut features);
            for (out, value) in kernel.iter_mut().zip(&features) {
                *out = *value as f32;
            }
        }
    }

    /// Computes √V·L⁻¹k.
    fn whiten(&self, similarities: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let (count, whitening) = (similarities.len(), &self.whitening[..]);
        dispatch(
            #[inline(always)]
            move || {
                for (index, similarity) in similarities.iter().enumerate() {
                    let column = &whitening[index * count + index..(index + 1) * count];
                    for (out, factor) in out[index..].iter_mut().zip(column) {
                        *out += similarity * factor;
                    }
                }
            },
        );
    }

    /// Turns weights of kernel features into those of similarities, `outputs` numbers for each landmark: √V·L⁻ᵀw.
    pub fn weights_of_similarities(&self, weights: &[f64], outputs: usize) -> Vec<f64> {
        let count = self.landmarks();
        let mut found = vec![0.0; weights.len()];
        for (index, found) in found.chunks_exact_mut(outputs).enumerate() {
            let column = &self.whitening[index * count + index..(index + 1) * count];
            for (factor, weights) in column.iter().zip(weights[index * outputs..].chunks_exact(outputs)) {
                for (found, weight) in found.iter_mut().zip(weights) {
                    *found += factor * weight;
                }
            }
        }
        found
    }
}

/// Returns landmarks in groups, feature by feature.
fn grouped(dim: usize, landmarks: &[f32]) -> Vec<f64> {
    let count = landmarks.len() / dim;
    let mut groups = vec![0.0; count.div_ceil(LANES) * LANES * dim];
    for (index, z) in landmarks.chunks_exact(dim).enumerate() {
        let group = &mut groups[index / LANES * LANES * dim..][..LANES * dim];
        for (lanes, value) in group.chunks_exact_mut(LANES).zip(z) {
            lanes[index % LANES] = f64::from(*value);
        }
    }
    groups
}

/// Returns the products of rows with the landmarks of a group.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the body of a dispatched loop")]
fn products<const N: usize>(rows: [&[f32]; N], group: &[f64]) -> [[f64; LANES]; N] {
    let mut sums = [[0.0; LANES]; N];
    for (j, lanes) in group.chunks_exact(LANES).enumerate() {
        for (sums, x) in sums.iter_mut().zip(rows) {
            let x = f64::from(x[j]);
            for (sum, z) in sums.iter_mut().zip(lanes) {
                *sum = x.mul_add(*z, *sum);
            }
        }
    }
    sums
}

/// Returns a product of two vectors, summed in lanes.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    dispatch(
        #[inline(always)]
        move || {
            let mut sums = [0.0; LANES];
            for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
                for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                    *sum += a * b;
                }
            }
            crate::features::sum(sums)
        },
    )
}
