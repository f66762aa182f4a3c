//! What a ledger tells of its run: counts over time, gathered in one pass.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use querist_data::Encoder;
use querist_engine::pool::LESS;
use querist_engine::task::Labels;
use querist_ledger::{Event, Kind, Ledger};
use serde_json::Value;

use super::build::{self, Resolved};
use super::record::{self, Sums};
use super::settings::Settings;

/// A piece of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Piece {
    /// Items.
    pub(crate) items: u64,
    /// Σ probability.
    pub(crate) expected: f64,
    /// Labels asked for.
    pub(crate) asked: u64,
    /// The sums at its end.
    pub(crate) sums: Sums,
}

/// A draw from a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    /// U of the row.
    pub(crate) uncertainty: f64,
    /// `1/S`, or where rows are proposed its unbiased stand-in.
    pub(crate) inverse_rate: f64,
    /// For want of a model.
    pub(crate) at_random: bool,
}

/// The history of a run.
pub(crate) struct History {
    pub(crate) header: Value,
    pub(crate) finished: Option<Value>,
    /// Consecutive pieces of a stream.
    pub(crate) pieces: Vec<Piece>,
    /// How many probabilities of a stream's items, and of those asked, are in each twentieth of [0, 1].
    pub(crate) considered: [u64; BINS],
    pub(crate) taken: [u64; BINS],
    /// The draws of a pool, in turn.
    pub(crate) draws: Vec<Draw>,
    /// Labels that were there before the first ask.
    pub(crate) given: u64,
    /// The class of each answer in turn, or the number.
    pub(crate) labels: Vec<f64>,
    pub(crate) classes: Vec<String>,
    pub(crate) encoder: Option<Encoder>,
    /// Estimates made while people labelled: labels, value and interval.
    pub(crate) measured: Vec<(f64, f64, f64, f64)>,
    /// The codes of the classes.
    pub(crate) codes: Vec<f64>,
    /// What is learned, where the run got so far as to know.
    task: Option<Labels>,
}

/// In so many parts are uncertainties counted.
pub(crate) const BINS: usize = 20;

/// A share of fewer items is mostly noise.
const LEAST_ITEMS: u64 = 20;
/// Later pieces are so small a part of the run.
const PARTS: u64 = 80;

impl History {
    /// Gathers it.
    pub(crate) fn read(ledger: &Ledger) -> Result<Self> {
        let header: Value = serde_json::from_str(ledger.header()).context("the ledger's header")?;
        let finished = ledger.note("finished")?.map(|text| serde_json::from_str(&text)).transpose()?;
        let encoder = ledger.note("encoder")?.map(|text| Encoder::from_json(&text)).transpose();
        let encoder = encoder.map_err(anyhow::Error::msg)?;
        let resolved = ledger.note("learner")?.map(|text| serde_json::from_str::<Resolved>(&text)).transpose()?;
        let mut task = resolved.map(|resolved| resolved.labels()).transpose()?;
        let named = named(&header, encoder.as_ref())?;
        if header["command"] == "label" {
            task = Some(match named.len() {
                0 => Labels::Numbers,
                2 => Labels::Binary,
                classes => Labels::Classes(classes),
            });
        }
        let (classes, codes) = named.into_iter().unzip();
        let mut history = Self {
            header,
            finished,
            pieces: vec![],
            considered: [0; BINS],
            taken: [0; BINS],
            draws: vec![],
            given: ledger.note("given")?.map_or(0, |text| text.lines().count() as u64),
            labels: vec![],
            classes,
            encoder,
            measured: vec![],
            codes,
            task,
        };
        let (mut times, mut standing) = (BTreeMap::new(), Standing::default());
        for event in ledger.events() {
            match event? {
                Event::Acted { kind, number, about, label, numbers, by, .. } => {
                    if let (Kind::Measure, [value, low, high]) = (kind, &numbers[..]) {
                        history.measured.push((about as f64, *value, *low, *high));
                    }
                    standing.take(kind, number, (about, by), label);
                }
                event => history.take(event, &mut times)?,
            }
        }
        history.labels.extend(standing.labels.values());
        history.pieces = merged(&history.pieces);
        Ok(history)
    }

    /// Whether all answers are fitted anew after each.
    pub(crate) fn is_fitted(&self) -> bool {
        self.header["fit"] == "refit" || self.header["command"] == "label"
    }

    /// How rows of a pool were drawn.
    pub(crate) fn draw(&self) -> Option<&str> {
        self.header["draw"].as_str()
    }

    /// The loss and the rule by their full names, also where they were not asked for.
    pub(crate) fn names(&self) -> Option<(String, String)> {
        let settings: Settings = serde_json::from_value(self.header["settings"].clone()).ok()?;
        let task = build::task(&settings, self.task?).ok()?;
        let rules = build::pool_rules(&settings, &*task, self.task?, self.is_fitted()).ok()?;
        Some((task.name().to_owned(), rules.rule.name()))
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
            Event::Asked { time, probability, tries, extra, .. } => {
                if let Some(drawn) = record::draw_from_numbers(&extra, probability, tries.unwrap_or(0)) {
                    self.drawn(drawn.uncertainty, drawn.inverse_rate);
                } else if let Some(p) = probability {
                    self.taken[bin(p)] += 1;
                }
                if let Some((_, piece)) = ends.range(..=time).next_back() {
                    self.pieces[*piece].asked += 1;
                }
            }
            Event::Answered { label, .. } => self.labels.push(label),
            Event::Drawn { numbers, .. } => {
                if let [_, uncertainty, total, left, _, learned, ..] = numbers[..] {
                    let at_random = learned == 0.0;
                    self.draws.push(Draw { uncertainty, inverse_rate: left / total, at_random });
                }
            }
            Event::Acted { .. } => {}
        }
        Ok(())
    }

    /// Before there is something to fit, every row counts for 1, or less beside those it is kept apart from.
    fn drawn(&mut self, uncertainty: f64, inverse_rate: f64) {
        let so_far = self.draws.last().is_none_or(|draw| draw.at_random);
        let at_random = so_far && self.is_fitted() && [1.0, LESS].contains(&uncertainty);
        self.draws.push(Draw { uncertainty, inverse_rate, at_random });
    }
}

/// The labels people gave that were neither withdrawn nor replaced.
#[derive(Default)]
struct Standing {
    /// By the numbers of the answers.
    labels: BTreeMap<u64, f64>,
    /// The last answer to an ask by somebody.
    last: BTreeMap<(u64, String), u64>,
}

impl Standing {
    fn take(&mut self, kind: Kind, number: u64, (about, by): (u64, String), label: Option<f64>) {
        match kind {
            Kind::Label | Kind::Skip | Kind::Unsure => {
                if let Some(before) = self.last.insert((about, by), number) {
                    self.labels.remove(&before);
                }
                self.labels.extend(label.map(|label| (number, label)));
            }
            Kind::Undo => {
                self.labels.remove(&about);
            }
            _ => {}
        }
    }
}

/// The classes of a run and their codes.
fn named(header: &Value, encoder: Option<&Encoder>) -> Result<Vec<(String, f64)>> {
    if header["command"] == "label" {
        return Ok(serde_json::from_value(header["labels"].clone())?);
    }
    Ok(match encoder {
        Some(encoder) => {
            let code = |class: &String| (class.clone(), encoder.code(class).unwrap_or(f64::NAN));
            encoder.classes().iter().map(code).collect()
        }
        // The mixture has no file, and its classes no names.
        None if header["data"].is_null() => vec![("−1".to_owned(), -1.0), ("+1".to_owned(), 1.0)],
        None => vec![],
    })
}

/// Pieces that grow as the run does, so that its start is seen and its end is not crowded.
fn merged(pieces: &[Piece]) -> Vec<Piece> {
    let total: u64 = pieces.iter().map(|piece| piece.items).sum();
    let (mut merged, mut before): (Vec<Piece>, u64) = (vec![], 0);
    for piece in pieces {
        let wanted = (before / 4).min(total / PARTS).max(LEAST_ITEMS);
        match merged.last_mut() {
            Some(last) if last.items < wanted => last.join(piece),
            _ => {
                before += merged.last().map_or(0, |last| last.items);
                merged.push(*piece);
            }
        }
    }
    // What is left at the end may be too little for a piece of its own.
    if let [.., one, rest] = &mut merged[..]
        && rest.items < LEAST_ITEMS
    {
        one.join(rest);
        merged.pop();
    }
    merged
}

impl Piece {
    fn join(&mut self, next: &Piece) {
        self.items += next.items;
        self.expected += next.expected;
        self.asked += next.asked;
        self.sums = next.sums;
    }
}

fn bin(probability: f64) -> usize {
    ((probability * BINS as f64) as usize).min(BINS - 1)
}
