//! What the reader of a file may say about it.

use serde::{Deserialize, Serialize};

use crate::format::Format;

/// How a file is to be read; what is not said is guessed and can be printed.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Options {
    /// The format, where the name of the file does not say it.
    pub format: Option<Format>,
    /// Where the table is in the file.
    pub table: TablePlace,
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
    /// Columns with lists of numbers, or prefixes: `e` stands for `e000`, `e001` …
    pub vectors: Vec<String>,
    /// Columns that are left out.
    pub ignore: Vec<String>,
    /// The classes, in this order; found in the file where they are not given.
    pub classes: Option<Vec<String>>,
    /// The class that is coded +1; the later one of two where it is not given.
    pub positive: Option<String>,
    /// What labels must be.
    pub wanted: Wanted,
    /// What becomes of missing cells.
    pub missing: Missing,
    /// Numbers are shifted and scaled to mean 0 and standard deviation 1.
    pub standardize: bool,
    /// Text and features with names are hashed to this many bits.
    pub hash_bits: u32,
    /// A stream is fitted on this many records.
    pub warm_up: usize,
    /// Records with faults are left out and counted.
    pub skip_bad_rows: bool,
    /// A record may have no label yet.
    pub unlabeled: bool,
    /// A column is taken for the label by its name; otherwise a column of such a name is left out.
    pub guess_label: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            table: TablePlace::default(),
            label: None,
            id: None,
            text: vec![],
            numbers: vec![],
            categories: vec![],
            vectors: vec![],
            ignore: vec![],
            classes: None,
            positive: None,
            wanted: Wanted::Any,
            missing: Missing::Error,
            standardize: true,
            hash_bits: 18,
            warm_up: 1000,
            skip_bad_rows: false,
            unlabeled: false,
            guess_label: true,
        }
    }
}

/// Where the table is in a file of a format that has a choice. An encoder keeps it, so that new files are read the same way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TablePlace {
    /// The first line is a record; columns are named `column1`, `column2` …
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_header: bool,
    /// The sheet of a workbook, by name; the first one where it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
}

impl TablePlace {
    /// Whether nothing was chosen.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What labels must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Two classes.
    Binary,
    /// Two classes or more.
    Classes,
    /// Numbers.
    Number,
    /// Whatever they look like.
    Any,
}

/// What becomes of missing cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// They are a fault.
    Error,
    /// A number is 0, a category none of those known, a text empty.
    Zero,
    /// A number is the mean of its column, a category none of those known, a text empty.
    Mean,
}
