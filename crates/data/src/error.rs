//! Errors of reading: their location, the input found, the input expected, and a hint.

use std::fmt::{self, Display};

use crate::encoder::VERSION;

/// An error in reading a file.
#[derive(Clone, Debug, PartialEq)]
pub struct DataError {
    /// The file, or `standard input`.
    pub file: String,
    /// The location in the file; `None` if the whole file is at fault.
    pub position: Option<DataPosition>,
    /// The fault.
    pub fault: DataFault,
}

/// The location of a record or of one of its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct DataPosition {
    /// The line number, from 1, in formats made of lines.
    pub line: Option<u64>,
    /// The record number, from 1.
    pub row: u64,
    /// The name of the column.
    pub column: Option<String>,
}

/// The flag that skips bad rows.
const SKIP_FLAG: &str = "--skip-bad-rows";

/// A fault in a record or a file.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFault {
    /// The input found, `"1,5" is not a number`.
    pub found: String,
    /// The input expected, `a finite number such as 1.5`; empty if `found` implies it.
    pub expected: String,
    /// A way to continue, `--missing zero reads it as 0`; empty if there is none.
    pub hint: String,
}

impl DataFault {
    /// Creates a fault without a hint.
    pub fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into(), hint: String::new() }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Returns whether the hint proposes to skip bad rows.
    pub(crate) fn proposes_skipping(&self) -> bool {
        self.hint.contains(SKIP_FLAG)
    }

    /// Removes the proposal to skip bad rows; `reason`, with something else to do, becomes the hint if nothing is left.
    pub(crate) fn without_skipping(mut self, reason: &str) -> Self {
        let proposals = self.hint.split("; ").flat_map(|proposals| proposals.split(", or "));
        let others: Vec<&str> = proposals.filter(|proposal| !proposal.contains(SKIP_FLAG)).collect();
        self.hint = if others.is_empty() { reason.to_owned() } else { others.join("; ") };
        self
    }

    /// Converts the fault into an error of the whole file.
    pub fn of_file(self, file: &str) -> DataError {
        DataError { file: file.to_owned(), position: None, fault: self }
    }
}

/// Quotes bytes for a message: escapes control characters and truncates after 40 characters.
pub fn quoted(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST)]);
    let mut shown: String = text.chars().take(LONGEST).flat_map(escaped).collect();
    if LONGEST < text.chars().count() || 4 * LONGEST < bytes.len() {
        shown.push('…');
    }
    format!("\"{shown}\"")
}

/// Escapes a character for a message; quotes are doubled as in CSV files.
fn escaped(character: char) -> Vec<char> {
    match character {
        '"' => vec!['"', '"'],
        control if control.is_control() => control.escape_default().collect(),
        other => vec![other],
    }
}

/// Escapes the control characters of a name or a message, so that the content of a file cannot control a terminal.
pub fn escape_control(text: &str) -> String {
    let escape = |letter: char| if letter.is_control() { letter.escape_default().collect() } else { vec![letter] };
    text.chars().flat_map(escape).collect()
}

impl Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", escape_control(&self.file))?;
        if let Some(position) = &self.position {
            match position.line {
                Some(line) => write!(f, ", line {line}")?,
                None => write!(f, ", row {}", position.row)?,
            }
            if let Some(column) = &position.column {
                write!(f, ", column `{}`", escape_control(column))?;
            }
        }
        write!(f, ": {}", escape_control(&self.fault.found))?;
        if !self.fault.expected.is_empty() {
            write!(f, "; expected {}", escape_control(&self.fault.expected))?;
        }
        if !self.fault.hint.is_empty() {
            write!(f, "\n  {}", escape_control(&self.fault.hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for DataError {}

/// A reason why JSON is not an encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncoderError {
    /// The JSON cannot be read, with the message of its parser.
    Json(String),
    /// The encoder has another format version.
    Version(u32),
    /// The number of hash bits is out of range.
    HashBits(String),
    /// The parts of the encoder contradict each other.
    Inconsistent,
}

impl Display for EncoderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "not an encoder: {error}"),
            Self::Version(version) => write!(f, "an encoder of version {version}; expected {VERSION}"),
            Self::HashBits(found) => f.write_str(found),
            Self::Inconsistent => f.write_str("not an encoder: its parts are inconsistent"),
        }
    }
}

impl std::error::Error for EncoderError {}
