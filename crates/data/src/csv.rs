//! CSV and TSV as in RFC 4180, also with `;` and `|` as separators, with or without a header.

use std::ops::Range;

use crate::error::{DataError, DataFault, DataPosition, quoted};
use crate::format::{FormatEntry, FormatOpener, OpenContext, Opened};
use crate::header;
use crate::lines::{Bytes, LONGEST, LineReader, MARK, TextLine};
use crate::source::{BadRows, CellValue, Column, ColumnKind, Sink, Source};

pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "csv",
    summary: "cells between , ; | or tab; the first line names the columns",
    endings: &["csv", "tsv", "tab"],
    choices: &["--no-header"],
    magic: &[],
    looks: |_| true,
    open: FormatOpener::Bytes(open),
};

/// The possible separators. If two are equally frequent in the header, the earlier one wins.
const SEPARATORS: [(u8, &str); 4] = [(b',', ","), (b'\t', "tab"), (b';', ";"), (b'|', "|")];

struct Csv {
    lines: LineReader,
    separator: u8,
    columns: Vec<Column>,
    /// The bytes of the header; `None` if the first line is a record.
    header: Option<Vec<u8>>,
    /// The first line and its number, if it is a record that was not read yet.
    first: Option<(Range<usize>, u64)>,
    row: u64,
    cells: Vec<CellSpan>,
    plain: Vec<u8>,
}

/// The position of a cell in its record.
struct CellSpan {
    range: Range<usize>,
    /// True if the cell contains doubled quotes.
    doubled: bool,
}

/// A fault and the index of its column, if it belongs to one.
type Flaw = (Option<usize>, DataFault);

fn open(bytes: Bytes, context: &OpenContext<'_>) -> Opened {
    let mut lines = LineReader::new(context.file, bytes);
    // A file with nothing but a UTF-8 byte order mark is empty too.
    let Some(line) = lines.next()?.filter(|line| lines.at(line.clone()).text != MARK) else {
        return Err(DataFault::new("an empty file", "a line with the names of the columns").of_file(context.file));
    };
    let number = lines.line();
    let marked = lines.bytes(line.clone()).starts_with(MARK);
    let line = if marked { line.start + MARK.len()..line.end } else { line };
    let separator = match context.ending {
        "tsv" | "tab" => b'\t',
        _ => separator(lines.bytes(line.clone())),
    };
    let (columns, cells, plain) = (vec![], vec![], vec![]);
    let mut csv = Csv { lines, separator, columns, header: None, first: None, row: 0, cells, plain };
    let (record, flaw) = csv.split(line)?;
    let names = match flaw {
        Some((_, fault)) => Err(fault),
        None if context.table.no_header => csv.check_line_ends(&record).map(|()| header::numbered(csv.cells.len())),
        None => csv.names(&record),
    };
    let position = DataPosition { line: Some(1), row: 0, column: None };
    let names = names.map_err(|fault| DataError { file: context.file.to_owned(), position: Some(position), fault })?;
    csv.columns = names.into_iter().map(|name| Column { name, kind: ColumnKind::Any }).collect();
    if context.table.no_header {
        csv.first = Some((record, number));
    } else {
        csv.header = Some(csv.lines.bytes(record).to_vec());
    }
    Ok(Box::new(csv))
}

/// Returns the separator that occurs most often in a header, ignoring quoted names.
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

    fn has_header(&self) -> bool {
        self.header.is_some()
    }

    fn read(&mut self, limit: usize, sink: &mut dyn Sink, bad: &mut BadRows) -> Result<usize, DataError> {
        let mut read = 0;
        while read < limit {
            let (line, number) = match self.first.take() {
                Some(first) => first,
                None => match self.lines.next()? {
                    Some(line) => (line, self.lines.line()),
                    None => break,
                },
            };
            if line.is_empty() && 1 < self.columns.len() {
                continue;
            }
            self.row += 1;
            match self.record(line, sink)? {
                None => read += 1,
                Some((column, fault)) => {
                    sink.discard();
                    let column = column.map(|column| self.columns[column].name.clone());
                    let position = DataPosition { line: Some(number), row: self.row, column };
                    bad.take(self.lines.file(), position, fault)?;
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
        if self.header.as_deref() == Some(bytes) && 1 < self.columns.len() {
            let fault = DataFault::new("the header appears again", "a record");
            return Ok(Some((None, fault.hint("if you joined several files, remove the repeated headers"))));
        }
        let TextLine { text, len } = self.lines.at(line.clone());
        if memchr::memchr(b'"', bytes).is_none() && sink.line(text, len, self.separator) {
            return Ok(sink.end().err().map(|fault| (None, fault)));
        }
        let (record, flaw) = self.split(line)?;
        Ok(flaw.or_else(|| self.emit(record, sink).err()))
    }

    fn emit(&mut self, record: Range<usize>, sink: &mut dyn Sink) -> Result<(), Flaw> {
        if self.cells.len() != self.columns.len() {
            let found = format!("{} cells", self.cells.len());
            let first = if self.header.is_some() { "header" } else { "first line" };
            let fault = DataFault::new(found, format!("{} as in the {first}", self.columns.len()));
            return Err((None, fault));
        }
        for (column, span) in self.cells.iter().enumerate() {
            let bytes = &self.lines.bytes(record.clone())[span.range.clone()];
            let bytes = if span.doubled { undouble(bytes, &mut self.plain) } else { bytes };
            sink.cell(column, CellValue::Bytes(bytes)).map_err(|fault| (Some(column), fault))?;
        }
        sink.end().map_err(|fault| (None, fault))
    }

    /// Splits a record into cells and returns its range, which ends in a later line if quoted cells contain line ends.
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
                self.cells.push(CellSpan { range: start..end, doubled });
                at = end + 1;
            } else {
                let end = memchr::memchr(self.separator, &bytes[at..]).map_or(bytes.len(), |end| at + end);
                self.cells.push(CellSpan { range: at..end, doubled: false });
                at = end;
            }
            let bytes = self.lines.bytes(record.clone());
            match bytes.get(at) {
                None => return Ok((record, None)),
                Some(byte) if *byte == self.separator => at += 1,
                Some(_) => {
                    let column = self.cells.len() - 1;
                    let found = format!("{} after a closing quote", quoted(&bytes[at..]));
                    let fault = DataFault::new(found, "the next cell").hint("a quote inside quotes is doubled: \"\"");
                    return Ok((record, Some(((column < self.columns.len()).then_some(column), fault))));
                }
            }
        }
    }

    /// Returns the end of the quoted cell that begins at `start`. Extends `record` over line ends inside the quotes.
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
        let fault = DataFault::new(format!("the quote that opens here is not closed {until}"), "a closing quote");
        let position = Some(DataPosition { line: Some(opened), row: self.row, column });
        DataError { file: self.lines.file().to_owned(), position, fault }
    }

    /// Rejects files whose lines end with CR alone, because the whole file would be one line.
    fn check_line_ends(&self, first: &Range<usize>) -> Result<(), DataFault> {
        if memchr::memchr(b'\r', self.lines.bytes(first.clone())).is_none() {
            return Ok(());
        }
        let fault = DataFault::new("lines that end with CR alone", "lines that end with LF or CRLF");
        Err(fault.hint("convert it: tr '\\r' '\\n' < old > new"))
    }

    /// Returns the names in the header, which must be the record that was split last.
    fn names(&mut self, header: &Range<usize>) -> Result<Vec<String>, DataFault> {
        self.check_line_ends(header)?;
        let bytes = self.lines.bytes(header.clone());
        let mut names = vec![];
        for (index, span) in self.cells.iter().enumerate() {
            let bytes = &bytes[span.range.clone()];
            let bytes = if span.doubled { undouble(bytes, &mut self.plain) } else { bytes };
            let name = std::str::from_utf8(bytes.trim_ascii()).map_err(|error| {
                let byte = bytes.trim_ascii()[error.valid_up_to()];
                let found = format!("byte {byte:#04x} in the name of column {}", index + 1);
                DataFault::new(found, "UTF-8").hint("convert it: iconv -f LATIN1 -t UTF-8 old > new")
            })?;
            names.push(if name.is_empty() { "unnamed" } else { name }.to_owned());
        }
        header::check(&names)?;
        Ok(names)
    }
}

/// Replaces the doubled quotes of a cell by single ones.
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
