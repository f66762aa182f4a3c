//! Features of text: hashed words, pairs of words and character n-grams, weighted by inverse document frequency.

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use crate::hash::Hash;

/// The lengths of character n-grams; both ends of a word are padded with a space.
const PIECES: std::ops::RangeInclusive<usize> = 3..=5;

/// An extractor of text features.
#[derive(Clone, Debug)]
pub(crate) struct Grams {
    bits: u32,
    word: Hash,
    pair: Hash,
    piece: Hash,
    lower: String,
    padded: String,
    starts: Vec<usize>,
}

impl Grams {
    /// Creates an extractor for one column: the same word in another column is another feature.
    pub(crate) fn new(column: &str, bits: u32) -> Self {
        let hash = |purpose: &str| Hash::new(purpose).bytes(column.as_bytes());
        let (word, pair, piece) = (hash("word"), hash("pair"), hash("piece"));
        Self { bits, word, pair, piece, lower: String::new(), padded: String::new(), starts: vec![] }
    }

    /// Appends the features of a text, each as often as it occurs.
    pub(crate) fn count(&mut self, text: &str, found: &mut Vec<u32>) {
        self.lower.clear();
        self.lower.extend(text.chars().flat_map(char::to_lowercase));
        let mut before: Option<&str> = None;
        for word in self.lower.unicode_words() {
            found.push(self.word.bytes(word.as_bytes()).bits(self.bits));
            if let Some(before) = before {
                let pair = self.pair.bytes(before.as_bytes()).bytes(b" ").bytes(word.as_bytes());
                found.push(pair.bits(self.bits));
            }
            before = Some(word);
            self.padded.clear();
            self.padded.extend([" ", word, " "]);
            self.starts.clear();
            self.starts.extend(self.padded.char_indices().map(|(start, _)| start));
            self.starts.push(self.padded.len());
            for length in PIECES {
                for ends in self.starts.windows(length + 1) {
                    let piece = &self.padded.as_bytes()[ends[0]..ends[length]];
                    found.push(self.piece.bytes(piece).bits(self.bits));
                }
            }
        }
    }
}

/// Document frequencies: the number of texts in which each feature occurred in fitting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Frequencies {
    /// The number of texts.
    pub(crate) texts: u64,
    /// Pairs of a feature and the number of texts with it, sorted by feature.
    pub(crate) counts: Vec<(u32, u32)>,
}

impl Frequencies {
    /// Returns the weight of each feature: ln((1 + n)/(1 + nᵢ)) + 1.
    pub(crate) fn weights(&self, bits: u32) -> Vec<f64> {
        let weight = |count: f64| ((1.0 + self.texts as f64) / (1.0 + count)).ln() + 1.0;
        let mut weights = vec![weight(0.0); 1 << bits];
        for (feature, count) in &self.counts {
            if let Some(entry) = weights.get_mut(*feature as usize) {
                *entry = weight(f64::from(*count));
            }
        }
        weights
    }
}

/// Converts counts to (1 + ln tf)·idf, normalized to length 1.
pub(crate) fn weigh(index: &[u32], counts: &[f32], weights: &[f64], values: &mut Vec<f32>) {
    let weigh = |(feature, count): (&u32, &f32)| (1.0 + f64::from(*count).ln()) * weights[*feature as usize];
    let length = index.iter().zip(counts).map(weigh).map(|value| value * value).sum::<f64>().sqrt();
    values.clear();
    values.extend(index.iter().zip(counts).map(weigh).map(|value| (value / length) as f32));
}
