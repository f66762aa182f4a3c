//! doccano: JSON lines for its text classification projects.
//!
//! doccano makes a document of each line, and its import has no annotators. So an item is one line with one label: the
//! majority label, the earliest of a tie, or the mean of numbers. doccano has no skipped items, so exports omit them.
//! All labels are strings, also numbers, because doccano's import fails on any other type. Keys other than `text` and
//! `label` become metadata. doccano fills the key `filename` itself, so the path of an image is in `meta`.

use std::io::Write;

use querist_engine::session::{LabelValue, Response, consensus};
use serde_json::{Map, Value, json};

use super::{Export, ExportFormat, ExportedItem};
use crate::error::Result;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "doccano",
    summary: "doccano: JSON lines of text and label",
    marks_inactive: false,
    has_cells: false,
    write,
    unit: "item",
};

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<usize> {
    let mut written = 0;
    for task in export.tasks() {
        if let Some(line) = to_json(export, &task?) {
            writeln!(out, "{line}")?;
            written += 1;
        }
    }
    Ok(written)
}

fn to_json(export: &Export<'_>, task: &ExportedItem<'_>) -> Option<Value> {
    let mut labels = vec![];
    let mut annotators = Map::new();
    for answer in task.answers {
        if let Response::Label(label) = answer.response {
            labels.push(label);
            annotators.insert(answer.annotator.to_string(), label_text(export, label));
        }
    }
    if labels.is_empty() {
        return None;
    }
    let label = label_text(export, consensus(&labels, export.header.labels.is_empty()));
    let mut line = json!({"text": task.text(), "label": [label], "meta": {"id": task.id, "annotators": annotators}});
    if let Some(image) = task.image() {
        line["meta"]["image"] = image.into();
    }
    Some(line)
}

fn label_text(export: &Export<'_>, label: LabelValue) -> Value {
    match export.named(label) {
        Value::String(name) => name.into(),
        other => other.to_string().into(),
    }
}
