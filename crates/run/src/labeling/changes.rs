//! Items whose data are no longer what annotators saw.

use std::collections::HashSet;
use std::sync::Arc;

use querist_engine::session::{AskId, name_ids};

use super::answers::AnswerRecord;
use super::imports::Imports;
use super::source::Items;

/// The queried items that are no longer in the data as they were shown.
#[derive(Default)]
#[non_exhaustive]
pub struct Changes {
    /// Items with different content.
    pub changed: Vec<Arc<str>>,
    /// Items that are not in the data.
    pub missing: Vec<Arc<str>>,
    /// The changed items that were answered.
    pub answered: Vec<Arc<str>>,
    /// Items whose content differs from that at the import of their labels.
    pub imported: Vec<Arc<str>>,
}

impl Changes {
    /// Compares the asks and imported labels of a ledger with data.
    pub fn find(record: &AnswerRecord, imports: &Imports, items: &Items) -> Self {
        let rows = items.rows_by_id();
        let answered: HashSet<AskId> =
            record.answers.iter().filter(|answer| answer.is_active).map(|answer| answer.ask).collect();
        let mut found = Self { imported: imports.changed(items), ..Self::default() };
        for (id, ask) in &record.asks {
            match rows.get(&*ask.id) {
                None => found.missing.push(Arc::clone(&ask.id)),
                Some(row) if !items.is_unchanged(*row, ask) => {
                    found.changed.push(Arc::clone(&ask.id));
                    if answered.contains(id) {
                        found.answered.push(Arc::clone(&ask.id));
                    }
                }
                Some(_) => {}
            }
        }
        found
    }

    /// Returns whether the data have every item as it was shown, or as it was when its label was imported.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.missing.is_empty() && self.imported.is_empty()
    }

    /// Describes the changes, as `2 changed (a, b), 1 missing (c)`.
    pub fn describe(&self) -> String {
        let part = |ids: &[Arc<str>], what: &str| {
            (!ids.is_empty()).then(|| format!("{} {what} ({})", ids.len(), name_ids(ids)))
        };
        let imported = part(&self.imported, "changed since their labels were imported");
        [part(&self.changed, "changed"), part(&self.missing, "missing"), imported]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ")
    }
}
