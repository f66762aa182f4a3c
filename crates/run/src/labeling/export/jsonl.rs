//! JSON lines: a line for each answer, with the displayed content.

use std::io::Write;

use querist_render::number::json as number;
use serde_json::json;

use super::time::iso_8601;
use super::{Export, ExportFormat, status};
use crate::error::Result;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "jsonl",
    summary: "JSON, a line for each answer, with all displayed fields",
    marks_inactive: true,
    has_cells: false,
    write,
    unit: "answer",
};

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<usize> {
    for answer in &export.answers {
        let ask = export.ask(answer);
        let content = export.contents.get(ask)?;
        let line = json!({
            "id": &*ask.id,
            "label": export.label(answer.response),
            "status": status(answer),
            "annotator": &*answer.annotator,
            "at": iso_8601(answer.at),
            "ask": answer.ask,
            "answer": answer.id,
            "probability": ask.draw.probability().map(number),
            "text": content.as_ref().map(|content| &content.text),
            "content": content.as_ref().map(|content| &content.fields),
        });
        writeln!(out, "{line}")?;
    }
    Ok(export.answers.len())
}
