//! The learner of a pool's run, of either kind.

use querist_engine::pool::{AnswerError, Drawn, NoRow, PoolLearner, PoolSampler, RefitPool, SgdPool};
use querist_rows::{Row, Rows};

/// The learner of a pool's run.
#[derive(Debug)]
pub enum RunLearner {
    /// A learner that takes a gradient step for each answer.
    Sgd(Box<SgdPool>),
    /// A learner that fits all answers.
    Refit(Box<RefitPool>),
}

impl RunLearner {
    /// Returns the learner if it fits.
    pub fn as_refit(&self) -> Option<&RefitPool> {
        match self {
            RunLearner::Sgd(_) => None,
            RunLearner::Refit(pool) => Some(pool),
        }
    }

    fn as_learner(&self) -> &dyn PoolLearner {
        match self {
            RunLearner::Sgd(pool) => pool.as_ref(),
            RunLearner::Refit(pool) => pool.as_ref(),
        }
    }

    fn as_learner_mut(&mut self) -> &mut dyn PoolLearner {
        match self {
            RunLearner::Sgd(pool) => pool.as_mut(),
            RunLearner::Refit(pool) => pool.as_mut(),
        }
    }
}

impl From<SgdPool> for RunLearner {
    fn from(pool: SgdPool) -> Self {
        RunLearner::Sgd(Box::new(pool))
    }
}

impl From<RefitPool> for RunLearner {
    fn from(pool: RefitPool) -> Self {
        RunLearner::Refit(Box::new(pool))
    }
}

impl PoolLearner for RunLearner {
    fn sampler(&self) -> &PoolSampler {
        self.as_learner().sampler()
    }

    fn sampler_mut(&mut self) -> &mut PoolSampler {
        self.as_learner_mut().sampler_mut()
    }

    fn ask(&mut self, rows: &Rows) -> Result<Drawn, NoRow> {
        self.as_learner_mut().ask(rows)
    }

    fn answer(&mut self, answers: &[(Row<'_>, Drawn, f64)]) -> Result<(), AnswerError> {
        self.as_learner_mut().answer(answers)
    }
}
