//! Cells of a file as text, for display.

use querist_rows::Digest;

use crate::encoder::Encoder;
use crate::error::DataFault;
use crate::record::RowRecorder;
use crate::source::{CellValue, Column, ColumnKind, Sink, Source};

/// The cells of some columns as text, row by row. It holds only rows that were read without a fault.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    names: Vec<String>,
    text: String,
    /// The end of each cell in `text`.
    ends: Vec<usize>,
    hidden: Hidden,
}

/// Digests of the cells in feature columns that are not shown.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// The columns, sorted by name.
    pub columns: Vec<String>,
    /// A digest of each row's cells as the file has them; empty if there are no such columns.
    pub digests: Vec<Digest>,
}

impl Cells {
    /// Creates an empty table for the named columns of a source, or for all columns that can be shown if `shown` is
    /// empty.
    ///
    /// # Errors
    /// If a named column does not exist.
    pub(crate) fn new(source: &dyn Source, shown: &[String]) -> Result<Self, DataFault> {
        let columns = source.columns();
        if shown.is_empty() {
            let is_shown = |(index, column): &(usize, &Column)| {
                !matches!(column.kind, ColumnKind::Vector(_) | ColumnKind::Features) && source.refusal(*index).is_none()
            };
            let all = columns.iter().enumerate().filter(is_shown);
            return Ok(Self { names: all.map(|(_, column)| column.name.clone()).collect(), ..Self::default() });
        }
        if let Some(name) = shown.iter().find(|name| columns.iter().all(|column| column.name != **name)) {
            let names: Vec<&str> = columns.iter().take(12).map(|column| column.name.as_str()).collect();
            let fault =
                DataFault::new(format!("column `{name}` does not exist"), format!("one of {}", names.join(", ")));
            return Err(fault);
        }
        Ok(Self { names: shown.to_vec(), ..Self::default() })
    }

    /// Adds digests of hidden columns: those named, or by default the encoder's columns that are not shown.
    ///
    /// Digests are of cells because encoded features depend on other rows through means and counts.
    pub(crate) fn with_hidden(mut self, hidden: Option<&[String]>, encoder: &Encoder, is_named: bool) -> Self {
        let is_shown = |name: &String| self.names.contains(name) && (is_named || encoder.kind(name).is_some());
        let mut columns: Vec<String> = match hidden {
            Some(names) => names.to_vec(),
            None => encoder.fields.iter().map(|field| &field.column).filter(|name| !is_shown(name)).cloned().collect(),
        };
        columns.sort_unstable();
        columns.dedup();
        self.hidden = Hidden { columns, digests: vec![] };
        self
    }

    /// Removes and returns the digests of hidden columns.
    pub fn take_hidden(&mut self) -> Hidden {
        std::mem::take(&mut self.hidden)
    }

    /// Returns whether there are columns to show or to compute digests of.
    pub(crate) fn stores_any(&self) -> bool {
        !self.names.is_empty() || !self.hidden.columns.is_empty()
    }

    /// Returns the names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.ends.len() / self.names.len().max(1)
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the cells of a row, in the order of the columns. The iterator panics if `row` is out of range.
    pub fn row(&self, row: usize) -> impl Iterator<Item = &str> {
        let first = row * self.names.len();
        (first..first + self.names.len()).map(|index| {
            let start = if index == 0 { 0 } else { self.ends[index - 1] };
            &self.text[start..self.ends[index]]
        })
    }
}

/// A sink that stores the shown cells and the digests of hidden ones.
pub(crate) struct CellRecorder<'a> {
    cells: &'a mut Cells,
    /// For each column of the source, its index among those shown.
    shown_indices: Vec<Option<usize>>,
    record: Vec<String>,
    /// For each column of the source, its index among those hidden.
    hidden_indices: Vec<Option<usize>>,
    /// The hidden cells of the current record, as bytes.
    hidden: Vec<Vec<u8>>,
}

impl<'a> CellRecorder<'a> {
    pub(crate) fn new(cells: &'a mut Cells, columns: &[Column]) -> Self {
        let index = |column: &Column| cells.names.iter().position(|name| *name == column.name);
        let shown_indices = columns.iter().map(index).collect();
        let record = vec![String::new(); cells.names.len()];
        let hidden_columns = &cells.hidden.columns;
        let hidden_index = |column: &Column| hidden_columns.binary_search(&column.name).ok();
        let hidden_indices = columns.iter().map(hidden_index).collect();
        let hidden = vec![vec![]; hidden_columns.len()];
        Self { cells, shown_indices, record, hidden_indices, hidden }
    }

    pub(crate) fn needed_columns(&self) -> Vec<bool> {
        self.shown_indices.iter().zip(&self.hidden_indices).map(|(shown, hidden)| shown.or(*hidden).is_some()).collect()
    }

    /// Appends the digest of the record's hidden cells, each prefixed with its length.
    fn end_hidden(&mut self) {
        if self.hidden.is_empty() {
            return;
        }
        let mut bytes = vec![];
        for cell in &mut self.hidden {
            bytes.extend((cell.len() as u64).to_le_bytes());
            bytes.append(cell);
        }
        self.cells.hidden.digests.push(Digest::of(&bytes));
    }
}

impl Sink for CellRecorder<'_> {
    fn cell(&mut self, column: usize, cell: CellValue<'_>) -> Result<(), DataFault> {
        // A format may discover a column late, in the middle of its records.
        if let Some(Some(index)) = self.hidden_indices.get(column) {
            let bytes = &mut self.hidden[*index];
            bytes.clear();
            spell(cell, bytes);
        }
        let Some(Some(index)) = self.shown_indices.get(column) else { return Ok(()) };
        let text = &mut self.record[*index];
        text.clear();
        match cell {
            CellValue::Missing | CellValue::Vector(_) | CellValue::Features { .. } | CellValue::Unread(_) => {}
            CellValue::Bytes(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
            CellValue::Text(content) => text.push_str(content),
            CellValue::Number(number) => text.push_str(&number.to_string()),
            CellValue::Integer(number) => text.push_str(&number.to_string()),
            CellValue::Unsigned(number) => text.push_str(&number.to_string()),
            CellValue::Boolean(value) => text.push_str(if value { "true" } else { "false" }),
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), DataFault> {
        for text in &mut self.record {
            self.cells.text.push_str(text);
            self.cells.ends.push(self.cells.text.len());
            text.clear();
        }
        self.end_hidden();
        Ok(())
    }

    fn discard(&mut self) {
        self.record.iter_mut().for_each(String::clear);
        self.hidden.iter_mut().for_each(Vec::clear);
    }
}

/// Appends a cell as bytes. Missing and empty cells give the same bytes.
fn spell(cell: CellValue<'_>, bytes: &mut Vec<u8>) {
    match cell {
        CellValue::Missing | CellValue::Unread(_) => {}
        CellValue::Bytes(content) => bytes.extend_from_slice(content),
        CellValue::Text(content) => bytes.extend_from_slice(content.as_bytes()),
        CellValue::Number(number) => bytes.extend(number.to_string().bytes()),
        CellValue::Integer(number) => bytes.extend(number.to_string().bytes()),
        CellValue::Unsigned(number) => bytes.extend(number.to_string().bytes()),
        CellValue::Boolean(value) => bytes.extend_from_slice(if value { b"true" } else { b"false" }),
        CellValue::Vector(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        CellValue::Features { index, value } => {
            bytes.extend(index.iter().flat_map(|feature| feature.to_le_bytes()));
            bytes.extend(value.iter().flat_map(|value| value.to_le_bytes()));
        }
    }
}

/// A sink that forwards cells to a recorder and stores those of some columns.
pub(crate) struct TeeSink<'a> {
    pub(crate) recorder: &'a mut RowRecorder,
    pub(crate) keepers: Vec<CellRecorder<'a>>,
}

impl TeeSink<'_> {
    /// Returns, for each column, whether its cells are needed.
    pub(crate) fn needed_columns(&self) -> Vec<bool> {
        let mut needed = self.recorder.needed_columns();
        for keeper in &self.keepers {
            needed.iter_mut().zip(keeper.needed_columns()).for_each(|(needed, stored)| *needed |= stored);
        }
        needed
    }
}

impl Sink for TeeSink<'_> {
    fn cell(&mut self, column: usize, cell: CellValue<'_>) -> Result<(), DataFault> {
        self.keepers.iter_mut().try_for_each(|keeper| keeper.cell(column, cell))?;
        self.recorder.cell(column, cell)
    }

    fn end(&mut self) -> Result<(), DataFault> {
        self.recorder.end()?;
        self.keepers.iter_mut().try_for_each(CellRecorder::end)
    }

    fn discard(&mut self) {
        self.keepers.iter_mut().for_each(CellRecorder::discard);
        self.recorder.discard();
    }
}
