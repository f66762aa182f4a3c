//! A labeled data set, as a pool learns from it.

use std::path::Path;

use anyhow::{Context, bail};
use querist_data::{Input, LabelKind, ReadOptions, load};
use querist_engine::narrow::Narrow;

use querist_engine::task::Labels;
use querist_rows::Rows;

/// A data set: features and labels.
pub(crate) struct LabeledSet {
    pub(crate) name: String,
    pub(crate) rows: Rows,
    pub(crate) labels: Vec<f64>,
    pub(crate) kind: Labels,
    /// The probability of each class, row by row, by a model that is judged instead of the learner's.
    pub(crate) foreign: Option<Vec<f64>>,
}

impl LabeledSet {
    /// Reads a file whose labels are in the column `label` or, without one, `target`.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let input = Input::File(path.to_owned());
        let read = |label: &str| load(&input, &ReadOptions { label: Some(label.to_owned()), ..ReadOptions::default() });
        let loaded = read("label").or_else(|_| read("target")).with_context(|| format!("in {}", path.display()))?;
        let kind = match loaded.encoder.task() {
            Some(LabelKind::Binary) => Labels::Binary,
            Some(LabelKind::Classes(classes)) => Labels::Classes(classes),
            Some(LabelKind::Number) => Labels::Numbers,
            None => bail!("{} has no labels", path.display()),
        };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default().to_owned();
        let rows = match Narrow::of(&loaded.batch.rows) {
            Some(narrow) => narrow.rows(&loaded.batch.rows, narrow.dim()),
            None => loaded.batch.rows,
        };
        Ok(Self { name, rows, labels: loaded.batch.labels, kind, foreign: None })
    }

    /// Returns the class with the fewest labels; 0 for numbers.
    pub(crate) fn rarest_class(&self) -> usize {
        let count = |class: &usize| self.labels.iter().filter(|label| self.kind.class(**label) == *class).count();
        (0..self.kind.classes()).min_by_key(count).unwrap_or(0)
    }
}
