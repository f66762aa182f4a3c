//! What a ledger tells of its run: counts over time, gathered in one pass.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use querist_data::Encoder;
use querist_ledger::{Event, Kind, Ledger};
use serde_json::Value;

use super::record::Sums;

/// A piece of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Piece {
    /// Items, or draws of a pool.
    pub(crate) items: u64,
    /// Σ probability.
    pub(crate) expected: f64,
    /// Labels asked for.
    pub(crate) asked: u64,
    /// The sums at its end.
    pub(crate) sums: Sums,
}

/// The history of a run.
pub(crate) struct History {
    pub(crate) header: Value,
    pub(crate) finished: Option<Value>,
    /// Consecutive pieces of a stream.
    pub(crate) pieces: Vec<Piece>,
    /// How many probabilities of all items, and of those asked, are in each twentieth of [0, 1].
    pub(crate) considered: [u64; BINS],
    pub(crate) taken: [u64; BINS],
    /// The class of each answer in turn, or the number.
    pub(crate) labels: Vec<f64>,
    pub(crate) classes: Vec<String>,
    pub(crate) encoder: Option<Encoder>,
    /// Estimates made while people labelled: labels, value and interval.
    pub(crate) measured: Vec<(f64, f64, f64, f64)>,
    /// The codes of the classes.
    pub(crate) codes: Vec<f64>,
}

/// How finely probabilities are counted.
pub(crate) const BINS: usize = 20;

impl History {
    /// Gathers it.
    pub(crate) fn read(ledger: &Ledger) -> Result<Self> {
        let header: Value = serde_json::from_str(ledger.header()).context("the ledger's header")?;
        let finished = ledger.note("finished")?.map(|text| serde_json::from_str(&text)).transpose()?;
        let encoder = ledger.note("encoder")?.map(|text| Encoder::from_json(&text)).transpose();
        let encoder = encoder.map_err(anyhow::Error::msg)?;
        let mut classes = encoder.as_ref().map(|encoder| encoder.classes().to_vec()).unwrap_or_default();
        let code = |class: &String| encoder.as_ref().and_then(|encoder| encoder.code(class)).unwrap_or(f64::NAN);
        let mut codes: Vec<f64> = classes.iter().map(code).collect();
        if header["command"] == "label" {
            let named: Vec<(String, f64)> = serde_json::from_value(header["labels"].clone())?;
            (classes, codes) = named.into_iter().unzip();
        }
        let mut history = Self {
            header,
            finished,
            pieces: vec![],
            considered: [0; BINS],
            taken: [0; BINS],
            labels: vec![],
            classes,
            encoder,
            measured: vec![],
            codes,
        };
        let mut times = BTreeMap::new();
        for event in ledger.events() {
            history.take(event?, &mut times)?;
        }
        history.merge();
        Ok(history)
    }

    fn take(&mut self, event: Event, ends: &mut BTreeMap<u64, usize>) -> Result<()> {
        match event {
            // What could not be taken is no piece of a run.
            Event::Considered { probabilities, .. } if probabilities.is_empty() => {}
            Event::Considered { first, probabilities, totals } => {
                let sums = Sums::from_numbers(&totals).context("a block has other totals than a stream's")?;
                let (items, expected) = (probabilities.len() as u64, probabilities.iter().sum());
                for p in &probabilities {
                    self.considered[bin(*p)] += 1;
                }
                ends.insert(first, self.pieces.len());
                self.pieces.push(Piece { items, expected, asked: 0, sums });
            }
            Event::Asked { time, probability, .. } => {
                if let Some(p) = probability {
                    self.taken[bin(p)] += 1;
                }
                if let Some((_, piece)) = ends.range(..=time).next_back() {
                    self.pieces[*piece].asked += 1;
                }
            }
            Event::Answered { label, .. } => self.labels.push(label),
            Event::Drawn { probability, .. } => self.taken[bin(probability)] += 1,
            Event::Acted { kind: Kind::Label, label: Some(label), .. } => self.labels.push(label),
            Event::Acted { kind: Kind::Measure, about, numbers, .. } => {
                if let [value, low, high] = numbers[..] {
                    self.measured.push((about as f64, value, low, high));
                }
            }
            Event::Acted { .. } => {}
        }
        Ok(())
    }

    /// About a hundred pieces are enough to see how a run went.
    fn merge(&mut self) {
        let total: u64 = self.pieces.iter().map(|piece| piece.items).sum();
        let target = total.div_ceil(100).max(1);
        let mut merged: Vec<Piece> = vec![];
        for piece in self.pieces.drain(..) {
            match merged.last_mut() {
                Some(last) if last.items < target => {
                    last.items += piece.items;
                    last.expected += piece.expected;
                    last.asked += piece.asked;
                    last.sums = piece.sums;
                }
                _ => merged.push(piece),
            }
        }
        self.pieces = merged;
    }
}

fn bin(probability: f64) -> usize {
    ((probability * BINS as f64) as usize).min(BINS - 1)
}
