//! Detection of an object around the array of records: `{"data": [{…}, …]}`.

use super::JsonText;
use crate::error::{DataError, DataFault};
use crate::lines::LONGEST;

/// The number of bytes within which an array of records must begin.
const SEARCHED: usize = 1 << 20;

impl JsonText {
    /// Returns an error if the file is a single object and one of its keys holds an array of objects. Files with one
    /// object per line are accepted, although their objects may have such keys too.
    pub(super) fn reject_wrapped_array(&mut self) -> Result<(), DataError> {
        let mut scan = WrapperScanner::default();
        let mut next = self.at;
        while scan.is_inside() && !(scan.key.is_some() && scan.has_lines) {
            let limit = if scan.key.is_some() { LONGEST } else { SEARCHED };
            match self.buffer.get(next).copied() {
                Some(byte) => {
                    scan.step(byte);
                    next += 1;
                }
                None if limit < next || !self.fill()? => break,
                None => {}
            }
        }
        let Some(key) = scan.key.take() else { return Ok(()) };
        if !scan.has_lines && self.has_more(next)? {
            return Ok(());
        }
        let key = String::from_utf8_lossy(&key);
        let found = format!("an object that holds the records in its key `{key}`");
        let fault = DataFault::new(found, "an array of objects, or an object on each line");
        let is_plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let filter = if is_plain { format!(".{key}") } else { format!(".[\"{key}\"]") };
        Err(self.error(fault.hint(format!("write the array to a separate file: jq '{filter}' FILE > RECORDS.json"))))
    }

    /// Returns whether anything but whitespace follows.
    fn has_more(&mut self, mut next: usize) -> Result<bool, DataError> {
        loop {
            match self.buffer.get(next).copied() {
                Some(byte) if byte.is_ascii_whitespace() => next += 1,
                Some(_) => return Ok(true),
                None if LONGEST < next || !self.fill()? => return Ok(false),
                None => {}
            }
        }
    }
}

/// A scanner for a key of the outermost object whose value is an array of objects.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
struct WrapperScanner {
    depth: usize,
    has_begun: bool,
    in_text: bool,
    is_escaped: bool,
    /// The last string in the outermost object; before an array it is the array's key.
    text: Vec<u8>,
    /// True if an array of the outermost object has just begun.
    is_array: bool,
    has_lines: bool,
    key: Option<Vec<u8>>,
}

impl WrapperScanner {
    fn is_inside(&self) -> bool {
        !self.has_begun || 0 < self.depth
    }

    fn step(&mut self, byte: u8) {
        self.has_begun = true;
        self.has_lines |= byte == b'\n';
        if self.in_text {
            return self.step_in_text(byte);
        }
        match byte {
            b'"' => {
                self.in_text = true;
                if self.depth == 1 {
                    self.text.clear();
                }
            }
            b'{' | b'[' => {
                if byte == b'{' && self.is_array && self.key.is_none() {
                    self.key = Some(self.text.clone());
                }
                self.depth += 1;
                self.is_array = byte == b'[' && self.depth == 2;
                return;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            byte if byte.is_ascii_whitespace() => return,
            _ => {}
        }
        self.is_array = false;
    }

    fn step_in_text(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => self.in_text = false,
            _ => {}
        }
        if self.in_text && self.depth == 1 {
            self.text.push(byte);
        }
    }
}
