//! A pool's learner that takes a gradient step for each answer, as in the paper.

use super::answer_error::check;
use super::{AnswerError, Draw, Drawn, NoRow, PoolLearner, PoolSampler, Replacement};
use crate::learner::{Diverged, Learner};
use crate::rows::{Row, Rows};
use crate::settings::IllegalSettings;
use crate::stream::{Importance, Rules};

/// The settings of a pool's learner that takes gradient steps.
#[derive(Clone, Copy, Debug)]
pub struct SgdSettings {
    /// The method of drawing rows.
    pub draw: Draw,
    /// Drawing with or without replacement.
    pub replacement: Replacement,
    /// The factor of the gradients of asked rows.
    pub importance: Importance,
    /// The run's seed.
    pub seed: u64,
}

/// A pool's learner that takes a gradient step for each answer, or one step for each batch of answers.
///
/// ```
/// use querist_engine::pool::{Draw, PoolLearner, Replacement, SgdPool, SgdSettings};
/// use querist_engine::stream::{Importance, Rules};
/// use querist_rows::{DenseRows, Rows};
/// # use querist_engine::learner::Learner;
/// # use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
/// # use querist_engine::step::{StepSize, Steps};
/// # use querist_engine::task::Labels;
/// # use querist_engine::{rule, task};
///
/// let rows = Rows::Dense(DenseRows::from_values(1, vec![-1.0, -0.1, 0.2, 0.9]).expect("whole rows"));
/// # let task = task::parse("logistic", Labels::Binary)?;
/// # let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
/// # let learner = Learner::new(task, true, 1, optimizer, Steps::new(StepSize::Auto), None)?;
/// let rules = Rules::only(rule::parse("entropy", "logistic", Labels::Binary)?);
/// let (replacement, importance) = (Replacement::Without, Importance::Equivalent);
/// let settings = SgdSettings { draw: Draw::Top, replacement, importance, seed: 1 };
/// let mut pool = SgdPool::new(learner, rules, rows.len(), settings)?;
/// let drawn = pool.ask(&rows).expect("four rows are left");
/// assert_eq!(drawn.row, 0, "without a model all rows are equally uncertain, and the first is drawn");
/// pool.answer(&[(rows.row(drawn.row), drawn, -1.0)])?;
/// assert_eq!((pool.answered(), pool.left()), (1, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SgdPool {
    sampler: PoolSampler,
    importance: Importance,
}

impl SgdPool {
    /// Creates a learner for a pool of this many rows. Returns an error if the rules do not fit the model.
    pub fn new(learner: Learner, rules: Rules, rows: usize, settings: SgdSettings) -> Result<Self, IllegalSettings> {
        let SgdSettings { draw, replacement, importance, seed } = settings;
        Ok(Self { sampler: PoolSampler::new(learner, rules, rows, (draw, replacement), seed)?, importance })
    }

    fn learn(&mut self, answers: &[(Row<'_>, Drawn, f64)]) -> Result<(), Diverged> {
        let PoolSampler { learner, rules, scores, answered, .. } = &mut self.sampler;
        let share = 1.0 / answers.len() as f64;
        let inverse_rate: f64 = answers.iter().map(|(_, drawn, _)| share * drawn.inverse_rate).sum();
        learner.weights.advance_average(learner.steps.weight() * inverse_rate);
        let u_max = rules.now().max();
        let weight = |drawn: &Drawn| match self.importance {
            Importance::Equivalent => 1.0,
            Importance::Original if drawn.tries == 0 => 1.0 / (drawn.uncertainty * drawn.inverse_rate),
            Importance::Original => u_max / drawn.uncertainty,
        };
        if let [(x, drawn, label)] = answers {
            let weight = weight(drawn);
            learner.scores(*x, scores);
            learner.learn(*x, scores, *label, weight)?;
        } else {
            let weights: Vec<f64> = answers.iter().map(|(_, drawn, _)| weight(drawn)).collect();
            let labeled: Vec<(Row<'_>, f64)> = answers.iter().map(|(x, _, label)| (*x, *label)).collect();
            learner.learn_together(&labeled, &weights)?;
        }
        *answered += answers.len() as u64;
        rules.learned(answers.iter().map(|(x, _, label)| (*x, *label)), learner);
        if rules.switch(*answered) {
            learner.weights.restart_average();
        }
        Ok(())
    }
}

impl PoolLearner for SgdPool {
    fn sampler(&self) -> &PoolSampler {
        &self.sampler
    }

    fn sampler_mut(&mut self) -> &mut PoolSampler {
        &mut self.sampler
    }

    fn ask(&mut self, rows: &Rows) -> Result<Drawn, NoRow> {
        let drawn = self.sampler.find(rows)?;
        self.sampler.note(&drawn, rows.row(drawn.row));
        Ok(drawn)
    }

    /// Takes one step on the mean gradient of the answers.
    ///
    /// With importance weights, answers from a pass are weighted by `S_t/U`. Proposals do not know `S_t`, and 1/N is
    /// not unbiased for it. They are weighted by `U_max/U`, as Algorithm 1 does on the proposals: the same objective,
    /// with steps longer by `U_max/S_t`.
    fn answer(&mut self, answers: &[(Row<'_>, Drawn, f64)]) -> Result<(), AnswerError> {
        answers.iter().try_for_each(|(x, drawn, label)| check(&self.sampler.learner, drawn.row, *x, *label))?;
        self.sampler.end_batch();
        let before = self.sampler.learner.weights.average_weight();
        let done = self.learn(answers);
        if done.is_err() {
            self.sampler.learner.weights.set_average_weight(before);
        }
        Ok(done?)
    }
}
