//! Numbered features, ` 3:0.5 17:1`, many at once: numbers of up to seven digits, and plain values.
//!
//! It is known where the spaces stand; colons are found in the lanes.

use querist_engine::with_widest_simd;

use super::{LANES, Machine, ONES, are_digits, digits, divide, ending, spell, starting, together};
use crate::number::{HIGH, ZEROS};

/// Eight times `:`.
const COLONS: u64 = 0x3a3a_3a3a_3a3a_3a3a;

/// Features that are read at once.
pub(crate) struct PlainPairs {
    /// The first eight bytes, the second, the last, and how many there are.
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
    /// The features between these spaces, of which the last may be the end of a line, at most [`LANES`]: their numbers and
    /// their values, NaN for those that are not plain. `None` when a number is not, or so near to the end of the text that
    /// eight bytes cannot be taken.
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

/// Reads what stands in the lanes; says whether all numbers of features are plain.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the body of dispatched loops")]
fn pairs<M: Machine>(machine: M, pairs: &mut PlainPairs, count: usize) -> bool {
    let lanes = together(count);
    // Lanes behind the last are not to be odd.
    pairs.first[count..lanes].fill(u64::from_le_bytes(*b"1:1     "));
    let (first, second) = (&mut pairs.first[..lanes], &pairs.second[..lanes]);
    let (last, len, divisors) = (&mut pairs.last[..lanes], &pairs.len[..lanes], &mut pairs.divisors[..lanes]);
    let mut odd = false;
    for lane in 0..lanes {
        let word = first[lane];
        let others = word ^ COLONS;
        let colons = others.wrapping_sub(ONES) & !others & HIGH;
        // How many bits there are up to the first colon and with it: none without a colon, eight with a colon alone.
        let bits = 64 - u64::from((colons & colons.wrapping_neg()).leading_zeros());
        let number = (word ^ ZEROS) << 8 << (bits.wrapping_neg() & 63);
        odd |= bits <= 8 || !are_digits(number);
        first[lane] = number;
        // In two steps: bits may be 64.
        let value = word >> 8 >> (bits.wrapping_sub(8) & 63) | second[lane] << (bits.wrapping_neg() & 63);
        (last[lane], divisors[lane]) = digits(value, last[lane], len[lane].wrapping_sub(bits / 8));
    }
    let spelled = &mut pairs.spelled[..lanes];
    spell(machine, first, &mut pairs.index[..lanes]);
    spell(machine, last, spelled);
    divide(spelled, divisors, &mut pairs.values[..lanes]);
    !odd
}
