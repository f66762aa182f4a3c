//! Prodigy: JSON lines for `prodigy db-in`.
//!
//! A Prodigy dataset has a line for each annotator of a task. Lines with the same input and options get the same task
//! hash when they are imported, so `prodigy review` shows them as one task. `_view_id` names the interface: `choice`
//! for classes, `text_input` for numbers.

use std::io::Write;

use serde_json::{Value, json};

use super::{Export, ExportFormat};
use crate::error::Result;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "prodigy",
    summary: "Prodigy: JSON lines with options and the accepted label",
    marks_inactive: false,
    has_cells: false,
    write,
    unit: "answer",
};

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<usize> {
    let options: Vec<Value> = export.header.labels.iter().map(|(name, _)| json!({"id": name, "text": name})).collect();
    let mut written = 0;
    for task in export.tasks() {
        let task = task?;
        for answer in task.answers {
            let label = export.label(answer.response);
            let verdict = if label.is_none() { "ignore" } else { "accept" };
            let mut line = json!({"text": task.text(), "answer": verdict, "_timestamp": answer.at / 1000,
                "_annotator_id": &*answer.annotator, "_session_id": &*answer.annotator, "meta": {"id": task.id}});
            if options.is_empty() {
                line["_view_id"] = "text_input".into();
                line["user_input"] = label.map_or(String::new(), |label| label.to_string()).into();
            } else {
                line["_view_id"] = "choice".into();
                line["config"] = json!({"choice_style": "single"});
                line["options"] = options.clone().into();
                line["accept"] = label.into_iter().collect::<Vec<Value>>().into();
            }
            if let Some(image) = task.image() {
                line["image"] = image.into();
            }
            writeln!(out, "{line}")?;
            written += 1;
        }
    }
    Ok(written)
}
