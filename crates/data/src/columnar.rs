//! Typed, columnar formats: Parquet, Arrow IPC, npy, npz and xlsx.
//!
//! Each is read in chunks of at most [`CHUNK`] rows, so that a file is never held in memory as a whole. A column of a
//! type that cannot be a feature (a struct, a map, a pickled object) is listed as [`ColumnKind::Any`]. Reading such a column
//! is an error that names it, unless [`Source::select`] deselects it. The sizes that a header claims are checked before
//! memory is allocated, and a panic of a third-party decoder becomes an error.
//!
//! | in the file | cell |
//! |---|---|
//! | integers | `Integer`, or `Unsigned` above 2⁶³ − 1 |
//! | floats, decimals | `Number`, the nearest f64 |
//! | booleans | `Boolean` |
//! | strings, dictionaries of strings | `Text` |
//! | binary | `Bytes` |
//! | dates, times, timestamps | `Text` as ISO 8601; a timestamp with a zone in UTC with a `Z` |
//! | lists of numbers | `Vector`, the nearest f32; a null inside is NaN |
//! | null | `Missing` |

mod values;
mod guard;
mod arrow;
mod pages;
mod delta;
pub(crate) mod memory;
pub mod parquet;
pub mod ipc;
pub mod npy;
pub mod npz;
pub mod xlsx;

use std::collections::HashMap;

use crate::error::{DataError, DataFault, DataPosition};
use crate::source::{BadRows, Column, ColumnKind, Sink, Source};
use values::Values;

pub use guard::is_decoding;

/// The maximum number of rows decoded at a time.
pub const CHUNK: usize = 8192;

/// The target number of values in a chunk: rows with long vectors come in shorter chunks.
const CHUNK_VALUES: u64 = 1 << 21;

/// Some decoded rows; columns that are not needed are `Values::Absent`.
#[derive(Debug, Default)]
struct Chunk {
    n_rows: usize,
    columns: Vec<Values>,
}

/// A decoder of a columnar format.
trait ChunkDecoder: Send {
    /// Decodes the next rows of the wanted columns; `None` at the end.
    fn next(&mut self, wanted: &[bool]) -> Result<Option<Chunk>, DataError>;

    /// Returns the number of rows, if it is known in advance.
    fn n_rows(&self) -> Option<u64> {
        None
    }
}

/// A column, or the reason why its cells cannot be read.
struct ListedColumn {
    name: String,
    kind: Result<ColumnKind, DataFault>,
}

/// A columnar file as a source.
struct ColumnarSource {
    file: String,
    columns: Vec<Column>,
    unreadable: Vec<Option<DataFault>>,
    wanted: Vec<bool>,
    chunks: Box<dyn ChunkDecoder>,
    chunk: Chunk,
    /// The next row of the chunk.
    next: usize,
    /// The number of records read.
    row: u64,
    /// True at the end: the decoder is not called again.
    ended: bool,
    /// The error of the decoder, which cannot be used after one. It is returned again.
    failed: Option<DataError>,
}

impl ColumnarSource {
    fn new(file: &str, listed: Vec<ListedColumn>, chunks: Box<dyn ChunkDecoder>) -> Result<Self, DataError> {
        if listed.is_empty() {
            return Err(broken(file, None, "there are no columns"));
        }
        distinct(listed.iter().map(|column| column.name.as_str())).map_err(|fault| fault.of_file(file))?;
        let mut columns = Vec::new();
        let mut unreadable = Vec::new();
        for ListedColumn { name, kind } in listed {
            columns.push(Column { name, kind: *kind.as_ref().unwrap_or(&ColumnKind::Any) });
            unreadable.push(kind.err());
        }
        let wanted = vec![true; columns.len()];
        let file = file.to_owned();
        Ok(Self {
            file,
            columns,
            unreadable,
            wanted,
            chunks,
            chunk: Chunk::default(),
            next: 0,
            row: 0,
            ended: false,
            failed: None,
        })
    }

    /// Returns an error if a wanted column cannot be read.
    fn check_wanted(&self) -> Result<(), DataError> {
        let wanted = self.wanted.iter().zip(&self.unreadable);
        match wanted.filter(|(wanted, _)| **wanted).find_map(|(_, unreadable)| unreadable.clone()) {
            Some(fault) => Err(DataError { file: self.file.clone(), position: None, fault }),
            None => Ok(()),
        }
    }

    /// Decodes rows until there is one to return; `false` at the end.
    fn fill(&mut self) -> Result<bool, DataError> {
        while !self.ended && self.next == self.chunk.n_rows {
            match self.chunks.next(&self.wanted)? {
                Some(chunk) => {
                    self.chunk = chunk;
                    self.next = 0;
                }
                None => self.ended = true,
            }
        }
        Ok(!self.ended)
    }

    /// Passes one record to the sink; a fault comes with its column.
    fn emit(&self, row: usize, sink: &mut dyn Sink) -> Result<(), (Option<usize>, DataFault)> {
        for (column, values) in self.chunk.columns.iter().enumerate() {
            if let Some(cell) = values.cell(row) {
                sink.cell(column, cell).map_err(|fault| (Some(column), fault))?;
            }
        }
        sink.end().map_err(|fault| (None, fault))
    }
}

impl Source for ColumnarSource {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn refusal(&self, column: usize) -> Option<&DataFault> {
        self.unreadable.get(column)?.as_ref()
    }

    fn share(&self) -> Option<f64> {
        Some(self.row as f64 / self.chunks.n_rows()?.max(1) as f64)
    }

    fn select(&mut self, wanted: &[bool]) {
        for (column, flag) in self.wanted.iter_mut().enumerate() {
            *flag = wanted.get(column).copied().unwrap_or(false);
        }
    }

    fn read(&mut self, limit: usize, sink: &mut dyn Sink, bad: &mut BadRows) -> Result<usize, DataError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.check_wanted()?;
        let mut emitted = 0;
        while emitted < limit {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.failed = Some(error.clone());
                    return Err(error);
                }
            }
            let row = self.next;
            self.next += 1;
            self.row += 1;
            match self.emit(row, sink) {
                Ok(()) => emitted += 1,
                Err((column, fault)) => {
                    sink.discard();
                    let column = column.map(|column| self.columns[column].name.clone());
                    bad.take(&self.file, DataPosition { line: None, row: self.row, column }, fault)?;
                }
            }
        }
        Ok(emitted)
    }
}

/// Rejects two columns of the same name, which would be ambiguous.
pub(crate) fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), DataFault> {
    let mut positions = HashMap::new();
    for (position, name) in names.enumerate() {
        if let Some(first) = positions.insert(name, position) {
            let found = format!("columns {} and {} are both named `{name}`", first + 1, position + 1);
            return Err(DataFault::new(found, "unique names"));
        }
    }
    Ok(())
}

/// Returns the error of a malformed file; `rows_before` gives its location.
fn broken(file: &str, rows_before: Option<u64>, found: impl Into<String>) -> DataError {
    let position = rows_before.map(|rows| DataPosition { line: None, row: rows + 1, column: None });
    DataError { file: file.to_owned(), position, fault: fault(found, "", "") }
}

fn fault(found: impl Into<String>, expected: &str, hint: &str) -> DataFault {
    DataFault { found: found.into(), expected: expected.to_owned(), hint: hint.to_owned() }
}

/// Returns the number of rows to decode at a time if `n_rows` rows hold `n_values` values.
fn chunk_rows(n_rows: u64, n_values: u64) -> usize {
    let each = n_values.div_ceil(n_rows.max(1)).max(1);
    (CHUNK_VALUES / each).clamp(1, CHUNK as u64) as usize
}
