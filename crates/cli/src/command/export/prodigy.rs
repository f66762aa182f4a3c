//! Prodigy: JSON lines for `prodigy db-in`.
//!
//! A dataset of Prodigy has a line for each annotator of a task. Lines with the same input and options get the same task
//! hash when they are imported, so `prodigy review` shows them as one task.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::{Export, Format};

pub(super) const FORMAT: Format = Format {
    name: "prodigy",
    summary: "Prodigy: JSON lines with options and the accepted label",
    marks_inactive: false,
    write,
    unit: "answers",
};

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<usize> {
    let options: Vec<Value> = export.header.labels.iter().map(|(name, _)| json!({"id": name, "text": name})).collect();
    let mut written = 0;
    for task in export.tasks() {
        let task = task?;
        for answer in task.answers {
            let accepted: Vec<Value> = export.label(answer.response).into_iter().collect();
            let verdict = if accepted.is_empty() { "ignore" } else { "accept" };
            let mut line = json!({"text": task.text(), "options": options, "accept": accepted, "answer": verdict,
                "_timestamp": answer.at / 1000, "_annotator_id": &*answer.annotator,
                "_session_id": &*answer.annotator, "meta": {"id": task.id}});
            if let Some(image) = task.image() {
                line["image"] = image.into();
            }
            writeln!(out, "{line}")?;
            written += 1;
        }
    }
    Ok(written)
}
