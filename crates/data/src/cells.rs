//! Cells as they stand in a file, to be shown to people.

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
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(cells: &'a mut Cells, columns: &[Column]) -> Self {
        let place = |column: &Column| cells.names.iter().position(|name| *name == column.name);
        let places = columns.iter().map(place).collect();
        let record = vec![String::new(); cells.names.len()];
        Self { cells, places, record }
    }

    pub(crate) fn wanted(&self) -> Vec<bool> {
        self.places.iter().map(Option::is_some).collect()
    }
}

impl Sink for Keeper<'_> {
    fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), Fault> {
        // A format may find a column late, in the midst of its records.
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
        Ok(())
    }

    fn discard(&mut self) {
        self.record.iter_mut().for_each(String::clear);
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
