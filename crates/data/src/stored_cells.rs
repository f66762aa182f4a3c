//! Cells that are stored while a file is read as features.

use crate::cells::{CellRecorder, Cells};
use crate::encoder::Encoder;
use crate::error::DataFault;
use crate::source::{Column, Source};

/// The columns whose cells are stored while a file is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoredColumns<'a> {
    /// The columns to show; if empty, all that can be shown; `None` for no cells.
    pub shown: Option<&'a [String]>,
    /// The hidden columns whose digests are stored; `None` for all feature columns that are not shown.
    pub hidden: Option<&'a [String]>,
    /// Whether to store all text columns that have features.
    pub texts: bool,
    /// A column of predicted labels.
    pub predictions: Option<&'a str>,
}

/// The cells that were stored while a file was read.
#[derive(Clone, Debug, Default)]
pub struct StoredCells {
    /// The cells to show, with the digests of hidden ones.
    pub shown: Cells,
    /// The texts that have features, without columns if they were not stored.
    pub texts: Cells,
    /// The predicted labels, without a column if they were not stored.
    pub predictions: Cells,
}

impl StoredCells {
    /// Creates empty tables for the columns to store.
    pub(crate) fn new(source: &dyn Source, columns: StoredColumns<'_>, encoder: &Encoder) -> Result<Self, DataFault> {
        let StoredColumns { shown, hidden, texts, predictions } = columns;
        let shown = match shown {
            Some(shown) => Cells::new(source, shown)?.with_hidden(hidden, encoder, !shown.is_empty()),
            None => Cells::default(),
        };
        let texts = if texts { encoder.text_columns() } else { vec![] };
        let texts = if texts.is_empty() { Cells::default() } else { Cells::new(source, &texts)? };
        let predictions = match predictions {
            Some(column) => Cells::new(source, &[column.to_owned()])?,
            None => Cells::default(),
        };
        Ok(Self { shown, texts, predictions })
    }

    /// Returns recorders of the tables that have columns.
    pub(crate) fn recorders(&mut self, columns: &[Column]) -> Vec<CellRecorder<'_>> {
        let tables = [&mut self.shown, &mut self.texts, &mut self.predictions];
        let stored = tables.into_iter().filter(|table| table.stores_any());
        stored.map(|table| CellRecorder::new(table, columns)).collect()
    }
}
