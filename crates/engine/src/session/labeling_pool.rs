//! The pool to be labeled: its items and the learner of its models.

use std::sync::Arc;

use super::fitter::FittedModel;
use super::ids::{LabelValue, RowId};
use crate::digest::Digest;
use crate::fnv::Fnv;
use crate::narrow::Renumbered;
use crate::pool::{ColdDraws, Draw, RefitPool, StartRows};
use crate::rows::Rows;
use crate::stop::StopRule;

/// A function that returns the displayed content of an item, by its row. Ledgers store the content and identify it by
/// its SHA-256 digest.
pub type ContentOfRow = Box<dyn Fn(RowId) -> String + Send + Sync>;

/// The pool to be labeled, and its learner.
pub struct LabelingPool {
    /// The features of every item.
    pub rows: Rows,
    /// The original feature numbers, if those of the rows were renumbered.
    pub renumbered: Option<Renumbered>,
    /// The id of every item.
    pub ids: Vec<Arc<str>>,
    /// Returns the displayed content of an item, by its row.
    pub content: ContentOfRow,
    /// 53 bits of FNV-1a of every item's cells, by which ledgers before version 3 identify contents.
    pub fingerprints: Vec<u64>,
    /// The digest of every item's cells that are learned from and not displayed; empty if there are none.
    pub hidden: Vec<Digest>,
    /// Imported labels: used for training, never asked for, excluded from estimates.
    pub imported: Vec<(RowId, LabelValue)>,
    /// Items whose imported labels are skipped, because the items have changed since the import.
    pub changed_imports: Vec<Arc<str>>,
    /// The method of drawing items once there is a model: `Scan` in proportion to U, or `Top`. `Reject` draws like `Scan`,
    /// since a session keeps U of every item.
    pub draw: Draw,
    /// The draws before there is a model, those of the learner's cold start.
    pub cold_draws: ColdDraws,
    /// Items that are drawn first before there is a model.
    pub start: StartRows,
    /// Creates a fitting learner in its initial state.
    pub learner: Box<dyn Fn() -> RefitPool + Send + Sync>,
    /// The rule that advises when to stop.
    pub stop: StopRule,
}

impl LabelingPool {
    /// Computes the digest of an item's displayed content.
    pub(super) fn content_digest(&self, row: RowId) -> Digest {
        Digest::of((self.content)(row).as_bytes())
    }

    /// Computes the digest of an item's features, by their original numbers.
    pub(super) fn feature_digest(&self, row: RowId) -> Digest {
        let row = self.rows.row(row.0);
        Digest::of(&self.renumbered.as_ref().map_or_else(|| row.to_bytes(), |renumbered| renumbered.row_bytes(row)))
    }

    /// Computes 53 bits of FNV-1a of a model's parameters. Features that no item has count too, with parameters of 0.
    pub(super) fn parameter_digest(&self, model: &FittedModel) -> u64 {
        let (parameters, outputs) = (model.scorer.numbers(), model.scorer.outputs());
        let runs: Vec<(usize, &[f64])> = match &self.renumbered {
            Some(renumbered) => renumbered.runs(&parameters, outputs).collect(),
            None => vec![(0, &parameters)],
        };
        let add = |hash: Fnv, (zeros, numbers): (usize, &[f64])| {
            hash.zeros(8 * zeros).bytes(numbers.iter().flat_map(|value| value.to_bits().to_le_bytes()))
        };
        runs.into_iter().fold(Fnv::default(), add).fingerprint()
    }

    /// Returns whether an item's content equals the recorded one.
    pub fn has_content(&self, row: RowId, content: Option<Digest>, fingerprint: Option<u64>) -> bool {
        match (content, fingerprint) {
            (Some(content), _) => self.content_digest(row) == content,
            (None, Some(fingerprint)) => self.fingerprints[row.0] == fingerprint,
            (None, None) => true,
        }
    }

    /// Returns whether an item's hidden cells equal the recorded ones; asks of older ledgers recorded none.
    pub fn has_hidden(&self, row: RowId, hidden: Option<Digest>) -> bool {
        hidden.is_none_or(|hidden| self.hidden.get(row.0) == Some(&hidden))
    }
}
