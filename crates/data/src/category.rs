//! Categories and their codes.

use crate::dictionary::Dictionary;
use crate::error::DataFault;
use crate::hash::Hash;
use crate::record::utf8;
use crate::sample::MANY;
use crate::source::CellValue;

/// The categories of one column. Up to `MANY` values have codes of their own; with more than that, all are hashed.
pub(crate) struct Categories {
    /// The values: in order of appearance, or in the order of the encoder.
    pub(crate) values: Vec<String>,
    /// True if more than `MANY` values were seen, or if the encoder hashes them.
    pub(crate) hashed: bool,
    codes: Dictionary,
    /// Values of `values.len()`, `hashed` and `unknown` before the current record, for rollback.
    accepted: (usize, bool, u64),
    /// True while fitting: new values are added.
    open: bool,
    hash: Hash,
    bits: u32,
    spelled: String,
    /// The number of cells with a value that was not seen in fitting.
    pub(crate) unknown: u64,
}

impl Categories {
    /// The code of a value that was not seen in fitting.
    pub(crate) const UNKNOWN: u32 = MANY as u32;
    /// The first code of hashed values.
    pub(crate) const HASHED: u32 = MANY as u32 + 1;

    pub(crate) fn new(column: &str, bits: u32, values: &[String], hashed: bool, open: bool) -> Self {
        let mut codes = Dictionary::default();
        for (code, value) in values.iter().enumerate() {
            codes.insert(value.as_bytes(), code as u32);
        }
        let hash = Hash::new("category").bytes(column.as_bytes());
        let (values, accepted) = (values.to_vec(), (values.len(), hashed, 0));
        Self { values, hashed, codes, accepted, open, hash, bits, spelled: String::new(), unknown: 0 }
    }

    /// Commits the value of the current record.
    pub(crate) fn accept(&mut self) {
        self.accepted = (self.values.len(), self.hashed, self.unknown);
    }

    /// Rolls back a value that only the current record has.
    pub(crate) fn reject(&mut self) {
        let len = self.accepted.0;
        (_, self.hashed, self.unknown) = self.accepted;
        if len < self.values.len() {
            self.values.truncate(len);
            self.codes.truncate(len as u32);
        }
    }

    /// Returns the code of a cell. Fails on lists and on cells that cannot be read.
    pub(crate) fn code(&mut self, cell: CellValue<'_>) -> Result<u32, DataFault> {
        let mut spelled = std::mem::take(&mut self.spelled);
        spelled.clear();
        let code = match cell {
            CellValue::Bytes(bytes) => self.code_of(bytes),
            CellValue::Text(text) => self.code_of(text.as_bytes()),
            CellValue::Integer(value) => {
                spelled.push_str(&value.to_string());
                self.code_of(spelled.as_bytes())
            }
            CellValue::Unsigned(value) => {
                spelled.push_str(&value.to_string());
                self.code_of(spelled.as_bytes())
            }
            CellValue::Number(value) => {
                spelled.push_str(&value.to_string());
                self.code_of(spelled.as_bytes())
            }
            CellValue::Boolean(value) => self.code_of(if value { b"true" } else { b"false" }),
            CellValue::Missing => Ok(Self::UNKNOWN),
            CellValue::Vector(_) | CellValue::Features { .. } => Err(DataFault::new("a list", "a category")),
            CellValue::Unread(fault) => Err(fault.clone()),
        };
        self.spelled = spelled;
        code
    }

    fn code_of(&mut self, bytes: &[u8]) -> Result<u32, DataFault> {
        if let Some(code) = self.codes.get(bytes) {
            return Ok(code);
        }
        let value = utf8(bytes)?;
        if self.open && self.values.len() < MANY {
            let code = self.values.len() as u32;
            self.values.push(value.to_owned());
            self.codes.insert(bytes, code);
            return Ok(code);
        }
        self.hashed |= self.open;
        if self.hashed {
            return Ok(self.hashed_code(value));
        }
        self.unknown += 1;
        Ok(Self::UNKNOWN)
    }

    fn hashed_code(&self, value: &str) -> u32 {
        Self::HASHED + self.hash.bytes(value.as_bytes()).bits(self.bits)
    }

    /// Returns the final values, sorted, and the final code of each provisional one. Values not in `kept` become
    /// unknown; hashed columns have no values.
    pub(crate) fn finish(&self, kept: &[bool]) -> (Vec<String>, Vec<u32>) {
        if self.hashed {
            return (vec![], self.values.iter().map(|value| self.hashed_code(value)).collect());
        }
        let mut order: Vec<usize> = (0..self.values.len()).filter(|code| kept[*code]).collect();
        order.sort_by(|a, b| self.values[*a].cmp(&self.values[*b]));
        let mut codes = vec![Self::UNKNOWN; self.values.len()];
        for (rank, code) in order.iter().enumerate() {
            codes[*code] = rank as u32;
        }
        (order.iter().map(|code| self.values[*code].clone()).collect(), codes)
    }
}
