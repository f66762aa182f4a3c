//! CSV and TSV, also with `;` and `|` between cells: RFC 4180 with a header.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::{DataError, Fault, Place, quoted};
use crate::format::{Context, Entry, Open, Opened};
use crate::lines::{Bytes, LONGEST, Line, Lines, MARK};
use crate::number;
use crate::source::{BadRows, Cell, Column, Kind, Sink, Source};

pub(crate) const ENTRY: Entry = Entry {
    name: "csv",
    summary: "cells between , ; | or tab; the first line names the columns",
    endings: &["csv", "tsv", "tab"],
    magic: &[],
    looks: |_| true,
    open: Open::Bytes(open),
};

/// What may stand between cells; the earlier one where two stand equally often in the header.
const SEPARATORS: [(u8, &str); 4] = [(b',', ","), (b'\t', "tab"), (b';', ";"), (b'|', "|")];

struct Csv {
    lines: Lines,
    separator: u8,
    columns: Vec<Column>,
    header: Vec<u8>,
    row: u64,
    cells: Vec<Span>,
    plain: Vec<u8>,
}

/// Where a cell stands in its record.
struct Span {
    range: Range<usize>,
    /// Quotes in it are doubled.
    doubled: bool,
}

/// What is wrong, and in which column.
type Flaw = (Option<usize>, Fault);

fn open(bytes: Bytes, context: &Context<'_>) -> Opened {
    let mut lines = Lines::new(context.file, bytes);
    let Some(line) = lines.next()? else {
        return Err(Fault::new("an empty file", "a line with the names of the columns").of_file(context.file));
    };
    let marked = lines.bytes(line.clone()).starts_with(MARK);
    let line = if marked { line.start + MARK.len()..line.end } else { line };
    let separator = match context.ending {
        "tsv" | "tab" => b'\t',
        _ => separator(lines.bytes(line.clone())),
    };
    let mut csv = Csv { lines, separator, columns: vec![], header: vec![], row: 0, cells: vec![], plain: vec![] };
    let (record, flaw) = csv.split(line)?;
    let names = match flaw {
        None => csv.names(&record),
        Some((_, fault)) => Err(fault),
    };
    let place = Place { line: Some(1), row: 0, column: None };
    let names = names.map_err(|fault| DataError { file: context.file.to_owned(), place: Some(place), fault })?;
    csv.columns = names.into_iter().map(|name| Column { name, kind: Kind::Any }).collect();
    csv.header = csv.lines.bytes(record).to_vec();
    Ok(Box::new(csv))
}

/// The separator that stands most often in a header, quoted names aside.
fn separator(header: &[u8]) -> u8 {
    let count = |wanted: u8| {
        let mut inside = false;
        let unquoted = header.iter().filter(|byte| {
            inside ^= **byte == b'"';
            !inside && **byte == wanted
        });
        unquoted.count()
    };
    let mut best = (0, b',');
    for (byte, _) in SEPARATORS {
        let found = count(byte);
        if best.0 < found {
            best = (found, byte);
        }
    }
    best.1
}

impl Source for Csv {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn note(&self) -> String {
        match SEPARATORS.iter().find(|(byte, _)| *byte == self.separator) {
            Some((_, name)) if self.separator != b',' => format!("separated by {name}"),
            _ => String::new(),
        }
    }

    fn read(&mut self, limit: usize, sink: &mut dyn Sink, bad: &mut BadRows) -> Result<usize, DataError> {
        let mut read = 0;
        while read < limit {
            let Some(line) = self.lines.next()? else { break };
            if line.is_empty() && 1 < self.columns.len() {
                continue;
            }
            self.row += 1;
            let number = self.lines.line();
            match self.record(line, sink)? {
                None => read += 1,
                Some((column, fault)) => {
                    sink.discard();
                    let column = column.map(|column| self.columns[column].name.clone());
                    let place = Place { line: Some(number), row: self.row, column };
                    bad.take(self.lines.file(), place, fault)?;
                }
            }
        }
        Ok(read)
    }
}

impl Csv {
    #[inline]
    fn record(&mut self, line: Range<usize>, sink: &mut dyn Sink) -> Result<Option<Flaw>, DataError> {
        let bytes = self.lines.bytes(line.clone());
        if bytes == self.header && 1 < self.columns.len() {
            let fault = Fault::new("the header stands here again", "a record");
            return Ok(Some((None, fault.hint("were several files joined?"))));
        }
        let Line { text, len } = self.lines.at(line.clone());
        if memchr::memchr(b'"', bytes).is_none() && sink.line(text, len, self.separator) {
            return Ok(sink.end().err().map(|fault| (None, fault)));
        }
        let (record, flaw) = self.split(line)?;
        Ok(flaw.or_else(|| self.hand_over(record, sink).err()))
    }

    fn hand_over(&mut self, record: Range<usize>, sink: &mut dyn Sink) -> Result<(), Flaw> {
        if self.cells.len() != self.columns.len() {
            let found = format!("{} cells", self.cells.len());
            let fault = Fault::new(found, format!("{} as in the header", self.columns.len()));
            return Err((None, fault));
        }
        for (column, span) in self.cells.iter().enumerate() {
            let bytes = &self.lines.bytes(record.clone())[span.range.clone()];
            let bytes = if span.doubled { undouble(bytes, &mut self.plain) } else { bytes };
            sink.cell(column, Cell::Bytes(bytes)).map_err(|fault| (Some(column), fault))?;
        }
        sink.end().map_err(|fault| (None, fault))
    }

    /// Finds the cells of a record and where it ends, which is in a later line when quotes hold line ends.
    fn split(&mut self, mut record: Range<usize>) -> Result<(Range<usize>, Option<Flaw>), DataError> {
        self.cells.clear();
        let opened = self.lines.line();
        let mut at = 0;
        loop {
            let bytes = self.lines.bytes(record.clone());
            if bytes.get(at) == Some(&b'"') {
                let start = at + 1;
                let mut doubled = false;
                let end = self.close_quote(&mut record, start, &mut doubled, opened)?;
                self.cells.push(Span { range: start..end, doubled });
                at = end + 1;
            } else {
                let end = memchr::memchr(self.separator, &bytes[at..]).map_or(bytes.len(), |end| at + end);
                self.cells.push(Span { range: at..end, doubled: false });
                at = end;
            }
            let bytes = self.lines.bytes(record.clone());
            match bytes.get(at) {
                None => return Ok((record, None)),
                Some(byte) if *byte == self.separator => at += 1,
                Some(_) => {
                    let column = self.cells.len() - 1;
                    let found = format!("{} after a closing quote", quoted(&bytes[at..]));
                    let fault = Fault::new(found, "the next cell").hint("a quote inside quotes is doubled: \"\"");
                    return Ok((record, Some(((column < self.columns.len()).then_some(column), fault))));
                }
            }
        }
    }

    /// Where the quoted cell that begins here ends; line ends belong to it.
    fn close_quote(
        &mut self,
        record: &mut Range<usize>,
        start: usize,
        doubled: &mut bool,
        opened: u64,
    ) -> Result<usize, DataError> {
        let mut at = start;
        loop {
            let bytes = self.lines.bytes(record.clone());
            match memchr::memchr(b'"', &bytes[at.min(bytes.len())..]) {
                Some(quote) if bytes.get(at + quote + 1) == Some(&b'"') => {
                    *doubled = true;
                    at += quote + 2;
                }
                Some(quote) => return Ok(at + quote),
                None => {
                    at = at.max(bytes.len());
                    if LONGEST < bytes.len() {
                        return Err(self.unclosed(opened, "within 64 MB"));
                    }
                    match self.lines.extend()? {
                        Some(longer) => *record = longer,
                        None => return Err(self.unclosed(opened, "until the end of the file")),
                    }
                }
            }
        }
    }

    fn unclosed(&self, opened: u64, until: &str) -> DataError {
        let column = self.columns.get(self.cells.len()).map(|column| column.name.clone());
        let fault = Fault::new(format!("the quote that opens here is not closed {until}"), "a closing quote");
        let place = Some(Place { line: Some(opened), row: self.row, column });
        DataError { file: self.lines.file().to_owned(), place, fault }
    }

    /// The names in the header, which was just split.
    fn names(&mut self, header: &Range<usize>) -> Result<Vec<String>, Fault> {
        let bytes = self.lines.bytes(header.clone());
        if memchr::memchr(b'\r', bytes).is_some() {
            let fault = Fault::new("lines that end with CR alone", "lines that end with LF or CRLF");
            return Err(fault.hint("convert it: tr '\\r' '\\n' < old > new"));
        }
        let (mut names, mut places) = (vec![], HashMap::new());
        for (place, span) in self.cells.iter().enumerate() {
            let bytes = &bytes[span.range.clone()];
            let bytes = if span.doubled { undouble(bytes, &mut self.plain) } else { bytes };
            let name = std::str::from_utf8(bytes.trim_ascii()).map_err(|error| {
                let byte = bytes.trim_ascii()[error.valid_up_to()];
                let found = format!("byte {byte:#04x} in the name of column {}", place + 1);
                Fault::new(found, "UTF-8").hint("convert it: iconv -f LATIN1 -t UTF-8 old > new")
            })?;
            let name = if name.is_empty() { "unnamed" } else { name };
            if let Some(first) = places.insert(name.to_owned(), place) {
                let found = format!("columns {} and {} are both named `{name}`", first + 1, place + 1);
                return Err(Fault::new(found, "names that differ"));
            }
            names.push(name.to_owned());
        }
        if names.iter().all(|name: &String| number::parse(name.as_bytes()).is_some()) {
            let fault = Fault::new("only numbers in the first line", "the names of the columns");
            return Err(fault.hint("put a line with names in front"));
        }
        Ok(names)
    }
}

/// A cell with its doubled quotes made single.
fn undouble<'a>(bytes: &[u8], plain: &'a mut Vec<u8>) -> &'a [u8] {
    plain.clear();
    let mut rest = bytes;
    while let Some(quote) = memchr::memchr(b'"', rest) {
        plain.extend_from_slice(&rest[..=quote]);
        rest = rest.get(quote + 2..).unwrap_or_default();
    }
    plain.extend_from_slice(rest);
    plain
}
