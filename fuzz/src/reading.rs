//! Transcripts of readers: all cells and faults of a file, as one list of records.

use std::io::{self, Read};

use querist_data::error::{DataError, DataFault};
use querist_data::format::{FORMATS, FormatEntry, FormatOpener, OpenContext};
use querist_data::source::{BadRows, CellValue, Sink, Source};

use super::settings::Settings;

/// The records, faults and error that a reader produced.
#[derive(Debug, Default, PartialEq)]
pub struct Transcript {
    /// The names of the columns after the last record.
    pub columns: Vec<String>,
    /// The cells of each accepted record, by column.
    pub records: Vec<Vec<(usize, Value)>>,
    /// The number of rejected records, if they are skipped.
    pub skipped: u64,
    /// The first rejected records.
    pub rejected: Vec<DataError>,
    /// The error that ended reading.
    pub error: Option<DataError>,
    record: Vec<(usize, Value)>,
}

/// An owned cell; floats are compared by their bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An empty cell.
    Missing,
    /// Raw bytes.
    Bytes(Vec<u8>),
    /// The bits of a float.
    Number(u64),
    /// A signed integer.
    Integer(i64),
    /// An integer above the signed range.
    Unsigned(u64),
    /// True or false.
    Boolean(bool),
    /// Text.
    Text(String),
    /// The bits of a list of numbers.
    Vector(Vec<u32>),
    /// Indices with the bits of their values.
    Features(Vec<(u32, u32)>),
    /// A cell that no column can hold.
    Unread(DataFault),
}

impl From<CellValue<'_>> for Value {
    fn from(cell: CellValue<'_>) -> Self {
        match cell {
            CellValue::Missing => Value::Missing,
            CellValue::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
            CellValue::Number(number) => Value::Number(number.to_bits()),
            CellValue::Integer(number) => Value::Integer(number),
            CellValue::Unsigned(number) => Value::Unsigned(number),
            CellValue::Boolean(value) => Value::Boolean(value),
            CellValue::Text(text) => Value::Text(text.to_owned()),
            CellValue::Vector(values) => Value::Vector(values.iter().map(|value| value.to_bits()).collect()),
            CellValue::Features { index, value } => {
                assert_eq!(index.len(), value.len(), "as many values as indices");
                assert!(index.windows(2).all(|pair| pair[0] < pair[1]), "indices rise: {index:?}");
                Value::Features(index.iter().copied().zip(value.iter().map(|value| value.to_bits())).collect())
            }
            CellValue::Unread(fault) => Value::Unread(fault.clone()),
        }
    }
}

impl Transcript {
    /// Returns the transcript of a file that could not be opened.
    pub fn unopened(error: DataError) -> Self {
        Self { error: Some(checked(error)), ..Self::default() }
    }
}

impl Sink for Transcript {
    fn cell(&mut self, column: usize, cell: CellValue<'_>) -> Result<(), DataFault> {
        self.record.push((column, cell.into()));
        Ok(())
    }

    fn end(&mut self) -> Result<(), DataFault> {
        self.records.push(std::mem::take(&mut self.record));
        Ok(())
    }

    fn discard(&mut self) {
        self.record.clear();
    }
}

/// A reader that returns a few bytes at a time, like a pipe.
struct Chunks {
    bytes: Vec<u8>,
    at: usize,
    max_bytes: usize,
}

impl Read for Chunks {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let count = self.max_bytes.min(block.len()).min(self.bytes.len() - self.at);
        block[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Returns the format of this name.
///
/// # Panics
///
/// If there is none.
pub fn format(name: &str) -> &'static FormatEntry {
    FORMATS.iter().find(|entry| entry.name == name).expect("a format of the data crate")
}

/// Reads a file that arrives at most `chunk_bytes` at a time, requesting `block_rows` records at a time.
fn transcript(name: &str, bytes: &[u8], chunk_bytes: usize, block_rows: usize, settings: &Settings) -> Transcript {
    let FormatOpener::Bytes(open) = format(name).open else { panic!("{name} is not read from bytes") };
    let chunks = Chunks { bytes: bytes.to_vec(), at: 0, max_bytes: chunk_bytes };
    let table = settings.table(name);
    let context = OpenContext { file: "input", ending: name, columns: &[], hash_bits: 6, table: &table };
    match open(Box::new(chunks), &context) {
        Ok(mut source) => records(&mut *source, block_rows, settings.skip_bad_rows),
        Err(error) => Transcript::unopened(error),
    }
}

/// Reads all records of a source, `block_rows` at a time.
///
/// # Panics
///
/// If the source breaks its contract.
pub fn records(source: &mut dyn Source, block_rows: usize, skip: bool) -> Transcript {
    let mut transcript = Transcript::default();
    let mut bad = BadRows { skip, ..BadRows::default() };
    loop {
        let before = transcript.records.len();
        match source.read(block_rows, &mut transcript, &mut bad) {
            Ok(read) => {
                assert_eq!(read, transcript.records.len() - before, "the count of records");
                assert!(read <= block_rows, "more records than requested");
                if read < block_rows {
                    assert!(matches!(source.read(1, &mut transcript, &mut bad), Ok(0)), "the end stays the end");
                    break;
                }
            }
            Err(error) => {
                transcript.error = Some(checked(error));
                break;
            }
        }
    }
    transcript.record.clear();
    transcript.columns = source.columns().iter().map(|column| column.name.clone()).collect();
    transcript.skipped = bad.skipped;
    transcript.rejected = bad.examples.into_iter().map(checked).collect();
    for (column, _) in transcript.records.iter().flatten() {
        assert!(*column < transcript.columns.len(), "a cell of column {column}, which does not exist");
    }
    transcript
}

/// Checks that an error can be printed: it has a reason, and control characters are escaped.
///
/// # Panics
///
/// If it cannot.
pub fn checked(error: DataError) -> DataError {
    let text = error.to_string();
    assert!(!error.fault.found.is_empty(), "an error without a reason: {error:?}");
    let printable = |letter: char| letter == '\n' || !letter.is_control();
    assert!(text.chars().all(printable), "a control character in {text:?}");
    error
}

/// Reads a format from bytes in one piece, and again in small chunks and blocks.
///
/// # Panics
///
/// If the two differ.
pub fn read_twice(name: &str, bytes: &[u8], settings: &Settings) -> Transcript {
    let whole = transcript(name, bytes, usize::MAX, usize::MAX, settings);
    let parts = transcript(name, bytes, settings.chunk_bytes, settings.block_rows, settings);
    assert_eq!(whole, parts, "read in one piece and in small pieces");
    whole
}
