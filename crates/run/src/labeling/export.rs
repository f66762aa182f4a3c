//! Exports: the answers of a labeling session, for other programs.

use std::io::Write;

use querist_engine::session::{LabelValue, Response};
use querist_ledger::Ledger;
use querist_render::number::json as number;
use serde_json::Value;

use crate::error::Result;
use crate::labeling::answers::{AnswerRecord, RecordedAnswer, RecordedAsk};
use crate::labeling::contents::{Contents, DisplayedContent};
use crate::labeling::location::Moved;
use crate::labeling::source::{self, SessionHeader};

mod csv;
mod doccano;
mod jsonl;
mod label_studio;
mod prodigy;
mod time;

pub use csv::cell;

/// All formats; the first is the default.
pub static FORMATS: [&ExportFormat; 5] =
    [&csv::FORMAT, &jsonl::FORMAT, &prodigy::FORMAT, &label_studio::FORMAT, &doccano::FORMAT];

/// A format to export to.
#[derive(Debug)]
pub struct ExportFormat {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is written, in a line.
    pub summary: &'static str,
    /// It can mark answers as withdrawn or replaced.
    pub marks_inactive: bool,
    /// It has cells that a spreadsheet could read as formulas.
    pub has_cells: bool,
    /// The noun for what is written.
    pub unit: &'static str,
    /// Writes everything; returns how many lines or tasks were written.
    write: fn(&Export<'_>, &mut dyn Write) -> Result<usize>,
}

/// What to export, and how.
#[derive(Debug)]
pub struct ExportRequest {
    /// The format.
    pub format: &'static ExportFormat,
    /// Adds answers that were withdrawn or replaced, if the format can mark them.
    pub all: bool,
    /// Puts an apostrophe before cells that a spreadsheet would read as a formula.
    pub csv_safe: bool,
    /// The location of the data, if they were moved.
    pub moved: Moved,
}

/// The result of an export.
#[derive(Debug)]
#[non_exhaustive]
pub struct Exported {
    /// The number of units that were written.
    pub written: usize,
    /// Sentences about contents that are missing or not as they were shown.
    pub remarks: Vec<String>,
}

/// Writes the answers of a labeling session.
///
/// # Errors
/// If the ledger cannot be read, or the output cannot be written.
pub fn export(ledger: &Ledger, request: &ExportRequest, out: &mut dyn Write) -> Result<Exported> {
    let header = source::header(ledger)?;
    let record = AnswerRecord::read(ledger)?;
    let is_all = request.all && request.format.marks_inactive;
    let mut answers: Vec<&RecordedAnswer> = if is_all { record.answers.iter().collect() } else { record.active() };
    // A verified ledger that can be replayed has no answer without an ask.
    answers.retain(|answer| record.ask(answer).is_some());
    let asks = answers.iter().filter_map(|answer| record.ask(answer));
    let contents = Contents::new(ledger, &header, &request.moved, asks)?;
    let export = Export { header: &header, record: &record, answers, contents, csv_safe: request.csv_safe };
    let written = (request.format.write)(&export, out)?;
    Ok(Exported { written, remarks: export.contents.remarks() })
}

/// The data of an export.
struct Export<'a> {
    header: &'a SessionHeader,
    record: &'a AnswerRecord,
    /// Sorted by ask; the record has the ask of each.
    answers: Vec<&'a RecordedAnswer>,
    contents: Contents<'a>,
    csv_safe: bool,
}

/// An item with all its answers.
struct ExportedItem<'a> {
    id: &'a str,
    content: Option<DisplayedContent>,
    answers: &'a [&'a RecordedAnswer],
}

impl ExportedItem<'_> {
    /// Returns the text, empty if it is not known.
    fn text(&self) -> &str {
        self.content.as_ref().map_or("", |content| &content.text)
    }

    /// Returns the path of the image.
    fn image(&self) -> Option<&str> {
        self.content.as_ref()?.image.as_deref()
    }
}

impl Export<'_> {
    /// Iterates over the items, each with its answers.
    fn tasks(&self) -> impl Iterator<Item = Result<ExportedItem<'_>>> {
        self.answers.chunk_by(|a, b| a.ask == b.ask).map(|answers| {
            let ask = self.ask(answers[0]);
            Ok(ExportedItem { id: &ask.id, content: self.contents.get(ask)?, answers })
        })
    }

    fn ask(&self, answer: &RecordedAnswer) -> &RecordedAsk {
        self.record.ask(answer).expect("answers without an ask were removed")
    }

    /// Returns the label of a response, by its name or as a number; `None` for skipped and unsure items.
    fn label(&self, response: Response) -> Option<Value> {
        let Response::Label(label) = response else { return None };
        Some(self.named(label))
    }

    fn named(&self, LabelValue(code): LabelValue) -> Value {
        let name = self.header.labels.iter().find(|(_, known)| *known == code).map(|(name, _)| name.as_str());
        name.map_or_else(|| number(code), Value::from)
    }
}

/// Returns the status of an answer.
fn status(answer: &RecordedAnswer) -> &'static str {
    match (answer.is_active, answer.response) {
        (false, _) => "withdrawn",
        (true, Response::Label(_)) => "label",
        (true, Response::Skip) => "skip",
        (true, Response::Unsure) => "unsure",
    }
}
