//! Lines of a file of any size, one at a time, in a buffer that grows only with the longest line.

use std::io::{ErrorKind, Read};
use std::ops::Range;

use crate::error::{DataError, Fault, Place};

/// How much is asked for at a time.
const BLOCK: usize = 64 << 10;

/// The longest line, or record of several lines.
pub(crate) const LONGEST: usize = 64 << 20;

/// The mark that some programs put in front of UTF-8.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes, one after the other.
pub(crate) type Bytes = Box<dyn Read + Send>;

/// A line where it stands in memory. Behind it come its end and later lines, so that a number at its end can be read
/// eight bytes at a time as any other; no number reaches over an end of line.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a [u8],
    /// How much of the text is the line.
    pub(crate) len: usize,
}

impl<'a> Line<'a> {
    /// The line alone.
    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        &self.text[..self.len]
    }

    /// Without the space around it.
    #[inline]
    pub(crate) fn trim(self) -> Self {
        let line = self.bytes().trim_ascii_start();
        Self { text: &self.text[self.len - line.len()..], len: line.trim_ascii_end().len() }
    }
}

/// A file as lines.
pub(crate) struct Lines {
    file: String,
    bytes: Bytes,
    buffer: Vec<u8>,
    /// What is not yet handed out.
    rest: Range<usize>,
    /// Where the line at hand begins.
    start: usize,
    /// How many lines were handed out.
    line: u64,
    ended: bool,
}

impl Lines {
    /// The lines of these bytes.
    pub(crate) fn new(file: &str, bytes: Bytes) -> Self {
        let file = file.to_owned();
        Self { file, bytes, buffer: Vec::new(), rest: 0..0, start: 0, line: 0, ended: false }
    }

    /// The name of the file.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The number of the line at hand, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The bytes of a line that was just handed out.
    #[inline]
    pub(crate) fn bytes(&self, line: Range<usize>) -> &[u8] {
        &self.buffer[line]
    }

    /// A line that was just handed out, with what stands behind it.
    #[inline]
    pub(crate) fn at(&self, line: Range<usize>) -> Line<'_> {
        Line { len: line.len(), text: &self.buffer[line.start..self.rest.end] }
    }

    /// The next line, without what ends it.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Range<usize>>, DataError> {
        self.start = self.rest.start;
        self.more()
    }

    /// The line at hand together with the next one, for records of several lines; `None` when there is no next.
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
            // What was kept moves to the front when the buffer is filled.
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

    /// What stands behind the last end of line, if anything does.
    fn last(&mut self) -> Option<Range<usize>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.end;
        self.rest.start = end;
        self.line += 1;
        Some(self.start..self.without_return(end))
    }

    /// Reads once: a pipe that pauses after a line must not keep that line waiting. `false` at the end.
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
        let fault = Fault::new(found, "lines that end with LF").hint("is this a text file, and is every quote closed?");
        self.error(self.line + 1, fault)
    }

    fn broken(&self, error: &std::io::Error) -> DataError {
        let fault = match error.kind() {
            ErrorKind::UnexpectedEof => Fault::new("the compressed data end too early", "")
                .hint("is the file complete, with nothing behind its end?"),
            _ => Fault::new(format!("cannot read on: {error}"), "")
                .hint("if it is compressed: is the file complete, with nothing behind its end?"),
        };
        self.error(self.line + 1, fault)
    }

    fn error(&self, line: u64, fault: Fault) -> DataError {
        DataError { file: self.file.clone(), place: Some(Place { line: Some(line), row: line, column: None }), fault }
    }
}
