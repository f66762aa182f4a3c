//! svmlight: a label, then numbered features, `+1 3:0.5 17:1`.

use crate::error::{DataError, Fault, quoted};
use crate::features::{self, LARGEST, Pairs};
use crate::format::{Context, Entry, Open};
use crate::lines::{Bytes, Lines};
use crate::number;
use crate::source::{BadRows, Cell, Column, Kind, Sink, Source};

pub(crate) const ENTRY: Entry = Entry {
    name: "svmlight",
    summary: "a label, then numbered features: +1 3:0.5 17:1",
    endings: &["svm", "svmlight", "libsvm"],
    magic: b"",
    looks,
    open: Open::Bytes(|bytes, context| Ok(Box::new(open(bytes, context)))),
};

struct Svmlight {
    lines: Lines,
    columns: Vec<Column>,
    row: u64,
    pairs: Pairs,
}

fn open(bytes: Bytes, context: &Context<'_>) -> Svmlight {
    let columns = features::columns(&[("label", Kind::Any), ("features", Kind::Features)]);
    Svmlight { lines: Lines::new(context.file, bytes), columns, row: 0, pairs: Pairs::default() }
}

/// A number, then pairs.
fn looks(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let label = words.next().is_some_and(|word| number::parse(word).is_some());
    label && words.next().is_some_and(|word| matches!(memchr::memchr(b':', word), Some(1..)))
}

impl Source for Svmlight {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&mut self, limit: usize, sink: &mut dyn Sink, bad: &mut BadRows) -> Result<usize, DataError> {
        let Self { lines, row, pairs, .. } = self;
        features::read(lines, row, limit, sink, bad, |lines, line, sink| record(lines.bytes(line), pairs, sink))
    }
}

fn record(line: &[u8], pairs: &mut Pairs, sink: &mut dyn Sink) -> Result<bool, (Option<&'static str>, Fault)> {
    let line = line.trim_ascii();
    if line.is_empty() || line[0] == b'#' {
        return Ok(false);
    }
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'#')).unwrap_or(line.len());
    let label = &line[..end];
    let (label, rest) = match memchr::memchr(b':', label) {
        None if number::parse(label).is_none() => {
            let fault = Fault::new(format!("label {}", quoted(label)), "a number in front of the features");
            return Err((Some("label"), fault.hint("is this an svmlight file?")));
        }
        None => (Cell::Bytes(label), &line[end..]),
        Some(_) => (Cell::Missing, line),
    };
    sink.cell(0, label).map_err(|fault| (Some("label"), fault))?;
    pairs.clear();
    read_pairs(rest, pairs).map_err(|fault| (None, fault))?;
    sink.cell(1, pairs.cell()).map_err(|fault| (None, fault))?;
    sink.end().map_err(|fault| (None, fault))?;
    Ok(true)
}

fn read_pairs(line: &[u8], pairs: &mut Pairs) -> Result<(), Fault> {
    let mut at = 0;
    let mut least = 0;
    loop {
        while matches!(line.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        if matches!(line.get(at), None | Some(b'#')) {
            return Ok(());
        }
        let start = at;
        let mut index = 0_u64;
        at = number::run(line, at, &mut index);
        if start == at || line.get(at) != Some(&b':') || 19 < at - start {
            if line[start..].starts_with(b"qid:") {
                at = start + word(&line[start..]).len();
                continue;
            }
            return Err(not_a_pair(word(&line[start..])));
        }
        if index < least || LARGEST < index {
            return Err(out_of_order(index, least));
        }
        at += 1;
        let value = match number::prefix(&line[at..]) {
            (value, used) if 0 < used && matches!(line.get(at + used), None | Some(b' ' | b'\t' | b'#')) => {
                at += used;
                number::fits(value)
            }
            _ => None,
        };
        let Some(value) = value else { return Err(not_a_value(index, word(&line[start..]))) };
        pairs.index.push(index as u32);
        pairs.value.push(value);
        least = index + 1;
    }
}

/// What stands before the next space.
fn word(line: &[u8]) -> &[u8] {
    &line[..line.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'#')).unwrap_or(line.len())]
}

fn not_a_pair(word: &[u8]) -> Fault {
    Fault::new(quoted(word), "a pair such as 3:0.5")
}

#[cold]
fn not_a_value(index: u64, pair: &[u8]) -> Fault {
    let value = pair.split(|byte| *byte == b':').nth(1).unwrap_or_default();
    match number::feature(value) {
        Err(fault) => Fault { found: format!("feature {index}: {}", fault.found), ..fault },
        Ok(_) => not_a_pair(pair),
    }
}

fn out_of_order(index: u64, least: u64) -> Fault {
    if LARGEST < index {
        return Fault::new(format!("feature {index}"), format!("numbers of features up to {LARGEST}"));
    }
    let hint = "sort the features of each line, and add up those that are there twice";
    Fault::new(format!("feature {index} after feature {}", least - 1), "numbers that rise").hint(hint)
}
