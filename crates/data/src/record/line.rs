//! Recording of whole lines of plain cells, as in CSV, without a call for every cell.
//!
//! If many adjacent columns hold numbers, the ends of all cells are found first, and the numbers are then read many at
//! a time. If there are few, reading them one after the other is faster.

use crate::byte_positions::BytePositions;
use crate::decimals::{LANES, Plain, all_plain};
use crate::number;
use crate::record::{ColumnUse, RowRecorder};
use crate::source::CellValue;

/// The minimum number of adjacent columns of numbers that are read in parallel.
const MANY: usize = 8;

/// A reader of lines with many numbers.
pub(crate) struct ManyNumbers {
    /// For each column, the number of consecutive columns of numbers that begin with it.
    numbers: Vec<usize>,
    marks: BytePositions,
    plain: Plain,
}

impl ManyNumbers {
    /// Creates a reader for columns of these uses; `None` if there are few adjacent numbers.
    pub(crate) fn of(uses: &[ColumnUse]) -> Option<Box<Self>> {
        let mut numbers = vec![0; uses.len()];
        for column in (0..uses.len()).rev() {
            let ColumnUse::Number(position) = uses[column] else { continue };
            let continues = matches!(uses.get(column + 1), Some(ColumnUse::Number(next)) if *next == position + 1);
            numbers[column] = if continues { numbers[column + 1] + 1 } else { 1 };
        }
        let many = numbers.iter().any(|numbers| MANY <= *numbers);
        many.then(|| Box::new(Self { numbers, marks: BytePositions::default(), plain: Plain::default() }))
    }
}

impl RowRecorder {
    /// Records the cells of a line; `None` if any of them is irregular.
    pub(super) fn take_line(&mut self, text: &[u8], len: usize, separator: u8) -> Option<()> {
        if let Some(mut many) = self.many_numbers.take() {
            let taken = self.take_many(&mut many, text, len, separator);
            self.many_numbers = Some(many);
            return taken;
        }
        let uses = std::mem::take(&mut self.uses);
        let taken = self.take_few(&uses, text, len, separator);
        self.uses = uses;
        (taken == Some(len)).then_some(())
    }

    /// Records one cell after the other and returns the end of the last one.
    #[inline]
    fn take_few(&mut self, uses: &[ColumnUse], text: &[u8], len: usize, separator: u8) -> Option<usize> {
        let mut at = 0;
        for (column, used) in uses.iter().enumerate() {
            if 0 < column {
                if *text.get(at)? != separator {
                    return None;
                }
                at += 1;
            }
            if let ColumnUse::Number(position) = used {
                let (value, length) = number::prefix(text.get(at..)?);
                if length == 0 {
                    return None;
                }
                self.put(*position, number::fits(value)?);
                at += length;
            } else {
                let rest = text.get(at..len)?;
                let end = memchr::memchr(separator, rest).unwrap_or(rest.len());
                self.take(*used, CellValue::Bytes(&rest[..end])).ok()?;
                at += end;
            }
        }
        Some(at)
    }

    fn take_many(&mut self, many: &mut ManyNumbers, text: &[u8], len: usize, separator: u8) -> Option<()> {
        let ManyNumbers { numbers, marks, plain } = many;
        let ends = marks.find(text, len, separator)?;
        if ends.len() != numbers.len() {
            return None;
        }
        let (mut column, mut start) = (0, 0);
        while let Some(end) = ends.get(column).map(|end| *end as usize) {
            let run = numbers[column].min(LANES);
            if run == 0 {
                self.take(self.uses[column], CellValue::Bytes(&text[start..end])).ok()?;
                (column, start) = (column + 1, end + 1);
            } else {
                start = self.take_numbers(column, plain, text, start, &ends[column..column + run])?;
                column += run;
            }
        }
        Some(())
    }

    /// Records adjacent numbers, from this column and position on, and returns the start of the next cell.
    fn take_numbers(
        &mut self,
        column: usize,
        plain: &mut Plain,
        text: &[u8],
        start: usize,
        ends: &[u32],
    ) -> Option<usize> {
        let ColumnUse::Number(position) = self.uses[column] else { return None };
        let row = &mut self.record.row[position..position + ends.len()];
        let starts = std::iter::once(start).chain(ends.iter().map(|end| *end as usize + 1));
        let spans = starts.zip(ends.iter().map(|end| *end as usize));
        row.copy_from_slice(plain.decimals(text, spans.clone())?);
        if !all_plain(row) {
            for (value, (start, end)) in row.iter_mut().zip(spans).filter(|(value, _)| value.is_nan()) {
                *value = number::fits(number::parse(&text[start..end])?)?;
            }
        }
        self.record.given += ends.len();
        ends.last().map(|end| *end as usize + 1)
    }
}
