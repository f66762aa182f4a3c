//! Recording of cells as raw rows: numbers unchanged, categories and labels as codes, text as counts.

use querist_rows::Numbers;
use querist_rows::{Rows, Sparse, SparseRows};

use crate::batch::IdList;
use crate::category::Categories;
use crate::error::{DataFault, quoted};
use crate::label::LabelReader;
use crate::number;
use crate::options::Missing;
use crate::source::{CellValue, Sink};
use crate::text::Grams;

mod line;

pub(crate) use line::ManyNumbers;

/// The use of a column's cells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnUse {
    Ignore,
    Label,
    Id,
    /// A number, stored at this index of the raw row.
    Number(usize),
    /// A number from which an offset is subtracted before rounding to `f32`.
    Shifted {
        position: usize,
        offset: f64,
    },
    /// A list, stored from this index on.
    Vector {
        position: usize,
        length: usize,
    },
    /// A category, stored as its code.
    Category {
        position: usize,
        which: usize,
    },
    Text(usize),
    Features,
}

/// Raw rows. Missing numbers are NaN.
pub(crate) struct RawRows {
    /// The number of dense values in a row.
    pub(crate) width: usize,
    pub(crate) dense: Numbers,
    /// Indexed features, or counts of hashed text.
    pub(crate) sparse: Rows,
    pub(crate) labels: Vec<f64>,
    pub(crate) ids: IdList,
    pub(crate) len: usize,
}

/// A sink that stores records as raw rows.
pub(crate) struct RowRecorder {
    pub(crate) uses: Vec<ColumnUse>,
    pub(crate) names: Vec<String>,
    pub(crate) missing: Missing,
    pub(crate) label: Option<LabelReader>,
    pub(crate) categories: Vec<Categories>,
    pub(crate) texts: Vec<Grams>,
    pub(crate) table: RawRows,
    /// True while records are checked and counted, but not stored.
    pub(crate) passing: bool,
    pub(crate) has_id: bool,
    /// True if rows have indexed or hashed features.
    pub(crate) has_sparse: bool,
    /// The number of columns that must be present.
    pub(crate) needed: usize,
    pub(crate) record: PendingRecord,
    /// The reader of lines with many numbers, if lines have many.
    pub(crate) many_numbers: Option<Box<ManyNumbers>>,
}

/// The current record.
#[derive(Default)]
pub(crate) struct PendingRecord {
    open: bool,
    /// Its numbers; NaN if absent.
    row: Vec<f32>,
    given: usize,
    label: Option<f64>,
    id: String,
    grams: Vec<u32>,
    index: Vec<u32>,
    value: Vec<f32>,
}

impl RawRows {
    pub(crate) fn new(width: usize, first_id: u64) -> Self {
        let sparse = Rows::Sparse(SparseRows::new(0));
        Self { width, dense: Numbers::new(), sparse, labels: vec![], ids: IdList::new(first_id), len: 0 }
    }

    /// Returns a copy of the numbers and categories of at most `most` rows, evenly spaced.
    pub(crate) fn sample(&self, most: usize) -> Self {
        let mut sample = Self::new(self.width, 0);
        let (count, rows) = (self.len.min(most), self.dense.chunks_exact(self.width.max(1)));
        for (row, values) in rows.enumerate() {
            // Row r is the k-th of `count` if r = ⌊k·len/count⌋.
            if (row * count) % self.len < count {
                sample.dense.extend_from_slice(values);
                sample.len += 1;
            }
        }
        sample
    }
}

impl RowRecorder {
    /// Returns, for each column, whether its cells are needed.
    pub(crate) fn needed_columns(&self) -> Vec<bool> {
        self.uses.iter().map(|use_of| !matches!(use_of, ColumnUse::Ignore)).collect()
    }

    #[inline]
    fn open(&mut self) {
        if !self.record.open {
            self.record.open = true;
            self.record.row.clear();
            self.record.row.resize(self.table.width, f32::NAN);
        }
    }

    #[inline]
    fn put(&mut self, position: usize, value: f32) {
        self.record.row[position] = value;
        self.record.given += 1;
    }

    /// Returns the value of a missing number: NaN if it is to be the mean, which is not known yet. Fails if missing
    /// cells are faults.
    fn missing(&self, what: &str) -> Result<f32, DataFault> {
        match self.missing {
            Missing::Error => Err(missing(what)),
            Missing::Zero => Ok(0.0),
            Missing::Mean | Missing::Indicator => Ok(f32::NAN),
        }
    }

    #[inline]
    fn number(&self, cell: CellValue<'_>) -> Result<f32, DataFault> {
        self.shifted(cell, 0.0)
    }

    /// Returns a number minus an offset; an offset of 0 changes no bit.
    #[inline]
    fn shifted(&self, cell: CellValue<'_>, offset: f64) -> Result<f32, DataFault> {
        let bytes = match cell {
            CellValue::Missing => return self.missing_number(offset),
            CellValue::Number(value) if value.is_nan() => return self.missing_number(offset),
            CellValue::Number(value) => return number::narrow(value - offset),
            CellValue::Integer(value) => return number::narrow(value as f64 - offset),
            CellValue::Unsigned(value) => return number::narrow(value as f64 - offset),
            CellValue::Boolean(value) => return number::narrow(f64::from(u8::from(value)) - offset),
            CellValue::Bytes(bytes) => bytes,
            CellValue::Text(text) => text.as_bytes(),
            CellValue::Vector(_) | CellValue::Features { .. } => return Err(DataFault::new("a list", "a number")),
            CellValue::Unread(fault) => return Err(fault.clone()),
        };
        match number::parse(bytes) {
            Some(value) if value.is_finite() => number::fits(value - offset).map_or_else(|| number::feature(bytes), Ok),
            None if number::is_missing_word(bytes) => {
                self.missing_number(offset).map_err(|fault| match bytes.trim_ascii() {
                    b"" => fault,
                    word => DataFault { found: format!("{} for a missing number", quoted(word)), ..fault },
                })
            }
            _ => number::feature(bytes),
        }
    }

    fn missing_number(&self, offset: f64) -> Result<f32, DataFault> {
        // A missing number is 0, so subtract the offset from it as well; NaN stays NaN.
        Ok(self.missing("a number")? - offset as f32)
    }

    fn vector(&mut self, position: usize, length: usize, cell: CellValue<'_>) -> Result<(), DataFault> {
        match cell {
            CellValue::Missing => {
                self.missing("a list of numbers")?;
                self.record.row[position..position + length].fill(0.0);
            }
            CellValue::Vector(values) if values.len() == length => {
                if let Some(non_finite) = values.iter().find(|value| !value.is_finite()) {
                    return Err(DataFault::new(format!("{non_finite} in a list"), "finite numbers"));
                }
                self.record.row[position..position + length].copy_from_slice(values);
            }
            CellValue::Vector(values) => {
                return Err(DataFault::new(format!("a list of {} numbers", values.len()), format!("{length}")));
            }
            CellValue::Unread(fault) => return Err(fault.clone()),
            _ => return Err(DataFault::new("not a list", format!("a list of {length} numbers"))),
        }
        self.record.given += 1;
        Ok(())
    }

    fn category(&mut self, position: usize, which: usize, cell: CellValue<'_>) -> Result<(), DataFault> {
        let code = match cell {
            CellValue::Missing | CellValue::Bytes(b"") | CellValue::Text("") => {
                self.missing("a category")?;
                Categories::UNKNOWN
            }
            _ => self.categories[which].code(cell)?,
        };
        self.put(position, f32::from_bits(code));
        Ok(())
    }

    fn text(&mut self, which: usize, cell: CellValue<'_>) -> Result<(), DataFault> {
        let spelled;
        let text = match cell {
            // A missing text is empty, as it would be in CSV.
            CellValue::Missing => "",
            CellValue::Text(text) => text,
            CellValue::Bytes(bytes) => utf8(bytes)?,
            CellValue::Number(value) => {
                spelled = value.to_string();
                &spelled
            }
            CellValue::Integer(value) => {
                spelled = value.to_string();
                &spelled
            }
            CellValue::Unsigned(value) => {
                spelled = value.to_string();
                &spelled
            }
            CellValue::Boolean(value) => {
                if value {
                    "true"
                } else {
                    "false"
                }
            }
            CellValue::Vector(_) | CellValue::Features { .. } => return Err(DataFault::new("a list", "a text")),
            CellValue::Unread(fault) => return Err(fault.clone()),
        };
        if !self.passing {
            self.texts[which].count(text, &mut self.record.grams);
        }
        self.record.given += 1;
        Ok(())
    }

    fn id(&mut self, cell: CellValue<'_>) -> Result<(), DataFault> {
        let id = &mut self.record.id;
        id.clear();
        match cell {
            CellValue::Bytes(bytes) => id.push_str(utf8(bytes)?),
            CellValue::Text(text) => id.push_str(text),
            CellValue::Integer(value) => id.push_str(&value.to_string()),
            CellValue::Unsigned(value) => id.push_str(&value.to_string()),
            CellValue::Number(value) if number::EXACT as f64 <= value.abs() => return Err(rounded(value)),
            CellValue::Number(value) => id.push_str(&value.to_string()),
            CellValue::Missing => {}
            CellValue::Unread(fault) => return Err(fault.clone()),
            _ => return Err(DataFault::new("not an id", "a text or a number")),
        }
        if id.is_empty() {
            return Err(DataFault::new("no id", "a text or a number"));
        }
        self.record.given += 1;
        Ok(())
    }

    fn features(&mut self, cell: CellValue<'_>) -> Result<(), DataFault> {
        let CellValue::Features { index, value } = cell else {
            return Err(DataFault::new("no features", "numbered features"));
        };
        self.record.index.extend_from_slice(index);
        self.record.value.extend_from_slice(value);
        self.record.given += 1;
        Ok(())
    }

    fn take(&mut self, used: ColumnUse, cell: CellValue<'_>) -> Result<(), DataFault> {
        match used {
            ColumnUse::Ignore => Ok(()),
            ColumnUse::Number(position) => {
                let value = self.number(cell)?;
                self.put(position, value);
                Ok(())
            }
            ColumnUse::Shifted { position, offset } => {
                let value = self.shifted(cell, offset)?;
                self.put(position, value);
                Ok(())
            }
            ColumnUse::Label => {
                if let Some(label) = &mut self.label {
                    self.record.label = Some(label.read(cell)?);
                }
                Ok(())
            }
            ColumnUse::Id => self.id(cell),
            ColumnUse::Vector { position, length } => self.vector(position, length, cell),
            ColumnUse::Category { position, which } => self.category(position, which, cell),
            ColumnUse::Text(which) => self.text(which, cell),
            ColumnUse::Features => self.features(cell),
        }
    }

    /// Fills in the columns that are absent from the record.
    #[cold]
    fn fill(&mut self) -> Result<(), DataFault> {
        if self.has_id && self.record.id.is_empty() {
            return Err(DataFault::new("no id", "a text or a number"));
        }
        for column in 0..self.uses.len() {
            let given = match self.uses[column] {
                ColumnUse::Number(position)
                | ColumnUse::Shifted { position, .. }
                | ColumnUse::Category { position, .. }
                | ColumnUse::Vector { position, .. } => !self.record.row[position].is_nan(),
                _ => true,
            };
            if !given {
                let name = self.names[column].clone();
                self.cell(column, CellValue::Missing)
                    .map_err(|fault| DataFault { found: format!("no `{name}`"), ..fault })?;
            }
        }
        // Texts are not stored in the row, so only the count shows that one is absent.
        if self.missing == Missing::Error && self.record.given < self.needed {
            return Err(missing("a text"));
        }
        Ok(())
    }

    /// Converts hashed text to counts, sorted by feature.
    fn count_grams(&mut self) {
        let PendingRecord { grams, index, value, .. } = &mut self.record;
        grams.sort_unstable();
        for same in grams.chunk_by(|a, b| a == b) {
            index.push(same[0]);
            value.push(same.len() as f32);
        }
        grams.clear();
    }

    fn close(&mut self) {
        self.record.open = false;
        self.record.given = 0;
        self.record.label = None;
        self.record.id.clear();
        self.record.grams.clear();
        self.record.index.clear();
        self.record.value.clear();
    }
}

impl Sink for RowRecorder {
    fn cell(&mut self, column: usize, cell: CellValue<'_>) -> Result<(), DataFault> {
        self.open();
        self.take(self.uses.get(column).copied().unwrap_or(ColumnUse::Ignore), cell)
    }

    fn line(&mut self, text: &[u8], len: usize, separator: u8) -> bool {
        self.open();
        let taken = self.take_line(text, len, separator).is_some();
        if !taken {
            self.discard();
        }
        taken
    }

    fn end(&mut self) -> Result<(), DataFault> {
        self.open();
        if self.record.given < self.needed {
            self.fill()?;
        }
        let label = match (&mut self.label, self.record.label) {
            (Some(reader), None) => reader.read(CellValue::Missing)?,
            (_, label) => label.unwrap_or(f64::NAN),
        };
        self.label.iter_mut().for_each(LabelReader::accept);
        self.categories.iter_mut().for_each(Categories::accept);
        if self.passing {
            self.close();
            return Ok(());
        }
        self.table.dense.extend_from_slice(&self.record.row);
        if !self.record.grams.is_empty() {
            self.count_grams();
        }
        if let (Rows::Sparse(rows), true) = (&mut self.table.sparse, self.has_sparse) {
            let index = &self.record.index;
            rows.widen(index.last().map_or(0, |last| *last as usize + 1));
            rows.push(Sparse { index, value: &self.record.value });
        }
        self.table.labels.push(label);
        match self.record.id.as_str() {
            "" => self.table.ids.push_number(),
            id => self.table.ids.push(id),
        }
        self.table.len += 1;
        self.close();
        Ok(())
    }

    fn discard(&mut self) {
        self.label.iter_mut().for_each(LabelReader::reject);
        self.categories.iter_mut().for_each(Categories::reject);
        self.close();
    }
}

/// Returns the fault of a missing cell, with a hint.
fn missing(what: &str) -> DataFault {
    let hint = "use --missing mean, indicator or zero to fill it in, or --skip-bad-rows to skip the row";
    DataFault::new("a missing value", what).hint(hint)
}

/// Returns the fault of an id that was rounded: another id may be spelled the same.
#[cold]
fn rounded(value: f64) -> DataFault {
    let fault = DataFault::new(format!("the id {value} is not exact"), "whole numbers below 2^64, or texts");
    fault.hint("write ids as texts, or as whole numbers of 64 bits")
}

/// Returns the bytes as text. Fails if they are not UTF-8 or contain a NUL byte.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, DataFault> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let found = format!("byte {:#04x} at position {} of {}", bytes[at], at + 1, quoted(bytes));
        DataFault::new(found, "UTF-8").hint("convert it: iconv -f LATIN1 -t UTF-8 old > new")
    })?;
    match memchr::memchr(0, bytes) {
        None => Ok(text),
        Some(at) => Err(DataFault::new(format!("a NUL byte at position {} of {}", at + 1, quoted(bytes)), "text")),
    }
}
