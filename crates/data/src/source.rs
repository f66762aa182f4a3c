//! A format is a source of records; what becomes of their cells is the sink's business.

use crate::error::{DataError, Fault, Place};

/// A column of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name in the file; `f0`, `f1` … where the file has no names.
    pub name: String,
    /// What the format says of it.
    pub kind: Kind,
}

/// What a format knows of a column before its cells are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: cells are bytes (CSV) or of mixed kinds (JSON).
    Any,
    /// Numbers.
    Number,
    /// True or false.
    Boolean,
    /// Text.
    Text,
    /// The name of a record, for those that have one: an id, never a feature (VW).
    Name,
    /// Lists of numbers, of this length where it is fixed.
    Vector(Option<usize>),
    /// Numbered features, most of them 0 (svmlight, VW).
    Features,
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing is there.
    Missing,
    /// Bytes that may be a number, a word or a text; quotes removed, nothing else.
    Bytes(&'a [u8]),
    /// A number.
    Number(f64),
    /// A whole number, kept exact for ids and classes.
    Integer(i64),
    /// A whole number above 2⁶³ − 1, exact as well.
    Unsigned(u64),
    /// True or false.
    Boolean(bool),
    /// A text.
    Text(&'a str),
    /// A list of numbers.
    Vector(&'a [f32]),
    /// Numbered features; indices rise.
    Features {
        /// Which.
        index: &'a [u32],
        /// Their values.
        value: &'a [f32],
    },
    /// What no column of features, labels or ids can hold, and why: a fault where anyone looks at it.
    Unread(&'a Fault),
}

/// What takes the records of a source.
pub trait Sink {
    /// A cell of the record at hand.
    fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), Fault>;

    /// Takes a whole record of plain cells between separators, where it can; `false` asks for it cell by cell.
    /// A format that calls this spares a call for every cell; what is wrong is found on the second way. The record is
    /// the first `len` bytes of the text, an end of line is next unless the text ends.
    fn line(&mut self, _text: &[u8], _len: usize, _separator: u8) -> bool {
        false
    }

    /// The record is complete; a column that was not given is missing.
    fn end(&mut self) -> Result<(), Fault>;

    /// The record at hand is bad: forget its cells.
    fn discard(&mut self);
}

/// A file, or standard input, as records.
pub trait Source {
    /// The columns, known from the header, the schema or the first records.
    fn columns(&self) -> &[Column];

    /// What was found out about the format, `separated by ;`; empty where there was nothing to find out.
    fn note(&self) -> String {
        String::new()
    }

    /// Whether the first line of the file was taken for the names of the columns.
    fn has_header(&self) -> bool {
        false
    }

    /// Why the cells of this column cannot be read, where the format knows it before it reads any.
    fn refusal(&self, column: usize) -> Option<&Fault> {
        let _ = column;
        None
    }

    /// Later records may have columns that are not listed; they are passed over, and counted.
    fn is_open(&self) -> bool {
        false
    }

    /// Cells so far that stood in columns that are not listed.
    fn passed_over(&self) -> u64 {
        0
    }

    /// Which share of the records has been handed over, where the format knows how many there are.
    fn share(&self) -> Option<f64> {
        None
    }

    /// Says which columns will be looked at, a flag each, before the first `read`; cells of the others may then be
    /// left out, and need not be of a kind that can be read. Until it is called, all are looked at.
    fn select(&mut self, wanted: &[bool]) {
        let _ = wanted;
    }

    /// Hands over the next records, at most this many, and says how many; fewer only at the end.
    /// A record with a fault ends the reading with an error, unless `bad` takes it.
    fn read(&mut self, limit: usize, sink: &mut dyn Sink, bad: &mut BadRows) -> Result<usize, DataError>;
}

/// What happens to records with faults.
#[derive(Clone, Debug, Default)]
pub struct BadRows {
    /// They are left out and counted, instead of ending the reading.
    pub skip: bool,
    /// So many are enough: one more ends the reading all the same.
    pub most: Option<u64>,
    /// How many were left out.
    pub skipped: u64,
    /// The first few of them.
    pub examples: Vec<DataError>,
}

impl BadRows {
    /// Takes a fault, or gives it back as an error when bad records are not to be left out.
    pub fn take(&mut self, file: &str, place: Place, fault: Fault) -> Result<(), DataError> {
        let mut error = DataError { file: file.to_owned(), place: Some(place), fault };
        if !self.skip {
            if error.fault.hint.is_empty() {
                error.fault = error.fault.hint("--skip-bad-rows leaves such rows out");
            }
            return Err(error);
        }
        self.skipped += 1;
        if self.examples.len() < 5 {
            self.examples.push(error.clone());
        }
        if self.is_full() {
            let hint = format!("none of {} rows before it could be read either", self.skipped - 1);
            return Err(DataError { fault: error.fault.hint(hint), ..error });
        }
        Ok(())
    }

    /// More were left out than are enough.
    pub(crate) fn is_full(&self) -> bool {
        self.most.is_some_and(|most| most < self.skipped)
    }
}
