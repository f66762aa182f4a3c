//! `querist export`: what people said, for other programs; and the model that was learned from it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use querist_engine::session::Response;
use querist_ledger::{Ledger, write_atomic};
use serde_json::{Value, json};

use crate::Output;
use crate::labelling::answers::{AnswerRecord, RecordedAnswer};
use crate::labelling::source::{self, Header};
use crate::number::json as number;

mod learned;

/// Writes out what people said, for other programs; or the model learned from it
#[derive(Args)]
pub(crate) struct Arguments {
    /// The ledger of `querist label`
    ledger: PathBuf,
    /// For whom
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
    /// Writes to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Puts an apostrophe before cells that a spreadsheet would take for a formula
    #[arg(long)]
    csv_safe: bool,
    /// Adds answers that were withdrawn or replaced (csv, jsonl)
    #[arg(long)]
    all: bool,
    /// Writes the model learned from all answers to this file, and no answers
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
}

/// For whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table, a row an answer
    Csv,
    /// JSON, a line an answer: keeps every letter as it is
    Jsonl,
    /// Prodigy: JSON lines with options and what was accepted
    Prodigy,
    /// Label Studio: a list of tasks with their annotations
    LabelStudio,
    /// doccano: JSON lines of text and label
    Doccano,
}

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
    let ledger = Ledger::read(&arguments.ledger)?;
    let header = source::header(&ledger)?;
    if let Some(path) = &arguments.model {
        return learned::write(&ledger, &header, path).map(|text| Output::done(text).with_loss(&ledger));
    }
    let record = AnswerRecord::read(&ledger)?;
    let export = Export { header: &header, record: &record, arguments, texts: texts(&header, arguments.format)? };
    let Some(path) = &arguments.out else {
        let mut out = BufWriter::new(io::stdout().lock());
        let written = export.write(&mut out).and_then(|()| Ok(out.flush()?));
        return match written {
            // The reader of a pipe may leave when it has seen enough.
            Err(error) if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => {
                Ok(Output::done(String::new()))
            }
            other => other.map(|()| Output::done(String::new()).with_loss(&ledger)),
        };
    };
    if path.is_dir() || File::open(path).is_ok() && path.canonicalize()? == ledger.path() {
        bail!("--out {}: need the name of another file", path.display());
    }
    let mut bytes = vec![];
    export.write(&mut bytes)?;
    write_atomic(path, &bytes)?;
    Ok(Output::done(format!("{} answers written to {}", export.told().len(), path.display())).with_loss(&ledger))
}

/// The text of every item, by id, for formats that want it.
fn texts(header: &Header, format: Format) -> Result<HashMap<Arc<str>, String>> {
    if matches!(format, Format::Csv | Format::Jsonl) {
        return Ok(HashMap::new());
    }
    let items = header.data.read(header.settings.loss.as_deref()).context("this format has the items' text in it")?;
    let names: Vec<bool> =
        items.displayed.cells().names().iter().map(|name| items.encoder.kind(name) == Some("text")).collect();
    let text = |row: usize| {
        let all: Vec<&str> = items.displayed.cells().row(row).collect();
        let long: Vec<&str> = all.iter().zip(&names).filter(|(_, text)| **text).map(|(cell, _)| *cell).collect();
        if long.is_empty() { all.join("\n") } else { long.join("\n") }
    };
    Ok(items.ids.iter().enumerate().map(|(row, id)| (Arc::clone(id), text(row))).collect())
}

struct Export<'a> {
    header: &'a Header,
    record: &'a AnswerRecord,
    arguments: &'a Arguments,
    texts: HashMap<Arc<str>, String>,
}

impl Export<'_> {
    fn told(&self) -> Vec<&RecordedAnswer> {
        if self.arguments.all { self.record.answers.iter().collect() } else { self.record.active() }
    }

    fn write(&self, out: &mut impl Write) -> Result<()> {
        match self.arguments.format {
            Format::Csv => self.csv(out),
            Format::LabelStudio => self.label_studio(out),
            Format::Jsonl => self.lines(out, |told| Some(self.plain(told))),
            Format::Prodigy => self.lines(out, |told| Some(self.prodigy(told))),
            Format::Doccano => self.lines(out, |told| self.doccano(told)),
        }
    }

    fn lines(&self, out: &mut impl Write, line: impl Fn(&RecordedAnswer) -> Option<Value>) -> Result<()> {
        for line in self.told().into_iter().filter_map(line) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    fn label(&self, response: Response) -> Option<Value> {
        let Response::Label(code) = response else { return None };
        let name = self.header.labels.iter().find(|(_, known)| *known == code).map(|(name, _)| name.as_str());
        Some(name.map_or_else(|| number(code), Value::from))
    }

    fn id(&self, told: &RecordedAnswer) -> &str {
        self.record.ask(told).map_or("", |ask| &ask.id)
    }

    fn text(&self, told: &RecordedAnswer) -> &str {
        self.texts.get(self.id(told)).map_or("", String::as_str)
    }

    fn csv(&self, out: &mut impl Write) -> Result<()> {
        let safe = self.arguments.csv_safe;
        writeln!(out, "id,label,status,annotator,at,ask,answer,probability")?;
        for told in self.told() {
            let label = match self.label(told.response) {
                Some(Value::String(name)) => name,
                Some(other) => other.to_string(),
                None => String::new(),
            };
            let probability = self.record.ask(told).map_or(f64::NAN, |ask| ask.odds.probability());
            let [id, label, by] = [self.id(told), &label, &told.annotator].map(|text| cell(text, safe));
            let (status, at) = (status(told), time(told.at));
            writeln!(out, "{id},{label},{status},{by},{at},{},{},{probability}", told.ask, told.number)?;
        }
        Ok(())
    }

    fn plain(&self, told: &RecordedAnswer) -> Value {
        json!({
            "id": self.id(told),
            "label": self.label(told.response),
            "status": status(told),
            "annotator": &*told.annotator,
            "at": time(told.at),
            "ask": told.ask,
            "answer": told.number,
            "probability": self.record.ask(told).map(|ask| number(ask.odds.probability())),
        })
    }

    fn prodigy(&self, told: &RecordedAnswer) -> Value {
        let options: Vec<Value> =
            self.header.labels.iter().map(|(name, _)| json!({"id": name, "text": name})).collect();
        let accepted: Vec<Value> = self.label(told.response).into_iter().collect();
        let answer = if accepted.is_empty() { "ignore" } else { "accept" };
        json!({"text": self.text(told), "options": options, "accept": accepted, "answer": answer,
               "_timestamp": told.at / 1000, "_annotator_id": &*told.annotator, "_session_id": &*told.annotator,
               "meta": {"id": self.id(told)}})
    }

    /// doccano knows no skipped items: those are left out.
    fn doccano(&self, told: &RecordedAnswer) -> Option<Value> {
        let label = self.label(told.response)?;
        Some(
            json!({"text": self.text(told), "label": [label], "meta": {"id": self.id(told), "annotator": &*told.annotator}}),
        )
    }

    fn label_studio(&self, out: &mut impl Write) -> Result<()> {
        let mut tasks: Vec<Value> = vec![];
        let mut last = 0;
        for told in self.told() {
            if told.ask != last {
                last = told.ask;
                tasks.push(json!({"data": {"text": self.text(told), "id": self.id(told)}, "annotations": []}));
            }
            let result: Vec<Value> = self
                .label(told.response)
                .map(|label| match label {
                    Value::String(name) => json!({"from_name": "label", "to_name": "text", "type": "choices",
                                                  "value": {"choices": [name]}}),
                    value => json!({"from_name": "label", "to_name": "text", "type": "number",
                                    "value": {"number": value}}),
                })
                .into_iter()
                .collect();
            let annotation = json!({"result": result, "was_cancelled": result.is_empty(), "created_at": time(told.at),
                                    "created_username": &*told.annotator});
            if let Some(annotations) = tasks.last_mut().and_then(|task| task["annotations"].as_array_mut()) {
                annotations.push(annotation);
            }
        }
        Ok(writeln!(out, "{:#}", Value::Array(tasks))?)
    }
}

fn status(told: &RecordedAnswer) -> &'static str {
    match (told.is_active, told.response) {
        (false, _) => "withdrawn",
        (true, Response::Label(_)) => "label",
        (true, Response::Skip) => "skip",
        (true, Response::Unsure) => "unsure",
    }
}

/// A cell of CSV; with an apostrophe before what a spreadsheet would run.
pub(super) fn cell(text: &str, safe: bool) -> String {
    let risky = safe && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if risky { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) || text.trim() != text {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

/// Milliseconds since 1970 as `2026-11-16T04:07:00.000Z`.
fn time(milliseconds: u64) -> String {
    let (days, rest) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    // Days since 1 March of year 0, in eras of 400 years; months begin with March.
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (date, calendar) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(calendar <= 2);
    let (hours, minutes, seconds) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{calendar:02}-{date:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z", rest % 1000)
}

#[cfg(test)]
mod tests {
    //! Dates by hand, and cells that spreadsheets read.

    use super::{cell, time};

    #[test]
    fn times_are_those_of_the_calendar() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_102_444_800_000, "2100-01-01T00:00:00.000Z"),
        ];
        for (milliseconds, text) in table {
            assert_eq!(time(milliseconds), text);
        }
    }

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
