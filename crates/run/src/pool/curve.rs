//! The progress of a pool's run: its draws, its learning curve, and whether it stalls.

use std::collections::VecDeque;

use querist_data::Batch;
use querist_engine::pool::{Drawn, PoolLearner as _};
use querist_engine::scorer::Score;

use super::RunLearner;
use super::test_rows::TestRows;

/// A point of a learning curve.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CurvePoint {
    /// The number of answered labels.
    pub labels: u64,
    /// The score of the averaged parameters on the test rows.
    pub mean: Score,
    /// The score of the last parameters.
    pub last: Score,
}

/// The draws and the learning curve of a run.
#[derive(Default)]
pub(super) struct Diary {
    /// Every draw with the id of its row, if they are kept.
    pub(super) asks: Vec<(String, Drawn)>,
    pub(super) curve: Vec<CurvePoint>,
    /// The number of labels of the last step.
    pub(super) last_step: u64,
    /// 1/S of the last draws.
    recent: VecDeque<f64>,
    pub(super) stalled: bool,
}

/// The number of draws by proposals whose mean estimates the mean of U. A single one is mostly noise.
const RECENT: usize = 32;

impl Diary {
    /// Records a step.
    pub(super) fn see(
        &mut self,
        keeps_asks: bool,
        learner: &RunLearner,
        drawn: &[(String, Drawn)],
        test: Option<(&TestRows, &Batch)>,
    ) {
        self.last_step = drawn.len() as u64;
        for (_, one) in drawn {
            // A draw by a full pass knows the exact mean of U.
            let enough = if one.tries == 0 { 0 } else { RECENT - 1 };
            self.recent.truncate(enough);
            self.recent.push_front(one.inverse_rate);
        }
        let mean = self.recent.iter().sum::<f64>() / self.recent.len() as f64;
        self.stalled = 1.0 / mean < 1e-3 * learner.rules().max();
        if keeps_asks {
            self.asks.extend_from_slice(drawn);
        }
        let Some((test, pool)) = test.filter(|_| is_milestone(learner.answered(), drawn.len() as u64)) else { return };
        self.measure(learner, test, pool);
    }

    /// Measures the averaged and the last parameters at the end of a run, and ends the curve there.
    pub(super) fn end(&mut self, learner: &RunLearner, test: &TestRows, pool: &Batch) -> (Score, Score) {
        self.curve.pop_if(|point| point.labels == learner.answered());
        self.measure(learner, test, pool)
    }

    fn measure(&mut self, learner: &RunLearner, test: &TestRows, pool: &Batch) -> (Score, Score) {
        let labels = learner.answered();
        let (mean, last) = test.scores(learner, pool);
        self.curve.push(CurvePoint { labels, mean, last });
        (mean, last)
    }
}

/// Returns whether the learning curve has a point here, about twenty per factor of ten.
pub(super) fn is_milestone(labels: u64, step: u64) -> bool {
    let step_of = |labels: u64| ((labels as f64).log10() * 20.0).floor();
    labels <= 10 || step_of(labels.saturating_sub(step).max(1)) < step_of(labels)
}
