//! Formatting of numbers: JSON that keeps every bit, and text for people.

use serde_json::Value;

/// Returns a JSON number in shortest round-trip form. Infinities become the strings "inf" and "-inf"; NaN becomes null.
pub fn json(x: f64) -> Value {
    if x == f64::INFINITY {
        "inf".into()
    } else if x == f64::NEG_INFINITY {
        "-inf".into()
    } else {
        // `from` maps NaN to null.
        Value::from(x)
    }
}

/// Returns the JSON of a number, or null for `None`.
pub fn json_option(x: Option<f64>) -> Value {
    x.map_or(Value::Null, json)
}

/// Formats a number with up to `digits` significant digits, for people.
pub fn show(x: f64, digits: u8) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return format!("{x}").replace('-', "−").replace("NaN", "undefined");
    }
    let scientific = format!("{x:.*e}", usize::from(digits) - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = i32::from(digits);
    let text = if (-5..=digits).contains(&exponent) {
        trim(&format!("{x:.*}", (digits - 1 - exponent).max(0) as usize)).to_owned()
    } else {
        format!("{}e{exponent}", trim(mantissa))
    };
    text.replace('-', "−")
}

fn trim(decimal: &str) -> &str {
    if decimal.contains('.') { decimal.trim_end_matches('0').trim_end_matches('.') } else { decimal }
}
