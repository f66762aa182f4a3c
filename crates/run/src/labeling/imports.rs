//! Labels made elsewhere: read from a file, bound to the current items of the data, and noted in the ledger.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use querist_data::{Cells, Input, ReadOptions, escape_control, load_cells};
use querist_engine::session::{LabelValue, RowId, consensus};
use querist_ledger::Ledger;
use querist_rows::Digest;
use serde::{Deserialize, Serialize};

use super::source::Items;
use crate::error::{Context, Result, bail};
use crate::text::counted;

/// The note of imported labels, by id.
const IMPORTED: &str = "imported";

/// The column of the status of an answer in exports.
const STATUS: &str = "status";

/// Answers with these statuses do not count.
const INACTIVE: [&str; 4] = ["withdrawn", "replaced", "skip", "unsure"];

/// An imported label.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
enum ImportedLabel {
    /// A label of an item that the data did not have; every label in older ledgers.
    Unbound(f64),
    /// A label of an item with this content.
    Bound {
        label: f64,
        content: Digest,
        /// The digest of the cells that are learned from and not displayed.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        hidden: Option<Digest>,
    },
}

impl ImportedLabel {
    fn label(&self) -> LabelValue {
        match self {
            Self::Unbound(label) | Self::Bound { label, .. } => LabelValue(*label),
        }
    }

    /// Returns whether a row is still the item that the label was imported for.
    fn is_of(&self, items: &Items, row: RowId) -> bool {
        match self {
            Self::Unbound(_) => true,
            Self::Bound { content, hidden, .. } => items.has_digests(row, *content, *hidden),
        }
    }
}

/// All imported labels of a session, by id.
pub struct Imports(BTreeMap<String, ImportedLabel>);

/// The prior labels of items, before the first ask.
pub struct PriorLabels {
    /// The labels by row: those in the data, and those imported.
    pub labels: Vec<(RowId, LabelValue)>,
    /// Items with imported labels that have changed since; these labels are skipped.
    pub changed: Vec<Arc<str>>,
    /// The number of imported labels of items that the data do not have.
    pub missing: usize,
}

impl Imports {
    /// Reads the note of a ledger.
    pub fn read(ledger: &Ledger) -> Result<Self> {
        let note = ledger.note(IMPORTED).unwrap_or("{}");
        serde_json::from_str(note).map(Self).context("the ledger's note of imported labels")
    }

    /// Notes the labels in a ledger.
    pub fn note(&self, ledger: &mut Ledger) -> Result<()> {
        Ok(ledger.set_note(IMPORTED, &serde_json::to_string(&self.0)?)?)
    }

    /// Adds the labels of a file, and binds each to its current item. A repeated label without a text to compare stays
    /// bound to the item as it was. Returns remarks.
    ///
    /// # Errors
    /// If the data have none of the items, or if the file has texts of items that differ from those of the data.
    pub fn add(&mut self, path: &Path, items: &Items) -> Result<Vec<String>> {
        let file = ImportFile::read(path, items)?;
        let rows = items.rows_by_id();
        file.check_ids(items, &rows)?;
        let compared = file.compare_texts(items, &rows)?;
        let is_number = items.encoder.classes().is_empty();
        for (id, label) in file.labels(is_number) {
            let is_repeated = self.0.get(&id).is_some_and(|known| {
                known.label() == label && matches!(known, ImportedLabel::Bound { .. }) && !compared
            });
            if is_repeated {
                continue;
            }
            let bound = rows.get(&*id).map(|row| {
                let (content, hidden) = items.digests(*row);
                ImportedLabel::Bound { label: label.0, content, hidden }
            });
            self.0.insert(id, bound.unwrap_or(ImportedLabel::Unbound(label.0)));
        }
        Ok(file.remarks(is_number))
    }

    /// Returns the items with imported labels that have changed since the import.
    pub fn changed(&self, items: &Items) -> Vec<Arc<str>> {
        let is_changed =
            |(row, id): &(usize, &Arc<str>)| self.0.get(&***id).is_some_and(|label| !label.is_of(items, RowId(*row)));
        items.ids.iter().enumerate().filter(is_changed).map(|(_, id)| Arc::clone(id)).collect()
    }

    /// Returns the prior labels of items, before the first ask; imported ones replace those in the data.
    pub fn prior_labels(&self, items: &Items) -> PriorLabels {
        let mut labels: BTreeMap<RowId, LabelValue> = items.labeled.iter().copied().collect();
        let (mut changed, mut missing) = (vec![], self.0.len());
        for (row, id) in items.ids.iter().enumerate().map(|(row, id)| (RowId(row), id)) {
            let Some(imported) = self.0.get(&**id) else { continue };
            missing -= 1;
            if imported.is_of(items, row) {
                labels.insert(row, imported.label());
            } else {
                changed.push(Arc::clone(id));
            }
        }
        PriorLabels { labels: labels.into_iter().collect(), changed, missing }
    }
}

/// The labels of a file, in its order.
struct ImportFile {
    path: String,
    cells: Cells,
    /// The id, label and row of the file for each label.
    labels: Vec<(String, LabelValue, usize)>,
    /// The number of labels that were withdrawn or replaced.
    inactive: usize,
}

impl ImportFile {
    fn read(path: &Path, items: &Items) -> Result<Self> {
        let input = Input::File(path.to_owned());
        let cells = load_cells(&input, &ReadOptions::default(), &[])?;
        let column = |wanted: &str| cells.names().iter().position(|name| name == wanted);
        let (Some(id), Some(label)) = (column("id"), column("label")) else {
            let missing = if column("id").is_none() { "id" } else { "label" };
            let names = cells.names().iter().take(12).map(String::as_str).collect::<Vec<_>>().join(", ");
            bail!(
                "--import {}: no column `{missing}` among {names}; need the columns id and label\n  \
                 rename a column of the file",
                path.display(),
                names = escape_control(&names)
            );
        };
        let (mut labels, mut inactive) = (vec![], 0);
        for row in 0..cells.len() {
            let record: Vec<&str> = cells.row(row).collect();
            // Skipped and unsure items have no label.
            if record[label].is_empty() {
                continue;
            }
            if column(STATUS).is_some_and(|status| INACTIVE.contains(&record[status])) {
                inactive += 1;
                continue;
            }
            let Some(code) = items.encoder.code(record[label]) else {
                let (path, label) = (path.display(), record[label]);
                bail!("--import {path}, record {}: `{label}` is not one of the labels", row + 1);
            };
            labels.push((record[id].to_owned(), LabelValue(code), row));
        }
        Ok(Self { path: path.display().to_string(), cells, labels, inactive })
    }

    /// Rejects a file of other data, which shares no id with the items.
    fn check_ids(&self, items: &Items, rows: &HashMap<&str, RowId>) -> Result<()> {
        let Some((first, _, _)) = self.labels.first() else { return Ok(()) };
        if self.labels.iter().any(|(id, _, _)| rows.contains_key(&**id)) {
            return Ok(());
        }
        let example = items
            .ids
            .first()
            .map(|id| format!(", the first id in the data is `{}`", id.escape_debug()))
            .unwrap_or_default();
        let advice = if items.has_row_numbers() {
            "items are identified by their row numbers; use --id COLUMN to identify them by a column"
        } else {
            "use the file of labels that belongs to these data"
        };
        bail!(
            "--import {}: none of its ids is in the data; its first id is `{}`{example}\n  {advice}",
            self.path,
            first.escape_debug(),
        );
    }

    /// Compares texts in the file with those of items. Returns whether there were any.
    fn compare_texts(&self, items: &Items, rows: &HashMap<&str, RowId>) -> Result<bool> {
        let names = self.cells.names();
        let is_export = names.iter().any(|name| name == STATUS);
        let shown = items.displayed.columns();
        let is_text = |name: &str| shown.get(name).is_some_and(|kind| kind == "text");
        let is_compared = |name: &str| !["id", "label", STATUS].contains(&name) && is_text(name);
        let columns: Vec<(usize, &str)> = (0..).zip(names.iter().map(String::as_str)).collect();
        let columns = columns.into_iter().filter(|(_, name)| is_compared(name) || (is_export && *name == "text"));
        let columns: Vec<(usize, &str)> = columns.collect();
        let mut differing: Vec<&str> = vec![];
        for (id, _, record) in &self.labels {
            let Some(row) = rows.get(&**id) else { continue };
            let cells: Vec<&str> = self.cells.row(*record).collect();
            let is_same = |(column, name): &(usize, &str)| {
                let (given, text) = (cells[*column], items.displayed.text(*row));
                let field = items.displayed.fields(*row).find(|(field, _, _)| field == name).map(|(_, _, value)| value);
                // Exports join all texts in one column, which may have the name of one of them.
                let is_joined = is_export && *name == "text" && is_same_text(given, &text);
                // Purged contents have no text.
                given.is_empty() || is_joined || (is_compared(name) && is_same_text(given, field.unwrap_or_default()))
            };
            if !columns.iter().all(is_same) && differing.last() != Some(&&**id) {
                differing.push(id);
            }
        }
        if let Some(first) = differing.first() {
            let items = counted(differing.len() as u64, "item");
            bail!(
                "--import {}: the text of {items} is not the one in the data; the first is {}\n  \
                 use the data that were labeled, or remove the texts from the file to import labels by id alone",
                self.path,
                first.escape_debug(),
            );
        }
        Ok(!columns.is_empty())
    }

    /// Returns the label of each item; of several, the one that annotators agree on.
    fn labels(&self, is_number: bool) -> BTreeMap<String, LabelValue> {
        self.by_id().into_iter().map(|(id, labels)| (id.to_owned(), consensus(&labels, is_number))).collect()
    }

    fn by_id(&self) -> BTreeMap<&str, Vec<LabelValue>> {
        let mut found: BTreeMap<&str, Vec<LabelValue>> = BTreeMap::new();
        for (id, label, _) in &self.labels {
            found.entry(id).or_default().push(*label);
        }
        found
    }

    fn remarks(&self, is_number: bool) -> Vec<String> {
        let mut remarks = vec![];
        if 0 < self.inactive {
            let labels = counted(self.inactive as u64, "label");
            remarks.push(format!("--import {}: skipped {labels} with the status withdrawn or replaced", self.path));
        }
        let differ = |labels: &&Vec<LabelValue>| labels.iter().any(|label| *label != labels[0]);
        let differing = self.by_id().values().filter(differ).count();
        if 0 < differing {
            let items = counted(differing as u64, "item");
            let rule = if is_number { "their mean counts" } else { "the most frequent counts, the earliest of equals" };
            remarks.push(format!("--import {}: several labels that differ for {items}; {rule}", self.path));
        }
        remarks
    }
}

/// Returns whether a text of an import is that of an item. Spreadsheets change line ends, and `--csv-safe` adds an
/// apostrophe.
fn is_same_text(given: &str, text: &str) -> bool {
    let plain = |text: &str| text.replace("\r\n", "\n").trim().to_owned();
    let (given, text) = (plain(given), plain(text));
    given == text || given.strip_prefix('\'').is_some_and(|rest| rest.trim() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_older_ledgers_are_numbers() {
        let bound = format!(r#"{{"label":-1.0,"content":"{}"}}"#, Digest::of(b"a text"));
        let read: ImportedLabel = serde_json::from_str(&bound).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), bound);
        assert_eq!(serde_json::from_str::<ImportedLabel>("0.1").unwrap(), ImportedLabel::Unbound(0.1));
    }

    #[test]
    fn texts_may_have_passed_through_a_spreadsheet() {
        assert!(is_same_text("a\r\nb ", "a\nb") && is_same_text("'=1+1", "=1+1"));
        assert!(!is_same_text("a", "b"));
    }
}
