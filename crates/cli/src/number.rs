//! Numbers: parsing of lists from flags and files, and formatting.

use std::fs;

use anyhow::{Context, Result, bail};

pub(crate) use querist_render::number::{json, json_option, show};

/// Parses numbers from `1,2,3`, or reads them from `@FILE` with one per line.
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
    // Tables are printed with the minus sign U+2212, which users may paste back.
    let piece = &piece.trim().replace('−', "-");
    match piece.parse::<f64>() {
        Ok(x) if x.is_nan() => bail!("NaN is not a point"),
        Ok(x) => Ok(x),
        Err(_) => bail!("`{piece}` is not a number"),
    }
}

/// Returns an error for the first number outside [low, high].
pub(crate) fn require_within(flag: &str, numbers: &[f64], low: f64, high: f64) -> Result<()> {
    match numbers.iter().find(|x| **x < low || high < **x) {
        Some(x) if high.is_infinite() => bail!("{flag} = {x}, need {flag} >= {low}"),
        Some(x) => bail!("{flag} = {x}, need {low} <= {flag} <= {high}"),
        None => Ok(()),
    }
}
