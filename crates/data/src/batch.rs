//! Batches: rows of features with their labels and ids.

use std::collections::HashMap;

use querist_rows::{DenseRows, Rows};

use crate::encode::{RejectedRow, remove_rows};
use crate::error::{DataError, DataFault, DataPosition};

/// Rows of features with a label (NaN if absent) and an id for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The features.
    pub rows: Rows,
    /// The labels: −1 or +1, the index of the class from 0, or the number itself.
    pub labels: Vec<f64>,
    /// The ids.
    pub ids: BatchIds,
}

impl Default for Batch {
    fn default() -> Self {
        Self { rows: Rows::Dense(DenseRows::new(0)), labels: vec![], ids: BatchIds::Numbered { first: 1 } }
    }
}

/// The ids of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchIds {
    /// Consecutive numbers, either read from the file or, without ids, counting records from 1.
    Numbered {
        /// The id of the first row.
        first: u64,
    },
    /// Arbitrary strings, one for each row.
    Named(Vec<String>),
}

impl BatchIds {
    /// Returns the id of the row at `index`.
    pub fn get(&self, index: usize) -> String {
        match self {
            BatchIds::Numbered { first } => (first + index as u64).to_string(),
            BatchIds::Named(names) => names[index].clone(),
        }
    }

    /// Removes the ids of the skipped rows; `rows` is the number of rows before that.
    pub(crate) fn remove_rows(&mut self, rejected: &[RejectedRow], rows: usize) {
        let mut names: Vec<String> = (0..rows).map(|index| self.get(index)).collect();
        remove_rows(rejected, &mut names);
        *self = BatchIds::Named(names);
    }

    /// Rejects ids that occur twice; `column` is named in the error.
    pub(crate) fn check_unique(&self, file: &str, column: &str) -> Result<(), DataError> {
        let BatchIds::Named(names) = self else { return Ok(()) };
        let mut seen = HashMap::with_capacity(names.len());
        for (row, name) in (1_u64..).zip(names) {
            if let Some(first) = seen.insert(name.as_str(), row) {
                let fault = DataFault::new(format!("the id `{name}` appears in rows {first} and {row}"), "unique ids");
                let fault = fault.hint("remove one of them, or name another column with --id");
                let position = DataPosition { line: None, row, column: Some(column.to_owned()) };
                return Err(DataError { file: file.to_owned(), position: Some(position), fault });
            }
        }
        Ok(())
    }
}

/// A list of ids under construction. It stores strings only once an id breaks the sequence of numbers.
#[derive(Debug)]
pub(crate) struct IdList {
    ids: BatchIds,
    len: usize,
}

impl IdList {
    /// Creates an empty list; rows without ids are numbered from `first`.
    pub(crate) fn new(first: u64) -> Self {
        Self { ids: BatchIds::Numbered { first }, len: 0 }
    }

    /// Appends a row without an id.
    pub(crate) fn push_number(&mut self) {
        self.len += 1;
    }

    /// Appends a row with an id.
    pub(crate) fn push(&mut self, name: &str) {
        // `007` and `+7` are names: printing the number would not give them back.
        let plain = name == "0" || name.as_bytes().first().is_some_and(|byte| matches!(byte, b'1'..=b'9'));
        let number = name.parse::<u64>().ok().filter(|number| plain && *number < 1 << 62);
        match (&mut self.ids, number) {
            (BatchIds::Numbered { first }, Some(number)) if self.len == 0 => *first = number,
            (BatchIds::Numbered { first }, Some(number)) if number == *first + self.len as u64 => {}
            (BatchIds::Numbered { first }, _) => {
                let numbers = *first..*first + self.len as u64;
                let mut names: Vec<String> = numbers.map(|number| number.to_string()).collect();
                names.push(name.to_owned());
                self.ids = BatchIds::Named(names);
            }
            (BatchIds::Named(names), _) => names.push(name.to_owned()),
        }
        self.len += 1;
    }

    /// Returns the ids and empties the list, which then starts at `next`.
    pub(crate) fn take(&mut self, next: u64) -> BatchIds {
        std::mem::replace(self, Self::new(next)).ids
    }
}
