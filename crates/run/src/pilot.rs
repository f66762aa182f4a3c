//! The query rate of a run up to now, from its ledger.

use querist_engine::pool::{Drawn, PoolLearner as _};
use querist_engine::stats::mean;
use querist_ledger::Ledger;
use serde_json::Value;

use crate::build::Resolved;
use crate::error::{Context, Result};
use crate::event::{self, RunEvent};
use crate::labeling::answers::AnswerRecord;
use crate::pool::RunLearner;
use crate::replay;
use crate::settings::LearnerSettings;

/// Returns the number of items that a stream considered, and their mean query probability.
pub fn stream_rate(ledger: &Ledger) -> Result<(u64, Option<f64>)> {
    let (mut considered, mut expected) = (0_u64, 0.0);
    for event in event::events(ledger) {
        if let RunEvent::Considered { count, probabilities, .. } = event? {
            considered += count;
            expected += probabilities.iter().sum::<f64>();
        }
    }
    Ok((considered, (0 < considered).then(|| expected / considered as f64)))
}

/// Replays the run of a pool. Returns its learner, and the mean of U over the draws by the rule.
pub fn pool(ledger: &Ledger, header: &Value) -> Result<(RunLearner, Option<f64>)> {
    let settings: LearnerSettings =
        serde_json::from_value(header["settings"].clone()).context("the ledger's settings")?;
    let resolved = ledger.note("learner").context("the ledger ends before its first note: the run never began")?;
    let resolved: Resolved = serde_json::from_str(resolved).context("the ledger's learner")?;
    let mut learner = replay::pool_learner(ledger, header, &settings, &resolved)?;
    let (mut rates, mut was_cold) = (Rates::default(), learner.is_cold());
    let folded = replay::pool(ledger, &mut learner, |learner, drawn| {
        if !was_cold {
            for (_, drawn) in drawn {
                rates.take(drawn);
            }
        }
        was_cold = learner.is_cold();
    })?;
    folded.check(ledger)?;
    Ok((learner, rates.mean()))
}

/// Returns the mean of U over the draws of a labeling session by its rule; `None` if none has a probability.
pub fn session_rate(record: &AnswerRecord) -> Option<f64> {
    let by_rule = record.asks.values().filter(|ask| !ask.is_cold);
    let rates: Vec<f64> = by_rule.filter_map(|ask| Some(ask.draw.total? / ask.draw.left as f64)).collect();
    (!rates.is_empty()).then(|| mean(&rates))
}

/// Statistics of the draws of a rule, for its rate.
#[derive(Default)]
struct Rates {
    draws: f64,
    sum: f64,
    /// Σ 1/S over draws by proposals, which estimate 1/S without bias but not S.
    inverse: f64,
    proposed: f64,
}

impl Rates {
    fn take(&mut self, drawn: &Drawn) {
        match drawn.rate {
            Some(rate) => {
                self.draws += 1.0;
                self.sum += rate;
            }
            None if drawn.probability.is_some() => {
                self.proposed += 1.0;
                self.inverse += drawn.inverse_rate;
            }
            None => {}
        }
    }

    /// Returns the mean of U over the remaining rows, averaged over all draws by the rule; `None` before the first.
    fn mean(&self) -> Option<f64> {
        let total = self.draws + self.proposed;
        let of_proposed = if 0.0 < self.proposed { self.proposed * self.proposed / self.inverse } else { 0.0 };
        (0.0 < total).then(|| (self.sum + of_proposed) / total)
    }
}
