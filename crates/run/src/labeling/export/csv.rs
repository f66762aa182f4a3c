//! CSV: a row for each answer.

use std::io::Write;

use serde_json::Value;

use super::time::iso_8601;
use super::{Export, ExportFormat, status};
use crate::error::Result;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    summary: "A table, a row for each answer",
    marks_inactive: true,
    has_cells: true,
    write,
    unit: "answer",
};

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<usize> {
    let safe = export.csv_safe;
    writeln!(out, "id,label,status,annotator,at,ask,answer,probability,text")?;
    for answer in &export.answers {
        let label = match export.label(answer.response) {
            Some(Value::String(name)) => name,
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let ask = export.ask(answer);
        let text = export.contents.get(ask)?.map_or(String::new(), |content| content.text);
        let [id, label, by, text] = [&*ask.id, &*label, &*answer.annotator, &*text].map(|text| cell(text, safe));
        // A draw of the most uncertain item has no probability, so its cell is empty.
        let probability = ask.draw.probability().map_or(String::new(), |probability| probability.to_string());
        let (status, at) = (status(answer), iso_8601(answer.at));
        writeln!(out, "{id},{label},{status},{by},{at},{},{},{probability},{text}", answer.ask, answer.id)?;
    }
    Ok(export.answers.len())
}

/// Returns a CSV cell. With `safe`, a cell that a spreadsheet would run as a formula gets an apostrophe before it.
pub fn cell(text: &str, safe: bool) -> String {
    let risky = safe && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if risky { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) || text.trim() != text {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn formulas_are_disarmed_and_quotes_doubled() {
        for risky in ["=1+1", "+1", "-1", "@x", "\tx", "\rx"] {
            assert!(cell(risky, true).trim_matches('"').starts_with('\''), "{risky:?}");
            assert!(cell(risky, false).contains(risky), "{risky:?}");
        }
        assert_eq!(cell("a \"b\", c", false), "\"a \"\"b\"\", c\"");
        assert_eq!(cell("plain", true), "plain");
    }
}
