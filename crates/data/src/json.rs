//! JSON arrays of objects, read one element at a time.
//!
//! The extension `.json` is used both for arrays and for one object per line. A file that does not begin with `[` is
//! therefore read as JSON lines. An object around the array is rejected with the key that holds the records.

use std::io::{ErrorKind, Read};
use std::ops::Range;

use crate::error::{DataError, DataFault, DataPosition, quoted};
use crate::format::{FormatEntry, FormatOpener, OpenContext, Opened};
use crate::jsonl::{self, Objects};
use crate::lines::{Bytes, LONGEST, MARK};
use crate::source::{BadRows, Column, Sink, Source};

mod wrapped;

pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "json",
    summary: "an array of JSON objects: [{\"text\": \"hello\", \"label\": \"ham\"}, …]",
    endings: &["json"],
    choices: &[],
    magic: &[],
    looks: |line| line.trim_ascii_start().starts_with(b"["),
    open: FormatOpener::Bytes(open),
};

/// The number of bytes read at a time.
const BLOCK: usize = 64 << 10;

fn open(bytes: Bytes, context: &OpenContext<'_>) -> Opened {
    let mut text =
        JsonText { file: context.file.to_owned(), bytes, buffer: vec![], at: 0, line: 1, row: 0, ended: false };
    if text.starts_with_mark()? {
        text.at = MARK.len();
    }
    if text.peek()? == Some(b'[') {
        text.skip_byte();
        return Ok(Box::new(Json { text, objects: Objects::new(context.columns), state: ArrayState::First }));
    }
    text.reject_wrapped_array()?;
    // Put back the bytes that were read for inspection.
    let read = text.buffer;
    Ok(jsonl::open(Box::new(std::io::Cursor::new(read).chain(text.bytes)), context))
}

struct Json {
    text: JsonText,
    objects: Objects,
    state: ArrayState,
}

/// The next token expected in an array.
#[derive(Clone, Copy, PartialEq)]
enum ArrayState {
    /// An element, or the end.
    First,
    /// A comma, or the end.
    Later,
    /// Nothing.
    Ended,
}

impl Source for Json {
    fn columns(&self) -> &[Column] {
        self.objects.columns()
    }

    fn is_open(&self) -> bool {
        true
    }

    fn passed_over(&self) -> u64 {
        self.objects.passed_over()
    }

    fn read(&mut self, limit: usize, sink: &mut dyn Sink, bad: &mut BadRows) -> Result<usize, DataError> {
        let mut read = 0;
        while read < limit && self.begin_element()? {
            let line = self.text.line;
            let element = self.text.element()?;
            match self.objects.read(&self.text.buffer[element], sink) {
                Ok(()) => read += 1,
                Err((column, fault)) => {
                    sink.discard();
                    let column = column.map(|column| self.objects.columns()[column].name.clone());
                    bad.take(&self.text.file, DataPosition { line: Some(line), row: self.text.row, column }, fault)?;
                }
            }
        }
        Ok(read)
    }
}

impl Json {
    /// Advances to the next element; returns `false` at the end of the array.
    fn begin_element(&mut self) -> Result<bool, DataError> {
        let next = self.text.peek()?;
        match (self.state, next) {
            (ArrayState::Ended, _) => return Ok(false),
            (ArrayState::First | ArrayState::Later, Some(b']')) => {
                self.text.skip_byte();
                self.state = ArrayState::Ended;
                return match self.text.peek()? {
                    None => Ok(false),
                    Some(_) => Err(self.text.unexpected("the end of the file after the array")),
                };
            }
            (ArrayState::Later, Some(b',')) => self.text.skip_byte(),
            (ArrayState::First, Some(_)) => {}
            (ArrayState::Later, Some(_)) => return Err(self.text.unexpected("a comma or the end of the array")),
            (_, None) => return Err(self.text.ended_early()),
        }
        self.state = ArrayState::Later;
        match self.text.peek()? {
            None => Err(self.text.ended_early()),
            Some(b',' | b']' | b'}' | b':') => Err(self.text.unexpected("an object")),
            Some(_) => {
                self.text.row += 1;
                Ok(true)
            }
        }
    }
}

/// The text of a file, read in blocks.
struct JsonText {
    file: String,
    bytes: Bytes,
    buffer: Vec<u8>,
    at: usize,
    /// The line of the next byte, from 1.
    line: u64,
    /// The number of the current element, from 1.
    row: u64,
    ended: bool,
}

impl JsonText {
    /// Appends more bytes to the buffer; returns `false` at the end of the file.
    fn fill(&mut self) -> Result<bool, DataError> {
        // Until the first element begins, keep everything for the reader of JSON lines.
        if 0 < self.row {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        let kept = self.buffer.len();
        self.buffer.resize(kept + BLOCK, 0);
        let read = loop {
            match self.bytes.read(&mut self.buffer[kept..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(kept + read.as_ref().map_or(0, |read| *read));
        match read {
            Ok(read) => {
                self.ended = read == 0;
                Ok(!self.ended)
            }
            Err(error) => {
                let fault = DataFault::new(format!("cannot read the rest: {error}"), "");
                Err(self.error(fault.hint(
                    "if it is compressed, check that it is complete and has no extra bytes at \
                     its end",
                )))
            }
        }
    }

    fn starts_with_mark(&mut self) -> Result<bool, DataError> {
        while self.buffer.len() < MARK.len() && self.fill()? {}
        Ok(self.buffer.starts_with(MARK))
    }

    /// Skips whitespace and returns the next byte without consuming it; `None` at the end of the file.
    fn peek(&mut self) -> Result<Option<u8>, DataError> {
        loop {
            while let Some(byte) = self.buffer.get(self.at) {
                match byte {
                    b'\n' => self.line += 1,
                    b' ' | b'\t' | b'\r' => {}
                    other => return Ok(Some(*other)),
                }
                self.at += 1;
            }
            if LONGEST < self.buffer.len() {
                return Err(self.too_long());
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    fn skip_byte(&mut self) {
        self.at += 1;
    }

    /// Skips the element that begins here and returns its range, up to the comma or bracket after it.
    fn element(&mut self) -> Result<Range<usize>, DataError> {
        let mut scan = JsonScanner::default();
        let mut len = 0;
        loop {
            while let Some(byte) = self.buffer.get(self.at + len) {
                if scan.ends_before(*byte) {
                    let element = self.at..self.at + len;
                    self.line += memchr::memchr_iter(b'\n', &self.buffer[element.clone()]).count() as u64;
                    self.at += len;
                    return Ok(element);
                }
                len += 1;
            }
            if LONGEST < len {
                return Err(self.too_long());
            }
            if !self.fill()? {
                return Err(self.ended_early());
            }
        }
    }

    fn unexpected(&mut self, expected: &str) -> DataError {
        // Make the message independent of the sizes in which bytes arrive.
        while self.buffer.len() < self.at + 12 && self.fill().unwrap_or(false) {}
        let rest = &self.buffer[self.at..];
        self.error(DataFault::new(quoted(&rest[..rest.len().min(12)]), expected))
    }

    fn ended_early(&self) -> DataError {
        let fault = DataFault::new("the array is truncated", "a closing bracket");
        self.error(fault.hint("check that the file is complete"))
    }

    fn too_long(&self) -> DataError {
        let fault = DataFault::new(format!("an element of more than {} MB", LONGEST >> 20), "an array of objects");
        self.error(fault.hint("check that every quote is closed"))
    }

    fn error(&self, fault: DataFault) -> DataError {
        let position = DataPosition { line: Some(self.line), row: self.row, column: None };
        DataError { file: self.file.clone(), position: Some(position), fault }
    }
}

/// A scanner that finds the end of a JSON value without parsing it.
#[derive(Default)]
struct JsonScanner {
    depth: u64,
    in_text: bool,
    escaped: bool,
}

impl JsonScanner {
    /// Returns whether the value ends before this byte; otherwise consumes the byte.
    fn ends_before(&mut self, byte: u8) -> bool {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b',' | b']' | b'}' if self.depth == 0 => return true,
            b']' | b'}' => self.depth -= 1,
            _ => {}
        }
        false
    }
}
