//! Command-line arguments about data files.

use clap::{Args, ValueEnum};
use querist_data::Missing;
use querist_run::files::FileSettings;

use crate::run::list::{List, entries};
use crate::run::output::whole;

/// The data.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// The column with labels
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    /// The column with ids [default: `id`, or the row number]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// Columns with text, separated by commas; write a name that contains a comma in quotes: '"a,b",c'
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) text: Vec<List>,
    /// Columns with numbers
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) numbers: Vec<List>,
    /// Columns with categories
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) categories: Vec<List>,
    /// Columns with lists of numbers, or prefixes such as `e` for e000, e001 …
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) vectors: Vec<List>,
    /// Columns to ignore
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) ignore: Vec<List>,
    /// The classes, in order [default: from the data]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) labels: Option<Vec<List>>,
    /// The class that is coded as +1, of two [default: the second]
    #[arg(long, value_name = "CLASS", allow_hyphen_values = true)]
    pub(crate) positive: Option<String>,
    /// The file format: csv (also separated by tabs, ; or |), json, jsonl, svmlight, vw, parquet, arrow, npy, npz, xlsx
    /// [default: from the file name]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Read the first line of a CSV file as a record; columns are named column1, column2 …
    #[arg(long)]
    pub(crate) no_header: bool,
    /// The sheet of a workbook [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
    /// How to read missing cells
    #[arg(long, value_enum, default_value = "error")]
    pub(crate) missing: MissingName,
    /// Do not standardize numbers
    #[arg(long)]
    pub(crate) no_standardize: bool,
    /// Hash text to 2^BITS features
    #[arg(long, value_name = "BITS", value_parser = whole::<u32>, default_value_t = 18)]
    pub(crate) hash_bits: u32,
    /// Skip rows that cannot be read, and report their number
    #[arg(long)]
    pub(crate) skip_bad_rows: bool,
}

/// A treatment of missing cells.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MissingName {
    /// Report an error
    Error,
    /// Read a missing number as 0
    Zero,
    /// Read a missing number as the mean of its column
    Mean,
    /// As mean, with a feature for each column that has missing cells; new categories share it
    Indicator,
}

impl From<MissingName> for Missing {
    fn from(name: MissingName) -> Self {
        match name {
            MissingName::Error => Missing::Error,
            MissingName::Zero => Missing::Zero,
            MissingName::Mean => Missing::Mean,
            MissingName::Indicator => Missing::Indicator,
        }
    }
}

impl DataArgs {
    /// Returns the settings from the command line.
    pub(crate) fn settings(&self) -> FileSettings {
        let same = self.clone();
        FileSettings {
            label: same.label,
            id: same.id,
            text: entries(same.text),
            numbers: entries(same.numbers),
            categories: entries(same.categories),
            vectors: entries(same.vectors),
            ignore: entries(same.ignore),
            predictions: None,
            labels: same.labels.map(entries),
            positive: same.positive,
            format: same.format,
            no_header: same.no_header,
            sheet: same.sheet,
            missing: same.missing.into(),
            no_standardize: same.no_standardize,
            hash_bits: same.hash_bits,
            skip_bad_rows: same.skip_bad_rows,
            model: None,
        }
    }
}
