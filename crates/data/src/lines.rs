//! Lines of a file of any size, read one at a time into a buffer that grows only with the longest line.

use std::io::{ErrorKind, Read};
use std::ops::Range;

use crate::error::{DataError, DataFault, DataPosition};

/// The number of bytes requested at a time.
const BLOCK: usize = 64 << 10;

/// The maximum length in bytes of a line, or of a record of several lines.
pub(crate) const LONGEST: usize = 64 << 20;

/// The UTF-8 byte order mark.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// A sequential reader of bytes.
pub(crate) type Bytes = Box<dyn Read + Send>;

/// A line within the buffer. The text continues after the line with its terminator and later lines. A number at the end
/// of the line can therefore be read eight bytes at a time; a number never spans a line end.
#[derive(Clone, Copy)]
pub(crate) struct TextLine<'a> {
    pub(crate) text: &'a [u8],
    /// The length of the line in bytes.
    pub(crate) len: usize,
}

impl<'a> TextLine<'a> {
    /// Returns the line alone.
    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        &self.text[..self.len]
    }

    /// Returns the line without whitespace around it.
    #[inline]
    pub(crate) fn trim(self) -> Self {
        let line = self.bytes().trim_ascii_start();
        Self { text: &self.text[self.len - line.len()..], len: line.trim_ascii_end().len() }
    }
}

/// A reader of lines.
pub(crate) struct LineReader {
    file: String,
    bytes: Bytes,
    buffer: Vec<u8>,
    /// The part of the buffer that was not returned yet.
    rest: Range<usize>,
    /// The start of the current line.
    start: usize,
    /// The number of lines returned.
    line: u64,
    ended: bool,
}

impl LineReader {
    /// Creates a reader of these bytes; `file` is the name in messages.
    pub(crate) fn new(file: &str, bytes: Bytes) -> Self {
        let file = file.to_owned();
        Self { file, bytes, buffer: Vec::new(), rest: 0..0, start: 0, line: 0, ended: false }
    }

    /// Returns the file name in messages.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Returns the number of the current line, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Returns the bytes of the line that was returned last.
    #[inline]
    pub(crate) fn bytes(&self, line: Range<usize>) -> &[u8] {
        &self.buffer[line]
    }

    /// Returns the line that was returned last, with the text after it.
    #[inline]
    pub(crate) fn at(&self, line: Range<usize>) -> TextLine<'_> {
        TextLine { len: line.len(), text: &self.buffer[line.start..self.rest.end] }
    }

    /// Reads the next line, without its terminator; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Range<usize>>, DataError> {
        self.start = self.rest.start;
        self.more()
    }

    /// Extends the current line by the next one, for records of several lines; `None` if there is no next line.
    pub(crate) fn extend(&mut self) -> Result<Option<Range<usize>>, DataError> {
        self.more()
    }

    #[inline]
    fn more(&mut self) -> Result<Option<Range<usize>>, DataError> {
        let mut searched = self.rest.start;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[searched..self.rest.end]) {
                let end = searched + end;
                if LONGEST < end - self.start {
                    return Err(self.too_long());
                }
                self.rest.start = end + 1;
                self.line += 1;
                return Ok(Some(self.start..self.without_return(end)));
            }
            // Filling the buffer moves the current line to its front.
            let looked = self.rest.end - self.start;
            if !self.fill()? {
                return if LONGEST < looked { Err(self.too_long()) } else { Ok(self.last()) };
            }
            searched = self.start + looked;
        }
    }

    fn without_return(&self, end: usize) -> usize {
        if self.start < end && self.buffer[end - 1] == b'\r' { end - 1 } else { end }
    }

    /// Returns the text after the last line end, if there is any.
    fn last(&mut self) -> Option<Range<usize>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.end;
        self.rest.start = end;
        self.line += 1;
        Some(self.start..self.without_return(end))
    }

    /// Fills the buffer with a single read, because a pipe that pauses after a line must not delay that line. Returns
    /// `false` at the end.
    fn fill(&mut self) -> Result<bool, DataError> {
        if self.ended {
            return Ok(false);
        }
        let kept = self.rest.end - self.start;
        if LONGEST < kept {
            return Err(self.too_long());
        }
        if 0 < self.start {
            self.buffer.copy_within(self.start..self.rest.end, 0);
            self.rest = self.rest.start - self.start..kept;
            self.start = 0;
        }
        let room = kept + BLOCK.max(kept);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        loop {
            match self.bytes.read(&mut self.buffer[kept..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(read) => {
                    self.rest.end += read;
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(&error)),
            }
        }
    }

    fn too_long(&self) -> DataError {
        let found = format!("a line of more than {} MB", LONGEST >> 20);
        let fault = DataFault::new(found, "lines that end with LF")
            .hint("check that it is a text file and that every quote is closed");
        self.error(self.line + 1, fault)
    }

    fn broken(&self, error: &std::io::Error) -> DataError {
        let fault = match error.kind() {
            ErrorKind::UnexpectedEof => DataFault::new("the compressed data are truncated", "")
                .hint("check that the file is complete and has no extra bytes at its end"),
            _ => DataFault::new(format!("cannot read the rest: {error}"), "")
                .hint("if it is compressed, check that it is complete and has no extra bytes at its end"),
        };
        self.error(self.line + 1, fault)
    }

    fn error(&self, line: u64, fault: DataFault) -> DataError {
        DataError {
            file: self.file.clone(),
            position: Some(DataPosition { line: Some(line), row: line, column: None }),
            fault,
        }
    }
}
