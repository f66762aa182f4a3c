//! What the first records of a file look like, column by column.

use std::collections::BTreeSet;

use crate::error::Fault;
use crate::number;
use crate::source::{Cell, Sink};

/// More values than this are no small set of categories.
pub(crate) const MANY: usize = 100;

/// What was seen in one column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Cells with something in them.
    pub(crate) given: usize,
    /// Of these, numbers.
    pub(crate) numbers: usize,
    /// Of these, numbers that are not whole.
    pub(crate) fractions: usize,
    /// The lowest and the highest of the numbers.
    pub(crate) range: Option<(f64, f64)>,
    /// Of these, lists.
    pub(crate) vectors: usize,
    /// Of these, true and false.
    pub(crate) booleans: usize,
    /// Of these, what no column can hold.
    pub(crate) unread: usize,
    /// The length of the first list that has any numbers.
    pub(crate) length: Option<usize>,
    /// Bytes in all words and texts.
    pub(crate) bytes: usize,
    /// Spaces in all words and texts.
    pub(crate) spaces: usize,
    /// Different values, up to one more than `MANY`.
    pub(crate) values: BTreeSet<Box<[u8]>>,
}

/// Looks at records.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) columns: Vec<Seen>,
    pub(crate) bytes: usize,
    /// How many records were looked at.
    pub(crate) records: usize,
}

impl Sample {
    /// What was seen in this column, nothing when it never had a cell.
    pub(crate) fn column(&self, column: usize) -> Seen {
        self.columns.get(column).cloned().unwrap_or_default()
    }
}

impl Sink for Sample {
    fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), Fault> {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, Seen::default());
        }
        let seen = &mut self.columns[column];
        self.bytes += seen.look(cell);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.records += 1;
        Ok(())
    }

    fn discard(&mut self) {}
}

impl Seen {
    /// Counts a cell and gives its size.
    fn look(&mut self, cell: Cell<'_>) -> usize {
        match cell {
            Cell::Missing => return 0,
            Cell::Number(value) if value.is_nan() => return 0,
            Cell::Bytes(bytes) if number::says_missing(bytes) => return 0,
            Cell::Bytes(bytes) => match number::parse(bytes) {
                Some(value) => self.number(value, bytes),
                // Meant as a number: it is a fault when it is read, and the fault says how to write it.
                None if number::with_point(bytes).is_some() => self.number(0.5, bytes),
                None => self.word(bytes),
            },
            Cell::Text(text) => self.word(text.as_bytes()),
            Cell::Number(value) => self.number(value, value.to_string().as_bytes()),
            Cell::Integer(value) => self.number(value as f64, value.to_string().as_bytes()),
            Cell::Unsigned(value) => self.number(value as f64, value.to_string().as_bytes()),
            Cell::Boolean(value) => {
                self.booleans += 1;
                self.value(if value { b"true" } else { b"false" });
            }
            Cell::Vector(values) => {
                self.vectors += 1;
                if !values.is_empty() {
                    self.length.get_or_insert(values.len());
                }
            }
            Cell::Features { .. } => {}
            Cell::Unread(_) => self.unread += 1,
        }
        self.given += 1;
        match cell {
            Cell::Bytes(bytes) => bytes.len(),
            Cell::Text(text) => text.len(),
            Cell::Vector(values) => 4 * values.len(),
            Cell::Features { index, .. } => 8 * index.len(),
            _ => 8,
        }
    }

    fn number(&mut self, value: f64, spelling: &[u8]) {
        self.numbers += 1;
        let (low, high) = self.range.unwrap_or((value, value));
        self.range = Some((low.min(value), high.max(value)));
        self.fractions += usize::from(value != value.trunc());
        // One fraction says that these are no classes.
        if self.fractions == 0 {
            self.value(spelling);
        }
    }

    fn word(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.spaces += memchr::memchr_iter(b' ', bytes).count();
        self.value(bytes);
    }

    fn value(&mut self, spelling: &[u8]) {
        if self.values.len() <= MANY && !self.values.contains(spelling) {
            self.values.insert(spelling.into());
        }
    }
}
