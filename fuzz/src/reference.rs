//! Slow reference readers for comparison with the fast ones, with which they share no code.

/// Parses all these bytes as a number; infinite if it is too large.
pub fn number(bytes: &[u8]) -> Option<f64> {
    // The standard library also reads words such as `inf` and `nan`.
    let decimal = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let text = std::str::from_utf8(bytes).ok()?;
    if bytes.iter().all(decimal) { text.parse().ok() } else { None }
}

/// Returns the bits of a feature; `None` if it is not a finite 32-bit number.
pub fn feature(bytes: &[u8]) -> Option<u32> {
    let value = number(bytes)? as f32;
    value.is_finite().then(|| value.to_bits())
}

/// Returns the lines without their terminators; a carriage return before a line feed belongs to the terminator.
pub fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}
