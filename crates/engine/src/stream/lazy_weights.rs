//! Weights allocated on first use, for models with very many features.

use std::ops::Range;

use super::StreamLearner;
use super::block::{Trace, fast_rule};
use crate::features::Features;
use crate::index::{Coefficients, FeatureIndex, SlotRow, WIDE};
use crate::learner::Diverged;
use crate::rows::{Row, Rows};

impl StreamLearner {
    /// Prefetches the weights of upcoming features, if the weights exceed the cache.
    pub fn fetch(&self, features: &[u32]) {
        let Some(weights) = self.learner.weights.interleaved() else { return };
        for feature in features {
            let feature = *feature as usize;
            weights.prefetch(self.index.as_ref().map_or(feature, |index| index.slot(feature)));
        }
    }

    /// Computes the scores of an observation at the point where uncertainty and gradient are evaluated.
    pub fn scores<X: Features>(&self, x: X, out: &mut [f64]) {
        match &self.index {
            None => self.learner.scores(x, out),
            Some(index) => self.learner.scores(index.row(x).as_sparse(), out),
        }
    }

    /// Returns the number of features of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Extends the model to `dim` features. Beyond [`WIDE`] of them, a feature gets its weight when it first occurs.
    pub fn widen(&mut self, dim: usize) {
        self.dim = self.dim.max(dim);
        match &self.index {
            None if self.dim <= WIDE => self.learner.widen(dim),
            None => {
                let index = self.index.insert(FeatureIndex::new(self.learner.dim()));
                self.learner.widen(index.dim());
            }
            Some(_) => {}
        }
    }

    /// Returns the current θ and θ̄, by features.
    pub fn coefficients(&mut self) -> Coefficients {
        self.settle();
        let (theta, mean) = (self.learner.theta(), self.learner.mean());
        match &self.index {
            None => Coefficients::dense(theta, mean),
            Some(index) => Coefficients::of_slots(index, self.scores.len(), &theta, &mean),
        }
    }

    /// Returns the current θ̄, with a number for every feature.
    pub fn mean(&mut self) -> Vec<f64> {
        let found = self.coefficients();
        found.spread(&found.mean, self.scores.len(), self.dim)
    }

    /// Returns θ, with a number for every feature.
    pub fn theta(&mut self) -> Vec<f64> {
        let found = self.coefficients();
        found.spread(&found.theta, self.scores.len(), self.dim)
    }

    /// Allocates weights for the features of a row and returns the row by their slots. Returns `None` if every feature
    /// has a weight anyway.
    pub(super) fn allocate<X: Features>(&mut self, x: X) -> Option<SlotRow> {
        let index = self.index.as_mut()?;
        let row = index.allocate_row(x);
        self.learner.widen(index.dim());
        Some(row)
    }

    /// Does the work of `learn_range` for features that get a weight when they first occur.
    pub(super) fn learn_lazily(
        &mut self,
        rows: &Rows,
        range: Range<usize>,
        labels: &[f64],
        trace: &mut Trace,
    ) -> Result<(), Diverged> {
        self.widen(rows.dim());
        let Some(index) = &mut self.index else { return self.learn_at(rows, range, labels, trace) };
        if self.learner.optimizer.is_sparse() && fast_rule(&self.rules, self.importance, &self.learner).is_some() {
            let (rows, n) = (index.allocate_rows(rows, range.clone()), range.len());
            self.learner.widen(index.dim());
            return self.learn_at(&rows, 0..n, labels, trace);
        }
        // Other optimizers sum over all weights, in the order of their slots. Only answers allocate slots here, so that
        // a replay, which sees only answers, ends in the same bits.
        trace.restart(self.totals.observed + 1);
        for (position, row) in range.enumerate() {
            self.pass_marks();
            self.learn_one_lazily(position, rows.row(row), labels[position], trace)?;
        }
        Ok(())
    }

    /// Offers one row, and answers it if it is queried, for features that get a weight when they first occur.
    fn learn_one_lazily(&mut self, position: usize, x: Row<'_>, label: f64, trace: &mut Trace) -> Result<(), Diverged> {
        let Some(row) = self.index.as_ref().map(|index| index.row(x)) else { return Ok(()) };
        let offer = self.offer_with(row.as_sparse(), trace);
        trace.probabilities.push(offer.probability);
        if offer.asked {
            trace.asked.push(position as u32);
            let scores = trace.scores[trace.scores.len() - self.scores.len()..].to_vec();
            if let Some(row) = self.allocate(x) {
                self.learn(row.as_sparse(), &scores, offer.probability, label)?;
            }
        }
        Ok(())
    }
}
