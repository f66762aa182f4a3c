//! Scores that are linear in the features.

use crate::features::{Features, dense_scores};
use crate::index::{Coefficients, FeatureIndex, WIDE};
use crate::linear::Linear;
use crate::rows::Rows;

/// A linear model whose parameters no longer change.
#[derive(Clone, Debug)]
pub struct LinearScorer {
    model: Linear,
    /// The intercepts, then the weights of features, or of slots if there is an index.
    pub(super) theta: Vec<f64>,
    dim: usize,
    /// The slots of features, if not all features have a weight.
    pub(super) index: Option<FeatureIndex>,
}

impl LinearScorer {
    /// Creates a scorer from weights, feature by feature, intercepts last.
    pub fn new(outputs: usize, parameters: &[f64]) -> Self {
        let (weights, intercept) = parameters.split_at(parameters.len().saturating_sub(outputs));
        let theta = [intercept, weights].concat();
        let dim = (theta.len() / outputs).saturating_sub(1);
        Self { model: Linear { outputs, intercept: true }, theta, dim, index: None }
    }

    /// Creates a scorer from the weights of these features alone, out of `dim`, and the intercepts last. Other features
    /// have weight 0.
    ///
    /// # Panics
    /// If there are not `outputs` numbers for each feature and the intercept.
    pub fn of_features(outputs: usize, features: &[u32], parameters: &[f64], dim: usize) -> Self {
        assert_eq!(parameters.len(), (features.len() + 1) * outputs, "a weight for every feature");
        let index = FeatureIndex::of(features);
        let model = Linear { outputs, intercept: true };
        let mut theta = vec![0.0; model.parameters(index.dim())];
        let (weights, intercept) = parameters.split_at(parameters.len() - outputs);
        theta[..outputs].copy_from_slice(intercept);
        for (feature, weights) in features.iter().zip(weights.chunks_exact(outputs)) {
            theta[(1 + index.slot(*feature as usize)) * outputs..][..outputs].copy_from_slice(weights);
        }
        Self { model, theta, dim, index: Some(index) }
    }

    /// Creates a scorer from θ or θ̄ of these coefficients, with `dim` features in all.
    pub fn of(outputs: usize, coefficients: &Coefficients, parameters: &[f64], dim: usize) -> Self {
        match &coefficients.features {
            None => Self::new(outputs, parameters),
            Some(features) => Self::of_features(outputs, features, parameters, dim),
        }
    }

    /// Returns the weights, feature by feature, and the intercepts last.
    pub fn parameters(&self) -> Vec<f64> {
        let mut outward = self.theta.clone();
        outward.rotate_left(self.model.outputs);
        outward
    }

    /// Returns the number of scores of an observation.
    pub fn outputs(&self) -> usize {
        self.model.outputs
    }

    /// Returns the number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Writes the scores of all these rows, row by row.
    pub fn scores_of_rows(&mut self, rows: &Rows, out: &mut Vec<f64>) {
        self.widen(rows.dim());
        if let Rows::Dense(rows) = rows {
            return self.scores_of_dense(rows.values(), rows.dim(), out);
        }
        out.clear();
        out.resize(rows.len() * self.model.outputs, 0.0);
        for (row, scores) in out.chunks_exact_mut(self.model.outputs).enumerate() {
            self.scores(rows.row(row), scores);
        }
    }

    /// Writes the scores of dense rows with `dim` features each, stored contiguously.
    pub fn scores_of_dense(&mut self, values: &[f32], dim: usize, out: &mut Vec<f64>) {
        self.widen(dim);
        out.clear();
        out.resize(values.len() / dim.max(1) * self.model.outputs, 0.0);
        if dim == self.dim && self.index.is_none() {
            return self.dense(values, out);
        }
        for (x, scores) in values.chunks_exact(dim.max(1)).zip(out.chunks_exact_mut(self.model.outputs)) {
            self.scores(x, scores);
        }
    }

    /// Writes the scores of one observation.
    pub fn scores<X: Features>(&self, x: X, out: &mut [f64]) {
        match &self.index {
            None => self.model.scores(&self.theta, x, out),
            Some(index) => self.model.scores(&self.theta, index.row(x).as_sparse(), out),
        }
    }

    /// Writes the scores of dense rows stored contiguously, `outputs` numbers per row.
    ///
    /// # Panics
    /// If the numbers of features and scores do not belong to the same number of rows.
    pub fn dense(&self, values: &[f32], out: &mut [f64]) {
        let outputs = self.model.outputs;
        let dim = self.dim;
        assert_eq!(values.len() * outputs, out.len() * dim, "as many features and scores as rows have");
        if outputs == 1 && self.index.is_none() {
            dense_scores(values, &self.theta, out);
            return;
        }
        for (row, scores) in out.chunks_exact_mut(outputs).enumerate() {
            self.scores(&values[row * dim..(row + 1) * dim], scores);
        }
    }

    /// Makes room for features that came later, with weight 0.
    pub fn widen(&mut self, dim: usize) {
        if dim <= self.dim {
            return;
        }
        if self.index.is_none() && WIDE < dim {
            // The index assigns no weight to features beyond the known ones, whatever their numbers.
            let index = FeatureIndex::new(self.dim);
            self.theta.resize(self.model.parameters(index.dim()), 0.0);
            self.index = Some(index);
        } else if self.index.is_none() {
            self.theta.resize(self.model.parameters(dim), 0.0);
        }
        self.dim = dim;
    }
}
