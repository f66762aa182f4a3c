//! `stream --ask`: observations and answers arrive as lines of standard input, and queries leave as lines of standard
//! output.
//!
//! A line is a JSON object. With the key `answer` it is an answer, to the query with that number or to the item with
//! that id. Without the key it is an observation. Answers may arrive late, in any order, or never.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;

use querist_data::{Batch, DataError, DataFault, Encoder, Input, ReadOptions, RowStream};
use querist_engine::stream::StreamLearner;
use serde_json::{Value, json};

use crate::error::{Context, Result};
use crate::event::Sums;
use crate::record::Recorder;
use crate::replay::Pending;

/// A line of input.
pub enum LiveLine {
    /// An observation, as received.
    Observation(String),
    /// An answer with its label.
    Answer {
        /// The query's number or the item's id.
        to: Value,
        /// The label.
        label: String,
    },
    /// An answer without a label.
    Unlabeled {
        /// The query's number or the item's id.
        to: Value,
    },
    /// Not a JSON object; describes the input instead.
    Bad(String),
}

/// Lines of standard input, with their numbers.
pub struct LiveLines<R> {
    input: BufReader<R>,
    number: u64,
}

impl<R: Read> LiveLines<R> {
    /// Starts at the first line.
    pub fn new(input: R) -> Self {
        Self { input: BufReader::with_capacity(64 << 10, input), number: 0 }
    }

    /// Returns whether reading the next line may block.
    pub fn waits(&self) -> bool {
        self.input.buffer().is_empty()
    }

    /// Returns the number of the last line read.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line that is not empty.
    pub fn next_line(&mut self) -> Result<Option<LiveLine>> {
        loop {
            let mut bytes = vec![];
            let read = self.input.read_until(b'\n', &mut bytes).context("standard input cannot be read")?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            let Ok(text) = String::from_utf8(bytes) else { return Ok(Some(LiveLine::Bad("not UTF-8".to_owned()))) };
            if !text.trim().is_empty() {
                return Ok(Some(parse(text)));
            }
        }
    }
}

fn parse(text: String) -> LiveLine {
    let value: Value = match serde_json::from_str(&text) {
        Ok(value @ Value::Object(_)) => value,
        Ok(_) => return LiveLine::Bad("not a JSON object".to_owned()),
        Err(error) => {
            // The text is a single line, so the line number of the parser is useless.
            let error = error.to_string().replace(" at line 1 column ", " at position ");
            return LiveLine::Bad(format!("not a JSON object: {error}"));
        }
    };
    let Some(to) = value.get("answer").cloned() else { return LiveLine::Observation(text) };
    match value.get("label") {
        Some(Value::String(label)) => LiveLine::Answer { to, label: label.clone() },
        Some(label @ (Value::Number(_) | Value::Bool(_))) => LiveLine::Answer { to, label: label.to_string() },
        _ => LiveLine::Unlabeled { to },
    }
}

/// Reports a rejected line with its number, and the query it answers, if any. A bad line must not end the service.
pub fn refuse(to: Option<&Value>, line: u64, why: &str, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{}", json!({"refused": to, "line": line, "why": why}))?;
    Ok(out.flush()?)
}

/// Describes a problem with an observation, without file and hint: the line locates it, and a running process cannot
/// change flags.
fn reason(error: &DataError) -> String {
    let column = error.position.as_ref().and_then(|position| position.column.as_ref());
    let column = column.map_or(String::new(), |column| format!("column `{column}`: "));
    let expected = if error.fault.expected.is_empty() { "" } else { "; expected " };
    format!("{column}{}{expected}{}", error.fault.found, error.fault.expected)
}

/// A live run.
pub struct LiveStream {
    /// The learner.
    pub learner: StreamLearner,
    /// The recorder of events.
    pub recorder: Recorder,
    /// The running sums.
    pub sums: Sums,
    /// The encoder of observations.
    pub encoder: Encoder,
    /// The options for reading observations.
    pub options: ReadOptions,
    /// Queries without an answer, by time.
    pub pending: BTreeMap<u64, Pending>,
    /// Answers by the times of their queries. A repeated answer is acknowledged again.
    pub answered: BTreeMap<u64, AnsweredAsk>,
}

/// The stored part of an answer.
pub struct AnsweredAsk {
    /// The id of the item.
    pub id: Box<str>,
    /// The label.
    pub label: f64,
}

impl LiveStream {
    /// Processes one observation: decides, records, and writes a query to `out` if it is queried. Rejects it if it
    /// cannot be read.
    pub fn observe(&mut self, text: &str, number: u64, out: &mut impl Write) -> Result<()> {
        let (batch, unknown) = match self.read(text) {
            Ok(read) => read,
            Err(error) => return self.refuse(number, &reason(&error), out),
        };
        let row = batch.rows.row(0);
        self.learner.widen(batch.rows.dim());
        let offer = self.learner.offer(row);
        self.sums.looked += 1;
        self.sums.unknown += unknown;
        self.sums.dim = self.sums.dim.max(batch.rows.dim());
        // Rows without ids are numbered by line, so the number is that of the observation.
        let id = if self.encoder.has_ids() { batch.ids.get(0) } else { offer.time.to_string() };
        self.recorder.offered(offer.time, offer.probability, offer.asked.then_some((&*id, row)), self.sums)?;
        if offer.asked {
            writeln!(out, "{}", json!({"ask": offer.time, "id": id, "probability": offer.probability}))?;
            out.flush()?;
            let pending = Pending { id, probability: offer.probability, row: batch.rows, answered: false };
            self.pending.insert(offer.time, pending);
        }
        Ok(())
    }

    /// Rejects a line that is not an answer.
    pub fn refuse(&mut self, number: u64, why: &str, out: &mut impl Write) -> Result<()> {
        self.count_refused()?;
        refuse(None, number, why, out)
    }

    /// Counts a rejected line in the resume position.
    pub fn count_refused(&mut self) -> Result<()> {
        self.sums.skipped += 1;
        self.recorder.refused(self.learner.totals().observed, self.sums)
    }

    /// Reads the row of an observation, and returns the number of its cells with an unknown category.
    fn read(&self, text: &str) -> Result<(Batch, u64), DataError> {
        let mut batch = Batch::default();
        let input = Input::Bytes { name: "standard input".to_owned(), bytes: Arc::from(text.as_bytes()) };
        let mut stream = RowStream::with(self.encoder.clone(), &input, &self.options)?;
        if stream.next(1, &mut batch)? == 0 {
            let empty = || DataFault::new("no input", "an observation").of_file("standard input");
            return Err(stream.bad().examples.first().cloned().unwrap_or_else(empty));
        }
        Ok((batch, stream.unknown_categories()))
    }

    /// Processes one answer: learns from it, makes it durable, then acknowledges it. Reports the reason if it is
    /// rejected.
    pub fn answer(&mut self, to: &Value, label: &str, number: u64, out: &mut impl Write) -> Result<()> {
        let Some(code) = self.encoder.code(label) else {
            let classes = self.encoder.classes();
            let none = || format!("the label is none of {}", classes.join(", "));
            let why = if classes.is_empty() { "the label is not a number".to_owned() } else { none() };
            return refuse(Some(to), number, &why, out);
        };
        let Some((time, ask)) = open_ask(&self.pending, to) else { return self.answer_again(to, code, number, out) };
        // An answer that would make the run diverge changes nothing and is not stored; the query stays open.
        if let Err(diverged) = self.learner.answer(ask.row.row(0), ask.probability, code) {
            return refuse(Some(to), number, &diverged.to_string(), out);
        }
        self.recorder.answered(time, code, self.learner.totals().observed)?;
        let Some(ask) = self.pending.remove(&time) else { return Ok(()) };
        writeln!(out, "{}", json!({"answered": time, "id": ask.id}))?;
        self.answered.insert(time, AnsweredAsk { id: ask.id.into(), label: code });
        Ok(out.flush()?)
    }

    /// Handles an answer to a query that is not open. A repeated identical answer is acknowledged.
    fn answer_again(&self, to: &Value, label: f64, number: u64, out: &mut impl Write) -> Result<()> {
        let before = match to {
            Value::Number(time) => time.as_u64().and_then(|time| self.answered.get_key_value(&time)),
            Value::String(id) => self.answered.iter().rev().find(|(_, answered)| *answered.id == **id),
            _ => None,
        };
        match before {
            None => refuse(Some(to), number, "nothing was asked under that number or id", out),
            Some((_, answered)) if answered.label.to_bits() != label.to_bits() => {
                let why = format!("already answered with {}", self.encoder.decode(answered.label));
                refuse(Some(to), number, &why, out)
            }
            Some((time, answered)) => {
                writeln!(out, "{}", json!({"answered": time, "id": answered.id, "again": true}))?;
                Ok(out.flush()?)
            }
        }
    }
}

/// Returns the open query with this number, or the first for the item with this id.
fn open_ask<'a>(pending: &'a BTreeMap<u64, Pending>, to: &Value) -> Option<(u64, &'a Pending)> {
    let (time, ask) = match to {
        Value::Number(time) => pending.get_key_value(&time.as_u64()?)?,
        Value::String(id) => pending.iter().find(|(_, ask)| ask.id == *id)?,
        _ => return None,
    };
    Some((*time, ask))
}
