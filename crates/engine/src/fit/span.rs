//! Answers by their coordinates in an orthonormal basis of their own span.
//!
//! A fit with a penalty on ‖w‖² has its minimum in the span of the answers. So fewer answers than features need only as
//! many coordinates as there are answers, with the same scores and the same ‖w‖². The basis is that of Gram and
//! Schmidt: the coordinates of all answers are the Cholesky factor of their products x·y.

use super::postings::Postings;
use crate::features::Features;
use crate::rows::{Row, Rows};
use crate::simd::dispatch;

/// The largest number of answers that are fitted by coordinates; the work of a pass grows with the square.
pub(super) const MOST_SPANNED: usize = 768;

/// An answer whose distance from the span of earlier ones is below this fraction of its length lies in that span.
const IN_SPAN: f64 = 1e-7;

/// The coordinates of answers.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanAnswers {
    /// The coordinates of all answers, one after the other.
    coordinates: Vec<f64>,
    /// The end of each answer's coordinates; those not stored are 0.
    ends: Vec<usize>,
    /// For each coordinate, the answer that added it.
    basis: Vec<usize>,
    /// The index of sparse answers.
    postings: Postings,
}

impl SpanAnswers {
    /// Appends the last of these rows, which are the answers so far.
    pub(super) fn push(&mut self, rows: &Rows) {
        let answer = self.ends.len();
        let x = rows.row(answer);
        let mut own = self.products_with_basis(rows, x);
        self.substitute(&mut own);
        let length = x.norm_squared();
        let beyond = length - dot(&own, &own);
        if IN_SPAN * IN_SPAN * length < beyond {
            own.push(beyond.sqrt());
            self.basis.push(answer);
        }
        self.coordinates.extend(own);
        self.ends.push(self.coordinates.len());
    }

    /// Returns the products of the last answer with those of the basis, and indexes it if it is sparse.
    fn products_with_basis(&mut self, rows: &Rows, x: Row<'_>) -> Vec<f64> {
        match x {
            Row::Sparse(x) => {
                let products = self.postings.products(x);
                self.postings.push(x);
                self.basis.iter().map(|other| products[*other]).collect()
            }
            Row::Dense(x) => {
                let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
                self.basis.iter().map(|other| rows.row(*other).dot(&x)).collect()
            }
        }
    }

    /// Returns the number of coordinates.
    pub(super) fn dim(&self) -> usize {
        self.basis.len()
    }

    /// Returns the coordinates of an answer.
    pub(super) fn row(&self, answer: usize) -> Coordinates<'_> {
        let first = answer.checked_sub(1).map_or(0, |before| self.ends[before]);
        Coordinates(&self.coordinates[first..self.ends[answer]])
    }

    /// Returns the intercept and the weights of the coordinates, for parameters of the features of `rows`.
    pub(super) fn gather(&self, theta: &[f64], rows: &Rows) -> Vec<f64> {
        let mut weights: Vec<f64> = self.basis.iter().map(|answer| rows.row(*answer).dot(&theta[1..])).collect();
        self.substitute(&mut weights);
        [&theta[..1], &weights].concat()
    }

    /// Returns the parameters of the features of `rows`.
    pub(super) fn scatter(&self, fitted: &[f64], rows: &Rows) -> Vec<f64> {
        let mut multiples = fitted[1..].to_vec();
        for coordinate in (0..multiples.len()).rev() {
            let Coordinates(own) = self.row(self.basis[coordinate]);
            multiples[coordinate] /= own[coordinate];
            let multiple = multiples[coordinate];
            for (other, own) in multiples[..coordinate].iter_mut().zip(own) {
                *other -= own * multiple;
            }
        }
        let mut theta = vec![0.0; rows.dim() + 1];
        theta[0] = fitted[0];
        for (answer, multiple) in self.basis.iter().zip(multiples) {
            rows.row(*answer).add_to(multiple, &mut theta[1..]);
        }
        theta
    }

    /// Replaces products with the answers of the basis by coordinates.
    fn substitute(&self, products: &mut [f64]) {
        for coordinate in 0..products.len() {
            let Coordinates(own) = self.row(self.basis[coordinate]);
            let known = dot(&own[..coordinate], &products[..coordinate]);
            products[coordinate] = (products[coordinate] - known) / own[coordinate];
        }
    }
}

/// The leading coordinates of an answer; all others are 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coordinates<'a>(pub(super) &'a [f64]);

impl Features for Coordinates<'_> {
    fn numbers(self) -> usize {
        self.0.len()
    }

    fn fetch(self) {}

    fn dot(self, w: &[f64]) -> f64 {
        dot(self.0, &w[..self.0.len()])
    }

    fn dot_by(self, w: impl Fn(usize) -> f64) -> f64 {
        let near: Vec<f64> = (0..self.0.len()).map(w).collect();
        self.dot(&near)
    }

    fn norm_squared(self) -> f64 {
        dot(self.0, self.0)
    }

    fn norm_squared_at_most(self) -> f64 {
        self.norm_squared()
    }

    fn each(self, mut take: impl FnMut(usize, f64)) {
        for (j, x) in self.0.iter().enumerate() {
            take(j, *x);
        }
    }

    fn add_to(self, scale: f64, w: &mut [f64]) {
        let Self(own) = self;
        dispatch(
            #[inline(always)]
            move || {
                for (w, x) in w.iter_mut().zip(own) {
                    *w = scale.mul_add(*x, *w);
                }
            },
        );
    }

    fn add_to_two(self, scale: f64, w: &mut [f64], more: f64, u: &mut [f64]) {
        self.add_to(scale, w);
        self.add_to(more, u);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    dispatch(
        #[inline(always)]
        move || super::factor::dot(a, b),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Sparse, SparseRows};

    /// Rows 0 to 3 are independent, row 4 is twice row 1, and row 5 is the sum of rows 0 and 2.
    fn rows() -> Vec<Vec<(u32, f32)>> {
        vec![
            vec![(0, 1.0), (3, 2.0)],
            vec![(1, -1.0), (3, 0.5)],
            vec![(0, 0.25), (2, 4.0), (5, 1.0)],
            vec![(4, 3.0)],
            vec![(1, -2.0), (3, 1.0)],
            vec![(0, 1.25), (2, 4.0), (3, 2.0), (5, 1.0)],
        ]
    }

    fn spanned() -> (Rows, SpanAnswers) {
        let (mut answers, mut span) = (Rows::Sparse(SparseRows::new(6)), SpanAnswers::default());
        for cells in rows() {
            let (index, value): (Vec<u32>, Vec<f32>) = cells.into_iter().unzip();
            answers.push(Row::Sparse(Sparse { index: &index, value: &value }));
            span.push(&answers);
        }
        (answers, span)
    }

    #[test]
    fn coordinates_have_the_products_of_the_answers() {
        let (answers, span) = spanned();
        assert_eq!(span.dim(), 4);
        let full = |answer: usize| {
            let Coordinates(own) = span.row(answer);
            [own, &vec![0.0; 4 - own.len()]].concat()
        };
        for one in 0..6 {
            let mut dense = vec![0.0; 6];
            answers.row(one).add_to(1.0, &mut dense);
            for other in 0..6 {
                let (product, expected) = (dot(&full(one), &full(other)), answers.row(other).dot(&dense));
                assert!((product - expected).abs() < 1e-12, "{one}, {other}: {product}, {expected}");
            }
        }
    }

    #[test]
    fn parameters_in_the_span_survive_a_round_trip() {
        let (answers, span) = spanned();
        let fitted = [0.5, 1.0, -2.0, 0.25, 3.0];
        let theta = span.scatter(&fitted, &answers);
        for (back, fitted) in span.gather(&theta, &answers).iter().zip(fitted) {
            assert!((back - fitted).abs() < 1e-12, "{back}, {fitted}");
        }
        // Norms agree, and so do scores.
        assert!((dot(&theta[1..], &theta[1..]) - dot(&fitted[1..], &fitted[1..])).abs() < 1e-12);
        for answer in 0..6 {
            let (score, own) = (answers.row(answer).dot(&theta[1..]), span.row(answer).dot(&fitted[1..]));
            assert!((score - own).abs() < 1e-12, "{answer}: {score}, {own}");
        }
    }
}
