//! What annotators see of an item.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use querist_data::{Cells, Encoder};
use querist_engine::digest::Digest;
use querist_server::Images;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Columns that are shown, with their kinds.
pub(crate) type Columns = BTreeMap<String, String>;

/// The cells of a file that annotators see.
pub(crate) struct Displayed {
    cells: Cells,
    /// The kind of each column that is shown.
    kinds: Vec<Option<&'static str>>,
    /// The digests of the images that cells name. Each is computed when it is first needed, since images may be large.
    digests: HashMap<String, OnceLock<Option<Digest>>>,
    images: Arc<Images>,
}

impl Displayed {
    /// `recorded` are the columns that a session already shows: columns that were added to the file later stay hidden.
    /// `is_named`: the columns to show were named. Otherwise columns without features are hidden, since one may be the
    /// label.
    pub(super) fn new(cells: Cells, encoder: &Encoder, recorded: Option<&Columns>, is_named: bool) -> Self {
        let kind = |name: &String| match recorded {
            Some(columns) => columns.contains_key(name).then(|| encoder.kind(name).unwrap_or("text")),
            None => encoder.kind(name).or(is_named.then_some("text")),
        };
        let kinds = cells.names().iter().map(kind).collect();
        Self { cells, kinds, digests: HashMap::new(), images: Arc::default() }
    }

    /// Displays cells that name an image as that image.
    pub(super) fn with_images(mut self, images: &Arc<Images>) -> Self {
        self.images = Arc::clone(images);
        for row in 0..self.cells.len() {
            for cell in self.cells.row(row).filter(|cell| images.has(cell)) {
                if !self.digests.contains_key(cell) {
                    self.digests.insert(cell.to_owned(), OnceLock::new());
                }
            }
        }
        self
    }

    /// Whether a cell names an image.
    pub(crate) fn is_image(&self, value: &str) -> bool {
        self.digests.contains_key(value)
    }

    /// Returns the columns that are shown, with their kinds.
    pub(crate) fn columns(&self) -> Columns {
        let columns = self.cells.names().iter().zip(&self.kinds);
        columns.filter_map(|(name, kind)| kind.map(|kind| (name.clone(), kind.to_owned()))).collect()
    }

    /// Iterates over the fields of an item that are shown: name, kind and value.
    pub(crate) fn fields(&self, row: usize) -> impl Iterator<Item = (&str, &'static str, &str)> {
        let cells = self.cells.names().iter().zip(&self.kinds).zip(self.cells.row(row));
        cells.filter_map(|((name, kind), value)| {
            kind.filter(|_| !value.is_empty()).map(|kind| (name.as_str(), kind, value))
        })
    }

    /// Returns the displayed content of an item: a JSON object with its fields, sorted by name, so that the order of
    /// columns does not matter. An image is an object with its `path` and `sha256`, which is null if it cannot be read.
    pub(crate) fn content(&self, row: usize) -> String {
        serde_json::to_string(&Content { displayed: self, row }).expect("texts are JSON")
    }

    /// Returns the image that a cell names.
    fn image<'a>(&self, path: &'a str) -> Option<Image<'a>> {
        let digest = self.digests.get(path)?;
        let sha256 = *digest.get_or_init(|| self.images.read(path).ok().map(|bytes| Digest::of(&bytes)));
        Some(Image { path, sha256 })
    }
}

struct Content<'a> {
    displayed: &'a Displayed,
    row: usize,
}

impl Serialize for Content<'_> {
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
struct Image<'a> {
    path: &'a str,
    sha256: Option<Digest>,
}
