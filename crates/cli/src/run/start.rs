//! Command-line arguments about the rows that a cold start draws first, shared by pools and labeling sessions.

use anyhow::{Result, anyhow, bail};
use clap::Args;
use querist_engine::name::NameError;
use querist_run::files::FileSettings;
use querist_run::settings::LearnerSettings;
use querist_run::start::TextPattern;
use querist_run::written::Written;

/// The rows that a cold start draws first.
#[derive(Args, Clone, Debug)]
pub(crate) struct StartArgs {
    /// Start with rows whose text contains one of these words or phrases, separated by commas, or matches /REGEX/ or
    /// /REGEX/i. Of the first draws (5, or one per class), nine of ten are such rows. Probabilities remain exact
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    start_with: Option<String>,
    /// Start with rows whose text is like this example; can be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    start_like: Vec<String>,
    /// A column with a predicted label of each row, such as by a language model or an older model. First draws are
    /// spread evenly over the predicted labels, so rare ones are found at once. The column is not a feature
    #[arg(long, value_name = "COLUMN")]
    predictions: Option<String>,
}

impl StartArgs {
    /// Adds the arguments to the settings.
    ///
    /// # Errors
    /// If there are no words, or the regular expression is invalid.
    pub(crate) fn add_to(&self, learner: &mut LearnerSettings) -> Result<()> {
        let pattern = self.start_with.as_deref().map(str::parse::<Written<TextPattern>>).transpose();
        learner.start_with = pattern.map_err(|error: NameError| anyhow!("--start-with {error}"))?;
        if self.start_like.iter().any(|example| example.trim().is_empty()) {
            bail!("--start-like: the example is empty");
        }
        learner.start_like.clone_from(&self.start_like);
        Ok(())
    }

    /// Adds the column of predictions to the settings for reading the data.
    pub(crate) fn add_column_to(&self, files: &mut FileSettings) {
        files.predictions.clone_from(&self.predictions);
    }

    /// Lists the flags with whether each is set.
    pub(crate) fn flags(&self) -> [(&'static str, bool); 3] {
        [
            ("--start-with", self.start_with.is_some()),
            ("--start-like", !self.start_like.is_empty()),
            ("--predictions", self.predictions.is_some()),
        ]
    }
}
