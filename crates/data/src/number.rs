//! Decimal numbers in bytes, rounded once to `f64`.
//!
//! Short decimals, whose digits and power of ten are exact in `f64`, need one multiplication or division, which IEEE
//! rounds correctly (Clinger 1990). All others go to the standard library. Features then round once more to `f32`.

use crate::error::{Fault, quoted};

/// Powers of ten that `f64` holds exactly.
pub(crate) const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Whole numbers up to 2⁵³ are exact in `f64`.
pub(crate) const EXACT: u64 = 1 << 53;

/// Powers of ten by which digits move to the left.
const SHIFTS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Eight times `0`: with it, digits become 0 to 9.
pub(crate) const ZEROS: u64 = 0x3030_3030_3030_3030;
/// Takes 10 to 127 over the high bit of their byte.
pub(crate) const ABOVE: u64 = 0x7676_7676_7676_7676;
/// The high bit of each byte.
pub(crate) const HIGH: u64 = 0x8080_8080_8080_8080;

/// The number at the front of these bytes and how many bytes it takes, 0 when there is none; infinite when it is too
/// large. An option of both would not fit into registers.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call for every number costs a tenth of reading it")]
pub(crate) fn prefix(bytes: &[u8]) -> (f64, usize) {
    match short(bytes) {
        (_, 0) => longer(bytes),
        found => found,
    }
}

/// The same where the number has one digit before the point, a few behind it, and no exponent, as most have; otherwise
/// it takes 0 bytes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "what most of the time of reading numbers goes to")]
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

/// The number from this place on to the next space or end of line, and where that is, if the number is as
/// `short` takes them. The space is looked for at once and not behind the digits, so that the next number waits for less.
#[inline(always)]
#[allow(clippy::inline_always, reason = "what most of the time of reading numbered features goes to")]
pub(crate) fn spaced(window: &[u8; 24], start: usize) -> Option<(f64, usize)> {
    /// Eight times the byte behind the space.
    const SPACES: u64 = 0x2121_2121_2121_2121;
    // No such number has less than three bytes.
    let behind = u64::from_le_bytes(*window.get(start + 3..)?.first_chunk()?);
    let below = behind.wrapping_sub(SPACES) & !behind & HIGH;
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

/// The same for any number.
#[inline(never)]
fn longer(bytes: &[u8]) -> (f64, usize) {
    let Some(&sign) = bytes.first() else { return (0.0, 0) };
    let start = usize::from(sign == b'-' || sign == b'+');
    let mut digits: u64 = 0;
    let mut at = start;
    while let Some(digit) = digit(bytes, at) {
        digits = digits.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    if let Some([b'.', eight @ ..]) = bytes[at..].first_chunk::<9>() {
        let (part, count) = leading(*eight);
        let short = at - start < 9 && count < 8 && start < at + count && eight[count] | 0x20 != b'e';
        let digits = digits.wrapping_mul(SHIFTS[count]).wrapping_add(part);
        if short && digits <= EXACT {
            return (signed(digits.cast_signed() as f64 / POWERS[count], sign), at + 1 + count);
        }
    }
    general(bytes, sign, start, at, digits).unwrap_or((0.0, 0))
}

/// The digit at this place.
#[inline]
pub(crate) fn digit(bytes: &[u8], at: usize) -> Option<u64> {
    let digit = bytes.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// The same for any number of digits, from behind those before the point.
fn general(bytes: &[u8], sign: u8, start: usize, mut at: usize, mut digits: u64) -> Option<(f64, usize)> {
    let mut n_digits = at - start;
    let mut power = 0_i32;
    if bytes.get(at) == Some(&b'.') {
        let point = at + 1;
        at = run(bytes, point, &mut digits);
        n_digits += at - point;
        power = -i32::try_from(at - point).unwrap_or(i32::MAX);
    }
    if n_digits == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let (exponent, end) = exponent(bytes, at + 1)?;
        power = power.saturating_add(exponent);
        at = end;
    }
    // Twenty digits and more may have wrapped around.
    if n_digits < 20 && digits <= EXACT && power.unsigned_abs() <= 22 {
        let scale = POWERS[power.unsigned_abs() as usize];
        let digits = digits.cast_signed() as f64;
        let size = if power <= 0 { digits / scale } else { digits * scale };
        return Some((signed(size, sign), at));
    }
    let text = std::str::from_utf8(&bytes[..at]).ok()?;
    Some((text.parse().ok()?, at))
}

/// Signs come as a coin flip: a branch would be guessed wrong every other time.
#[inline]
fn signed(size: f64, sign: u8) -> f64 {
    f64::from_bits(size.to_bits() | u64::from(sign == b'-') << 63)
}

/// Adds a run of digits to a number and gives where it ends.
fn run(bytes: &[u8], mut at: usize, digits: &mut u64) -> usize {
    while let Some(eight) = bytes[at..].first_chunk() {
        let (value, count) = leading(*eight);
        *digits = digits.wrapping_mul(SHIFTS[count]).wrapping_add(value);
        at += count;
        if count < 8 {
            return at;
        }
    }
    while let Some(digit) = digit(bytes, at) {
        *digits = digits.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    at
}

/// The digits at the front of eight bytes, all at once: their value and how many there are.
#[inline]
fn leading(eight: [u8; 8]) -> (u64, usize) {
    let zeros = u64::from_le_bytes(eight) ^ ZEROS;
    // A sum that carries marks only bytes behind the first that is no digit, and those do not matter.
    let odd = (zeros.wrapping_add(ABOVE) | zeros) & HIGH;
    let count = odd.trailing_zeros() / 8;
    // Digits move to the end, zeros fill the front.
    (spelled(zeros.checked_shl(64 - 8 * count).unwrap_or(0)), count as usize)
}

/// The number that eight bytes from 0 to 9 spell, the first the lowest: by pairs, then all at once.
#[inline]
pub(crate) fn spelled(digits: u64) -> u64 {
    const EVERY_FOURTH: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let odd = (pairs & EVERY_FOURTH).wrapping_mul(100 + (1_000_000 << 32));
    let even = (pairs >> 16 & EVERY_FOURTH).wrapping_mul(1 + (10_000 << 32));
    odd.wrapping_add(even) >> 32
}

/// The exponent that begins here, and where it ends.
fn exponent(bytes: &[u8], mut at: usize) -> Option<(i32, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    if matches!(bytes.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let start = at;
    let mut size = 0_i32;
    while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
        size = size.saturating_mul(10).saturating_add(i32::from(digit - b'0'));
        at += 1;
    }
    (start < at).then_some((if negative { -size } else { size }, at))
}

/// The number that all these bytes are, spaces around it aside; infinite when it is too large.
pub(crate) fn parse(bytes: &[u8]) -> Option<f64> {
    let bytes = bytes.trim_ascii();
    // As most labels are.
    if let [digit @ b'0'..=b'9'] | [b'-', digit @ b'0'..=b'9'] = bytes {
        return Some(signed(f64::from(digit - b'0'), bytes[0]));
    }
    let (number, used) = prefix(bytes);
    (0 < used && used == bytes.len()).then_some(number)
}

/// The number that all these bytes are, or what is wrong with them.
pub(crate) fn finite(bytes: &[u8]) -> Result<f64, Fault> {
    match parse(bytes) {
        Some(number) if number.is_finite() => Ok(number),
        Some(_) => Err(beyond(&quoted(bytes), f64::MAX)),
        None => Err(not_a_number(bytes)),
    }
}

/// A feature, kept as `f32`; `None` when it does not fit.
#[inline]
pub(crate) fn fits(number: f64) -> Option<f32> {
    let feature = number as f32;
    feature.is_finite().then_some(feature)
}

/// A feature, kept as `f32`, or what is wrong with it.
pub(crate) fn narrow(number: f64) -> Result<f32, Fault> {
    if let Some(feature) = fits(number) {
        return Ok(feature);
    }
    if number.is_nan() {
        return Err(Fault::new("NaN", "a finite number such as 1.5"));
    }
    Err(beyond(&format!("{number:e}"), f64::from(f32::MAX)))
}

/// The feature that all these bytes are, or what is wrong with them.
pub(crate) fn feature(bytes: &[u8]) -> Result<f32, Fault> {
    match parse(bytes) {
        Some(number) => fits(number).ok_or_else(|| beyond(&quoted(bytes), f64::from(f32::MAX))),
        None => Err(not_a_number(bytes)),
    }
}

fn beyond(found: &str, largest: f64) -> Fault {
    Fault::new(format!("{found} is too large"), format!("a number between {:.1e} and {largest:.1e}", -largest))
}

fn not_a_number(bytes: &[u8]) -> Fault {
    let fault = Fault::new(format!("{} is not a number", quoted(bytes)), "a finite number such as 1.5");
    match with_point(bytes) {
        Some(point) => fault.hint(format!("decimals are written with a point: {point}")),
        None => fault,
    }
}

/// A number with a decimal comma, written with a point.
pub(crate) fn with_point(bytes: &[u8]) -> Option<String> {
    let comma = memchr::memchr(b',', bytes)?;
    let mut point = bytes.to_vec();
    point[comma] = b'.';
    parse(&point)?;
    Some(String::from_utf8_lossy(point.trim_ascii()).into_owned())
}

/// Words by which files say that nothing is there.
pub(crate) fn says_missing(bytes: &[u8]) -> bool {
    const WORDS: [&str; 9] = ["", "?", "-", "na", "n/a", "nan", "null", "none", "missing"];
    let bytes = bytes.trim_ascii();
    // None of them has a digit at its end.
    bytes.len() < 8
        && !bytes.last().is_some_and(u8::is_ascii_digit)
        && WORDS.iter().any(|word| bytes.eq_ignore_ascii_case(word.as_bytes()))
}
