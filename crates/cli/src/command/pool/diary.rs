//! What is told of a run as it goes.

use std::collections::VecDeque;

use querist_data::Batch;
use querist_engine::pool::{Drawn, PoolLearner};
use querist_engine::scorer::Score;
use serde_json::{Value, json};

use super::Arguments;
use super::test::Test;
use crate::number::json as number;
use crate::run::outcome::Outcome;

/// What is told of a run besides its end.
#[derive(Default)]
pub(super) struct Diary {
    pub(super) asks: Vec<Value>,
    pub(super) curve: Vec<Value>,
    /// How many labels the last step took.
    pub(super) last_step: u64,
    /// 1/S of the last draws.
    recent: VecDeque<f64>,
    stalled: bool,
}

/// What one draw by proposals says of the mean of U is mostly chance; this many say enough.
const RECENT: usize = 32;

impl Diary {
    /// Whether the rule has stopped asking: for all rows, or the mean of U was next to nothing of late.
    pub(super) fn tell_stall(&self, outcome: &mut Outcome, for_all: bool) {
        let stalled = for_all || self.stalled;
        outcome.put("stalled", stalled.into());
        if stalled {
            let remark = "stalled: the rule hardly asks for any row that is left; that is not convergence. Start \
                          elsewhere, take smaller steps, or give the rule a floor";
            outcome.remarks.push(remark.to_owned());
        }
    }

    /// A step was made.
    pub(super) fn see(
        &mut self,
        arguments: &Arguments,
        learner: &PoolLearner,
        drawn: &[(String, Drawn)],
        test: Option<(&Test, &Batch)>,
    ) {
        self.last_step = drawn.len() as u64;
        for (_, one) in drawn {
            // A pass knows the mean of U as it is.
            let enough = if one.tries == 0 { 0 } else { RECENT - 1 };
            self.recent.truncate(enough);
            self.recent.push_front(one.inverse_rate);
        }
        let mean = self.recent.iter().sum::<f64>() / self.recent.len() as f64;
        self.stalled = 1.0 / mean < 1e-3 * learner.rules().max();
        if arguments.asks {
            self.asks.extend(drawn.iter().map(|(id, d)| {
                json!({"id": id, "probability": d.probability.map(number),
                       "uncertainty": number(d.uncertainty), "tries": d.tries, "fallback": d.fallback})
            }));
        }
        let Some((test, pool)) = test.filter(|_| is_milestone(learner.answered(), drawn.len() as u64)) else { return };
        self.measure(learner, test, pool);
    }

    /// The scores a run ends in, of the average and of the last parameters: the curve ends where the run does.
    pub(super) fn end(&mut self, learner: &PoolLearner, test: &Test, pool: &Batch) -> (Score, Score) {
        self.curve.pop_if(|point| point[0] == learner.answered());
        self.measure(learner, test, pool)
    }

    fn measure(&mut self, learner: &PoolLearner, test: &Test, pool: &Batch) -> (Score, Score) {
        let labels = learner.answered();
        let (mean, last) = test.scores(learner.learner(), pool);
        self.curve.push(json!([labels, number(mean.accuracy), number(mean.loss), number(last.accuracy)]));
        (mean, last)
    }
}

/// Whether the learning curve has a point here: about twenty each tenfold.
pub(super) fn is_milestone(labels: u64, step: u64) -> bool {
    let place = |labels: u64| ((labels as f64).log10() * 20.0).floor();
    labels <= 10 || place(labels.saturating_sub(step).max(1)) < place(labels)
}
