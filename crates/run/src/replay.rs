//! Replay: the state of a learner is the fold of its events. Resumed runs and ledger checks use it.

mod run;

use std::collections::{BTreeMap, VecDeque};

use querist_engine::pool::{Drawn, PoolLearner as _};
use querist_engine::stream::StreamLearner;
use querist_ledger::Ledger;
use querist_rows::Rows;

use crate::error::{Context, Result, bail};
use crate::event::{self, RunEvent, Sums};
use crate::pool::RunLearner;

pub use run::{ReplayedRun, pool_learner, run};

/// A query that may still be answered.
pub struct Pending {
    /// The id of the item.
    pub id: String,
    /// The probability of the query.
    pub probability: f64,
    /// The features, as one row.
    pub row: Rows,
    /// Whether it has an answer.
    pub answered: bool,
}

/// The result of a fold.
#[derive(Default)]
pub struct Folded {
    /// The running sums after the last block.
    pub sums: Sums,
    /// The queries without an answer, by time; during the fold, all queries.
    pub pending: BTreeMap<u64, Pending>,
    /// The number of items of a stream that were considered.
    pub considered: u64,
    /// Queries whose recorded probability equals the learner's, to the bit.
    pub confirmed: u64,
    /// Queries whose recorded probability differs.
    pub disagreeing: u64,
    /// Queries of a cold start, whose probability depends on the rows of the pool.
    pub not_compared: u64,
}

impl Folded {
    /// Checks that this program would make the same queries as the ledger records.
    pub fn check(&self, ledger: &Ledger) -> Result<()> {
        if 0 < self.disagreeing {
            let (path, asks) = (ledger.path().display(), self.disagreeing);
            bail!("{path}: {asks} asks have another probability now; check whether another version wrote the ledger");
        }
        Ok(())
    }
}

/// Folds the events of a stream into a learner at its start. Calls `see` with the time, id and label of every answer.
pub fn stream(ledger: &Ledger, learner: &mut StreamLearner, mut see: impl FnMut(u64, &str, f64)) -> Result<Folded> {
    let mut folded = Folded::default();
    let mut waiting = VecDeque::new();
    for event in event::events(ledger) {
        match event? {
            RunEvent::Considered { probabilities, sums, count, .. } => {
                folded.sums = sums;
                folded.considered += count;
                learner.widen(folded.sums.dim);
                waiting.extend(probabilities);
            }
            RunEvent::Asked { time, id, probability, features, .. } => {
                let probability = probability.context("an ask of a stream has a probability")?;
                let row = row(&features, folded.sums.dim)?;
                learner.widen(row.dim());
                folded.pending.insert(time, Pending { id, probability, row, answered: false });
            }
            RunEvent::Answered { ask, label, at, .. } => {
                advance(learner, &mut waiting, at, &mut folded)?;
                let Some(pending) = folded.pending.get_mut(&ask) else { bail!("an answer to the unknown ask {ask}") };
                // Only the first answer was learned from.
                if !pending.answered {
                    pending.answered = true;
                    learner.answer(pending.row.row(0), pending.probability, label)?;
                    see(ask, &pending.id, label);
                }
            }
        }
        // Past queries that are answered are no longer needed.
        let observed = learner.totals().observed;
        while folded.pending.first_key_value().is_some_and(|(time, ask)| ask.answered && *time <= observed) {
            folded.pending.pop_first();
        }
    }
    advance(learner, &mut waiting, u64::MAX, &mut folded)?;
    folded.pending.retain(|_, pending| !pending.answered);
    Ok(folded)
}

/// Processes recorded observations up to number `to`.
fn advance(learner: &mut StreamLearner, waiting: &mut VecDeque<f64>, to: u64, folded: &mut Folded) -> Result<()> {
    while learner.totals().observed < to {
        let Some(probability) = waiting.pop_front() else {
            if to == u64::MAX {
                return Ok(());
            }
            bail!("an answer at observation {to}, but only {} were considered", learner.totals().observed);
        };
        let asked = folded.pending.get(&(learner.totals().observed + 1));
        if let Some(pending) = asked {
            let same = learner.probability(pending.row.row(0)).to_bits() == probability.to_bits()
                && probability.to_bits() == pending.probability.to_bits();
            *(if same { &mut folded.confirmed } else { &mut folded.disagreeing }) += 1;
        }
        learner.consider(probability, asked.is_some());
    }
    Ok(())
}

/// Folds the events of a pool run into a learner at its start; `see` is called after every step, as when it was made.
pub fn pool(
    ledger: &Ledger,
    learner: &mut RunLearner,
    mut see: impl FnMut(&RunLearner, &[(String, Drawn)]),
) -> Result<Folded> {
    let mut folded = Folded::default();
    let mut asks: BTreeMap<u64, (String, Drawn, Rows)> = BTreeMap::new();
    let mut answers = vec![];
    for event in event::events(ledger) {
        match event? {
            RunEvent::Considered { .. } => bail!("this is the ledger of a stream"),
            RunEvent::Asked { time, id, probability, tries, features, draw } => {
                apply(learner, &mut asks, &mut answers, &mut see)?;
                let draw = draw.context("an ask of a pool has no draw")?;
                let mut drawn = draw.to_drawn(probability, tries.unwrap_or(0));
                let row = row(&features, 0)?;
                if let Some(scale) = drawn.scale {
                    learner.set_scale(scale);
                }
                drawn.least = learner.least();
                let same = learner.draw_weight(row.row(0)).to_bits() == drawn.uncertainty.to_bits();
                *(match (learner.is_by_coverage(), same) {
                    (true, _) => &mut folded.not_compared,
                    (false, true) => &mut folded.confirmed,
                    (false, false) => &mut folded.disagreeing,
                }) += 1;
                learner.record(&drawn, row.row(0));
                asks.insert(time, (id, drawn, row));
            }
            RunEvent::Answered { ask, label, .. } => answers.push((ask, label)),
        }
    }
    apply(learner, &mut asks, &mut answers, &mut see)?;
    Ok(folded)
}

/// Takes one step on the answers of one batch, which are those between two queries.
fn apply(
    learner: &mut RunLearner,
    asks: &mut BTreeMap<u64, (String, Drawn, Rows)>,
    answers: &mut Vec<(u64, f64)>,
    see: &mut impl FnMut(&RunLearner, &[(String, Drawn)]),
) -> Result<()> {
    if answers.is_empty() {
        return Ok(());
    }
    let taken: Option<Vec<_>> =
        answers.drain(..).map(|(ask, label)| asks.remove(&ask).map(|found| (found, label))).collect();
    let taken = taken.context("an answer to an unknown ask")?;
    let parts: Vec<_> = taken.iter().map(|((_, drawn, row), label)| (row.row(0), *drawn, *label)).collect();
    learner.answer(&parts)?;
    let drawn: Vec<_> = taken.into_iter().map(|((id, drawn, _), _)| (id, drawn)).collect();
    see(learner, &drawn);
    Ok(())
}

fn row(features: &[u8], dim: usize) -> Result<Rows> {
    Rows::from_bytes(features, dim).context("the features of an ask are not a row")
}
