//! The history of a run from its ledger: counts over time, gathered in one pass.

use std::collections::BTreeMap;

use querist_data::Encoder;
use querist_engine::pool::{DrawMethod, NEAR_FACTOR};
use querist_engine::session::{RecordedBin, Response};
use querist_engine::task::Labels;
use querist_ledger::Ledger;
use serde_json::Value;

use crate::build::{self, Resolved};
use crate::error::{Context, Error, Result};
use crate::event::{self, RecordedDraw, RunEvent, Sums};
use crate::labeling::answers::AnswerRecord;
use crate::scored_pool;
use crate::settings::LearnerSettings;

/// A range of consecutive items of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Piece {
    /// The number of items.
    pub items: u64,
    /// Σ probability over the items.
    pub expected: f64,
    /// Labels queried.
    pub asked: u64,
    /// The running sums at the end.
    pub sums: Sums,
}

/// A draw from a pool.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HistoryDraw {
    /// U of the row.
    pub uncertainty: f64,
    /// `1/S`, or an unbiased estimate of it where rows are proposed.
    pub inverse_rate: f64,
    /// `true` if there was no model yet, so that the draw did not depend on the rule.
    pub is_cold: bool,
}

/// The history of a run.
pub struct History {
    /// The header of the ledger.
    pub header: Value,
    /// The results of the run, if it has ended.
    pub finished: Option<Value>,
    /// Consecutive ranges of a stream.
    pub pieces: Vec<Piece>,
    /// A histogram of the probabilities of a stream's items, over [0, 1].
    pub considered: [u64; BINS],
    /// A histogram of the probabilities of the queried items.
    pub taken: [u64; BINS],
    /// The draws of a pool, in order.
    pub draws: Vec<HistoryDraw>,
    /// Labels that existed before the first query.
    pub given: u64,
    /// The class of each answer in order, or the number.
    pub labels: Vec<f64>,
    /// The classes; empty for numbers.
    pub classes: Vec<String>,
    /// The encoder of rows.
    pub encoder: Option<Encoder>,
    /// Estimates made while people labeled: labels, value and interval.
    pub measured: Vec<(f64, f64, f64, f64)>,
    /// How often predictions of some probability are right, by the last estimate.
    pub reliability: Vec<RecordedBin>,
    /// The codes of the classes.
    pub codes: Vec<f64>,
    /// The kind of labels, if the run got as far as finding it.
    task: Option<Labels>,
}

/// The largest number of points of a curve of progressive estimates.
const MEASURED: usize = 100;
/// The number of bins of the histograms.
pub const BINS: usize = 20;

/// The minimum number of items of a range. A rate over fewer is mostly noise.
const LEAST_ITEMS: u64 = 20;
/// A range stops growing at 1/`PARTS` of the items of the run.
const PARTS: u64 = 80;

impl History {
    /// Gathers the history from a ledger.
    pub fn read(ledger: &Ledger) -> Result<Self> {
        let header: Value = serde_json::from_str(ledger.header()).context("the ledger's header")?;
        let finished = ledger.note("finished").map(serde_json::from_str).transpose()?;
        let encoder = ledger.note("encoder").map(Encoder::from_json).transpose();
        let encoder = encoder.map_err(Error::Encoder)?;
        let resolved = ledger.note("learner").map(serde_json::from_str::<Resolved>).transpose()?;
        let mut task = resolved.map(|resolved| resolved.labels);
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
            given: ledger.note("given").map_or(0, |text| text.lines().count() as u64),
            labels: vec![],
            classes,
            encoder,
            measured: vec![],
            reliability: vec![],
            codes,
            task,
        };
        if history.header["command"] == "label" {
            history.read_session(ledger)?;
        } else if history.header["command"] == scored_pool::COMMAND {
            history.read_scored_pool(ledger)?;
        } else {
            if let Some(bins) = history.finished.as_ref().and_then(|end| end["estimate"].get("reliability")) {
                history.reliability = serde_json::from_value(bins.clone())?;
            }
            let mut ends = BTreeMap::new();
            for event in event::events(ledger) {
                history.take(event?, &mut ends);
            }
        }
        history.pieces = merged(&history.pieces);
        Ok(history)
    }

    /// Returns whether the run fits all answers again after each.
    pub fn is_fitted(&self) -> bool {
        self.header["fit"] == "refit" || self.header["command"] == "label"
    }

    /// Returns the name of the draw method of a pool.
    pub fn draw(&self) -> Option<&str> {
        self.header["draw"].as_str()
    }

    /// Returns the full names of the loss and the rule, including defaults.
    pub fn names(&self) -> Option<(String, String)> {
        let settings: LearnerSettings = serde_json::from_value(self.header["settings"].clone()).ok()?;
        let task = build::task(&settings, self.task?).ok()?;
        let rules = build::pool_rules(&settings, &*task, self.task?, self.is_fitted()).ok()?;
        Some((task.name().to_owned(), rules.rule.name()))
    }

    /// Gathers the queries and active answers of a labeling session.
    fn read_session(&mut self, ledger: &Ledger) -> Result<()> {
        let record = AnswerRecord::read(ledger)?;
        for ask in record.asks.values() {
            let (uncertainty, inverse_rate) = (ask.draw.uncertainty, ask.draw.inverse_rate());
            self.draws.push(HistoryDraw { uncertainty, inverse_rate, is_cold: ask.is_cold });
        }
        let active = record.answers.iter().filter(|answer| answer.is_active);
        self.labels.extend(active.filter_map(|answer| match answer.response {
            Response::Label(label) => Some(label.0),
            Response::Skip | Response::Unsure => None,
        }));
        self.reliability = record.reliability;
        let points = record.curve.iter();
        self.measured = points.map(|point| (point.labels as f64, point.value, point.low, point.high)).collect();
        Ok(())
    }

    /// Gathers the draws and answers of a pool that a program scored, with estimates of the predictions at each draw.
    fn read_scored_pool(&mut self, ledger: &Ledger) -> Result<()> {
        let (pool, classes) = scored_pool::read(ledger, &self.header)?;
        self.draws.extend(pool.draws().iter().map(|draw| HistoryDraw {
            uncertainty: draw.uncertainty,
            inverse_rate: if draw.rate == 0.0 { 0.0 } else { 1.0 / draw.rate },
            is_cold: draw.method != DrawMethod::Rule,
        }));
        self.labels = pool.answers().iter().flatten().map(|class| *class as f64).collect();
        self.codes = (0..classes.len()).map(|class| class as f64).collect();
        self.classes = classes;
        let estimates = pool.progressive_accuracy(MEASURED).into_iter();
        self.measured = estimates.map(|found| (found.draws as f64, found.value, found.low, found.high)).collect();
        Ok(())
    }

    fn take(&mut self, event: RunEvent, ends: &mut BTreeMap<u64, usize>) {
        match event {
            // A block without items only has the sums after rejected rows.
            RunEvent::Considered { count: 0, .. } => {}
            RunEvent::Considered { first, count, sums, probabilities } => {
                for p in &probabilities {
                    self.considered[bin(*p)] += 1;
                }
                ends.insert(first, self.pieces.len());
                let expected = probabilities.iter().sum();
                self.pieces.push(Piece { items: count, expected, asked: 0, sums });
            }
            RunEvent::Asked { time, probability, draw, .. } => {
                if let Some(draw) = draw {
                    self.add_draw(&draw);
                } else if let Some(p) = probability {
                    self.taken[bin(p)] += 1;
                }
                if let Some((_, piece)) = ends.range(..=time).next_back() {
                    self.pieces[*piece].asked += 1;
                }
            }
            RunEvent::Answered { label, .. } => self.labels.push(label),
        }
    }

    /// Records a draw. Before the first fit, rows are drawn by coverage, whose reach is infinite, or uniformly: then no
    /// rule has a scale, and U is 1 for every row, or less for rows near others of the batch.
    fn add_draw(&mut self, draw: &RecordedDraw) {
        let RecordedDraw { uncertainty, inverse_rate, .. } = *draw;
        let so_far = self.draws.last().is_none_or(|draw| draw.is_cold);
        let is_without_rule = match &draw.scale {
            Some(scale) => scale.reach.is_infinite(),
            None => [1.0, NEAR_FACTOR].contains(&uncertainty),
        };
        let is_cold = so_far && self.is_fitted() && is_without_rule;
        self.draws.push(HistoryDraw { uncertainty, inverse_rate, is_cold });
    }
}

/// Returns the classes of a run and their codes.
fn named(header: &Value, encoder: Option<&Encoder>) -> Result<Vec<(String, f64)>> {
    if header["command"] == "label" {
        return Ok(serde_json::from_value(header["labels"].clone())?);
    }
    Ok(match encoder {
        Some(encoder) => {
            let code = |class: &String| (class.clone(), encoder.code(class).unwrap_or(f64::NAN));
            encoder.classes().iter().map(code).collect()
        }
        // The mixture has no file, and its classes have no names.
        None if header["data"].is_null() => vec![("−1".to_owned(), -1.0), ("+1".to_owned(), 1.0)],
        None => vec![],
    })
}

/// Merges ranges so that they grow with the run. The start stays visible, and the end is not crowded.
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
    // The last range may be too small to keep.
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
