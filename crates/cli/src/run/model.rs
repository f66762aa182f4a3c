//! The argument `--model`: a kind of model, or a file to write the model to.

use std::path::PathBuf;

use querist_engine::model_kind::ModelKind;
use querist_engine::name::NameError;
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
    /// Parses the name of a kind; other texts are files, unless they look like a misspelled kind.
    pub(crate) fn parse(text: &str) -> Result<Self, NameError> {
        match text.parse() {
            Ok(kind) => Ok(Self::Kind(kind)),
            Err(error) if ModelKind::is_named(text) || is_misspelled(text, &error) => Err(error),
            Err(_) => Ok(Self::File(text.into())),
        }
    }
}

/// Returns whether a text without a folder or an extension is nearly the name of a kind.
fn is_misspelled(text: &str, error: &NameError) -> bool {
    !text.contains(['.', '/']) && error.message.contains("did you mean")
}
