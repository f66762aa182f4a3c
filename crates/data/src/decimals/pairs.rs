//! Parallel parsing of indexed features, ` 3:0.5 17:1`: indices of up to seven digits, and plain values.
//!
//! The positions of spaces are already known; colons are found within the lanes.

use querist_rows::with_widest_simd;

use super::{DigitConversion, LANES, ONES, are_digits, digits, divide, ending, spell, starting, together};
use crate::number::{HIGH, ZEROS};

/// The byte `:`, eight times.
const COLONS: u64 = 0x3a3a_3a3a_3a3a_3a3a;

/// A reader of features in parallel, with buffers.
pub(crate) struct PlainPairs {
    /// The first eight bytes, the second eight, the last eight, and the length in bytes.
    first: [u64; LANES],
    second: [u64; LANES],
    last: [u64; LANES],
    len: [u64; LANES],
    divisors: [f64; LANES],
    spelled: [u32; LANES],
    index: [u32; LANES],
    values: [f32; LANES],
}

impl Default for PlainPairs {
    fn default() -> Self {
        let (words, numbers) = ([0; LANES], [0; LANES]);
        Self {
            first: words,
            second: words,
            last: words,
            len: words,
            divisors: [0.0; LANES],
            spelled: numbers,
            index: numbers,
            values: [0.0; LANES],
        }
    }
}

impl PlainPairs {
    /// Reads the features between these spaces, at most [`LANES`]; the last position may be the end of a line. Returns
    /// indices and values, with NaN for values that are not plain. Returns `None` if an index is not plain, or if the
    /// text ends too early to load eight bytes.
    pub(crate) fn read(&mut self, text: &[u8], spaces: &[u32]) -> Option<(&[u32], &[f32])> {
        let words = self.first.iter_mut().zip(&mut self.second).zip(&mut self.last).zip(&mut self.len);
        let mut count = 0;
        for ((((first, second), last), len), [space, end]) in words.zip(spaces.array_windows()) {
            let (start, end) = (*space as usize + 1, *end as usize);
            *second = starting(text, start + 8)?;
            *first = starting(text, start)?;
            *last = ending(text, end)?;
            *len = (end - start) as u64;
            count += 1;
        }
        let plain = with_widest_simd!(|simd| pairs(simd, self, count));
        plain.then_some((&self.index[..count], &self.values[..count]))
    }
}

/// Parses the features in the first `count` lanes and returns whether all indices are plain.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the body of dispatched loops")]
fn pairs<M: DigitConversion>(machine: M, pairs: &mut PlainPairs, count: usize) -> bool {
    let lanes = together(count);
    // Unused lanes must not count as irregular.
    pairs.first[count..lanes].fill(u64::from_le_bytes(*b"1:1     "));
    let (first, second) = (&mut pairs.first[..lanes], &pairs.second[..lanes]);
    let (last, len, divisors) = (&mut pairs.last[..lanes], &pairs.len[..lanes], &mut pairs.divisors[..lanes]);
    let mut irregular = false;
    for lane in 0..lanes {
        let word = first[lane];
        let others = word ^ COLONS;
        let colons = others.wrapping_sub(ONES) & !others & HIGH;
        // The number of bits up to and including the first colon: 0 without a colon, 8 if the colon comes first.
        let bits = 64 - u64::from((colons & colons.wrapping_neg()).leading_zeros());
        let number = (word ^ ZEROS) << 8 << (bits.wrapping_neg() & 63);
        irregular |= bits <= 8 || !are_digits(number);
        first[lane] = number;
        // Shift in two steps, because `bits` may be 64.
        let value = word >> 8 >> (bits.wrapping_sub(8) & 63) | second[lane] << (bits.wrapping_neg() & 63);
        (last[lane], divisors[lane]) = digits(value, last[lane], len[lane].wrapping_sub(bits / 8));
    }
    let spelled = &mut pairs.spelled[..lanes];
    spell(machine, first, &mut pairs.index[..lanes]);
    spell(machine, last, spelled);
    divide(spelled, divisors, &mut pairs.values[..lanes]);
    !irregular
}
