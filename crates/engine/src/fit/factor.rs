//! Factors of a Hessian, kept from one fit to the next.

use super::problem::{Curvature, Problem};
use super::span::MOST_SPANNED;
use crate::simd::dispatch;

/// The largest number of parameters for which the Hessian is factored; beyond, only its diagonal is inverted.
pub(super) const MOST_FACTORED: usize = 512;

/// A preconditioner for Newton's equations: an approximate inverse of a Hessian.
#[derive(Clone, Debug)]
pub(super) enum Factor {
    /// L with L·Lᵀ equal to the Hessian, row by row with P numbers each. Parameters that were added later are
    /// preconditioned by the penalty alone.
    Cholesky { size: usize, lower: Vec<f64>, penalty: f64 },
    /// The diagonal of the Hessian.
    Diagonal(Vec<f64>),
}

impl Factor {
    /// Factors the Hessian at the point where `curvature` was computed.
    pub(super) fn new(problem: &Problem<'_>, curvature: &Curvature) -> Self {
        let size = problem.parameters();
        let most = if problem.rows.is_span() { MOST_SPANNED + 1 } else { MOST_FACTORED };
        if most < size {
            return Factor::Diagonal(diagonal(problem, curvature));
        }
        let mut lower = vec![0.0; size * size];
        add_rows(problem, curvature, &mut lower);
        for (p, penalty) in problem.penalties().enumerate() {
            lower[p * size + p] += penalty;
        }
        factor_in_place(&mut lower, size);
        Factor::Cholesky { size, lower, penalty: problem.strength }
    }

    /// Returns whether it inverts the Hessian exactly at the point where it was computed.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self, Factor::Cholesky { .. })
    }

    /// Returns whether it can precondition the equations of this many parameters.
    pub(super) fn fits(&self, parameters: usize) -> bool {
        match self {
            Factor::Cholesky { size, .. } => *size <= parameters,
            Factor::Diagonal(diagonal) => diagonal.len() == parameters,
        }
    }

    /// Replaces b by the solution of L·Lᵀ·x = b.
    pub(super) fn solve(&self, b: &mut [f64]) {
        match self {
            Factor::Diagonal(diagonal) => {
                for (b, d) in b.iter_mut().zip(diagonal) {
                    *b /= d;
                }
            }
            Factor::Cholesky { size, lower, penalty } => {
                let (size, lower) = (*size, lower.as_slice());
                let (factored, added) = b.split_at_mut(size);
                for b in added {
                    *b /= penalty;
                }
                dispatch(
                    #[inline(always)]
                    move || substitute(lower, size, factored),
                );
            }
        }
    }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn substitute(lower: &[f64], size: usize, b: &mut [f64]) {
    for p in 0..size {
        let row = &lower[p * size..][..p];
        b[p] = (b[p] - dot(row, &b[..p])) / lower[p * size + p];
    }
    for p in (0..size).rev() {
        b[p] /= lower[p * size + p];
        let value = b[p];
        for (b, l) in b[..p].iter_mut().zip(&lower[p * size..][..p]) {
            *b -= l * value;
        }
    }
}

/// Returns Σ a·b in eight lanes, in a fixed order, so that the result does not depend on the width of registers.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b[..a.len()].as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let mut rest = 0.0;
    for (a, b) in a_rest.iter().zip(b_rest) {
        rest += a * b;
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h)) + rest
}

/// Replaces a symmetric matrix by its Cholesky factor; only the lower half is read.
fn factor_in_place(lower: &mut [f64], size: usize) {
    dispatch(
        #[inline(always)]
        move || {
            for p in 0..size {
                let (before, from) = lower.split_at_mut(p * size);
                let row = &mut from[..size];
                for q in 0..p {
                    let other = &before[q * size..][..=q];
                    row[q] = (row[q] - dot(&row[..q], &other[..q])) / other[q];
                }
                let pivot = row[p] - dot(&row[..p], &row[..p]);
                // Penalties keep pivots above 0 except for rounding, which this guards against.
                row[p] = pivot.max(f64::EPSILON * row[p].abs()).max(f64::MIN_POSITIVE).sqrt();
            }
        },
    );
}

/// Adds Σ (x̃ x̃ᵀ) ⊗ (w ∇²ℓ) to the lower half.
fn add_rows(problem: &Problem<'_>, curvature: &Curvature, lower: &mut [f64]) {
    let (outputs, size) = (problem.model.outputs, problem.parameters());
    let mut features: Vec<(usize, f64)> = vec![];
    let (mut unit, mut block) = (vec![0.0; outputs], vec![0.0; outputs]);
    let mut across = vec![0.0; size];
    for answer in problem.used() {
        features.clear();
        if problem.model.intercept {
            features.push((0, 1.0));
        }
        problem.rows.each(answer, |j, x| features.push((j + 1, x)));
        let is_dense = problem.rows.is_dense() && problem.model.intercept;
        for k in 0..outputs {
            unit.fill(0.0);
            unit[k] = 1.0;
            curvature.apply(problem, answer, &unit, &mut block);
            if block.iter().all(|b| *b == 0.0) {
                continue;
            }
            for (j, x) in &features {
                for (across, b) in across[j * outputs..][..outputs].iter_mut().zip(&block) {
                    *across = x * b;
                }
            }
            if is_dense {
                add_dense(&features, &across, k, outputs, lower);
            } else {
                add_sparse(&features, &across, k, outputs, lower);
            }
        }
    }
}

fn add_dense(features: &[(usize, f64)], across: &[f64], k: usize, outputs: usize, lower: &mut [f64]) {
    let size = across.len();
    dispatch(
        #[inline(always)]
        move || {
            for (j, x) in features {
                if *x != 0.0 {
                    let p = j * outputs + k;
                    for (h, a) in lower[p * size..][..=p].iter_mut().zip(across) {
                        *h += x * a;
                    }
                }
            }
        },
    );
}

fn add_sparse(features: &[(usize, f64)], across: &[f64], k: usize, outputs: usize, lower: &mut [f64]) {
    let size = across.len();
    for (index, (j, x)) in features.iter().enumerate() {
        let p = j * outputs + k;
        for (i, _) in &features[..=index] {
            for q in i * outputs..(i + 1) * outputs {
                if q <= p {
                    lower[p * size + q] += x * across[q];
                }
            }
        }
    }
}

/// Returns the diagonal of the Hessian.
fn diagonal(problem: &Problem<'_>, curvature: &Curvature) -> Vec<f64> {
    let outputs = problem.model.outputs;
    let mut diagonal: Vec<f64> = problem.penalties().collect();
    let mut block = vec![0.0; outputs];
    for answer in problem.used() {
        curvature.diagonal(problem, answer, &mut block);
        if problem.model.intercept {
            diagonal[..outputs].iter_mut().zip(&block).for_each(|(d, b)| *d += b);
        }
        problem.rows.each(answer, |j, x| {
            diagonal[(j + 1) * outputs..][..outputs].iter_mut().zip(&block).for_each(|(d, b)| *d += x * x * b);
        });
    }
    diagonal
}
