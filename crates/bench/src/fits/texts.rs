//! Synthetic texts: words by Zipf's law, some of them from a list of the text's class.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use querist_engine::task::Labels;
use querist_rows::{Rows, Sparse, SparseRows};

use super::LabeledRows;
use crate::data::{hash_at, unit};

const KEY: u64 = 0x1319_8a2e_0370_7344;
/// The number of words in the language.
const WORDS: usize = 30_000;
/// The first word that is in the list of a class.
const FIRST_CLASS_WORD: usize = 100;
/// The number of words in the list of a class.
const CLASS_WORDS: usize = 60;

/// A text: its class and its words.
struct SyntheticText {
    class: usize,
    words: Vec<usize>,
}

/// Generates 5,000 texts of two classes that are hard to tell apart, as words, pairs of words and pieces of words.
pub(crate) fn two_classes(folder: &Path) -> anyhow::Result<LabeledRows> {
    encode(folder, &texts(2, 5000, 0.05))
}

/// Generates 3,000 texts of 98 classes, as words, pairs of words and pieces of words.
pub(crate) fn many_classes(folder: &Path) -> anyhow::Result<LabeledRows> {
    encode(folder, &texts(98, 3000, 0.2))
}

/// Generates 3,000 texts of 98 classes, as words alone, in rows of length 1.
pub(crate) fn many_classes_of_words() -> LabeledRows {
    let mut rows = SparseRows::new(WORDS);
    let mut labels = vec![];
    for text in texts(98, 3000, 0.2) {
        let mut counts = BTreeMap::<u32, f64>::new();
        text.words.iter().for_each(|word| *counts.entry(*word as u32).or_default() += 1.0);
        let length = counts.values().map(|count| (1.0 + count.ln()).powi(2)).sum::<f64>().sqrt();
        let index: Vec<u32> = counts.keys().copied().collect();
        let value: Vec<f32> = counts.values().map(|count| ((1.0 + count.ln()) / length) as f32).collect();
        rows.push(Sparse { index: &index, value: &value });
        labels.push(text.class as f64);
    }
    LabeledRows { rows: Rows::Sparse(rows), labels, kind: Labels::Classes(98) }
}

/// Generates texts, in each of which about this share of the words is from the list of the class.
fn texts(classes: usize, count: u64, share: f64) -> Vec<SyntheticText> {
    let text = |text: u64| {
        let mut time = text << 12;
        let mut draw = || {
            time += 1;
            unit(hash_at(KEY, time))
        };
        let class = (draw() * classes as f64) as usize;
        // From 15 to 240 words; most texts are short.
        let length = (15.0 * 16.0_f64.powf(draw().powi(2))) as usize;
        let mut word = || {
            let is_of_class = draw() < share;
            if is_of_class {
                FIRST_CLASS_WORD + class * CLASS_WORDS + zipf(draw(), CLASS_WORDS)
            } else {
                zipf(draw(), WORDS)
            }
        };
        SyntheticText { class, words: (0..length).map(|_| word()).collect() }
    };
    (0..count).map(text).collect()
}

/// Writes texts to a file and reads it like any labeled file.
fn encode(folder: &Path, texts: &[SyntheticText]) -> anyhow::Result<LabeledRows> {
    let path = folder.join("texts.csv");
    let mut csv = String::from("text,label\n");
    for text in texts {
        for word in &text.words {
            write!(csv, "w{word} ")?;
        }
        writeln!(csv, ",c{}", text.class)?;
    }
    std::fs::write(&path, csv)?;
    let set = super::read(&path, Some("text"));
    std::fs::remove_file(&path)?;
    set
}

/// Returns the rank of a word whose frequency is proportional to 1/(rank + 3), for a number in [0, 1).
fn zipf(at: f64, words: usize) -> usize {
    let (first, last) = (3.0_f64, 3.0 + words as f64);
    ((first * (last / first).powf(at) - first) as usize).min(words - 1)
}
