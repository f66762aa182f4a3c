//! Seed labels, which are known at the start.

use std::collections::BTreeMap;
use std::path::Path;

use querist_data::Batch;

use crate::error::{Context, Result, bail};
use crate::feed::HoldOut;

/// Returns the rows whose ids a file lists, one per line, in its order.
pub(super) fn read(path: &Path, pool: &Batch, seed: u64, test_fraction: Option<f64>) -> Result<Vec<usize>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("--seed-labels {}", path.display()))?;
    let row_of_id: BTreeMap<String, usize> = (0..pool.rows.len()).map(|row| (pool.ids.get(row), row)).collect();
    let hold = test_fraction.map(|fraction| HoldOut::new(seed, fraction));
    let mut rows = vec![];
    for (line, id) in text.lines().enumerate().map(|(line, id)| (line + 1, id.trim())).filter(|(_, id)| !id.is_empty())
    {
        let at = || format!("--seed-labels {}, line {line}", path.display());
        let Some(row) = row_of_id.get(id).copied() else { bail!("{}: the pool has no row `{id}`", at()) };
        if pool.labels[row].is_nan() {
            bail!("{}: row `{id}` has no label", at());
        }
        if hold.is_some_and(|hold| hold.holds(row as u64 + 1)) {
            bail!("{}: row `{id}` is kept apart by --test-fraction; use --test, or leave it out", at());
        }
        if rows.contains(&row) {
            bail!("{}: row `{id}` a second time", at());
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Returns the note of seed labels in a ledger: row, label and features, one line each.
pub(super) fn to_note(rows: &[usize], pool: &Batch) -> String {
    let line = |row: &usize| {
        let mut line = format!("{row} {:x} ", pool.labels[*row].to_bits());
        for byte in pool.rows.row(*row).to_bytes() {
            line.push_str(&format!("{byte:02x}"));
        }
        line
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Parses a note of seed labels.
pub(crate) fn from_note(note: &str) -> Result<Vec<(usize, f64, Vec<u8>)>> {
    let parse = |line: &str| -> Option<(usize, f64, Vec<u8>)> {
        let mut parts = line.split(' ');
        let (row, label, features) = (parts.next()?, parts.next()?, parts.next()?);
        let pairs = features.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> =
            pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
        Some((row.parse().ok()?, f64::from_bits(u64::from_str_radix(label, 16).ok()?), bytes?))
    };
    note.lines().map(|line| parse(line).context("the ledger's note of given labels cannot be read")).collect()
}
