//! Cells as they stand in a file, to be shown to people.

use querist_rows::Digest;

use crate::encoder::Encoder;
use crate::error::Fault;
use crate::record::Recorder;
use crate::source::{Cell, Column, Kind, Sink, Source};

/// The cells of some columns as text, row by row: the rows that were read without a fault.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    names: Vec<String>,
    text: String,
    /// Where each cell ends.
    ends: Vec<usize>,
    hidden: Hidden,
}

/// Digests of the cells of columns that are learned from and not shown.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// The columns, sorted by name.
    pub columns: Vec<String>,
    /// A digest for each row, of the cells as the file has them; empty if there are no such columns.
    pub digests: Vec<Digest>,
}

impl Cells {
    /// Returns no rows of the named columns of a source; without names, of all columns that can be shown.
    pub(crate) fn new(source: &dyn Source, shown: &[String]) -> Result<Self, Fault> {
        let columns = source.columns();
        if shown.is_empty() {
            let is_shown = |(place, column): &(usize, &Column)| {
                !matches!(column.kind, Kind::Vector(_) | Kind::Features) && source.refusal(*place).is_none()
            };
            let all = columns.iter().enumerate().filter(is_shown);
            return Ok(Self { names: all.map(|(_, column)| column.name.clone()).collect(), ..Self::default() });
        }
        if let Some(name) = shown.iter().find(|name| columns.iter().all(|column| column.name != **name)) {
            let names: Vec<&str> = columns.iter().take(12).map(|column| column.name.as_str()).collect();
            let fault =
                Fault::new(format!("there is no column `{name}` to show"), format!("one of {}", names.join(", ")));
            return Err(fault);
        }
        Ok(Self { names: shown.to_vec(), ..Self::default() })
    }

    /// Digests of these columns are kept beside the cells; without names, of the columns of an encoder that are not shown.
    ///
    /// Encoded features depend on other rows, by means and counts, and cells do not.
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

    /// Takes the digests of columns that are learned from and not shown.
    pub fn take_hidden(&mut self) -> Hidden {
        std::mem::take(&mut self.hidden)
    }

    /// The columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.ends.len() / self.names.len().max(1)
    }

    /// No row at all.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The cells of a row, in the order of the columns.
    pub fn row(&self, row: usize) -> impl Iterator<Item = &str> {
        let first = row * self.names.len();
        (first..first + self.names.len()).map(|place| {
            let start = if place == 0 { 0 } else { self.ends[place - 1] };
            &self.text[start..self.ends[place]]
        })
    }
}

/// Takes the cells that are shown, record by record.
pub(crate) struct Keeper<'a> {
    cells: &'a mut Cells,
    /// The place of each column among those shown.
    places: Vec<Option<usize>>,
    record: Vec<String>,
    /// The place of each column among those hidden.
    hidden_places: Vec<Option<usize>>,
    /// The cells of hidden columns, as bytes.
    hidden: Vec<Vec<u8>>,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(cells: &'a mut Cells, columns: &[Column]) -> Self {
        let place = |column: &Column| cells.names.iter().position(|name| *name == column.name);
        let places = columns.iter().map(place).collect();
        let record = vec![String::new(); cells.names.len()];
        let hidden_columns = &cells.hidden.columns;
        let hidden_place = |column: &Column| hidden_columns.binary_search(&column.name).ok();
        let hidden_places = columns.iter().map(hidden_place).collect();
        let hidden = vec![vec![]; hidden_columns.len()];
        Self { cells, places, record, hidden_places, hidden }
    }

    pub(crate) fn wanted(&self) -> Vec<bool> {
        self.places.iter().zip(&self.hidden_places).map(|(shown, hidden)| shown.or(*hidden).is_some()).collect()
    }

    /// Appends the digest of the hidden cells of a record, each after its length.
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

impl Sink for Keeper<'_> {
    fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), Fault> {
        // A format may find a column late, in the midst of its records.
        if let Some(Some(place)) = self.hidden_places.get(column) {
            let bytes = &mut self.hidden[*place];
            bytes.clear();
            spell(cell, bytes);
        }
        let Some(Some(place)) = self.places.get(column) else { return Ok(()) };
        let text = &mut self.record[*place];
        text.clear();
        match cell {
            Cell::Missing | Cell::Vector(_) | Cell::Features { .. } | Cell::Unread(_) => {}
            Cell::Bytes(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
            Cell::Text(given) => text.push_str(given),
            Cell::Number(number) => text.push_str(&number.to_string()),
            Cell::Integer(number) => text.push_str(&number.to_string()),
            Cell::Unsigned(number) => text.push_str(&number.to_string()),
            Cell::Boolean(value) => text.push_str(if value { "true" } else { "false" }),
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
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

/// Appends a cell as bytes. A cell that is missing and an empty one are the same.
fn spell(cell: Cell<'_>, bytes: &mut Vec<u8>) {
    match cell {
        Cell::Missing | Cell::Unread(_) => {}
        Cell::Bytes(given) => bytes.extend_from_slice(given),
        Cell::Text(given) => bytes.extend_from_slice(given.as_bytes()),
        Cell::Number(number) => bytes.extend(number.to_string().bytes()),
        Cell::Integer(number) => bytes.extend(number.to_string().bytes()),
        Cell::Unsigned(number) => bytes.extend(number.to_string().bytes()),
        Cell::Boolean(value) => bytes.extend_from_slice(if value { b"true" } else { b"false" }),
        Cell::Vector(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        Cell::Features { index, value } => {
            bytes.extend(index.iter().flat_map(|feature| feature.to_le_bytes()));
            bytes.extend(value.iter().flat_map(|value| value.to_le_bytes()));
        }
    }
}

/// Hands cells to a recorder, and keeps those that are shown.
pub(crate) struct Tee<'a> {
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) keeper: Keeper<'a>,
}

impl Tee<'_> {
    /// Which columns are looked at.
    pub(crate) fn wanted(&self) -> Vec<bool> {
        self.recorder.wanted().iter().zip(self.keeper.wanted()).map(|(wanted, shown)| *wanted || shown).collect()
    }
}

impl Sink for Tee<'_> {
    fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), Fault> {
        self.keeper.cell(column, cell)?;
        self.recorder.cell(column, cell)
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.recorder.end()?;
        self.keeper.end()
    }

    fn discard(&mut self) {
        self.keeper.discard();
        self.recorder.discard();
    }
}
