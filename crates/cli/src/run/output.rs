//! Command-line arguments about the output of a run.

use std::num::{IntErrorKind, ParseIntError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use querist_engine::model_kind::ModelKind;
use querist_run::overwrite::{check_inputs, check_model, check_output};
use querist_run::record::Recording;
use querist_run::written::Written;

use super::model::ModelArg;

/// What becomes of a run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate flag")]
pub(crate) struct OutputArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not print a progress bar and remarks
    #[arg(long)]
    pub(crate) quiet: bool,
    /// The kind of model: linear, kernel[:landmarks=300,width=1], or of a fitted pool forest[:trees=200], or auto to let the answers
    /// choose [default: linear]; or a file to write the model to. Can be used twice
    #[arg(long, value_name = "KIND|FILE", value_parser = ModelArg::parse)]
    model: Vec<ModelArg>,
    /// Record every probability, query and answer in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// Resume the run that this ledger records
    #[arg(long, requires = "ledger")]
    pub(crate) resume: bool,
    /// With --resume: continue although acknowledged events were lost; the ledger notes it
    #[arg(long, requires = "resume")]
    pub(crate) accept_loss: bool,
    /// Number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) threads: Option<usize>,
    /// A file of test rows
    #[arg(long, value_name = "FILE", conflicts_with = "test_fraction")]
    pub(crate) test: Option<PathBuf>,
    /// Hold out this fraction of the rows as test rows
    #[arg(long, value_name = "F")]
    pub(crate) test_fraction: Option<f64>,
}

impl OutputArgs {
    /// Returns the file that the model is written to.
    pub(crate) fn model_file(&self) -> Option<&Path> {
        self.model.iter().find_map(|model| if let ModelArg::File(path) = model { Some(path.as_path()) } else { None })
    }

    /// Returns the kind of model.
    pub(crate) fn model_kind(&self) -> Option<Written<ModelKind>> {
        self.model.iter().find_map(|model| if let ModelArg::Kind(kind) = model { Some(kind.clone()) } else { None })
    }

    /// Returns the ledger of the run and how it is opened.
    pub(crate) fn recording(&self) -> Recording {
        Recording { ledger: self.ledger.clone(), resume: self.resume, accept_loss: self.accept_loss }
    }

    /// Rejects invalid arguments and sets the number of threads.
    pub(crate) fn check(&self, data: Option<&Path>) -> Result<()> {
        if let Some(fraction) = self.test_fraction.filter(|fraction| !(0.0 < *fraction && *fraction < 1.0)) {
            bail!("--test-fraction = {fraction}, need 0 < fraction < 1");
        }
        // Check the output paths before the run, not after it.
        let is_kind = |model: &&ModelArg| matches!(model, ModelArg::Kind(_));
        if 1 < self.model.iter().filter(is_kind).count()
            || 1 < self.model.iter().filter(|model| !is_kind(model)).count()
        {
            bail!("--model names two kinds or two files; use one of each at most");
        }
        for (flag, path) in [("--model", self.model_file()), ("--ledger", self.ledger.as_deref())] {
            let Some(path) = path else { continue };
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if folder.is_some_and(|folder| !folder.is_dir()) || path.is_dir() {
                bail!("{flag} {}: need the name of a file in a folder that exists", path.display());
            }
            check_inputs(flag, path, data.into_iter().chain(self.test.as_deref()))?;
        }
        if let (Some(model), Some(ledger)) = (self.model_file(), &self.ledger)
            && location(model) == location(ledger)
        {
            bail!("--model and --ledger are the same file, {}; use two names", model.display());
        }
        if let Some(model) = self.model_file() {
            check_output("--model", model)?;
            check_model(model)?;
        }
        match self.threads {
            Some(threads @ (0 | 257..)) => bail!("--threads = {threads}, need 1 to 256"),
            Some(threads) => querist_engine::set_threads(threads),
            None => {}
        }
        Ok(())
    }
}

/// Returns the canonical folder and the name of a file, which need not exist yet.
fn location(path: &Path) -> Option<(PathBuf, &std::ffi::OsStr)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some((folder.canonicalize().ok()?, path.file_name()?))
}

/// Parses a whole number, also in the form 1e7.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    if let Some(count) = text.replace('_', "").parse().ok().filter(|count| *count <= 9_000_000_000_000_000_u64) {
        return Ok(count);
    }
    match text.parse::<f64>() {
        Ok(count) if (0.0..=9e15).contains(&count) && count.fract() == 0.0 => Ok(count as u64),
        Ok(count) if 9e15 < count => Err("need at most 9e15".to_owned()),
        Ok(count) if count < 0.0 => Err("must not be negative; use a whole number such as 500 or 1e7".to_owned()),
        _ => Err("need a whole number such as 500 or 1e7".to_owned()),
    }
}

/// Parses a whole number in digits.
pub(crate) fn whole<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "the number is too large; use a smaller one".to_owned(),
        _ if text.parse::<f64>().is_ok_and(|number| number < 0.0) => {
            "must not be negative; use a whole number such as 4".to_owned()
        }
        _ => "need a whole number such as 4".to_owned(),
    })
}
