//! Sources of records, which formats implement, and sinks, which receive their cells.

use crate::error::{DataError, DataFault, DataPosition};

/// A column of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name in the file; `f0`, `f1` … if the file has no names.
    pub name: String,
    /// Its kind according to the format.
    pub kind: ColumnKind,
}

/// The kind of a column, as far as the format knows it before reading cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Unknown: cells are bytes (CSV) or of mixed kinds (JSON).
    Any,
    /// Numbers.
    Number,
    /// True or false.
    Boolean,
    /// Text.
    Text,
    /// The optional name of a record: an id, never a feature (VW).
    Name,
    /// Lists of numbers, of this length if it is fixed.
    Vector(Option<usize>),
    /// Indexed features, most of them 0 (svmlight, VW).
    Features,
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellValue<'a> {
    /// An empty cell.
    Missing,
    /// Bytes that may be a number, a word or a text; only quotes are removed.
    Bytes(&'a [u8]),
    /// A number.
    Number(f64),
    /// A whole number, exact for ids and classes.
    Integer(i64),
    /// A whole number above 2⁶³ − 1, also exact.
    Unsigned(u64),
    /// True or false.
    Boolean(bool),
    /// A text.
    Text(&'a str),
    /// A list of numbers.
    Vector(&'a [f32]),
    /// Indexed features with increasing indices.
    Features {
        /// Their indices.
        index: &'a [u32],
        /// Their values.
        value: &'a [f32],
    },
    /// A value that no feature, label or id column can hold, with the reason. It is a fault only if the column is used.
    Unread(&'a DataFault),
}

/// A receiver of the records of a source.
pub trait Sink {
    /// Receives a cell of the current record.
    fn cell(&mut self, column: usize, cell: CellValue<'_>) -> Result<(), DataFault>;

    /// Receives a whole record of plain cells between separators, if it can; returns `false` to request it cell by
    /// cell.
    ///
    /// Formats call this to save a call for every cell; faults are found when the cells are passed one by one. The
    /// record is the first `len` bytes of the text, followed by a line end unless the text ends.
    fn line(&mut self, _text: &[u8], _len: usize, _separator: u8) -> bool {
        false
    }

    /// Ends the record; columns without a cell are missing.
    fn end(&mut self) -> Result<(), DataFault>;

    /// Discards the cells of the current record, which is bad.
    fn discard(&mut self);
}

/// A file or standard input as a sequence of records.
pub trait Source {
    /// Returns the columns, known from the header, the schema or the first records.
    fn columns(&self) -> &[Column];

    /// Returns a remark on what was detected about the format, `separated by ;`; empty if there is none.
    fn note(&self) -> String {
        String::new()
    }

    /// Returns whether the first line of the file was read as the names of the columns.
    fn has_header(&self) -> bool {
        false
    }

    /// Returns the reason why the cells of this column cannot be read, if the format knows it in advance.
    fn refusal(&self, column: usize) -> Option<&DataFault> {
        let _ = column;
        None
    }

    /// Returns whether later records may have columns that are not listed; their cells are skipped and counted.
    fn is_open(&self) -> bool {
        false
    }

    /// Returns the number of cells skipped so far because their columns are not listed.
    fn passed_over(&self) -> u64 {
        0
    }

    /// Returns the fraction of records read, if the format knows their total number.
    fn share(&self) -> Option<f64> {
        None
    }

    /// Selects the columns that are needed, one flag each, before the first `read`. Cells of the others may then be
    /// omitted, and need not be readable. By default, all are needed.
    fn select(&mut self, wanted: &[bool]) {
        let _ = wanted;
    }

    /// Passes the next records to the sink, at most `limit`, and returns their number; fewer only at the end. A record
    /// with a fault ends reading with an error, unless `bad` skips it.
    fn read(&mut self, limit: usize, sink: &mut dyn Sink, bad: &mut BadRows) -> Result<usize, DataError>;
}

/// The maximum number of records in which a good one is searched for, to correct a hint.
const MOST_PROBED: u64 = 1000;

/// The policy for records with faults, and their count.
#[derive(Clone, Debug, Default)]
pub struct BadRows {
    /// Skips and counts them instead of ending with an error.
    pub skip: bool,
    /// The maximum number of skipped records; one more ends reading with an error.
    pub most: Option<u64>,
    /// The number of skipped records.
    pub skipped: u64,
    /// The first few errors.
    pub examples: Vec<DataError>,
}

impl BadRows {
    /// Counts a fault, or returns it as an error if bad records are not skipped or too many were.
    pub fn take(&mut self, file: &str, position: DataPosition, fault: DataFault) -> Result<(), DataError> {
        let mut error = DataError { file: file.to_owned(), position: Some(position), fault };
        if !self.skip {
            if error.fault.hint.is_empty() {
                error.fault = error.fault.hint("use --skip-bad-rows to skip such rows");
            }
            return Err(error);
        }
        self.skipped += 1;
        if self.examples.len() < 5 {
            self.examples.push(error.clone());
        }
        if self.is_full() {
            let hint = format!("all {} rows before it were invalid too", self.skipped - 1);
            return Err(DataError { fault: error.fault.hint(hint), ..error });
        }
        Ok(())
    }

    /// Corrects the hint of an error that ended reading before any record was good: reads on until a record is good, and
    /// does not propose to skip bad rows if there is none. `sink` receives the records.
    pub(crate) fn correct_hint(error: DataError, source: &mut dyn Source, sink: &mut dyn Sink) -> DataError {
        if !error.fault.proposes_skipping() {
            return error;
        }
        let mut bad = Self { skip: true, most: Some(MOST_PROBED), ..Self::default() };
        match source.read(1, sink, &mut bad) {
            Ok(1..) => error,
            Ok(0) | Err(_) => bad.without_good_rows(error),
        }
    }

    /// Removes the proposal to skip bad rows from an error, because no good record was found.
    pub(crate) fn without_good_rows(&self, mut error: DataError) -> DataError {
        if error.fault.proposes_skipping() {
            let rows = if self.is_full() { "none of the first rows" } else { "no row" };
            let reason = format!("{rows} can be read; check the options that name columns, labels and the format");
            error.fault = error.fault.without_skipping(&reason);
        }
        error
    }

    /// Returns whether more records were skipped than the maximum.
    pub(crate) fn is_full(&self) -> bool {
        self.most.is_some_and(|most| most < self.skipped)
    }
}
