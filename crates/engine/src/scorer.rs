//! A finished model: parameters as they are saved, and what they say of an observation.

mod columns;

pub use columns::ColumnScores;

use crate::features::{Features, dense_scores};
use crate::index::{Coefficients, FeatureIndex, WIDE};
use crate::linear::Linear;
use crate::rows::Rows;
use crate::task::Task;

/// Parameters that no longer change.
#[derive(Clone, Debug)]
pub struct Scorer {
    model: Linear,
    /// The intercepts, then the weights of features, or of slots where there is an index.
    theta: Vec<f64>,
    dim: usize,
    /// Where the weights of features are, where not all features have some.
    index: Option<FeatureIndex>,
}

/// How well a model does on labeled rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// How many rows have a label.
    pub rows: usize,
    /// The mean loss on them.
    pub loss: f64,
    /// The share decided rightly; for numbers, 1 − (mean squared error)/(variance), R².
    pub accuracy: f64,
}

impl Scorer {
    /// From weights feature by feature, the intercepts last.
    pub fn new(outputs: usize, parameters: &[f64]) -> Self {
        let (weights, intercept) = parameters.split_at(parameters.len().saturating_sub(outputs));
        let theta = [intercept, weights].concat();
        let dim = (theta.len() / outputs).saturating_sub(1);
        Self { model: Linear { outputs, intercept: true }, theta, dim, index: None }
    }

    /// From the weights of these features alone, of `dim` in all, and the intercepts last. The other features count for nothing.
    ///
    /// # Panics
    /// When there are not `outputs` numbers for each feature and the intercept.
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

    /// From θ or θ̄ of these coefficients, of `dim` features in all.
    pub fn of(outputs: usize, coefficients: &Coefficients, parameters: &[f64], dim: usize) -> Self {
        match &coefficients.features {
            None => Self::new(outputs, parameters),
            Some(features) => Self::of_features(outputs, features, parameters, dim),
        }
    }

    /// How many scores an observation has.
    pub fn outputs(&self) -> usize {
        self.model.outputs
    }

    /// How many features it knows.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The scores of all of these rows, one row after the other.
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

    /// The same of dense rows with so many features, which stand one after the other.
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

    /// The scores of one observation.
    pub fn scores<X: Features>(&self, x: X, out: &mut [f64]) {
        match &self.index {
            None => self.model.scores(&self.theta, x, out),
            Some(index) => self.model.scores(&self.theta, index.row(x).as_sparse(), out),
        }
    }

    /// The scores of dense rows that stand one after the other, `outputs` numbers a row.
    ///
    /// # Panics
    /// When there are not as many features and scores as rows have.
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

    /// Room for features that came later: they count for nothing.
    pub fn widen(&mut self, dim: usize) {
        if dim <= self.dim {
            return;
        }
        if self.index.is_none() && WIDE < dim {
            // Features behind those it knows are found to have no weight, whatever their numbers.
            let index = FeatureIndex::new(self.dim);
            self.theta.resize(self.model.parameters(index.dim()), 0.0);
            self.index = Some(index);
        } else if self.index.is_none() {
            self.theta.resize(self.model.parameters(dim), 0.0);
        }
        self.dim = dim;
    }

    /// How well it does on these rows; those without a label (NaN) are left out.
    pub fn score(&mut self, task: &dyn Task, rows: &Rows, labels: &[f64]) -> Score {
        let mut tally = Tally::default();
        self.tally(task, rows, labels, 0..rows.len(), &mut tally);
        tally.score(task)
    }

    /// Adds the rows at these places to a tally; those without a label (NaN) are left out.
    pub fn tally(
        &mut self,
        task: &dyn Task,
        rows: &Rows,
        labels: &[f64],
        places: impl Iterator<Item = usize>,
        tally: &mut Tally,
    ) {
        self.widen(rows.dim());
        let mut scores = vec![0.0; self.model.outputs];
        for (place, label) in places.map(|place| (place, labels[place])).filter(|(_, label)| !label.is_nan()) {
            self.scores(rows.row(place), &mut scores);
            tally.rows += 1;
            tally.loss += task.loss(&scores, label);
            tally.right += usize::from(task.decide(&scores) == label);
            tally.sum += label;
            tally.squares += label * label;
        }
    }
}

/// How a model does on labeled rows that come block by block: sums, so that none of them need be kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    rows: usize,
    loss: f64,
    right: usize,
    sum: f64,
    squares: f64,
}

impl Tally {
    /// The score on all rows so far.
    pub fn score(&self, task: &dyn Task) -> Score {
        let count = f64::max(self.rows as f64, 1.0);
        let variance = self.squares / count - (self.sum / count) * (self.sum / count);
        let loss = self.loss / count;
        let accuracy = if task.is_classification() { self.right as f64 / count } else { 1.0 - loss / variance };
        Score { rows: self.rows, loss, accuracy }
    }
}
