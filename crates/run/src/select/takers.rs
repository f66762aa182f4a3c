//! Other consumers of scored rows: a list of scores, and a decision about each row.

use std::fmt::{self, Display};

use querist_data::DataFault;
use querist_engine::rule::Rule;
use querist_engine::select::{self, NotASelection, RowIds, Selection};

use super::pass::Taker;

/// The scores of all rows, one row after the other.
#[derive(Clone, Debug, Default)]
pub struct ScoreList(pub Vec<f64>);

impl Taker for ScoreList {
    fn take(&mut self, _ids: &RowIds<'_>, scores: &[f64], _position: u64) -> Result<(), (usize, DataFault)> {
        self.0.extend_from_slice(scores);
        Ok(())
    }
}

/// A taker that computes U of every row and decides at random whether to query it.
pub struct Decider {
    rule: Rule,
    outputs: usize,
    seed: u64,
    /// U of each row.
    pub u: Vec<f64>,
    /// Whether each row is queried.
    pub asks: Vec<bool>,
}

impl Decider {
    /// Makes a decider for a rule whose scale is known.
    pub fn new(rule: Rule, outputs: usize, seed: u64) -> Self {
        Self { rule, outputs, seed, u: vec![], asks: vec![] }
    }
}

impl Taker for Decider {
    fn take(&mut self, ids: &RowIds<'_>, scores: &[f64], _position: u64) -> Result<(), (usize, DataFault)> {
        let first = self.u.len();
        self.u.resize(first + scores.len() / self.outputs, 0.0);
        let made = &mut self.u[first..];
        let filled = select::fill(&self.rule, self.outputs, scores, made);
        filled.map_err(|odd| (odd.0, DataFault::new(odd.to_string(), "")))?;
        for (row, u) in made.iter().enumerate() {
            if 1.0 < *u {
                let fault = DataFault::new(format!("U = {u}"), "a probability; another rule, or its base, may help");
                return Err((row, fault));
            }
            self.asks.push(Selection::asks(self.seed, ids.get(row), *u));
        }
        Ok(())
    }
}

/// The reason why parts of a selection cannot be merged.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unmergeable {
    /// There are no parts.
    NoParts,
    /// The parts are of different selections.
    Different,
    /// Some bytes are not a selection.
    Bytes(NotASelection),
}

impl Display for Unmergeable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoParts => f.write_str("there are no parts"),
            Self::Different => f.write_str("parts of different selections"),
            Self::Bytes(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unmergeable {}

/// Merges the parts of a selection, each as bytes; their order does not matter.
pub fn merge_parts(parts: &[Vec<u8>]) -> Result<Selection, Unmergeable> {
    let mut all: Option<Selection> = None;
    for part in parts {
        let part = Selection::from_bytes(part).map_err(Unmergeable::Bytes)?;
        match &mut all {
            Some(all) if all.settings() != part.settings() => return Err(Unmergeable::Different),
            Some(all) => all.merge(part),
            None => all = Some(part),
        }
    }
    all.ok_or(Unmergeable::NoParts)
}
