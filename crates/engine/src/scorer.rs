//! Scoring with a finished model: the scores that it gives to observations.

mod columns;
mod kernel;
mod linear;
mod tally;

pub use columns::ColumnScores;
pub use kernel::KernelScorer;
pub use linear::LinearScorer;
pub use tally::{Score, Tally};

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut};

use crate::features::Features;
use crate::forest::Forest;
use crate::index::Coefficients;
use crate::rows::{DenseRows, Row, Rows};

/// A model whose parameters no longer change.
#[derive(Clone, Debug)]
pub enum Scorer {
    /// A model that is linear in the features.
    Linear(LinearScorer),
    /// A model that is also linear in similarities to landmarks.
    Kernel(Arc<KernelScorer>),
    /// A forest.
    Forest(Arc<Forest>),
}

impl Scorer {
    /// Creates a linear scorer from weights, feature by feature, intercepts last.
    pub fn new(outputs: usize, parameters: &[f64]) -> Self {
        Self::Linear(LinearScorer::new(outputs, parameters))
    }

    /// Creates a linear scorer from θ or θ̄ of these coefficients, with `dim` features in all.
    pub fn of(outputs: usize, coefficients: &Coefficients, parameters: &[f64], dim: usize) -> Self {
        Self::Linear(LinearScorer::of(outputs, coefficients, parameters, dim))
    }

    /// Creates a linear scorer from parameters as fits have them, intercepts first.
    pub(crate) fn of_inward(outputs: usize, theta: &[f64]) -> Self {
        let mut outward = theta.to_vec();
        outward.rotate_left(outputs);
        Self::new(outputs, &outward)
    }

    /// Returns the linear scorer, if it is one.
    pub fn as_linear(&self) -> Option<&LinearScorer> {
        if let Self::Linear(scorer) = self { Some(scorer) } else { None }
    }

    /// Returns the kind of model: `linear`, `kernel` or `forest`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Linear(_) => "linear",
            Self::Kernel(_) => "kernel",
            Self::Forest(_) => "forest",
        }
    }

    /// Returns the numbers that determine the scores: of a linear model the weights feature by feature, intercepts last.
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Linear(scorer) => scorer.parameters(),
            Self::Kernel(scorer) => [scorer.theta(), scorer.alpha()].concat(),
            Self::Forest(forest) => forest.numbers(),
        }
    }

    /// Returns the number of scores of an observation.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Linear(scorer) => scorer.outputs(),
            Self::Kernel(scorer) => scorer.outputs(),
            Self::Forest(forest) => forest.outputs(),
        }
    }

    /// Returns the number of features.
    pub fn dim(&self) -> usize {
        match self {
            Self::Linear(scorer) => scorer.dim(),
            Self::Kernel(scorer) => scorer.dim(),
            Self::Forest(forest) => forest.features(),
        }
    }

    /// Makes room for features that came later. Linear models give them weight 0; others ignore them.
    pub fn widen(&mut self, dim: usize) {
        if let Self::Linear(scorer) = self {
            scorer.widen(dim);
        }
    }

    /// Writes the scores of one observation. For many, [`Self::scores_of_rows`] is faster.
    pub fn scores<X: Features>(&self, x: X, out: &mut [f64]) {
        match self {
            Self::Linear(scorer) => scorer.scores(x, out),
            Self::Kernel(scorer) => scorer.scores(&dense(x, scorer.dim()), out),
            Self::Forest(forest) => forest.scores(Row::Dense(&dense(x, forest.features())), out),
        }
    }

    /// Writes the scores of all these rows, row by row.
    pub fn scores_of_rows(&mut self, rows: &Rows, out: &mut Vec<f64>) {
        if let Self::Linear(scorer) = self {
            return scorer.scores_of_rows(rows, out);
        }
        out.clear();
        out.resize(rows.len() * self.outputs(), 0.0);
        self.scores_of_range(rows, 0..rows.len(), out);
    }

    /// Writes the scores of dense rows with `dim` features each, stored contiguously.
    ///
    /// # Panics
    /// If the model is not linear and has another number of features.
    pub fn scores_of_dense(&mut self, values: &[f32], dim: usize, out: &mut Vec<f64>) {
        if let Self::Linear(scorer) = self {
            return scorer.scores_of_dense(values, dim, out);
        }
        assert_eq!(dim, self.dim(), "rows have the features of the model");
        out.clear();
        out.resize(values.len() / dim.max(1) * self.outputs(), 0.0);
        self.dense(values, out);
    }

    /// Writes the scores of dense rows stored contiguously, `outputs` numbers per row.
    ///
    /// # Panics
    /// If the numbers of features and scores do not belong to the same number of rows.
    pub fn dense(&self, values: &[f32], out: &mut [f64]) {
        match self {
            Self::Linear(scorer) => scorer.dense(values, out),
            Self::Kernel(scorer) => scorer.scores_of_dense(values, out),
            Self::Forest(forest) => forest.scores_of_dense(values, out),
        }
    }

    /// Writes the scores of some of these rows, bit-identical to [`Self::scores`].
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn scores_of_range(&self, rows: &Rows, range: Range<usize>, out: &mut [f64]) {
        let outputs = self.outputs();
        match (self, rows) {
            (Self::Kernel(_) | Self::Forest(_), Rows::Dense(rows)) if rows.dim() == self.dim() => {
                self.dense(of_range(rows, range), out);
            }
            _ => {
                for (row, out) in range.zip(out.chunks_exact_mut(outputs)) {
                    self.scores(rows.row(row), out);
                }
            }
        }
    }

    /// Writes the scores of the rows at these indices, bit-identical to [`Self::scores`], on all cores.
    pub(crate) fn scores_of_indices(&self, rows: &Rows, indices: &[usize], out: &mut [f64]) {
        let (outputs, dim) = (self.outputs(), self.dim());
        let block = |(indices, out): (&[usize], &mut [f64])| {
            let values: Vec<f32> = indices.iter().flat_map(|row| dense(rows.row(*row), dim)).collect();
            self.dense(&values, out);
        };
        indices.par_chunks(INDICES).zip(out.par_chunks_mut(INDICES * outputs)).for_each(block);
    }
}

/// The number of rows that one thread scores at a time.
const INDICES: usize = 256;

fn of_range(rows: &DenseRows, range: Range<usize>) -> &[f32] {
    &rows.values()[range.start * rows.dim()..range.end * rows.dim()]
}

/// Copies the first `dim` features of an observation.
fn dense<X: Features>(x: X, dim: usize) -> Vec<f32> {
    let mut values = vec![0.0; dim];
    x.each(|j, value| {
        if let Some(slot) = values.get_mut(j) {
            *slot = value as f32;
        }
    });
    values
}
