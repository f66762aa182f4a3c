//! Errors of a pool that another model scores.

use std::fmt::{self, Display};

use querist_theory::registry::NameError;

use super::predictions::WrongPrediction;
use crate::pool::NoRow;
use crate::settings::IllegalSettings;

/// A reason why rows cannot be drawn, or an answer cannot be taken.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ScoredPoolError {
    /// No row can be drawn.
    NoRow(NoRow),
    /// Fewer rows are left than wanted.
    TooFew {
        /// The number of rows that are left.
        left: usize,
        /// The number of rows wanted.
        wanted: usize,
    },
    /// The cold start is over, and there are no predictions.
    NoPredictions,
    /// The number of predictions is not that of the rows.
    OtherRows {
        /// The number of rows of the pool.
        expected: usize,
        /// The number of predictions.
        found: usize,
    },
    /// The number of classes is not that of the pool.
    OtherClasses {
        /// The number of classes of the pool.
        expected: usize,
        /// The number of classes of the predictions.
        found: usize,
    },
    /// Coverage needs features.
    NoFeatures,
    /// A prediction is invalid.
    Prediction(WrongPrediction),
    /// The rule is unknown or not usable here.
    Rule(NameError),
    /// The settings exclude each other.
    Settings(IllegalSettings),
    /// U of a row is NaN, negative or infinite.
    NotAnUncertainty {
        /// The index of the row.
        row: usize,
    },
    /// An answer is of a row that was not drawn.
    NotDrawn {
        /// The index of the row.
        row: usize,
    },
    /// A row has an answer already.
    Answered {
        /// The index of the row.
        row: usize,
    },
    /// An answer is of a class that does not exist.
    NoClass {
        /// The class.
        class: usize,
        /// The number of classes.
        classes: usize,
    },
}

impl Display for ScoredPoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRow(none) => none.fmt(f),
            Self::TooFew { left, wanted } => write!(f, "{wanted} rows are wanted, but only {left} are left"),
            Self::NoPredictions => write!(f, "every class has a label, so the next draws need predictions"),
            Self::OtherRows { expected, found } => write!(f, "predictions for {found} rows, need {expected}"),
            Self::OtherClasses { expected, found } => write!(f, "predictions of {found} classes, need {expected}"),
            Self::NoFeatures => write!(f, "draws that cover the pool need its features"),
            Self::Prediction(wrong) => wrong.fmt(f),
            Self::Rule(error) => error.fmt(f),
            Self::Settings(error) => error.fmt(f),
            Self::NotAnUncertainty { row } => {
                write!(f, "the rule gives NaN, a negative or an infinite number in row {row}")
            }
            Self::NotDrawn { row } => write!(f, "row {row} was not drawn"),
            Self::Answered { row } => write!(f, "row {row} has an answer already"),
            Self::NoClass { class, classes } => write!(f, "there is no class {class} among {classes}"),
        }
    }
}

impl std::error::Error for ScoredPoolError {}

impl From<WrongPrediction> for ScoredPoolError {
    fn from(wrong: WrongPrediction) -> Self {
        Self::Prediction(wrong)
    }
}
