//! Answers that a pool's learner cannot learn from.

use std::fmt::{self, Display};

use crate::features::Features;
use crate::learner::{Diverged, Learner};
use crate::rows::Row;
use crate::task::Labels;

/// A reason why a pool's learner did not learn from answers; its parameters are unchanged.
///
/// ```
/// use querist_engine::pool::AnswerError;
/// use querist_engine::task::Labels;
///
/// let error = AnswerError::Label { row: 3, label: 0.0, labels: Labels::Binary };
/// assert_eq!(error.to_string(), "row 3 has label 0; need -1 or 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnswerError {
    /// The step would have overflowed.
    Diverged(Diverged),
    /// A label that the task does not have.
    Label {
        /// The index of the row.
        row: usize,
        /// The label.
        label: f64,
        /// The labels of the task.
        labels: Labels,
    },
    /// A row with another number of features than the model, or with a feature that is NaN or infinite.
    Features {
        /// The index of the row.
        row: usize,
        /// The number of features of the model.
        dim: usize,
    },
}

impl Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diverged(diverged) => diverged.fmt(f),
            Self::Label { row, label, labels } => write!(f, "row {row} has label {label}; need {labels}"),
            Self::Features { row, dim } => write!(f, "row {row} does not have {dim} finite features"),
        }
    }
}

impl std::error::Error for AnswerError {}

impl From<Diverged> for AnswerError {
    fn from(diverged: Diverged) -> Self {
        Self::Diverged(diverged)
    }
}

/// Returns an error unless the learner can learn from this answer.
pub(super) fn check(learner: &Learner, row: usize, x: Row<'_>, label: f64) -> Result<(), AnswerError> {
    let (labels, dim) = (learner.task.labels(), learner.dim());
    let has_shape = match x {
        Row::Dense(values) => values.len() == dim,
        Row::Sparse(sparse) => sparse.index.last().is_none_or(|last| (*last as usize) < dim),
    };
    if !(has_shape && x.norm_squared().is_finite()) {
        return Err(AnswerError::Features { row, dim });
    }
    if labels.contain(label) { Ok(()) } else { Err(AnswerError::Label { row, label, labels }) }
}
