//! Parallel parsing of plain numbers: up to eight digits, optionally a minus and a point, no exponent, as most are
//! written.
//!
//! Each number is loaded into one 64-bit lane of a SIMD register, and lanes are independent of each other. Numbers are
//! aligned at their ends: the last digit, whose place value is known, has the same position in all lanes. Numbers that
//! are not plain are marked and then read by `number`, which returns the same bits for plain ones.

pub(crate) mod pairs;

use querist_rows::simd::Scalar;
use querist_rows::with_widest_simd;

use crate::number::{self, ABOVE, HIGH, ZEROS};

/// The number of lanes that are read at once. With fewer, vector loads would hit stores that are still in flight.
pub(crate) const LANES: usize = 128;

/// The number of lanes in the widest registers.
const TOGETHER: usize = 8;

/// The byte `.` XOR `0`, eight times.
const POINTS: u64 = 0x1e1e_1e1e_1e1e_1e1e;
/// The byte 1, eight times.
const ONES: u64 = 0x0101_0101_0101_0101;

/// A reader of numbers in parallel, with buffers.
pub(crate) struct Plain {
    /// The first eight bytes, the last eight, and the length in bytes.
    first: [u64; LANES],
    last: [u64; LANES],
    len: [u64; LANES],
    /// The divisor of each number's digits; NaN if the number is not plain.
    divisors: [f64; LANES],
    spelled: [u32; LANES],
    values: [f32; LANES],
}

impl Default for Plain {
    fn default() -> Self {
        let words = [0; LANES];
        Self {
            first: words,
            last: words,
            len: words,
            divisors: [0.0; LANES],
            spelled: [0; LANES],
            values: [0.0; LANES],
        }
    }
}

impl Plain {
    /// Reads the numbers in these spans, at most [`LANES`]; NaN for those that are not plain. Returns `None` if a span
    /// is so close to the end of the text that eight bytes cannot be loaded.
    pub(crate) fn decimals(&mut self, text: &[u8], spans: impl Iterator<Item = (usize, usize)>) -> Option<&[f32]> {
        let words = self.first.iter_mut().zip(&mut self.last).zip(&mut self.len);
        let mut count = 0;
        for (((first, last), len), (start, end)) in words.zip(spans) {
            *first = starting(text, start)?;
            *last = ending(text, end)?;
            *len = end.wrapping_sub(start) as u64;
            count += 1;
        }
        with_widest_simd!(|simd| decimals(simd, self, count));
        Some(&self.values[..count])
    }
}

/// Returns whether no value is NaN. Checks all of them without an early exit, so that the loop is vectorized; NaN is
/// rare.
pub(crate) fn all_plain(values: &[f32]) -> bool {
    let mut plain = true;
    for value in values {
        plain &= !value.is_nan();
    }
    plain
}

/// Returns the eight bytes from `start`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "locating numbers spends most of its time here")]
fn starting(text: &[u8], start: usize) -> Option<u64> {
    text.get(start..start.wrapping_add(8))?.first_chunk().map(|eight| u64::from_le_bytes(*eight))
}

/// Returns the eight bytes before `end`, with zeros before the start of the text.
#[inline(always)]
#[allow(clippy::inline_always, reason = "locating numbers spends most of its time here")]
fn ending(text: &[u8], end: usize) -> Option<u64> {
    match end.checked_sub(8) {
        Some(start) => text.get(start..end)?.first_chunk().map(|eight| u64::from_le_bytes(*eight)),
        None => beginning(text, end),
    }
}

/// Does the same for a position among the first eight bytes of a text.
#[cold]
fn beginning(text: &[u8], end: usize) -> Option<u64> {
    starting(text, 0).map(|eight| eight.checked_shl(64 - 8 * end as u32).unwrap_or(0))
}

/// Parses the numbers in the first `count` lanes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the body of dispatched loops")]
fn decimals<M: DigitConversion>(machine: M, plain: &mut Plain, count: usize) {
    let lanes = together(count);
    let (first, len) = (&plain.first[..lanes], &plain.len[..lanes]);
    let (last, divisors) = (&mut plain.last[..lanes], &mut plain.divisors[..lanes]);
    for lane in 0..lanes {
        (last[lane], divisors[lane]) = digits(first[lane], last[lane], len[lane]);
    }
    let spelled = &mut plain.spelled[..lanes];
    spell(machine, last, spelled);
    divide(spelled, divisors, &mut plain.values[..lanes]);
}

/// Rounds the number of lanes up to whole registers.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is part of dispatched loops")]
fn together(count: usize) -> usize {
    count.next_multiple_of(TOGETHER).min(LANES)
}

/// Divides the digits of numbers by their powers of ten.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is part of dispatched loops")]
fn divide(spelled: &[u32], divisors: &[f64], values: &mut [f32]) {
    for ((value, spelled), divisor) in values.iter_mut().zip(spelled).zip(divisors) {
        *value = (f64::from(spelled.cast_signed()) / divisor) as f32;
    }
}

/// Returns the digits of a number of `len` bytes and their divisor: NaN if the number is not plain. `first` and `last`
/// are its first and last eight bytes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the body of dispatched loops")]
fn digits(first: u64, last: u64, len: u64) -> (u64, f64) {
    let minus = first & 0xff == u64::from(b'-');
    let (first, len) = if minus { (first >> 8, len.wrapping_sub(1)) } else { (first, len) };
    let kept = (last ^ ZEROS) & ends(len);
    // Set the high bit of the byte of the first point; the bytes above it may hold anything.
    let others = kept ^ POINTS;
    let points = others.wrapping_sub(ONES) & !others & HIGH;
    let has_point = points != 0;
    let through_point = if has_point { points ^ points.wrapping_sub(1) } else { 0 };
    let point = points & through_point;
    // Shift the digits before the point by one byte, over the point. If there are nine bytes, the ninth from the end
    // moves in.
    let ninth = if len == 9 { first & 0xff ^ 0x30 } else { 0 };
    let digits = (kept << 8 | ninth) & through_point | kept & !through_point;
    // `0.` followed by eight decimal places has eight digits.
    let small = !has_point && len == 10 && first & 0xffff == u64::from(u16::from_le_bytes(*b"0."));
    let n_digits = if small { 8 } else { len.wrapping_sub(u64::from(has_point)) };
    // Each bit of the number of decimal places is set for half of the possible positions of the point.
    let one = if point & 0x0080_0080_0080_0080 == 0 { 1e0 } else { 1e1 };
    let two = if point & 0x0000_8080_0000_8080 == 0 { 1e0 } else { 1e2 };
    let four = if point & 0x0000_0000_8080_8080 == 0 { 1e0 } else { 1e4 };
    let eight = if small { 1e8 } else { 1e0 };
    let size = one * two * four * eight;
    let plain = are_digits(digits) && n_digits.wrapping_sub(1) < 8;
    (digits, if plain { if minus { -size } else { size } } else { f64::NAN })
}

/// Returns a mask of the last `len` of eight bytes, or of all of them.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is part of dispatched loops")]
fn ends(len: u64) -> u64 {
    u64::MAX << ((64 - 8 * len.min(8)) & 63)
}

/// Returns whether all eight bytes are 0 to 9.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is part of dispatched loops")]
fn are_digits(bytes: u64) -> bool {
    (bytes.wrapping_add(ABOVE) | bytes) & HIGH == 0
}

/// Converts digits to numbers.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is part of dispatched loops")]
fn spell<M: DigitConversion>(machine: M, digits: &[u64], spelled: &mut [u32]) {
    for (digits, spelled) in digits.as_chunks().0.iter().zip(spelled.as_chunks_mut().0) {
        *spelled = machine.spell(digits);
    }
}

/// An instruction set for converting digits.
trait DigitConversion: Copy {
    /// Returns the number with these eight digits from 0 to 9 in each lane, the first in the lowest byte.
    fn spell(self, digits: &[u64; TOGETHER]) -> [u32; TOGETHER];
}

impl DigitConversion for Scalar {
    #[inline]
    fn spell(self, digits: &[u64; TOGETHER]) -> [u32; TOGETHER] {
        digits.map(|digits| number::spelled(digits) as u32)
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::inline_always, reason = "these are parts of dispatched loops")]
mod wide {
    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{DigitConversion, TOGETHER};

    /// The place values of the first and the second digit, pair and group of four.
    const DIGITS: u16 = u16::from_le_bytes([10, 1]);
    const PAIRS: u32 = 100 + (1 << 16);
    const FOURS: u64 = 10_000;

    impl DigitConversion for V4 {
        #[inline(always)]
        fn spell(self, digits: &[u64; TOGETHER]) -> [u32; TOGETHER] {
            let pairs = self.avx512bw._mm512_maddubs_epi16(cast(*digits), cast([DIGITS; 32]));
            let fours = self.avx512bw._mm512_madd_epi16(pairs, cast([PAIRS; 16]));
            let (first, second) =
                (self.avx512f._mm512_mul_epu32(fours, cast([FOURS; 8])), self.avx512f._mm512_srli_epi64::<32>(fours));
            cast(self.avx512f._mm512_cvtepi64_epi32(self.avx512f._mm512_add_epi64(first, second)))
        }
    }

    impl DigitConversion for V3 {
        #[inline(always)]
        fn spell(self, digits: &[u64; TOGETHER]) -> [u32; TOGETHER] {
            let mut spelled = [0; TOGETHER];
            for (half, spelled) in digits.as_chunks::<4>().0.iter().zip(spelled.as_chunks_mut::<4>().0) {
                let pairs = self.avx2._mm256_maddubs_epi16(cast(*half), cast([DIGITS; 16]));
                let fours = self.avx2._mm256_madd_epi16(pairs, cast([PAIRS; 8]));
                let (first, second) =
                    (self.avx2._mm256_mul_epu32(fours, cast([FOURS; 4])), self.avx2._mm256_srli_epi64::<32>(fours));
                let all: [u64; 4] = cast(self.avx2._mm256_add_epi64(first, second));
                for (spelled, all) in spelled.iter_mut().zip(all) {
                    *spelled = all as u32;
                }
            }
            spelled
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads numbers separated by commas, with or without further text after the last.
    fn read(cells: &[String], room: bool) -> Vec<f32> {
        let mut text = cells.join(",");
        if room {
            text.push_str("\n0.25,0.25,0.25");
        }
        let mut plain = Plain::default();
        let values = plain.decimals(text.as_bytes(), spans(cells, 1));
        values.map_or_else(|| vec![f32::NAN; cells.len()], <[f32]>::to_vec)
    }

    /// Returns the spans of cells that are `apart` bytes apart.
    fn spans(cells: &[String], apart: usize) -> impl Iterator<Item = (usize, usize)> {
        cells.iter().scan(0, move |next, cell| {
            let start = *next;
            *next += cell.len() + apart;
            Some((start, start + cell.len()))
        })
    }

    proptest! {
        #[test]
        fn plain_values_equal_those_of_the_general_parser(
            cells in prop::collection::vec("[-+]?[0-9]{0,9}[.]?[0-9]{0,9}|-?0[.][0-9.]{6,10}|[0-9.eE:x\u{e9} -]{0,12}", 1..=40),
            room: bool,
        ) {
            for (cell, value) in cells.iter().zip(read(&cells, room)).filter(|(_, value)| !value.is_nan()) {
                let wanted = number::parse(cell.as_bytes()).map(|number| (number as f32).to_bits());
                prop_assert_eq!(wanted, Some(value.to_bits()), "{}", cell);
            }
        }

        #[test]
        fn every_instruction_set_converts_the_same_digits(numbers in prop::array::uniform8(0_u32..100_000_000)) {
            let digits = numbers.map(|number| u64::from_le_bytes(format!("{number:08}").into_bytes().try_into().expect("eight")) ^ ZEROS);
            prop_assert_eq!(Scalar.spell(&digits), numbers);
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                prop_assert_eq!(simd.spell(&digits), numbers);
            }
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V4::try_new() {
                prop_assert_eq!(simd.spell(&digits), numbers);
            }
        }

        #[test]
        fn plain_numbers_are_read(
            cells in prop::collection::vec(
                "-?[0-9]{1,8}|-?[0-9]{1,4}[.][0-9]{0,4}|-?[0-9][.][0-9]{0,7}|-?0[.][0-9]{8}|-?[.][0-9]{1,7}",
                1..=LANES,
            ),
        ) {
            for (cell, value) in cells.iter().zip(read(&cells, true)) {
                prop_assert!(!value.is_nan(), "{}", cell);
            }
        }
    }
}
