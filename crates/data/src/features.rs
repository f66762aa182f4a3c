//! Shared code of the formats with indexed features: pairs of index and value, and lines read one by one.

use std::ops::Range;

use crate::byte_positions::BytePositions;
use crate::decimals::pairs::PlainPairs;
use crate::decimals::{LANES, all_plain};
use crate::error::{DataError, DataFault, DataPosition};
use crate::lines::{LineReader, MARK};
use crate::number;
use crate::source::{BadRows, CellValue, Column, ColumnKind, Sink};

/// The largest index of a feature. A model has a weight for each index up to it.
pub(crate) const LARGEST: u64 = (1 << 28) - 1;

/// Creates the columns of these formats.
pub(crate) fn columns(names: &[(&str, ColumnKind)]) -> Vec<Column> {
    names.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind }).collect()
}

/// The features of the current record.
#[derive(Default)]
pub(crate) struct Pairs {
    pub(crate) index: Vec<u32>,
    pub(crate) value: Vec<f32>,
}

impl Pairs {
    pub(crate) fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps only the first `len` features.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.index.truncate(len);
        self.value.truncate(len);
    }

    #[inline]
    pub(crate) fn push(&mut self, index: u32, value: f32) {
        self.index.push(index);
        self.value.push(value);
    }

    pub(crate) fn cell(&self) -> CellValue<'_> {
        CellValue::Features { index: &self.index, value: &self.value }
    }
}

/// Reads a space, an index, a colon and a short decimal, the common form of a feature. Returns the index, the value and
/// the end of the pair, or `None` for any other form.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the innermost loop of reading numbered features")]
pub(crate) fn plain_pair(text: &[u8], at: usize) -> Option<(u64, f64, usize)> {
    // The longest plain pair fits into the window, so its bounds are checked only once.
    let window: &[u8; 24] = text.get(at..)?.first_chunk()?;
    let (mut index, mut at_byte) = (0, 1);
    while let Some(digit) = number::digit(window, at_byte).filter(|_| at_byte < 10) {
        index = index * 10 + digit;
        at_byte += 1;
    }
    if window[0] != b' ' || window[at_byte] != b':' || at_byte == 1 {
        return None;
    }
    let (value, end) = number::spaced(window, at_byte + 1)?;
    Some((index, value, at + end))
}

/// A reader of many features in a row, ` 3:0.5 17:1`.
///
/// It first finds the ends of all features. Then it reads many at a time, so that none depends on the one before it.
#[derive(Default)]
pub(crate) struct ManyPairs {
    spaces: BytePositions,
    plain: PlainPairs,
}

impl ManyPairs {
    /// The minimum length of a text in bytes; shorter texts are read faster one feature at a time.
    pub(crate) const SHORTEST: usize = 96;

    /// Appends the features in `text[from..to]`, where a space precedes each and nothing follows the last. Returns
    /// `None` if any of them is unusual; the features appended until then must be discarded.
    pub(crate) fn read(&mut self, text: &[u8], from: usize, to: usize, pairs: &mut Pairs) -> Option<()> {
        let (text, len) = (text.get(from..)?, to.checked_sub(from)?);
        if len < Self::SHORTEST || !matches!(text, [b' ', b'0'..=b'9', ..]) {
            return None;
        }
        let mut spaces = self.spaces.find(text, len, b' ')?;
        while let [_, _, ..] = spaces {
            let (index, value) = self.plain.read(text, &spaces[..spaces.len().min(LANES + 1)])?;
            pairs.index.extend_from_slice(index);
            let first = pairs.value.len();
            pairs.value.extend_from_slice(value);
            let added = &mut pairs.value[first..];
            if !all_plain(added) {
                for (value, [space, end]) in added.iter_mut().zip(spaces.array_windows()) {
                    if value.is_nan() {
                        *value = value_of(text.get(*space as usize + 1..*end as usize)?)?;
                    }
                }
            }
            spaces = &spaces[index.len()..];
        }
        Some(())
    }
}

/// Returns the value of a pair.
#[cold]
fn value_of(pair: &[u8]) -> Option<f32> {
    let value = &pair[memchr::memchr(b':', pair)? + 1..];
    let (number, used) = number::prefix(value);
    number::fits(number).filter(|_| 0 < used && used == value.len())
}

/// Reads records of one line each. `parse` passes a line to the sink and returns `Ok(false)` if it holds no record.
pub(crate) fn read(
    lines: &mut LineReader,
    row: &mut u64,
    limit: usize,
    sink: &mut dyn Sink,
    bad: &mut BadRows,
    mut parse: impl FnMut(&LineReader, Range<usize>, &mut dyn Sink) -> Result<bool, (Option<&'static str>, DataFault)>,
) -> Result<usize, DataError> {
    let mut read = 0;
    while read < limit {
        let Some(line) = lines.next()? else { break };
        *row += 1;
        let marked = lines.line() == 1 && lines.bytes(line.clone()).starts_with(MARK);
        let line = if marked { line.start + MARK.len()..line.end } else { line };
        match parse(lines, line, sink) {
            Ok(true) => read += 1,
            Ok(false) => *row -= 1,
            Err((column, fault)) => {
                sink.discard();
                let column = column.map(str::to_owned);
                bad.take(lines.file(), DataPosition { line: Some(lines.line()), row: *row, column }, fault)?;
            }
        }
    }
    Ok(read)
}
