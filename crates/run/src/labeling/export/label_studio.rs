//! Label Studio: a list of tasks, each an item with an annotation for each annotator.
//!
//! The project needs a `Text` tag named `text`, or an `Image` tag named `image`, and a `Choices` or `Number` tag named `label`.
//! An import treats annotations as ground truth unless they set `ground_truth`. It accepts only e-mail addresses of
//! its own users as annotators, so the names are in the task's `meta`, which it keeps.

use std::io::Write;

use serde_json::{Value, json};

use super::time::iso_8601;
use super::{Export, ExportFormat, ExportedItem};
use crate::error::Result;
use crate::labeling::answers::RecordedAnswer;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "label-studio",
    summary: "Label Studio: a list of tasks with their annotations",
    marks_inactive: false,
    has_cells: false,
    write,
    unit: "task",
};

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<usize> {
    let tasks: Vec<Value> = export.tasks().map(|task| Ok(to_json(export, &task?))).collect::<Result<_>>()?;
    let written = tasks.len();
    writeln!(out, "{:#}", Value::Array(tasks))?;
    Ok(written)
}

fn to_json(export: &Export<'_>, task: &ExportedItem<'_>) -> Value {
    let mut data = json!({"text": task.text(), "id": task.id});
    if let Some(image) = task.image() {
        data["image"] = image.into();
    }
    let object = if task.image().is_some() { "image" } else { "text" };
    let annotations: Vec<Value> = task.answers.iter().map(|answer| annotation(export, answer, object)).collect();
    let annotators: Vec<&str> = task.answers.iter().map(|answer| &*answer.annotator).collect();
    json!({"data": data, "meta": {"annotators": annotators}, "annotations": annotations})
}

/// Returns the annotation of an answer. `object` is the name of the tag that shows the item.
fn annotation(export: &Export<'_>, answer: &RecordedAnswer, object: &str) -> Value {
    let result: Vec<Value> = export
        .label(answer.response)
        .map(|label| {
            let (kind, value) = match label {
                Value::String(name) => ("choices", json!({"choices": [name]})),
                value => ("number", json!({"number": value})),
            };
            let id = format!("answer-{}", answer.id);
            json!({"id": id, "from_name": "label", "to_name": object, "type": kind, "value": value})
        })
        .into_iter()
        .collect();
    json!({"result": result, "was_cancelled": result.is_empty(), "ground_truth": false,
           "created_at": iso_8601(answer.at), "created_username": &*answer.annotator})
}
