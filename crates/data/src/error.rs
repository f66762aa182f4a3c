//! What cannot be read: where, what was found, what was expected, how to go on.

use std::fmt::{self, Display};

/// A file that cannot be read as asked.
#[derive(Clone, Debug, PartialEq)]
pub struct DataError {
    /// The file, or `standard input`.
    pub file: String,
    /// Where in it.
    pub place: Option<Place>,
    /// What was found and what was expected.
    pub fault: Fault,
}

/// Where a record stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The line, from 1, in formats made of lines.
    pub line: Option<u64>,
    /// The record, from 1.
    pub row: u64,
    /// The name of the column.
    pub column: Option<String>,
}

/// What is wrong with one record or one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What was found, `"1,5" is not a number`.
    pub found: String,
    /// What was expected, `a finite number such as 1.5`; empty where `found` says it.
    pub expected: String,
    /// How to go on, `--missing zero reads it as 0`; empty where there is no way.
    pub hint: String,
}

impl Fault {
    /// What was found and what was expected, with no way to go on.
    pub fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into(), hint: String::new() }
    }

    /// The same with a way to go on.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The fault of a whole file.
    pub fn of_file(self, file: &str) -> DataError {
        DataError { file: file.to_owned(), place: None, fault: self }
    }
}

/// What was found, in quotes: control characters escaped, cut after forty characters.
pub fn quoted(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST)]);
    let mut shown: String = text.chars().take(LONGEST).flat_map(escaped).collect();
    if LONGEST < text.chars().count() || 4 * LONGEST < bytes.len() {
        shown.push('…');
    }
    format!("\"{shown}\"")
}

/// A character as it is shown in a message; quotes are doubled as in CSV files.
fn escaped(character: char) -> Vec<char> {
    match character {
        '"' => vec!['"', '"'],
        control if control.is_control() => control.escape_default().collect(),
        other => vec![other],
    }
}

/// A name or a message with its control characters escaped: what stands in a file must not steer a terminal.
pub fn shown(text: &str) -> String {
    let escape = |letter: char| if letter.is_control() { letter.escape_default().collect() } else { vec![letter] };
    text.chars().flat_map(escape).collect()
}

impl Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", shown(&self.file))?;
        if let Some(place) = &self.place {
            match place.line {
                Some(line) => write!(f, ", line {line}")?,
                None => write!(f, ", row {}", place.row)?,
            }
            if let Some(column) = &place.column {
                write!(f, ", column `{}`", shown(column))?;
            }
        }
        write!(f, ": {}", shown(&self.fault.found))?;
        if !self.fault.expected.is_empty() {
            write!(f, "; expected {}", shown(&self.fault.expected))?;
        }
        if !self.fault.hint.is_empty() {
            write!(f, "\n  {}", shown(&self.fault.hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for DataError {}
