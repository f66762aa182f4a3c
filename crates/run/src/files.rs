//! Settings for reading data files. Ledgers store them under these names.

use std::path::{Path, PathBuf};

use querist_data::{Format, Input, Missing, ReadOptions, RequiredLabels, TableLocation};
use querist_engine::model_kind::ModelKind;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, bail};
use crate::written::Written;

/// The columns of a file and their roles.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FileSettings {
    /// The column with labels
    pub label: Option<String>,
    /// The column with ids [default: `id`, or the row's number]
    pub id: Option<String>,
    /// Columns with text, separated by commas; write a name that contains a comma in quotes: '"a,b",c'
    pub text: Vec<String>,
    /// Columns with numbers
    pub numbers: Vec<String>,
    /// Columns with categories
    pub categories: Vec<String>,
    /// Columns with lists of numbers, or prefixes such as `e` for e000, e001 …
    pub vectors: Vec<String>,
    /// Columns to skip
    pub ignore: Vec<String>,
    /// A column with a predicted label of each row, from which a cold start draws every class early
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub predictions: Option<String>,
    /// The classes, in order [default: as found]
    pub labels: Option<Vec<String>>,
    /// Of two classes, the one that counts as +1 [default: the later]
    pub positive: Option<String>,
    /// csv (also separated by tabs, ; or |), json, jsonl, svmlight, vw, parquet, arrow, npy, npz, xlsx [default: from the
    /// name]
    pub format: Option<String>,
    /// The first line of a CSV file is a record; columns are named column1, column2 …
    #[serde(default)]
    pub no_header: bool,
    /// The sheet of a workbook [default: the first]
    #[serde(default)]
    pub sheet: Option<String>,
    /// The treatment of missing cells
    pub missing: Missing,
    /// Uses numbers without standardizing them
    pub no_standardize: bool,
    /// Text is hashed to 2^BITS features
    pub hash_bits: u32,
    /// Skips rows that cannot be read, and reports how many
    pub skip_bad_rows: bool,
    /// The kind of model: linear, kernel:landmarks=300,width=1, forest:trees=200, or auto [default: linear]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<Written<ModelKind>>,
}

impl Default for FileSettings {
    fn default() -> Self {
        Self {
            label: None,
            id: None,
            text: vec![],
            numbers: vec![],
            categories: vec![],
            vectors: vec![],
            ignore: vec![],
            predictions: None,
            labels: None,
            positive: None,
            format: None,
            no_header: false,
            sheet: None,
            missing: Missing::Error,
            no_standardize: false,
            hash_bits: 18,
            skip_bad_rows: false,
            model: None,
        }
    }
}

impl FileSettings {
    /// Takes the predictions and the kind of model of the run to continue, unless others are set.
    pub fn continue_from(&mut self, before: &Self) {
        if self.predictions.is_none() {
            self.predictions.clone_from(&before.predictions);
        }
        if self.model.is_none() || self.model_kind() == before.model_kind() {
            self.model.clone_from(&before.model);
        }
    }

    /// Converts the settings to options of the file reader.
    pub fn options(&self, loss: Option<&str>) -> Result<ReadOptions> {
        let format = self.format.as_deref().map(Format::named).transpose();
        let format = format.map_err(|message| Error::Invalid(format!("--format: {message}")))?;
        if !(4..=28).contains(&self.hash_bits) {
            bail!("--hash-bits = {}, need 4 <= bits <= 28", self.hash_bits);
        }
        Ok(ReadOptions {
            format,
            table: TableLocation { no_header: self.no_header, sheet: self.sheet.clone() },
            label: self.label.clone(),
            id: self.id.clone(),
            text: distinct("--text", &self.text)?,
            numbers: distinct("--numbers", &self.numbers)?,
            categories: distinct("--categories", &self.categories)?,
            vectors: distinct("--vectors", &self.vectors)?,
            ignore: distinct("--ignore", &self.ignore)?,
            predictions: self.predictions.clone(),
            classes: self.labels.as_deref().map(|list| distinct("--labels", list)).transpose()?,
            positive: self.positive.as_deref().map(|class| class.trim().to_owned()),
            required_labels: required_labels(loss),
            missing: self.missing,
            standardize: !self.no_standardize,
            hash_bits: self.hash_bits,
            skip_bad_rows: self.skip_bad_rows,
            ..ReadOptions::default()
        })
    }

    /// Converts the settings to options for linear learners, for which kernel features are further columns of the rows.
    ///
    /// # Errors
    /// If a linear learner cannot be of this kind.
    pub fn options_with_kernel_columns(&self, loss: Option<&str>) -> Result<ReadOptions> {
        let kernel = match self.model_kind() {
            ModelKind::Linear => None,
            ModelKind::Kernel(settings) => Some(settings),
            kind => bail!("--model {kind} needs `pool` with --fit refit, or `label`; here use linear or kernel"),
        };
        Ok(ReadOptions { kernel, ..self.options(loss)? })
    }

    /// Returns the kind of model.
    pub fn model_kind(&self) -> ModelKind {
        self.model.as_deref().copied().unwrap_or_default()
    }
}

/// Returns the entries of a list.
///
/// # Errors
/// If an entry appears twice.
pub fn distinct(flag: &str, list: &[String]) -> Result<Vec<String>> {
    for (index, entry) in list.iter().enumerate() {
        if list[..index].contains(entry) {
            bail!("{flag}: `{entry}` is given twice");
        }
    }
    Ok(list.to_vec())
}

/// Returns the kind of labels that a loss needs.
fn required_labels(loss: Option<&str>) -> RequiredLabels {
    match loss {
        None => RequiredLabels::Any,
        Some("squared") => RequiredLabels::Number,
        Some("logistic" | "cross-entropy" | "hinge") => RequiredLabels::Classes,
        Some(_) => RequiredLabels::Binary,
    }
}

/// Returns the input for a path, where `-` is standard input.
pub fn input(path: &Path) -> Input {
    if path == Path::new("-") { Input::Stdin } else { Input::File(PathBuf::from(path)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_holds_lists_as_arrays() {
        let text = vec!["a,b".to_owned(), "c".to_owned()];
        let held = FileSettings { text, labels: Some(vec!["x".to_owned()]), ..FileSettings::default() };
        let json = serde_json::to_value(&held).unwrap();
        assert_eq!(
            (json["text"].to_string(), json["labels"].to_string()),
            (r#"["a,b","c"]"#.into(), r#"["x"]"#.into())
        );
        assert_eq!((json["missing"].as_str(), json["ignore"].to_string()), (Some("error"), "[]".into()));
        let read: FileSettings = serde_json::from_value(json).unwrap();
        assert_eq!(read.text, ["a,b", "c"]);
    }

    #[test]
    fn an_entry_is_given_once() {
        let held = FileSettings { ignore: vec!["a".into(), "b".into(), "a".into()], ..FileSettings::default() };
        assert_eq!(held.options(None).unwrap_err().to_string(), "--ignore: `a` is given twice");
    }
}
