//! The svmlight format: a label, then indexed features, `+1 3:0.5 17:1`.

use crate::error::{DataError, DataFault, quoted};
use crate::features::{self, LARGEST, ManyPairs, Pairs};
use crate::format::{FormatEntry, FormatOpener, OpenContext};
use crate::lines::{Bytes, LineReader, TextLine};
use crate::number;
use crate::source::{BadRows, CellValue, Column, ColumnKind, Sink, Source};

pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "svmlight",
    summary: "a label, then numbered features: +1 3:0.5 17:1",
    endings: &["svm", "svmlight", "libsvm"],
    choices: &[],
    magic: &[],
    looks,
    open: FormatOpener::Bytes(|bytes, context| Ok(Box::new(open(bytes, context)))),
};

struct Svmlight {
    lines: LineReader,
    columns: Vec<Column>,
    row: u64,
    reader: SvmlightParser,
}

/// A reader of lines, with buffers.
#[derive(Default)]
struct SvmlightParser {
    pairs: Pairs,
    many: Box<ManyPairs>,
}

fn open(bytes: Bytes, context: &OpenContext<'_>) -> Svmlight {
    let columns = features::columns(&[("label", ColumnKind::Any), ("features", ColumnKind::Features)]);
    Svmlight { lines: LineReader::new(context.file, bytes), columns, row: 0, reader: SvmlightParser::default() }
}

/// Returns whether a line begins with a number and a pair.
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
        let Self { lines, row, reader, .. } = self;
        features::read(lines, row, limit, sink, bad, |lines, line, sink| record(lines.at(line), reader, sink))
    }
}

fn record(
    line: TextLine<'_>,
    reader: &mut SvmlightParser,
    sink: &mut dyn Sink,
) -> Result<bool, (Option<&'static str>, DataFault)> {
    let line = line.trim();
    let bytes = line.bytes();
    if matches!(bytes, [] | [b'#', ..]) {
        return Ok(false);
    }
    let label = word(bytes);
    let (label, from) = match memchr::memchr(b':', label) {
        None if number::parse(label).is_none() => {
            let fault = DataFault::new(format!("label {}", quoted(label)), "a number in front of the features");
            return Err((Some("label"), fault.hint("check that it is an svmlight file")));
        }
        None => (CellValue::Bytes(label), label.len()),
        Some(_) => (CellValue::Missing, 0),
    };
    sink.cell(0, label).map_err(|fault| (Some("label"), fault))?;
    reader.features(line, from).map_err(|fault| (None, fault))?;
    sink.cell(1, reader.pairs.cell()).map_err(|fault| (None, fault))?;
    sink.end().map_err(|fault| (None, fault))?;
    Ok(true)
}

impl SvmlightParser {
    /// Reads the features of a line from `from` on.
    fn features(&mut self, line: TextLine<'_>, from: usize) -> Result<(), DataFault> {
        let Self { pairs, many } = self;
        pairs.clear();
        let many = many.read(line.text, from, line.len, pairs);
        if many.is_some() && querist_rows::rise(&pairs.index) {
            return Ok(());
        }
        pairs.clear();
        read_pairs(line, from, pairs)
    }
}

/// Does the same one feature at a time. A separate function, so that the variables of its loop stay in registers.
#[inline(never)]
fn read_pairs(line: TextLine<'_>, mut at: usize, pairs: &mut Pairs) -> Result<(), DataFault> {
    let TextLine { text, len } = line;
    let mut least = 0;
    loop {
        while let Some((index, value, end)) = features::plain_pair(text, at) {
            if index < least || LARGEST < index || !matches!(text.get(end), Some(b' ' | b'\n')) {
                break;
            }
            pairs.push(index as u32, value as f32);
            (at, least) = (end, index + 1);
        }
        while matches!(text.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        if len <= at || text[at] == b'#' {
            return Ok(());
        }
        let start = at;
        let mut index = 0_u64;
        while let Some(digit) = number::digit(text, at) {
            index = index.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        if start == at || text.get(at) != Some(&b':') || 19 < at - start {
            let word = word(&text[start..len]);
            if word.starts_with(b"qid:") {
                at = start + word.len();
                continue;
            }
            return Err(not_a_pair(word));
        }
        if index < least || LARGEST < index {
            return Err(out_of_order(index, least));
        }
        let (value, used) = number::prefix(&text[at + 1..]);
        at += 1 + used;
        let ends = 0 < used && (matches!(text.get(at), Some(b' ' | b'\t' | b'#')) || at == len);
        let Some(value) = number::fits(value).filter(|_| ends) else {
            return Err(not_a_value(index, word(&text[start..len])));
        };
        pairs.push(index as u32, value);
        least = index + 1;
    }
}

/// Returns the text before the next space or comment.
fn word(line: &[u8]) -> &[u8] {
    &line[..line.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'#')).unwrap_or(line.len())]
}

fn not_a_pair(word: &[u8]) -> DataFault {
    DataFault::new(quoted(word), "a pair such as 3:0.5")
}

#[cold]
fn not_a_value(index: u64, pair: &[u8]) -> DataFault {
    let value = pair.split(|byte| *byte == b':').nth(1).unwrap_or_default();
    match number::feature(value) {
        Err(fault) => DataFault { found: format!("feature {index}: {}", fault.found), ..fault },
        Ok(_) => not_a_pair(pair),
    }
}

fn out_of_order(index: u64, least: u64) -> DataFault {
    if LARGEST < index {
        return DataFault::new(format!("feature {index}"), format!("feature numbers up to {LARGEST}"));
    }
    let hint = "sort the features of each line, and add up duplicates";
    DataFault::new(format!("feature {index} after feature {}", least - 1), "ascending numbers").hint(hint)
}
