//! The argument `--model`: a kind of model, or a file to write the model to.

use std::path::PathBuf;

use querist_engine::name::NameError;
use querist_run::model_kind::ModelKind;
use querist_run::written::Written;

/// A value of `--model`.
#[derive(Clone, Debug)]
pub(crate) enum ModelArg {
    /// The kind of model to fit.
    Kind(Written<ModelKind>),
    /// The file to write the model to.
    File(PathBuf),
}

impl ModelArg {
    /// Parses the name of a kind; all other texts are files.
    pub(crate) fn parse(text: &str) -> Result<Self, NameError> {
        if ModelKind::is_named(text) { text.parse().map(Self::Kind) } else { Ok(Self::File(text.into())) }
    }
}
