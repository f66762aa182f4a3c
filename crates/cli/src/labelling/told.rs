//! What people said, from a ledger: each answer that stands, and what was withdrawn or replaced.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use querist_engine::session::{Given, Happened};
use querist_ledger::Ledger;
use querist_server::record::from_event;

/// An ask as it was recorded.
pub(crate) struct Asked {
    pub(crate) id: Arc<str>,
    pub(crate) probability: f64,
}

/// An answer as it was recorded.
#[derive(Clone)]
pub(crate) struct Told {
    /// Its number.
    pub(crate) number: u64,
    pub(crate) ask: u64,
    pub(crate) given: Given,
    pub(crate) by: Arc<str>,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    /// It was neither withdrawn nor replaced.
    pub(crate) stands: bool,
}

/// All that people said.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) asks: Vec<Asked>,
    pub(crate) told: Vec<Told>,
    /// Estimates of the score: labels, value, low, high.
    pub(crate) curve: Vec<(u64, f64, f64, f64)>,
}

impl Record {
    /// Reads a ledger.
    pub(crate) fn read(ledger: &Ledger) -> Result<Self> {
        let mut record = Self::default();
        // Places of answers by their numbers, and of the one that stands by ask and person.
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        let mut standing: HashMap<(u64, Arc<str>), usize> = HashMap::new();
        ledger.labelling(|event| {
            match from_event(event)? {
                Happened::Drawn { id, odds, .. } => {
                    record.asks.push(Asked { id, probability: odds.probability() });
                }
                Happened::Answered { number, ask, given, by, at, .. } => {
                    let place = record.told.len();
                    if let Some(before) = standing.insert((ask, Arc::clone(&by)), place) {
                        record.told[before].stands = false;
                    }
                    numbers.insert(number, place);
                    record.told.push(Told { number, ask, given, by, at, stands: true });
                }
                Happened::Undone { of, .. } => {
                    let place = *numbers.get(&of).ok_or_else(|| format!("answer {of} is not there to be withdrawn"))?;
                    record.told[place].stands = false;
                }
                Happened::Measured { labels, value, low, high, .. } => record.curve.push((labels, value, low, high)),
                _ => {}
            }
            Ok(())
        })?;
        Ok(record)
    }

    /// The answers that stand, by ask and then as they came.
    pub(crate) fn standing(&self) -> Vec<&Told> {
        let mut standing: Vec<&Told> = self.told.iter().filter(|told| told.stands).collect();
        standing.sort_by_key(|told| (told.ask, told.number));
        standing
    }

    /// The ask of an answer.
    pub(crate) fn ask(&self, told: &Told) -> Option<&Asked> {
        self.asks.get((told.ask as usize).checked_sub(1)?)
    }
}
