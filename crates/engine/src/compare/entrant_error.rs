//! Entrants that cannot take part in a comparison.

use std::fmt::{self, Display};

use crate::fit::NoFit;
use crate::settings::IllegalSettings;

/// An error for an entrant whose learner cannot be created.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EntrantError {
    /// The name of the entrant.
    pub entrant: String,
    /// The reason.
    pub reason: EntrantFault,
}

/// A reason why the learner of an entrant cannot be created.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EntrantFault {
    /// The loss can be learned by steps, but not by a fit.
    NoFit(NoFit),
    /// The rule does not fit the labels, or a setting is out of its range.
    Settings(IllegalSettings),
}

impl Display for EntrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` cannot be compared: ", self.entrant)?;
        match &self.reason {
            EntrantFault::NoFit(reason) => write!(f, "{reason}; use `/sgd`"),
            EntrantFault::Settings(reason) => write!(f, "{reason}"),
        }
    }
}

impl std::error::Error for EntrantError {}

impl From<NoFit> for EntrantFault {
    fn from(reason: NoFit) -> Self {
        Self::NoFit(reason)
    }
}

impl From<IllegalSettings> for EntrantFault {
    fn from(reason: IllegalSettings) -> Self {
        Self::Settings(reason)
    }
}
