//! What the formats of numbered features share: a label, features, and lines read one by one.

use std::ops::Range;

use crate::error::{DataError, Fault, Place};
use crate::lines::Lines;
use crate::number;
use crate::source::{BadRows, Cell, Column, Kind, Sink};

/// The largest number of a feature: a model has a weight for each below it.
pub(crate) const LARGEST: u64 = (1 << 28) - 1;

/// Columns of these formats.
pub(crate) fn columns(names: &[(&str, Kind)]) -> Vec<Column> {
    names.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind }).collect()
}

/// The features of the record at hand.
#[derive(Default)]
pub(crate) struct Pairs {
    pub(crate) index: Vec<u32>,
    pub(crate) value: Vec<f32>,
}

impl Pairs {
    pub(crate) fn clear(&mut self) {
        self.index.clear();
        self.value.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, index: u32, value: f32) {
        self.index.push(index);
        self.value.push(value);
    }

    pub(crate) fn cell(&self) -> Cell<'_> {
        Cell::Features { index: &self.index, value: &self.value }
    }
}

/// A space, a number, a colon and a short decimal, as most features of these formats are written: the number, the decimal,
/// and where it ends. All else is `None`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the innermost loop of reading numbered features")]
pub(crate) fn plain_pair(text: &[u8], at: usize) -> Option<(u64, f64, usize)> {
    // As many bytes as it may take: one look at the end of the text for all of them.
    let window: &[u8; 24] = text.get(at..)?.first_chunk()?;
    let (mut index, mut place) = (0, 1);
    while let Some(digit) = number::digit(window, place).filter(|_| place < 10) {
        index = index * 10 + digit;
        place += 1;
    }
    if window[0] != b' ' || window[place] != b':' || place == 1 {
        return None;
    }
    let (value, end) = number::spaced(window, place + 1)?;
    Some((index, value, at + end))
}

/// Reads records of one line each. `parse` hands a line to the sink; `Ok(false)` when it holds no record.
pub(crate) fn read(
    lines: &mut Lines,
    row: &mut u64,
    limit: usize,
    sink: &mut dyn Sink,
    bad: &mut BadRows,
    mut parse: impl FnMut(&Lines, Range<usize>, &mut dyn Sink) -> Result<bool, (Option<&'static str>, Fault)>,
) -> Result<usize, DataError> {
    let mut read = 0;
    while read < limit {
        let Some(line) = lines.next()? else { break };
        *row += 1;
        match parse(lines, line, sink) {
            Ok(true) => read += 1,
            Ok(false) => *row -= 1,
            Err((column, fault)) => {
                sink.discard();
                let column = column.map(str::to_owned);
                bad.take(lines.file(), Place { line: Some(lines.line()), row: *row, column }, fault)?;
            }
        }
    }
    Ok(read)
}
