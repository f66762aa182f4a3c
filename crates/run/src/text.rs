//! Number formatting for messages.

/// Returns a number with commas: 1234567 becomes `1,234,567`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if 0 < index && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number with its noun: `1 item`, `1,200 items`.
pub fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(value), if value == 1 { "" } else { "s" })
}
