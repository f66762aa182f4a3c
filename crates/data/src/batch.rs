//! Rows with their labels and ids.

use std::collections::HashMap;

use querist_rows::{DenseRows, Rows};

use crate::encode::{Far, leave_out};
use crate::error::{DataError, Fault, Place};

/// Rows of features, a label for each (NaN where there is none) and what they are called.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The features.
    pub rows: Rows,
    /// The labels: −1 or +1, the number of the class from 0, or the number itself.
    pub labels: Vec<f64>,
    /// The ids.
    pub ids: Ids,
}

impl Default for Batch {
    fn default() -> Self {
        Self { rows: Rows::Dense(DenseRows::new(0)), labels: vec![], ids: Ids::Numbered { first: 1 } }
    }
}

/// What rows are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ids {
    /// One after the other from this number on: ids of that form, or no ids and records counted from 1.
    Numbered {
        /// The id of the first row.
        first: u64,
    },
    /// By their names.
    Named(Vec<String>),
}

impl Ids {
    /// The id of the row at this place.
    pub fn get(&self, place: usize) -> String {
        match self {
            Ids::Numbered { first } => (first + place as u64).to_string(),
            Ids::Named(names) => names[place].clone(),
        }
    }

    /// Removes the names of rows that are left out of so many.
    pub(crate) fn leave_out(&mut self, far: &[Far], rows: usize) {
        let mut names: Vec<String> = (0..rows).map(|place| self.get(place)).collect();
        leave_out(far, &mut names);
        *self = Ids::Named(names);
    }

    /// Two rows of the same name are an error.
    pub(crate) fn check_unique(&self, file: &str, column: &str) -> Result<(), DataError> {
        let Ids::Named(names) = self else { return Ok(()) };
        let mut seen = HashMap::with_capacity(names.len());
        for (row, name) in (1_u64..).zip(names) {
            if let Some(first) = seen.insert(name.as_str(), row) {
                let fault = Fault::new(format!("the id `{name}` stands in rows {first} and {row}"), "ids that differ");
                let fault = fault.hint("remove one of them, or name another column with --id");
                let place = Place { line: None, row, column: Some(column.to_owned()) };
                return Err(DataError { file: file.to_owned(), place: Some(place), fault });
            }
        }
        Ok(())
    }
}

/// Ids as they come; names are kept only once a number is out of turn.
#[derive(Debug)]
pub(crate) struct IdList {
    ids: Ids,
    len: usize,
}

impl IdList {
    /// No ids yet; rows without any are numbered from here.
    pub(crate) fn new(first: u64) -> Self {
        Self { ids: Ids::Numbered { first }, len: 0 }
    }

    /// A row without a name.
    pub(crate) fn push_number(&mut self) {
        self.len += 1;
    }

    /// A row with a name.
    pub(crate) fn push(&mut self, name: &str) {
        // `007` and `+7` are names.
        let plain = name == "0" || name.as_bytes().first().is_some_and(|byte| matches!(byte, b'1'..=b'9'));
        let number = name.parse::<u64>().ok().filter(|number| plain && *number < 1 << 62);
        match (&mut self.ids, number) {
            (Ids::Numbered { first }, Some(number)) if self.len == 0 => *first = number,
            (Ids::Numbered { first }, Some(number)) if number == *first + self.len as u64 => {}
            (Ids::Numbered { first }, _) => {
                let numbers = *first..*first + self.len as u64;
                let mut names: Vec<String> = numbers.map(|number| number.to_string()).collect();
                names.push(name.to_owned());
                self.ids = Ids::Named(names);
            }
            (Ids::Named(names), _) => names.push(name.to_owned()),
        }
        self.len += 1;
    }

    /// The ids so far; the list starts anew.
    pub(crate) fn take(&mut self, next: u64) -> Ids {
        std::mem::replace(self, Self::new(next)).ids
    }
}
