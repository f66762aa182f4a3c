//! Numbers in and out: lists from flags and files, JSON that keeps every bit, text for people.

use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A JSON number in shortest round-trip form; infinities are the strings "inf" and "-inf", undefined is null.
pub(crate) fn json(x: f64) -> Value {
    if x == f64::INFINITY {
        "inf".into()
    } else if x == f64::NEG_INFINITY {
        "-inf".into()
    } else {
        // `from` maps NaN to null.
        Value::from(x)
    }
}

/// The same for a number that may be undefined.
pub(crate) fn json_option(x: Option<f64>) -> Value {
    x.map_or(Value::Null, json)
}

/// Up to `digits` significant digits, for people.
pub(crate) fn show(x: f64, digits: u8) -> String {
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

/// Numbers from `1,2,3`, or from `@FILE` with one a line.
pub(crate) fn read_list(flag: &str, text: &str) -> Result<Vec<f64>> {
    let Some(path) = text.strip_prefix('@') else {
        return text.split(',').map(|piece| read(piece).with_context(|| flag.to_owned())).collect();
    };
    let content = fs::read_to_string(path).with_context(|| format!("{flag}: cannot read {path}"))?;
    let mut numbers = Vec::new();
    for (i, line) in content.lines().enumerate() {
        if !line.trim().is_empty() {
            numbers.push(read(line).with_context(|| format!("{flag}: {path}, line {}", i + 1))?);
        }
    }
    if numbers.is_empty() {
        bail!("{flag}: {path} holds no number; write one a line");
    }
    Ok(numbers)
}

fn read(piece: &str) -> Result<f64> {
    // Tables are printed with a true minus; it may come back.
    let piece = &piece.trim().replace('−', "-");
    match piece.parse::<f64>() {
        Ok(x) if x.is_nan() => bail!("NaN is not a point"),
        Ok(x) => Ok(x),
        Err(_) => bail!("`{piece}` is not a number"),
    }
}

/// Refuses the first number outside [low, high].
pub(crate) fn require_within(flag: &str, numbers: &[f64], low: f64, high: f64) -> Result<()> {
    match numbers.iter().find(|x| **x < low || high < **x) {
        Some(x) if high.is_infinite() => bail!("{flag} = {x}, need {flag} >= {low}"),
        Some(x) => bail!("{flag} = {x}, need {low} <= {flag} <= {high}"),
        None => Ok(()),
    }
}
