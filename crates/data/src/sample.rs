//! Statistics of the first records of a file, by column.

use std::collections::BTreeSet;

use crate::error::DataFault;
use crate::number;
use crate::source::{CellValue, Sink};

/// The number of distinct values above which a column is not a small set of categories.
pub(crate) const MANY: usize = 100;

/// Statistics of one column.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnStatistics {
    /// The number of cells that are not empty.
    pub(crate) given: usize,
    /// The number of these that are numbers.
    pub(crate) numbers: usize,
    /// The number of these that are numbers with a fraction.
    pub(crate) fractions: usize,
    /// The lowest and the highest number.
    pub(crate) range: Option<(f64, f64)>,
    /// The number of these that are lists.
    pub(crate) vectors: usize,
    /// The number of these that are true or false.
    pub(crate) booleans: usize,
    /// The number of these that no column can hold.
    pub(crate) unread: usize,
    /// The length of the first list that has any numbers.
    pub(crate) length: Option<usize>,
    /// The number of bytes in all words and texts.
    pub(crate) bytes: usize,
    /// The number of spaces in all words and texts.
    pub(crate) spaces: usize,
    /// The distinct values, at most `MANY` + 1.
    pub(crate) values: BTreeSet<Box<[u8]>>,
}

/// A sink that collects statistics of records.
#[derive(Default)]
pub(crate) struct SampleStatistics {
    pub(crate) columns: Vec<ColumnStatistics>,
    pub(crate) bytes: usize,
    /// The number of records.
    pub(crate) records: usize,
}

impl SampleStatistics {
    /// Returns the statistics of this column, which are empty if it never had a cell.
    pub(crate) fn column(&self, column: usize) -> ColumnStatistics {
        self.columns.get(column).cloned().unwrap_or_default()
    }
}

impl Sink for SampleStatistics {
    fn cell(&mut self, column: usize, cell: CellValue<'_>) -> Result<(), DataFault> {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, ColumnStatistics::default());
        }
        let seen = &mut self.columns[column];
        self.bytes += seen.add(cell);
        Ok(())
    }

    fn end(&mut self) -> Result<(), DataFault> {
        self.records += 1;
        Ok(())
    }

    fn discard(&mut self) {}
}

impl ColumnStatistics {
    /// Counts a cell and returns its size in bytes.
    fn add(&mut self, cell: CellValue<'_>) -> usize {
        match cell {
            CellValue::Missing => return 0,
            CellValue::Number(value) if value.is_nan() => return 0,
            CellValue::Bytes(bytes) if number::is_missing_word(bytes) => return 0,
            CellValue::Bytes(bytes) => match number::parse(bytes) {
                Some(value) => self.number(value, bytes),
                // Intended as a number: reading it gives a fault that shows the correct form.
                None if number::with_point(bytes).is_some() => self.number(0.5, bytes),
                None => self.word(bytes),
            },
            CellValue::Text(text) => self.word(text.as_bytes()),
            CellValue::Number(value) => self.number(value, value.to_string().as_bytes()),
            CellValue::Integer(value) => self.number(value as f64, value.to_string().as_bytes()),
            CellValue::Unsigned(value) => self.number(value as f64, value.to_string().as_bytes()),
            CellValue::Boolean(value) => {
                self.booleans += 1;
                self.value(if value { b"true" } else { b"false" });
            }
            CellValue::Vector(values) => {
                self.vectors += 1;
                if !values.is_empty() {
                    self.length.get_or_insert(values.len());
                }
            }
            CellValue::Features { .. } => {}
            CellValue::Unread(_) => self.unread += 1,
        }
        self.given += 1;
        match cell {
            CellValue::Bytes(bytes) => bytes.len(),
            CellValue::Text(text) => text.len(),
            CellValue::Vector(values) => 4 * values.len(),
            CellValue::Features { index, .. } => 8 * index.len(),
            _ => 8,
        }
    }

    fn number(&mut self, value: f64, spelling: &[u8]) {
        self.numbers += 1;
        let (low, high) = self.range.unwrap_or((value, value));
        self.range = Some((low.min(value), high.max(value)));
        self.fractions += usize::from(value != value.trunc());
        // A single fraction shows that the values are not classes.
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
