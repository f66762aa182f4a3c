//! Options for reading a file.

use querist_rows::kernel::KernelSettings;
use serde::{Deserialize, Serialize};

use crate::format::Format;

/// Options for reading a file. Unspecified properties are guessed, and the guesses can be printed.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
pub struct ReadOptions {
    /// The format, if the file name does not determine it.
    pub format: Option<Format>,
    /// The location of the table in the file.
    pub table: TableLocation,
    /// The column with labels.
    pub label: Option<String>,
    /// The column with ids.
    pub id: Option<String>,
    /// Columns with text.
    pub text: Vec<String>,
    /// Columns with numbers.
    pub numbers: Vec<String>,
    /// Columns with categories.
    pub categories: Vec<String>,
    /// Columns with lists of numbers, or prefixes: `e` means `e000`, `e001` …
    pub vectors: Vec<String>,
    /// Columns that are ignored.
    pub ignore: Vec<String>,
    /// The column with predicted labels, which are not features.
    pub predictions: Option<String>,
    /// The classes in this order; by default, those found in the file.
    pub classes: Option<Vec<String>>,
    /// The class that is coded +1; by default, the later one of two.
    pub positive: Option<String>,
    /// The required kind of labels.
    pub required_labels: RequiredLabels,
    /// The treatment of missing cells.
    pub missing: Missing,
    /// Scales numbers to mean 0 and standard deviation 1.
    pub standardize: bool,
    /// The number of bits to which text and the names of features are hashed.
    pub hash_bits: u32,
    /// The number of records on which a stream is fitted.
    pub warm_up: usize,
    /// Skips and counts records with faults.
    pub skip_bad_rows: bool,
    /// Allows records without a label.
    pub unlabeled: bool,
    /// Adds kernel features to dense rows.
    pub kernel: Option<KernelSettings>,
    /// Guesses the label column by its name; otherwise a column of such a name is ignored.
    pub guess_label: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            table: TableLocation::default(),
            label: None,
            id: None,
            text: vec![],
            numbers: vec![],
            categories: vec![],
            vectors: vec![],
            ignore: vec![],
            predictions: None,
            classes: None,
            positive: None,
            required_labels: RequiredLabels::Any,
            missing: Missing::Error,
            standardize: true,
            hash_bits: 18,
            warm_up: 1000,
            skip_bad_rows: false,
            unlabeled: false,
            kernel: None,
            guess_label: true,
        }
    }
}

/// The location of the table, for formats with a choice. An encoder stores it, so that new files are read in the same
/// way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableLocation {
    /// True if the first line is a record; columns are then named `column1`, `column2` …
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_header: bool,
    /// The name of the sheet in a workbook; by default, the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
}

impl TableLocation {
    /// Returns whether nothing was chosen.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A required kind of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredLabels {
    /// Two classes.
    Binary,
    /// Two classes or more.
    Classes,
    /// Numbers.
    Number,
    /// Any of these, guessed from the data.
    Any,
}

/// A treatment of missing cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// Missing cells are faults.
    Error,
    /// A number becomes 0, a category unknown, a text empty.
    Zero,
    /// A number becomes the mean of its column, a category unknown, a text empty.
    Mean,
    /// As with the mean. Every column of numbers or categories in which the fitted rows have missing cells gets a feature
    /// that is 1 where a cell is missing; categories that the fitted rows do not have share it.
    Indicator,
}
