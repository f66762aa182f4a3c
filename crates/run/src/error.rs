//! Errors of making, resuming or replaying a run.

use std::fmt::{self, Display};
use std::io;

use querist_data::{DataError, EncoderError};
use querist_engine::fit::NoFit;
use querist_engine::learner::Diverged;
use querist_engine::pool::{AnswerError, NoRow, NotAssessed};
use querist_engine::session::Rejection;
use querist_engine::settings::IllegalSettings;
use querist_ledger::{LedgerError, ModelError, RecordError, WriteError};
use querist_theory::registry::NameError;

/// An error of a run. Its message names the problem and the remedy.
///
/// ```
/// use querist_run::Error;
///
/// let error = querist_theory::loss::parse("logistics").map_err(Error::from).unwrap_err();
/// assert!(matches!(error, Error::Name(_)));
/// assert!(error.to_string().contains("did you mean `logistic`?"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Settings that no run can have, or that do not fit the data or the ledger.
    Invalid(String),
    /// A file that cannot be read.
    Data(DataError),
    /// An encoder that cannot be read.
    Encoder(EncoderError),
    /// A ledger that cannot be read or written.
    Ledger(LedgerError),
    /// A model file that cannot be read.
    Model(ModelError),
    /// A file that cannot be written.
    Write(WriteError),
    /// An event that cannot be stored, or a record that is not an event.
    Record(RecordError),
    /// The name of a loss or rule that is unknown or has invalid parameters.
    Name(NameError),
    /// Settings that no learner can have.
    Settings(IllegalSettings),
    /// A loss that cannot be fitted.
    Fit(NoFit),
    /// The learner diverged.
    Diverged(Diverged),
    /// An answer that a pool's learner cannot learn from.
    Answer(AnswerError),
    /// No row can be drawn from the pool.
    Draw(NoRow),
    /// A pool that cannot be assessed.
    Assess(NotAssessed),
    /// An answer or an undo that the session rejects.
    Rejected(Rejection),
    /// JSON that cannot be read or written.
    Json(serde_json::Error),
    /// Any other failure to read or write.
    Io(io::Error),
    /// An error with the operation during which it occurred.
    During {
        /// The operation.
        what: String,
        /// The cause.
        source: Box<Error>,
    },
}

/// The result of an operation of a run.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(message) => f.write_str(message),
            Self::Data(error) => error.fmt(f),
            Self::Encoder(error) => error.fmt(f),
            Self::Ledger(error) => error.fmt(f),
            Self::Model(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
            Self::Record(error) => error.fmt(f),
            Self::Name(error) => error.fmt(f),
            Self::Settings(error) => error.fmt(f),
            Self::Fit(error) => error.fmt(f),
            Self::Diverged(error) => error.fmt(f),
            Self::Answer(error) => error.fmt(f),
            Self::Draw(error) => error.fmt(f),
            Self::Assess(error) => error.fmt(f),
            Self::Rejected(error) => error.fmt(f),
            Self::Json(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
            Self::During { what, .. } => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The other variants display the inner error, so its source is the source of this one.
        match self {
            Self::During { source, .. } => Some(source),
            Self::Write(error) => error.source(),
            Self::Json(error) => error.source(),
            Self::Io(error) => error.source(),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($variant:ident($error:ty)),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })*
    };
}

from!(
    Data(DataError),
    Encoder(EncoderError),
    Ledger(LedgerError),
    Model(ModelError),
    Write(WriteError),
    Record(RecordError),
    Name(NameError),
    Settings(IllegalSettings),
    Fit(NoFit),
    Diverged(Diverged),
    Answer(AnswerError),
    Draw(NoRow),
    Assess(NotAssessed),
    Rejected(Rejection),
    Json(serde_json::Error),
    Io(io::Error),
);

/// Adds the operation to an error.
pub(crate) trait Context<T> {
    fn context(self, what: impl Into<String>) -> Result<T>;

    fn with_context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl Into<String>) -> Result<T> {
        self.with_context(|| what)
    }

    fn with_context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|error| Error::During { what: what().into(), source: Box::new(error.into()) })
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, what: impl Into<String>) -> Result<T> {
        self.with_context(|| what)
    }

    fn with_context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T> {
        self.ok_or_else(|| Error::Invalid(what().into()))
    }
}

/// Returns an [`Error::Invalid`] with this message.
macro_rules! bail {
    ($($message:tt)*) => {
        return Err($crate::error::Error::Invalid(format!($($message)*)))
    };
}

/// Returns an [`Error::Invalid`] with this message unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)*) => {
        if !$holds {
            $crate::error::bail!($($message)*);
        }
    };
}

pub(crate) use {bail, ensure};
