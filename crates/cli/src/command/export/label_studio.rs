//! Label Studio: a list of tasks, each an item with an annotation for each annotator.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::time::iso_8601;
use super::{Export, Format, Task};
use crate::labelling::answers::RecordedAnswer;

pub(super) const FORMAT: Format = Format {
    name: "label-studio",
    summary: "Label Studio: a list of tasks with their annotations",
    marks_inactive: false,
    write,
    unit: "tasks",
};

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<usize> {
    let tasks: Vec<Value> = export.tasks().map(|task| Ok(to_json(export, &task?))).collect::<Result<_>>()?;
    let written = tasks.len();
    writeln!(out, "{:#}", Value::Array(tasks))?;
    Ok(written)
}

fn to_json(export: &Export<'_>, task: &Task<'_>) -> Value {
    let mut data = json!({"text": task.text(), "id": task.id});
    if let Some(image) = task.image() {
        data["image"] = image.into();
    }
    let annotations: Vec<Value> = task.answers.iter().map(|answer| annotation(export, answer)).collect();
    json!({"data": data, "annotations": annotations})
}

fn annotation(export: &Export<'_>, answer: &RecordedAnswer) -> Value {
    let result: Vec<Value> = export
        .label(answer.response)
        .map(|label| match label {
            Value::String(name) => json!({"from_name": "label", "to_name": "text", "type": "choices",
                                          "value": {"choices": [name]}}),
            value => json!({"from_name": "label", "to_name": "text", "type": "number", "value": {"number": value}}),
        })
        .into_iter()
        .collect();
    json!({"result": result, "was_cancelled": result.is_empty(), "created_at": iso_8601(answer.at),
           "created_username": &*answer.annotator})
}
