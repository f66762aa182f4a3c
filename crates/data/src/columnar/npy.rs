//! npy: a single `NumPy` array as a column `x`, with vectors if it has two dimensions.

mod header;

use std::io::{self, Read};

use half::f16;

use super::values::{ColumnData, Values};
use super::{CHUNK, Chunk, ChunkDecoder, ColumnarSource, ListedColumn, broken, fault};
use crate::error::{DataError, DataFault};
use crate::format::{FormatEntry, FormatOpener};
use crate::source::{ColumnKind, Source};
use header::{ElementType, NpyHeader};

/// The number of bytes of rows read at a time. They are in memory three times: as read, as numbers, and in the sample
/// for guessing roles. Reading a pool should need little memory beyond its own numbers.
const BLOCK: usize = 1 << 19;

pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "npy",
    summary: "one NumPy array: a vector or a number per row",
    endings: &["npy"],
    choices: &[],
    magic: &[b"\x93NUMPY"],
    looks: |_| false,
    open: FormatOpener::Bytes(|bytes, context| open(bytes, None, context.file)),
};

/// Opens an array; `bytes` is its length if it is known, and `name` is used in messages.
pub fn open(read: Box<dyn Read + Send>, bytes: Option<u64>, name: &str) -> Result<Box<dyn Source + Send>, DataError> {
    let array = Array::open(read, bytes).map_err(|fault| DataError { file: name.to_owned(), position: None, fault })?;
    let listed = ListedColumn { name: "x".to_owned(), kind: Ok(array.kind()) };
    let blocks = Blocks { array, name: name.to_owned(), row: 0 };
    Ok(Box::new(ColumnarSource::new(name, vec![listed], Box::new(blocks))?))
}

struct Blocks {
    array: Array,
    name: String,
    row: u64,
}

impl ChunkDecoder for Blocks {
    fn n_rows(&self) -> Option<u64> {
        Some(self.array.n_rows())
    }

    fn next(&mut self, wanted: &[bool]) -> Result<Option<Chunk>, DataError> {
        let n_rows = self.array.block_rows();
        let values = self.array.block(n_rows).map_err(|found| broken(&self.name, Some(self.row), found))?;
        self.row += n_rows as u64;
        let columns = vec![if wanted[0] { values } else { Values::Absent }];
        Ok((0 < n_rows).then_some(Chunk { n_rows, columns }))
    }
}

/// An array whose rows are read sequentially.
pub(super) struct Array {
    read: Box<dyn Read + Send>,
    header: NpyHeader,
    /// The number of bytes in a row.
    row_bytes: usize,
    /// The number of rows that remain.
    left: u64,
    bytes: Vec<u8>,
    /// A table in column-major order, read as a whole: its first row is complete only with its last column.
    whole: Vec<u8>,
}

impl Array {
    /// Reads the header. If the length is known, it must match the shape in the header.
    pub(super) fn open(mut read: Box<dyn Read + Send>, bytes: Option<u64>) -> Result<Self, DataFault> {
        let header = header::read(&mut read)?;
        let row_bytes = header.element.size().and_then(|size| size.checked_mul(header.dim.unwrap_or(1)));
        let data_bytes = row_bytes.and_then(|row_bytes| header.n_rows.checked_mul(row_bytes as u64));
        let (Some(row_bytes), Some(data_bytes)) = (row_bytes, data_bytes) else {
            return Err(fault("the shape is larger than any file", "", ""));
        };
        if let Some(bytes) = bytes
            && header.len.checked_add(data_bytes) != Some(bytes)
        {
            let there = bytes.saturating_sub(header.len);
            return Err(fault(format!("{there} bytes follow the header"), &format!("{data_bytes} by its shape"), ""));
        }
        let left = header.n_rows;
        Ok(Self { read, header, row_bytes, left, bytes: Vec::new(), whole: Vec::new() })
    }

    pub(super) fn n_rows(&self) -> u64 {
        self.header.n_rows
    }

    pub(super) fn kind(&self) -> ColumnKind {
        match (self.header.element, self.header.dim) {
            (_, Some(dim)) => ColumnKind::Vector(Some(dim)),
            (ElementType::Boolean, None) => ColumnKind::Boolean,
            (ElementType::Text(_), None) => ColumnKind::Text,
            (ElementType::Bytes(_), None) => ColumnKind::Any,
            (ElementType::Float(_) | ElementType::Signed(_) | ElementType::Unsigned(_), None) => ColumnKind::Number,
        }
    }

    /// Returns the number of rows to read next; 0 at the end.
    pub(super) fn block_rows(&self) -> usize {
        let most = (BLOCK / self.row_bytes.max(1)).clamp(1, CHUNK);
        self.left.min(most as u64) as usize
    }

    /// Reads `n_rows` rows; if that is 0, checks that nothing follows.
    pub(super) fn block(&mut self, n_rows: usize) -> Result<Values, String> {
        self.bytes.clear();
        if self.header.by_columns {
            self.gather(n_rows)?;
            return Ok(Values::Present(self.decode(), None));
        }
        // If no row is to be read, try to read one byte, which must not exist.
        let expected = (n_rows * self.row_bytes) as u64;
        let read = (&mut self.read).take(expected.max(1)).read_to_end(&mut self.bytes);
        let read = read.map_err(|error: io::Error| error.to_string())? as u64;
        if read < expected {
            return Err(format!("the file ends {} rows too early", self.left - read / self.row_bytes as u64));
        }
        if expected < read {
            return Err(format!("extra bytes follow the last of {} rows", self.header.n_rows));
        }
        self.left -= n_rows as u64;
        Ok(Values::Present(self.decode(), None))
    }

    /// Assembles the next rows from the columns of a column-major table.
    fn gather(&mut self, n_rows: usize) -> Result<(), String> {
        if self.left == self.header.n_rows {
            let expected = self.header.n_rows * self.row_bytes as u64;
            let read = (&mut self.read).take(expected.saturating_add(1)).read_to_end(&mut self.whole);
            let read = read.map_err(|error: io::Error| error.to_string())? as u64;
            if read != expected {
                return Err(format!(
                    "the table has {} bytes than its shape",
                    if read < expected { "less" } else { "more" }
                ));
            }
        }
        let (height, dim) = (self.header.n_rows as usize, self.header.dim.unwrap_or(1));
        let size = self.row_bytes / dim;
        let first = height - self.left as usize;
        for row in first..first + n_rows {
            for column in 0..dim {
                let at = (column * height + row) * size;
                self.bytes.extend_from_slice(&self.whole[at..at + size]);
            }
        }
        self.left -= n_rows as u64;
        Ok(())
    }

    fn decode(&self) -> ColumnData {
        let (bytes, big) = (&self.bytes[..], self.header.big_endian);
        match (self.header.element, self.header.dim) {
            (element, Some(dim)) => ColumnData::Rows(dim, features(element, bytes, big)),
            (ElementType::Float(_), None) => ColumnData::Number(numbers(self.header.element, bytes, big)),
            (ElementType::Unsigned(8), None) => ColumnData::Unsigned(words(bytes, big, u64::from_le_bytes)),
            (ElementType::Boolean, None) => ColumnData::Boolean(bytes.iter().map(|byte| *byte != 0).collect()),
            (ElementType::Text(_), None) => {
                ColumnData::Made(bytes.chunks_exact(self.row_bytes).map(|text| utf32(text, big)).collect())
            }
            (ElementType::Bytes(_), None) => {
                ColumnData::Strings(bytes.chunks_exact(self.row_bytes).map(|text| trimmed(text).to_vec()).collect())
            }
            (ElementType::Signed(_) | ElementType::Unsigned(_), None) => {
                ColumnData::Integer(integers(self.header.element, bytes, big))
            }
        }
    }
}

/// Converts the bytes to numbers of fixed width.
fn words<const N: usize, V>(bytes: &[u8], big_endian: bool, from_le: impl Fn([u8; N]) -> V) -> Vec<V> {
    let (words, _) = bytes.as_chunks::<N>();
    if big_endian {
        words.iter().map(|word| from_le(std::array::from_fn(|byte| word[N - 1 - byte]))).collect()
    } else {
        words.iter().map(|word| from_le(*word)).collect()
    }
}

fn features(element: ElementType, bytes: &[u8], big: bool) -> Vec<f32> {
    match element {
        ElementType::Float(2) => words(bytes, big, |word| f16::from_le_bytes(word).to_f32()),
        ElementType::Float(4) => words(bytes, big, f32::from_le_bytes),
        ElementType::Float(_) => words(bytes, big, |word| f64::from_le_bytes(word) as f32),
        ElementType::Unsigned(8) => words(bytes, big, |word| u64::from_le_bytes(word) as f32),
        ElementType::Boolean => bytes.iter().map(|byte| f32::from(u8::from(*byte != 0))).collect(),
        _ => integers(element, bytes, big).into_iter().map(|value| value as f32).collect(),
    }
}

fn numbers(element: ElementType, bytes: &[u8], big: bool) -> Vec<f64> {
    match element {
        ElementType::Float(2) => words(bytes, big, |word| f16::from_le_bytes(word).to_f64()),
        ElementType::Float(4) => words(bytes, big, |word| f64::from(f32::from_le_bytes(word))),
        _ => words(bytes, big, f64::from_le_bytes),
    }
}

/// Converts the bytes to integers that fit into `i64`.
fn integers(element: ElementType, bytes: &[u8], big: bool) -> Vec<i64> {
    match element {
        ElementType::Signed(1) => words(bytes, big, |word| i64::from(i8::from_le_bytes(word))),
        ElementType::Signed(2) => words(bytes, big, |word| i64::from(i16::from_le_bytes(word))),
        ElementType::Signed(4) => words(bytes, big, |word| i64::from(i32::from_le_bytes(word))),
        ElementType::Unsigned(1) => words(bytes, big, |word| i64::from(u8::from_le_bytes(word))),
        ElementType::Unsigned(2) => words(bytes, big, |word| i64::from(u16::from_le_bytes(word))),
        ElementType::Unsigned(4) => words(bytes, big, |word| i64::from(u32::from_le_bytes(word))),
        _ => words(bytes, big, i64::from_le_bytes),
    }
}

/// Decodes UTF-32 and removes trailing zeros; invalid characters become U+FFFD.
fn utf32(bytes: &[u8], big: bool) -> String {
    let chars = words(bytes, big, |word| char::from_u32(u32::from_le_bytes(word)).unwrap_or('\u{fffd}'));
    chars.into_iter().collect::<String>().trim_end_matches('\0').to_owned()
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}
