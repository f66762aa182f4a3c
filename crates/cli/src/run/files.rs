//! What can be said of data on the command line.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use querist_data::{Format, Input, Missing, Options, TablePlace, Wanted};
use serde::{Deserialize, Serialize};

use crate::run::list::{List, entries, flat};

/// The data.
#[derive(Args, Clone, Debug, Deserialize, Serialize)]
#[command(next_help_heading = "Data")]
pub(crate) struct Files {
    /// The column with labels
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    /// The column with ids [default: `id`, or the row's number]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// Columns with text, separated by commas; write a name that contains a comma in quotes: '"a,b",c'
    #[arg(long, value_name = "COLUMNS")]
    #[serde(with = "flat")]
    pub(crate) text: Vec<List>,
    /// Columns with numbers
    #[arg(long, value_name = "COLUMNS")]
    #[serde(with = "flat")]
    pub(crate) numbers: Vec<List>,
    /// Columns with categories
    #[arg(long, value_name = "COLUMNS")]
    #[serde(with = "flat")]
    pub(crate) categories: Vec<List>,
    /// Columns with lists of numbers, or prefixes such as `e` for e000, e001 …
    #[arg(long, value_name = "COLUMNS")]
    #[serde(with = "flat")]
    pub(crate) vectors: Vec<List>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMNS")]
    #[serde(with = "flat")]
    pub(crate) ignore: Vec<List>,
    /// The classes, in order [default: as found]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    #[serde(with = "flat::optional")]
    pub(crate) labels: Option<Vec<List>>,
    /// Of two classes, the one that counts as +1 [default: the later]
    #[arg(long, value_name = "CLASS", allow_hyphen_values = true)]
    pub(crate) positive: Option<String>,
    /// csv (also separated by tabs, ; or |), json, jsonl, svmlight, vw, parquet, arrow, npy, npz, xlsx [default: from the
    /// name]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// The first line of a CSV file is a record; columns are named column1, column2 …
    #[arg(long)]
    #[serde(default)]
    pub(crate) no_header: bool,
    /// The sheet of a workbook [default: the first]
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    pub(crate) sheet: Option<String>,
    /// What becomes of missing cells
    #[arg(long, value_enum, default_value = "error")]
    pub(crate) missing: MissingName,
    /// Takes numbers as they are
    #[arg(long)]
    pub(crate) no_standardize: bool,
    /// Text is hashed to 2^BITS features
    #[arg(long, value_name = "BITS", default_value_t = 18)]
    pub(crate) hash_bits: u32,
    /// Leaves out rows that cannot be read, and says how many
    #[arg(long)]
    pub(crate) skip_bad_rows: bool,
}

/// What becomes of missing cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MissingName {
    /// They are an error
    Error,
    /// A number is 0
    Zero,
    /// A number is its column's mean
    Mean,
}

impl From<MissingName> for Missing {
    fn from(name: MissingName) -> Self {
        match name {
            MissingName::Error => Missing::Error,
            MissingName::Zero => Missing::Zero,
            MissingName::Mean => Missing::Mean,
        }
    }
}

impl Files {
    /// As the reader of files wants it.
    pub(crate) fn options(&self, loss: Option<&str>) -> Result<Options> {
        let format = self.format.as_deref().map(Format::named).transpose();
        let format = format.map_err(|message| anyhow!("--format: {message}"))?;
        if !(4..=28).contains(&self.hash_bits) {
            bail!("--hash-bits = {}, need 4 <= bits <= 28", self.hash_bits);
        }
        Ok(Options {
            format,
            table: TablePlace { no_header: self.no_header, sheet: self.sheet.clone() },
            label: self.label.clone(),
            id: self.id.clone(),
            text: entries("--text", &self.text)?,
            numbers: entries("--numbers", &self.numbers)?,
            categories: entries("--categories", &self.categories)?,
            vectors: entries("--vectors", &self.vectors)?,
            ignore: entries("--ignore", &self.ignore)?,
            classes: self.labels.as_deref().map(|lists| entries("--labels", lists)).transpose()?,
            positive: self.positive.as_deref().map(|class| class.trim().to_owned()),
            wanted: wanted(loss),
            missing: self.missing.into(),
            standardize: !self.no_standardize,
            hash_bits: self.hash_bits,
            skip_bad_rows: self.skip_bad_rows,
            ..Options::default()
        })
    }
}

/// What labels a loss can learn from.
fn wanted(loss: Option<&str>) -> Wanted {
    match loss {
        None => Wanted::Any,
        Some("squared") => Wanted::Number,
        Some("logistic" | "cross-entropy" | "hinge") => Wanted::Classes,
        Some(_) => Wanted::Binary,
    }
}

/// A file, or `-` for standard input.
pub(crate) fn input(path: &Path) -> Input {
    if path == Path::new("-") { Input::Stdin } else { Input::File(PathBuf::from(path)) }
}
