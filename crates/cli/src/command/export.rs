//! `querist export`: the answers of a labeling session, for other programs; or the model that was learned from them.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use querist_engine::session::{LabelValue, Response};
use querist_ledger::{Ledger, write_atomic};
use querist_run::labeling::answers::{AnswerRecord, RecordedAnswer, RecordedAsk};
use querist_run::labeling::contents::{Contents, DisplayedContent};
use querist_run::labeling::source::{self, SessionHeader};
use querist_run::overwrite::{check_inputs, check_output};
use querist_run::text::counted;
use serde_json::Value;

use crate::Output;
use crate::number::json as number;
use crate::run::moved::MovedArgs;
use crate::run::progress::print_line;

mod csv;
mod doccano;
mod jsonl;
mod label_studio;
mod learned;
mod prodigy;
mod time;

pub(super) use csv::cell;

/// All formats; the first is the default.
static FORMATS: [&ExportFormat; 5] =
    [&csv::FORMAT, &jsonl::FORMAT, &prodigy::FORMAT, &label_studio::FORMAT, &doccano::FORMAT];

/// A format to export to.
#[derive(Debug)]
struct ExportFormat {
    /// Its name on the command line.
    name: &'static str,
    summary: &'static str,
    /// It can mark answers as withdrawn or replaced, so `--all` is possible.
    marks_inactive: bool,
    /// Writes everything; returns how many lines or tasks were written.
    write: fn(&Export<'_>, &mut dyn Write) -> Result<usize>,
    /// The noun for what is written.
    unit: &'static str,
}

/// Write the answers of a labeling session for other programs, or the model learned from them
#[derive(Args)]
pub(crate) struct ExportArgs {
    /// The ledger of `querist label`
    ledger: PathBuf,
    /// The format
    #[arg(long, value_parser = formats(), default_value = FORMATS[0].name)]
    format: &'static ExportFormat,
    /// Write to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Put an apostrophe before cells that a spreadsheet would read as a formula
    #[arg(long)]
    csv_safe: bool,
    /// Add answers that were withdrawn or replaced (csv, jsonl)
    #[arg(long)]
    all: bool,
    /// Write the model learned from all answers to this file, instead of the answers
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    #[command(flatten)]
    moved: MovedArgs,
}

fn formats() -> impl TypedValueParser<Value = &'static ExportFormat> {
    let names = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.summary));
    PossibleValuesParser::new(names)
        .map(|name| *FORMATS.iter().find(|format| format.name == name).expect("it is one of the names"))
}

pub(super) fn run(arguments: &ExportArgs) -> Result<Output> {
    let format = arguments.format;
    if arguments.all && !format.marks_inactive {
        bail!(
            "--all: the format {} cannot mark answers as withdrawn or replaced\n  use --format csv or jsonl, which \
             have a status",
            format.name
        );
    }
    let outputs = || [("--out", &arguments.out), ("--model", &arguments.model)].into_iter();
    let outputs = || outputs().filter_map(|(flag, path)| Some((flag, path.as_deref()?)));
    outputs().try_for_each(|(flag, path)| check_output(flag, path))?;
    let ledger = Ledger::read(&arguments.ledger)?;
    let header = source::header(&ledger)?;
    let moved = arguments.moved.moved();
    let data = header.data.located(&ledger, &moved)?;
    outputs().try_for_each(|(flag, path)| check_inputs(flag, path, data.file.as_deref()))?;
    if let Some(path) = &arguments.model {
        return learned::write(&ledger, &header, &moved, path).map(|text| Output::done(text).with_loss(&ledger));
    }
    let record = AnswerRecord::read(&ledger)?;
    let mut answers: Vec<&RecordedAnswer> =
        if arguments.all { record.answers.iter().collect() } else { record.active() };
    // A verified ledger that can be replayed has no answer without an ask.
    answers.retain(|answer| record.ask(answer).is_some());
    let asks = answers.iter().filter_map(|answer| record.ask(answer));
    let contents = Contents::new(&ledger, &header, &moved, asks)?;
    let export = Export { header: &header, record: &record, answers, contents, csv_safe: arguments.csv_safe };
    let text = write(arguments, &export)?;
    for line in export.contents.remarks() {
        print_line(false, &line);
    }
    Ok(Output::done(text).with_loss(&ledger))
}

fn write(arguments: &ExportArgs, export: &Export<'_>) -> Result<String> {
    let format = arguments.format;
    let Some(path) = &arguments.out else {
        let mut out = BufWriter::new(io::stdout().lock());
        let written = (format.write)(export, &mut out).and_then(|_| Ok(out.flush()?));
        return match written {
            // The reader may close the pipe before the end of the output.
            Err(error) if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => {
                Ok(String::new())
            }
            other => other.map(|()| String::new()),
        };
    };
    if path.is_dir() {
        bail!("--out {}: need the name of a file", path.display());
    }
    let mut bytes = vec![];
    let written = (format.write)(export, &mut bytes)?;
    write_atomic(path, &bytes)?;
    Ok(format!("{} written to {}", counted(written as u64, format.unit), path.display()))
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
