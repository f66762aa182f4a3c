//! Shared helpers of tests: files, options parsed from words, rows as text.

#![allow(dead_code)]

use std::fmt::Write;
use std::path::Path;

use querist_data::{Batch, Encoder, Format, Input, Loaded, Missing, ReadOptions, RequiredLabels, load};
use querist_rows::Row;

/// Creates a folder with one file in it.
pub(crate) fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, Input) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, Input::File(path))
}

/// Returns options that leave numbers unchanged, so that verdicts are readable.
pub(crate) fn plain() -> ReadOptions {
    ReadOptions { standardize: false, hash_bits: 6, ..ReadOptions::default() }
}

/// Parses options such as `label=y skip classes=a,b`.
pub(crate) fn options(words: &str) -> ReadOptions {
    let mut options = plain();
    let list = |value: &str| value.split(',').map(str::to_owned).collect::<Vec<_>>();
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "format" => options.format = Some(Format::named(value).unwrap()),
            "label" => options.label = Some(value.to_owned()),
            "id" => options.id = Some(value.to_owned()),
            "text" => options.text = list(value),
            "numbers" => options.numbers = list(value),
            "categories" => options.categories = list(value),
            "vectors" => options.vectors = list(value),
            "ignore" => options.ignore = list(value),
            "classes" => options.classes = Some(list(value)),
            "positive" => options.positive = Some(value.to_owned()),
            "binary" => options.required_labels = RequiredLabels::Binary,
            "multiclass" => options.required_labels = RequiredLabels::Classes,
            "number" => options.required_labels = RequiredLabels::Number,
            "zero" => options.missing = Missing::Zero,
            "mean" => options.missing = Missing::Mean,
            "indicator" => options.missing = Missing::Indicator,
            "standardize" => options.standardize = true,
            "no-header" => options.table.no_header = true,
            "sheet" => options.table.sheet = Some(value.to_owned()),
            "skip" => options.skip_bad_rows = true,
            "unlabeled" => options.unlabeled = true,
            other => panic!("no such option: {other}"),
        }
    }
    options
}

/// Returns the rows read from a file, or the error message without the path of the folder.
pub(crate) fn verdict(folder: &Path, name: &str, words: &str) -> String {
    let read = load(&Input::File(folder.join(name)), &options(words));
    let text = match read {
        Ok(loaded) => shown(&loaded),
        Err(error) => error.to_string(),
    };
    text.replace(&format!("{}/", folder.display()), "")
}

fn shown(loaded: &Loaded) -> String {
    let Loaded { encoder, batch, bad } = loaded;
    let mut text = encoder.describe();
    encoder.remarks().iter().for_each(|remark| text.push_str(&format!("\nremark: {remark}")));
    for index in 0..batch.rows.len() {
        let _ = write!(text, "\n{}", row(encoder, batch, index));
    }
    if 0 < bad.skipped {
        let _ = write!(text, "\nleft out {}: {}", bad.skipped, bad.examples[0]);
    }
    text
}

/// Rounds a value. Weights of words contain logarithms, whose last digits differ between platforms.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1e4).round() / 1e4
}

fn row(encoder: &Encoder, batch: &Batch, index: usize) -> String {
    let label = encoder.decode(batch.labels[index]);
    let features = match batch.rows.row(index) {
        Row::Dense(values) => values.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>(),
        Row::Sparse(row) => {
            row.index.iter().zip(row.value).map(|(index, value)| format!("{index}:{}", rounded(*value))).collect()
        }
    };
    let label = if label.is_empty() { "no label".to_owned() } else { format!("{label} = {}", batch.labels[index]) };
    let features = if features.is_empty() { "no features".to_owned() } else { features.join(" ") };
    format!("{} -> {label} | {features}", batch.ids.get(index).escape_debug())
}
