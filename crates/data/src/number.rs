//! Decimal numbers in bytes, rounded once to `f64`.
//!
//! Short decimals, whose digits and power of ten are exact in `f64`, need one multiplication or division, which IEEE
//! rounds correctly (Clinger 1990). All others go to the standard library. Features then round once more to `f32`.

use crate::error::{Fault, quoted};

/// Powers of ten that `f64` holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Whole numbers up to 2⁵³ are exact in `f64`.
const EXACT: u64 = 1 << 53;

/// The number at the front of these bytes and how many bytes it takes; infinite when it is too large.
#[inline]
pub(crate) fn prefix(bytes: &[u8]) -> Option<(f64, usize)> {
    let mut at = 0;
    let negative = match bytes.first() {
        Some(b'-') => true,
        Some(b'+') => false,
        _ => {
            at = usize::MAX;
            false
        }
    };
    at = at.wrapping_add(1);
    let start = at;
    let mut digits: u64 = 0;
    at = run(bytes, at, &mut digits);
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
        let size = if power < 0 { digits as f64 / scale } else { digits as f64 * scale };
        return Some((if negative { -size } else { size }, at));
    }
    let text = std::str::from_utf8(&bytes[..at]).ok()?;
    Some((text.parse().ok()?, at))
}

/// Adds a run of digits to a number and gives where it ends.
#[inline]
fn run(bytes: &[u8], mut at: usize, digits: &mut u64) -> usize {
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        *digits = digits.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
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
    prefix(bytes).filter(|(_, used)| *used == bytes.len()).map(|(number, _)| number)
}

/// The number that all these bytes are, or what is wrong with them.
pub(crate) fn finite(bytes: &[u8]) -> Result<f64, Fault> {
    match parse(bytes) {
        Some(number) if number.is_finite() => Ok(number),
        Some(_) => Err(beyond(&quoted(bytes), f64::MAX)),
        None => Err(not_a_number(bytes)),
    }
}

/// A feature, kept as `f32`.
#[inline]
pub(crate) fn narrow(number: f64) -> Result<f32, Fault> {
    let feature = number as f32;
    if feature.is_finite() {
        return Ok(feature);
    }
    if number.is_nan() {
        return Err(Fault::new("NaN", "a finite number such as 1.5"));
    }
    Err(beyond(&format!("{number:e}"), f64::from(f32::MAX)))
}

fn beyond(found: &str, largest: f64) -> Fault {
    Fault::new(format!("{found} is too large"), format!("a number between {:.1e} and {largest:.1e}", -largest))
}

fn not_a_number(bytes: &[u8]) -> Fault {
    let fault = Fault::new(format!("{} is not a number", quoted(bytes)), "a finite number such as 1.5");
    let mut point = bytes.trim_ascii().to_vec();
    if let [comma] = memchr::memchr_iter(b',', &point).collect::<Vec<_>>()[..] {
        point[comma] = b'.';
        if prefix(&point).is_some_and(|(_, used)| used == point.len()) {
            let point = String::from_utf8_lossy(&point).into_owned();
            return fault.hint(format!("decimals are written with a point: {point}"));
        }
    }
    fault
}

/// Words by which files say that nothing is there.
pub(crate) fn says_missing(bytes: &[u8]) -> bool {
    const WORDS: [&str; 9] = ["", "?", "-", "na", "n/a", "nan", "null", "none", "missing"];
    let bytes = bytes.trim_ascii();
    bytes.len() < 8 && WORDS.iter().any(|word| bytes.eq_ignore_ascii_case(word.as_bytes()))
}
