//! Learning curves: one learner on one split of a data set.

use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::pool::{Draw, Drawn, PoolLearner, Replacement, SgdPool, SgdSettings};
use querist_engine::rule;
use querist_engine::scorer::Scorer;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules};
use querist_engine::task::{self, Labels};
use querist_rows::Row;

use crate::datasets::DataSplit;

/// The configuration of a learner.
#[derive(Clone, Copy)]
pub(crate) struct Contestant {
    pub loss: &'static str,
    pub labels: Labels,
    pub rule: &'static str,
    pub step: StepSize,
    /// The rows drawn per step. A step uses the mean of their gradients.
    pub batch: usize,
    pub replacement: Replacement,
}

/// The quality of a learner at one point of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Checkpoint {
    /// The rows drawn so far, counting repeated draws.
    pub drawn: usize,
    /// The distinct rows drawn so far: the labels to pay for.
    pub labeled: usize,
    /// The accuracy on test rows; for regression, R².
    pub accuracy: f64,
    /// The mean loss on test rows.
    pub loss: f64,
}

impl Contestant {
    /// Creates a fresh learner of Algorithm 2 on the training rows. Rejection sampling has the same distribution as a
    /// full pass, at a cost that does not grow with the pool.
    pub(crate) fn learner(&self, split: &DataSplit, seed: u64) -> SgdPool {
        let task = task::parse(self.loss, self.labels).expect("a registered loss");
        let rule = rule::parse(self.rule, self.loss, self.labels).expect("a registered rule");
        let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
        let learner = Learner::new(task, true, split.train.rows.dim(), optimizer, Steps::new(self.step), None)
            .expect("legal settings");
        let settings =
            SgdSettings { draw: Draw::Reject, replacement: self.replacement, importance: Importance::Equivalent, seed };
        SgdPool::new(learner, Rules::only(rule), split.train.rows.len(), settings).expect("legal settings")
    }

    /// Draws a batch, answers it, and returns the drawn rows.
    pub(crate) fn round(&self, pool: &mut SgdPool, split: &DataSplit) -> Vec<usize> {
        let rows = &split.train.rows;
        let drawn: Vec<Drawn> = (0..self.batch).map_while(|_| pool.ask(rows).ok()).collect();
        let answers: Vec<(Row<'_>, Drawn, f64)> =
            drawn.iter().map(|drawn| (rows.row(drawn.row), *drawn, split.train.labels[drawn.row])).collect();
        pool.answer(&answers).expect("features and steps are bounded");
        drawn.iter().map(|drawn| drawn.row).collect()
    }

    /// Runs Algorithm 2 and scores the weighted average θ̄ at these increasing numbers of draws.
    pub(crate) fn run(&self, split: &DataSplit, seed: u64, moments: &[usize]) -> Vec<Checkpoint> {
        let mut pool = self.learner(split, seed);
        let mut seen = vec![false; split.train.rows.len()];
        let (mut drawn, mut labeled, mut course) = (0, 0, vec![]);
        for moment in moments {
            while drawn < *moment {
                for row in self.round(&mut pool, split) {
                    labeled += usize::from(!std::mem::replace(&mut seen[row], true));
                    drawn += 1;
                }
            }
            let learner = pool.learner();
            let mut scorer = Scorer::new(learner.task().outputs(), &learner.mean());
            let score = scorer.score(learner.task(), &split.test.rows, &split.test.labels);
            course.push(Checkpoint { drawn, labeled, accuracy: score.accuracy, loss: score.loss });
        }
        course
    }
}
