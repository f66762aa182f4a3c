//! Plain numbers, many at once: up to eight digits, perhaps a sign and a point, no exponent, as most are written.
//!
//! Each takes eight bytes, a register of eight bytes is a lane of a wider one, and no lane waits for another. What is
//! not plain is said to be so, and is read by `number`, which gives the same bits for what is.

use querist_engine::simd::dispatch;

use crate::number::{self, ABOVE, HIGH, ZEROS};

/// The first sixteen powers of ten: more than eight digits can have places behind their point, and no place needs a check.
const POWERS: [f64; 16] = match number::POWERS.first_chunk() {
    Some(powers) => *powers,
    None => [1.0; 16],
};

/// How many are read at once. Fewer would be read while they are still on their way to memory.
pub(crate) const LANES: usize = 128;

/// Lanes that the widest registers take together.
const TOGETHER: usize = 8;

/// Eight times `.`.
const POINTS: u64 = 0x2e2e_2e2e_2e2e_2e2e;
/// Eight times 1.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Stands for digits that are none.
const ODD: u32 = u32::MAX;

/// Numbers that are read at once.
pub(crate) struct Plain {
    /// Bytes from the first digit on, and from the second.
    first: [u64; LANES],
    second: [u64; LANES],
    /// How many bytes there are without the sign.
    len: [u64; LANES],
    minus: [u64; LANES],
    values: [f32; LANES],
}

impl Default for Plain {
    fn default() -> Self {
        let words = [0; LANES];
        Self { first: words, second: words, len: words, minus: words, values: [0.0; LANES] }
    }
}

impl Plain {
    /// The number in this lane is what stands here.
    #[inline]
    pub(crate) fn put(&mut self, lane: usize, text: &[u8], start: usize, end: usize) {
        let Some(window) = text.get(start..).and_then(<[u8]>::first_chunk::<10>) else {
            // So near to the end of the text.
            self.len[lane] = 0;
            return;
        };
        let minus = usize::from(window[0] == b'-');
        self.first[lane] = word(window, minus);
        self.second[lane] = word(window, minus + 1);
        self.len[lane] = (end - start).wrapping_sub(minus) as u64;
        self.minus[lane] = minus as u64;
    }

    /// The numbers in the first so many lanes; NaN for those that are not plain.
    pub(crate) fn read(&mut self, count: usize) -> &[f32] {
        let lanes = count.next_multiple_of(TOGETHER).min(LANES);
        let (first, second) = (&self.first[..lanes], &self.second[..lanes]);
        let (len, minus) = (&self.len[..lanes], &self.minus[..lanes]);
        let values = &mut self.values[..lanes];
        dispatch(
            #[inline(always)]
            move || {
                for lane in 0..lanes {
                    // The high bit of the byte of the first point; one less has all bits below it, or all there are.
                    let other = first[lane] ^ POINTS;
                    let points = other.wrapping_sub(ONES) & !other & HIGH;
                    let below = (points & points.wrapping_neg()).wrapping_sub(1);
                    let before = (below.cast_signed() >> 7).cast_unsigned();
                    // A point behind the number is none of its own.
                    let last = 0x80_u64 << (8 * len[lane].wrapping_sub(1).min(7));
                    let has_point = u64::from(below < last);
                    let n_digits = len[lane].wrapping_sub(has_point);
                    let digits = spell(first[lane] & before | second[lane] & !before, n_digits);
                    let places = n_digits.wrapping_sub(u64::from(before.count_ones() / 8)) & has_point.wrapping_neg();
                    let size = f64::from(digits.cast_signed()) / POWERS[places as usize % POWERS.len()];
                    let value = f64::from_bits(size.to_bits() | minus[lane] << 63) as f32;
                    values[lane] = if digits == ODD { f32::NAN } else { value };
                }
            },
        );
        &self.values[..count]
    }
}

/// Eight bytes of a window.
#[inline]
fn word(window: &[u8; 10], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&window[at..at + 8]);
    u64::from_le_bytes(eight)
}

/// The number that the first so many bytes spell, where these are one to eight digits: by pairs, then all at once.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is part of dispatched loops")]
fn spell(word: u64, n_digits: u64) -> u32 {
    let aligned = (word ^ ZEROS) << (n_digits.wrapping_neg().wrapping_mul(8) & 63);
    let odd = (aligned.wrapping_add(ABOVE) | aligned) & HIGH;
    let pairs = aligned.wrapping_mul(10).wrapping_add(aligned >> 8);
    let pair = |place: u32| pairs >> (16 * place) & 0xff;
    let value = pair(0) * 1_000_000 + pair(1) * 10_000 + pair(2) * 100 + pair(3);
    if odd == 0 && n_digits.wrapping_sub(1) < 8 { value as u32 } else { ODD }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads numbers that stand between commas, with and without room behind the last.
    fn read(cells: &[String], room: bool) -> Vec<f32> {
        let mut text = cells.join(",");
        if room {
            text.push_str("\n0.25,0.25,0.25");
        }
        let mut plain = Plain::default();
        let mut start = 0;
        for (lane, cell) in cells.iter().enumerate() {
            plain.put(lane, text.as_bytes(), start, start + cell.len());
            start += cell.len() + 1;
        }
        plain.read(cells.len()).to_vec()
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_is_written(
            cells in prop::collection::vec("[-+]?[0-9]{0,9}[.]?[0-9]{0,9}|[0-9.eE:x\u{e9} -]{0,12}", 1..=40),
            room: bool,
        ) {
            for (cell, value) in cells.iter().zip(read(&cells, room)).filter(|(_, value)| !value.is_nan()) {
                let wanted = number::parse(cell.as_bytes()).map(|number| (number as f32).to_bits());
                prop_assert_eq!(wanted, Some(value.to_bits()), "{}", cell);
            }
        }

        #[test]
        fn plain_numbers_are_read(
            cells in prop::collection::vec(
                "-?[0-9]{1,8}|-?[0-9]{1,4}[.][0-9]{0,4}|-?[0-9][.][0-9]{0,7}|-?[.][0-9]{1,8}",
                1..=LANES,
            ),
        ) {
            for (cell, value) in cells.iter().zip(read(&cells, true)) {
                prop_assert!(!value.is_nan(), "{}", cell);
            }
        }
    }
}
