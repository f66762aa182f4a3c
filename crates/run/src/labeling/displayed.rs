//! The displayed content of items.

use std::collections::BTreeMap;
use std::sync::Arc;

use querist_data::{Cells, Encoder};
use querist_engine::session::RowId;
use querist_rows::Digest;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Images;

/// Columns that are shown, with their kinds.
pub type Columns = BTreeMap<String, String>;

/// The cells of a file that annotators see.
pub struct Displayed {
    cells: Cells,
    /// The kind of each column that is shown.
    kinds: Vec<Option<&'static str>>,
    /// The rows of the cells that are items, if not all of them.
    kept: Option<Vec<usize>>,
    /// The images that cells name.
    images: Arc<Images>,
}

impl Displayed {
    /// Determines the columns to show. `recorded` are the columns that a session already shows: columns added to the
    /// file later stay hidden. `is_named` means that the user named the columns. Otherwise columns without features are
    /// hidden, since one may be the label.
    pub(crate) fn new(cells: Cells, encoder: &Encoder, recorded: Option<&Columns>, is_named: bool) -> Self {
        let kind = |name: &String| match recorded {
            Some(columns) => columns.contains_key(name).then(|| encoder.kind(name).unwrap_or("text")),
            None => encoder.kind(name).or(is_named.then_some("text")),
        };
        let kinds = cells.names().iter().map(kind).collect();
        Self { cells, kinds, kept: None, images: Arc::default() }
    }

    /// Displays cells that name an image as that image.
    pub(crate) fn with_images(mut self, images: &Arc<Images>) -> Self {
        self.images = Arc::clone(images);
        self
    }

    /// Removes rows, which are sorted.
    pub(crate) fn without_rows(mut self, removed: &[usize]) -> Self {
        if !removed.is_empty() {
            self.kept = Some((0..self.cells.len()).filter(|row| removed.binary_search(row).is_err()).collect());
        }
        self
    }

    /// Returns the rows that name an image which is not in the folder. In a column of images at least one cell names an
    /// image of the folder, and at least half of the cells end like images.
    pub(crate) fn rows_without_image(&self, images: &Images) -> Vec<usize> {
        if images.is_empty() {
            return vec![];
        }
        // URLs and inline images are not file names.
        let is_name = |cell: &str| !cell.is_empty() && !cell.contains("://") && !cell.starts_with("data:");
        let is_like_image = |cell: &str| images.has(cell) || Images::is_image_name(cell);
        let is_image_column = |column: usize| {
            let cells =
                || (0..self.cells.len()).filter_map(|row| self.cells.row(row).nth(column)).filter(|cell| is_name(cell));
            cells().any(|cell| images.has(cell))
                && cells().count() <= 2 * cells().filter(|cell| is_like_image(cell)).count()
        };
        let columns: Vec<usize> =
            (0..self.kinds.len()).filter(|column| self.kinds[*column].is_some() && is_image_column(*column)).collect();
        let is_missing = |row: &usize| {
            let mut cells = columns.iter().filter_map(|column| self.cells.row(*row).nth(*column));
            cells.any(|cell| is_name(cell) && !images.has(cell))
        };
        (0..self.cells.len()).filter(is_missing).collect()
    }

    /// Returns whether a cell names an image.
    pub fn is_image(&self, value: &str) -> bool {
        self.images.has(value)
    }

    /// Returns the columns that are shown, with their kinds.
    pub fn columns(&self) -> Columns {
        let columns = self.cells.names().iter().zip(&self.kinds);
        columns.filter_map(|(name, kind)| kind.map(|kind| (name.clone(), kind.to_owned()))).collect()
    }

    /// Iterates over the fields of an item that are shown: name, kind and value.
    pub fn fields(&self, row: RowId) -> impl Iterator<Item = (&str, &'static str, &str)> {
        let row = self.kept.as_ref().map_or(row.0, |kept| kept[row.0]);
        let cells = self.cells.names().iter().zip(&self.kinds).zip(self.cells.row(row));
        cells.filter_map(|((name, kind), value)| {
            kind.filter(|_| !value.is_empty()).map(|kind| (name.as_str(), kind, value))
        })
    }

    /// Returns the texts of an item as in exports: one line each, by name; all fields if none is text.
    pub fn text(&self, row: RowId) -> String {
        let mut fields: Vec<(&str, &'static str, &str)> = self.fields(row).collect();
        fields.sort_unstable_by_key(|(name, _, _)| *name);
        if fields.iter().any(|(_, kind, _)| *kind == "text") {
            fields.retain(|(_, kind, _)| *kind == "text");
        }
        fields.into_iter().map(|(_, _, value)| value).collect::<Vec<_>>().join("\n")
    }

    /// Returns the displayed content of an item: a JSON object with its fields, sorted by name, so that the order of
    /// columns does not matter. An image is an object with its `path` and `sha256`, which is null if it cannot be read.
    ///
    /// # Panics
    /// Never: a map of texts is always JSON.
    pub fn content(&self, row: RowId) -> String {
        serde_json::to_string(&ContentJson { displayed: self, row }).expect("texts are JSON")
    }

    /// Returns the image that a cell names.
    fn image<'a>(&self, path: &'a str) -> Option<ImageReference<'a>> {
        self.images.has(path).then(|| ImageReference { path, sha256: self.images.digest(path) })
    }
}

/// The displayed content of an item, for serialization.
struct ContentJson<'a> {
    displayed: &'a Displayed,
    row: RowId,
}

impl Serialize for ContentJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields: Vec<(&str, &'static str, &str)> = self.displayed.fields(self.row).collect();
        fields.sort_unstable_by_key(|(name, _, _)| *name);
        let mut map = serializer.serialize_map(Some(fields.len()))?;
        for (name, _, value) in fields {
            match self.displayed.image(value) {
                Some(image) => map.serialize_entry(name, &image)?,
                None => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

/// An image in a content.
#[derive(serde::Serialize)]
struct ImageReference<'a> {
    path: &'a str,
    sha256: Option<Digest>,
}
