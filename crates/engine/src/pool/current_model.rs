//! The model by which a pool draws: that of its learner, unless it is not linear.

use crate::features::Features;
use crate::learner::Learner;
use crate::rows::Rows;
use crate::scorer::Scorer;

/// The current model of a sampler.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurrentModel<'a> {
    pub(super) learner: &'a Learner,
    /// The model, if it is not linear.
    pub(super) nonlinear: Option<&'a Scorer>,
}

impl CurrentModel<'_> {
    /// Returns the number of scores of an observation.
    pub(super) fn outputs(self) -> usize {
        self.learner.model.outputs
    }

    /// Writes the scores of an observation.
    #[inline]
    pub(super) fn scores<X: Features>(self, x: X, out: &mut [f64]) {
        match self.nonlinear {
            None => self.learner.scores(x, out),
            Some(model) => model.scores(x, out),
        }
    }

    /// Writes the scores of the rows at these indices.
    pub(super) fn scores_of(self, rows: &Rows, indices: &[usize], out: &mut [f64]) {
        if let Some(model) = self.nonlinear {
            return model.scores_of_indices(rows, indices, out);
        }
        for (row, out) in indices.iter().zip(out.chunks_exact_mut(self.outputs())) {
            self.learner.scores(rows.row(*row), out);
        }
    }
}
