//! Parsing of decimal numbers, rounded once to `f64`.
//!
//! For short decimals, the digits and the power of ten are exact in `f64`. One division then suffices, which IEEE rounds
//! correctly (Clinger 1990). The crate `fast-float2` parses all others. Features are then rounded once more to `f32`.

use crate::error::{DataFault, quoted};

/// The powers of ten of the digits after the point.
const POWERS: [f64; 8] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

/// The bound 2⁵³ up to which all whole numbers are exact in `f64`.
pub(crate) const EXACT: u64 = 1 << 53;

/// The powers of ten that shift digits to the left.
const SHIFTS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The byte `0`, eight times; XOR with it maps digits to 0 to 9.
pub(crate) const ZEROS: u64 = 0x3030_3030_3030_3030;
/// The byte 0x76, eight times; adding it sets the high bit of bytes from 10 to 127.
pub(crate) const ABOVE: u64 = 0x7676_7676_7676_7676;
/// The high bit of each byte.
pub(crate) const HIGH: u64 = 0x8080_8080_8080_8080;

/// Returns the number at the start of these bytes and its length in bytes: 0 if there is none. The number is infinite
/// if it is too large. The result is not an `Option`, because that would not fit into registers.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call for every number costs a tenth of reading it")]
pub(crate) fn prefix(bytes: &[u8]) -> (f64, usize) {
    match short(bytes) {
        (_, 0) => longer(bytes),
        found => found,
    }
}

/// Does the same for the common form: one digit before the point, fewer than eight after it, no exponent. Otherwise
/// returns length 0.
#[inline(always)]
#[allow(clippy::inline_always, reason = "reading numbers spends most of its time here")]
fn short(bytes: &[u8]) -> (f64, usize) {
    let Some(&sign) = bytes.first() else { return (0.0, 0) };
    let start = usize::from(sign == b'-' || sign == b'+');
    if let Some([whole, b'.', eight @ ..]) = bytes[start..].first_chunk::<10>() {
        let (whole, (part, count)) = (whole.wrapping_sub(b'0'), leading(*eight));
        if whole < 10 && count < 8 && eight[count] | 0x20 != b'e' {
            let digits = u64::from(whole) * SHIFTS[count] + part;
            return (signed(digits.cast_signed() as f64 / POWERS[count], sign), start + 2 + count);
        }
    }
    (0.0, 0)
}

/// Returns the number from `start` to the next space or line end, and the position of that end. Returns `None` unless
/// the number has the form of `short`. It searches for the end directly, not after the digits, which shortens the
/// dependency chain to the next number.
#[inline(always)]
#[allow(clippy::inline_always, reason = "reading indexed features spends most of its time here")]
pub(crate) fn spaced(window: &[u8; 24], start: usize) -> Option<(f64, usize)> {
    /// The byte after the space (`!`), eight times.
    const SPACES: u64 = 0x2121_2121_2121_2121;
    // Such a number has at least three bytes.
    let following = u64::from_le_bytes(*window.get(start + 3..)?.first_chunk()?);
    let below = following.wrapping_sub(SPACES) & !following & HIGH;
    let end = start + 3 + below.trailing_zeros() as usize / 8;
    let sign = window[start];
    let first = start + usize::from(sign == b'-' || sign == b'+');
    let [whole, point, eight @ ..] = window.get(first..)?.first_chunk::<10>()?;
    let (whole, count) = (whole.wrapping_sub(b'0'), end.wrapping_sub(first + 2));
    if 9 < whole || *point != b'.' || 7 < count {
        return None;
    }
    let aligned = (u64::from_le_bytes(*eight) ^ ZEROS) << (56 - 8 * count) << 8;
    if (aligned.wrapping_add(ABOVE) | aligned) & HIGH != 0 {
        return None;
    }
    let digits = u64::from(whole) * SHIFTS[count] + spelled(aligned);
    Some((signed(digits.cast_signed() as f64 / POWERS[count], sign), end))
}

/// Does the same as `prefix` for any number.
#[inline(never)]
fn longer(bytes: &[u8]) -> (f64, usize) {
    let is_signed = matches!(bytes, [b'-' | b'+', ..]);
    match bytes.get(usize::from(is_signed)) {
        Some(b'0'..=b'9' | b'.') => fast_float2::parse_partial(bytes).unwrap_or((0.0, 0)),
        // Words such as `inf` and `nan` are no numbers here.
        _ => (0.0, 0),
    }
}

/// Returns the digit at this position.
#[inline]
pub(crate) fn digit(bytes: &[u8], at: usize) -> Option<u64> {
    let digit = bytes.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// Applies a sign without a branch. Signs are like coin flips, so that a branch would be mispredicted half of the time.
#[inline]
fn signed(size: f64, sign: u8) -> f64 {
    f64::from_bits(size.to_bits() | u64::from(sign == b'-') << 63)
}

/// Returns the value and the number of the leading digits of eight bytes, computed in parallel.
#[inline]
fn leading(eight: [u8; 8]) -> (u64, usize) {
    let zeros = u64::from_le_bytes(eight) ^ ZEROS;
    // A carry affects only bytes after the first non-digit, and those do not matter.
    let non_digits = (zeros.wrapping_add(ABOVE) | zeros) & HIGH;
    let count = non_digits.trailing_zeros() / 8;
    // Shift the digits to the end and fill the front with zeros.
    (spelled(zeros.checked_shl(64 - 8 * count).unwrap_or(0)), count as usize)
}

/// Returns the number with these eight digits from 0 to 9, the first in the lowest byte: combines pairs, then all pairs
/// at once.
#[inline]
pub(crate) fn spelled(digits: u64) -> u64 {
    const EVERY_FOURTH: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let odd = (pairs & EVERY_FOURTH).wrapping_mul(100 + (1_000_000 << 32));
    let even = (pairs >> 16 & EVERY_FOURTH).wrapping_mul(1 + (10_000 << 32));
    odd.wrapping_add(even) >> 32
}

/// Parses all these bytes as a number, ignoring whitespace around it; infinite if it is too large.
pub(crate) fn parse(bytes: &[u8]) -> Option<f64> {
    let bytes = bytes.trim_ascii();
    // The common form of labels.
    if let [digit @ b'0'..=b'9'] | [b'-', digit @ b'0'..=b'9'] = bytes {
        return Some(signed(f64::from(digit - b'0'), bytes[0]));
    }
    let (number, used) = prefix(bytes);
    (0 < used && used == bytes.len()).then_some(number)
}

/// Parses all these bytes as a finite number.
pub(crate) fn finite(bytes: &[u8]) -> Result<f64, DataFault> {
    match parse(bytes) {
        Some(number) if number.is_finite() => Ok(number),
        Some(_) => Err(beyond(&quoted(bytes), f64::MAX)),
        None => Err(not_a_number(bytes)),
    }
}

/// Converts a feature to `f32`; `None` if it does not fit.
#[inline]
pub(crate) fn fits(number: f64) -> Option<f32> {
    let feature = number as f32;
    feature.is_finite().then_some(feature)
}

/// Converts a feature to `f32`; fails if it does not fit.
pub(crate) fn narrow(number: f64) -> Result<f32, DataFault> {
    if let Some(feature) = fits(number) {
        return Ok(feature);
    }
    if number.is_nan() {
        return Err(DataFault::new("NaN", "a finite number such as 1.5"));
    }
    Err(beyond(&format!("{number:e}"), f64::from(f32::MAX)))
}

/// Parses all these bytes as a feature.
pub(crate) fn feature(bytes: &[u8]) -> Result<f32, DataFault> {
    match parse(bytes) {
        Some(number) => fits(number).ok_or_else(|| beyond(&quoted(bytes), f64::from(f32::MAX))),
        None => Err(not_a_number(bytes)),
    }
}

fn beyond(found: &str, largest: f64) -> DataFault {
    DataFault::new(format!("{found} is too large"), format!("a number between {:.1e} and {largest:.1e}", -largest))
}

fn not_a_number(bytes: &[u8]) -> DataFault {
    let fault = DataFault::new(format!("{} is not a number", quoted(bytes)), "a finite number such as 1.5");
    match with_point(bytes) {
        Some(point) => fault.hint(format!("write decimals with a point: {point}")),
        None => fault,
    }
}

/// Replaces a decimal comma by a point; `None` if the result is not a number.
pub(crate) fn with_point(bytes: &[u8]) -> Option<String> {
    let comma = memchr::memchr(b',', bytes)?;
    let mut point = bytes.to_vec();
    point[comma] = b'.';
    parse(&point)?;
    Some(String::from_utf8_lossy(point.trim_ascii()).into_owned())
}

/// Returns whether files use this word for a missing value.
pub(crate) fn is_missing_word(bytes: &[u8]) -> bool {
    const WORDS: [&str; 9] = ["", "?", "-", "na", "n/a", "nan", "null", "none", "missing"];
    let bytes = bytes.trim_ascii();
    // None of the words ends with a digit.
    bytes.len() < 8
        && !bytes.last().is_some_and(u8::is_ascii_digit)
        && WORDS.iter().any(|word| bytes.eq_ignore_ascii_case(word.as_bytes()))
}
