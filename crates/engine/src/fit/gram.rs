//! The Gram matrix of answers, and its products with several vectors.

use querist_rows::with_widest_simd;

use super::postings::Postings;
use crate::features::Features;
use crate::rows::{DenseRows, Row, Rows};
use crate::simd::{LANES, Simd, dispatch};

/// The largest number of answers whose Gram matrix is stored.
const MOST_IN_GRAM: usize = 4096;
/// The work of a product with a feature, whose weights are scattered in memory, in products with entries of the matrix.
const FEATURE_WORK: usize = 8;
/// The Gram matrix of fewer answers is stored in any case.
const FEW: usize = 64;
/// The number of columns of the Gram matrix that are multiplied at once, so that the vectors stay in the cache.
const COLUMNS: usize = 256;

/// The Gram matrix of answers, grown by a row and a column with each, while that is cheaper than their features.
#[derive(Clone, Debug, Default)]
pub(super) struct Gram {
    postings: Postings,
    answers: usize,
    /// The number of stored features of all answers.
    features: usize,
    /// The distance of two rows in `products`.
    stride: usize,
    products: Vec<f64>,
}

impl Gram {
    /// Appends the last of these answers.
    pub(super) fn push(&mut self, rows: &Rows) {
        let x = rows.row(rows.len() - 1);
        self.features += x.numbers();
        let answer = self.answers;
        self.answers += 1;
        if !self.is_stored() {
            // The number of features per answer may grow again, but then products of earlier answers are missing.
            *self = Self { answers: self.answers.max(MOST_IN_GRAM + 1), ..Self::default() };
            return;
        }
        if answer == self.stride {
            self.widen();
        }
        let mut products = match (rows, x) {
            (Rows::Dense(rows), Row::Dense(x)) => dense_products(rows, x),
            (_, Row::Sparse(x)) => {
                let products = self.postings.products(x);
                self.postings.push(x);
                products
            }
            _ => unreachable!("a row is of the kind of its rows"),
        };
        products.push(x.norm_squared());
        for (other, product) in products.iter().enumerate() {
            self.products[other * self.stride + answer] = *product;
        }
        self.products[answer * self.stride..][..=answer].copy_from_slice(&products);
    }

    /// Returns whether the matrix is stored. Otherwise products are computed from the features.
    pub(super) fn is_stored(&self) -> bool {
        let is_cheap = self.answers * self.answers <= FEATURE_WORK * self.features;
        self.answers <= FEW || self.answers <= MOST_IN_GRAM && is_cheap
    }

    fn widen(&mut self) {
        let stride = (2 * self.stride).clamp(64, MOST_IN_GRAM);
        let mut products = vec![0.0; stride * stride];
        for row in 0..self.stride {
            products[row * stride..][..self.stride].copy_from_slice(&self.products[row * self.stride..][..self.stride]);
        }
        (self.stride, self.products) = (stride, products);
    }

    /// Computes the products of the matrix with several vectors, which are stored answer by answer.
    fn multiply(&self, vectors: &[f64], count: usize, out: &mut [f64]) {
        let width = count.div_ceil(LANES);
        let panels = panels(vectors, count);
        let mut sums = vec![[0.0; LANES]; self.answers.next_multiple_of(LANES) * width];
        with_widest_simd!(|simd| self.add_products(simd, &panels, width, &mut sums));
        for (answer, out) in out.chunks_exact_mut(count).enumerate() {
            for (panel, out) in out.chunks_mut(LANES).enumerate() {
                let first = answer / LANES * LANES * width;
                out.copy_from_slice(&sums[first + panel * LANES + answer % LANES][..out.len()]);
            }
        }
    }

    /// Adds the products of eight rows at a time with eight vectors at a time. `sums` has the same order.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
    fn add_products<S: Simd>(&self, simd: S, panels: &[[f64; LANES]], width: usize, sums: &mut [[f64; LANES]]) {
        for first in (0..self.answers).step_by(COLUMNS) {
            let columns = first..self.answers.min(first + COLUMNS);
            for (block, sums) in sums.chunks_exact_mut(LANES * width).enumerate() {
                // Rows beyond the last answer repeat it; their sums are not read.
                let rows: [&[f64]; LANES] = std::array::from_fn(|lane| {
                    let row = (block * LANES + lane).min(self.answers - 1);
                    &self.products[row * self.stride..][columns.clone()]
                });
                for (panel, sums) in sums.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                    let vectors = &panels[panel * self.answers..][columns.clone()];
                    let mut totals = std::array::from_fn(|lane| simd.load(&sums[lane]));
                    for (column, vectors) in vectors.iter().enumerate() {
                        let vectors = simd.load(vectors);
                        totals = std::array::from_fn::<_, LANES, _>(|lane| {
                            simd.multiply_add(simd.splat(rows[lane][column]), vectors, totals[lane])
                        });
                    }
                    for lane in 0..LANES {
                        simd.store(totals[lane], &mut sums[lane]);
                    }
                }
            }
        }
    }
}

/// Returns the products of the last dense answer with all before it.
fn dense_products(rows: &DenseRows, x: &[f32]) -> Vec<f64> {
    let x: Vec<f64> = x.iter().map(|value| f64::from(*value)).collect();
    (0..rows.len() - 1).map(|answer| rows.row(answer).dot(&x)).collect()
}

/// Returns vectors in panels of eight, padded with zeros: panel by panel, and in each answer by answer.
fn panels(vectors: &[f64], count: usize) -> Vec<[f64; LANES]> {
    let answers = vectors.len() / count;
    let mut panels = vec![[0.0; LANES]; count.div_ceil(LANES) * answers];
    for (answer, own) in vectors.chunks_exact(count).enumerate() {
        for (panel, own) in own.chunks(LANES).enumerate() {
            panels[panel * answers + answer][..own.len()].copy_from_slice(own);
        }
    }
    panels
}

/// Answers whose Gram matrix is multiplied, stored or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct DualRows<'a> {
    rows: &'a Rows,
    gram: &'a Gram,
}

impl<'a> DualRows<'a> {
    pub(super) fn new(rows: &'a Rows, gram: &'a Gram) -> Self {
        Self { rows, gram }
    }

    /// Returns the number of answers.
    pub(super) fn len(self) -> usize {
        self.rows.len()
    }

    /// Returns the features of an answer.
    pub(super) fn row(self, answer: usize) -> Row<'a> {
        self.rows.row(answer)
    }

    /// Computes the products of the Gram matrix with several vectors, which are stored answer by answer.
    pub(super) fn multiply(self, vectors: &[f64], count: usize, out: &mut [f64]) {
        if self.gram.is_stored() {
            self.gram.multiply(vectors, count, out);
            return;
        }
        let mut weights = vec![0.0; self.rows.dim() * count];
        self.write_weights(vectors, count, &mut weights);
        let rows = self.rows;
        dispatch(
            #[inline(always)]
            move || {
                for (answer, out) in out.chunks_exact_mut(count).enumerate() {
                    out.fill(0.0);
                    rows.row(answer).each(
                        #[inline(always)]
                        |j, x| add(x, &weights[j * count..][..count], out),
                    );
                }
            },
        );
    }

    /// Writes the weights of all features that occur in answers, W = `XᵀA`.
    pub(super) fn write_weights(self, vectors: &[f64], count: usize, weights: &mut [f64]) {
        let rows = self.rows;
        for answer in 0..rows.len() {
            rows.row(answer).each(|j, _| weights[j * count..][..count].fill(0.0));
        }
        dispatch(
            #[inline(always)]
            move || {
                for (answer, own) in vectors.chunks_exact(count).enumerate() {
                    rows.row(answer).each(
                        #[inline(always)]
                        |j, x| add(x, own, &mut weights[j * count..][..count]),
                    );
                }
            },
        );
    }
}

/// Computes target += scale·values.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn add(scale: f64, values: &[f64], target: &mut [f64]) {
    for (target, value) in target.iter_mut().zip(values) {
        *target = scale.mul_add(*value, *target);
    }
}
