//! The learner under measurement: entropy rule, logistic loss and a fixed step, as in the yardstick.

use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::rule;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner};
use querist_engine::task::{self, Labels};

/// Creates a learner with the start parameters, or zeros for `None`.
pub(crate) fn learner(dim: usize, step: f64, start: Option<&[f64]>) -> anyhow::Result<Learner> {
    let task = task::parse("logistic", Labels::Binary)?;
    let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
    Ok(Learner::new(task, true, dim, optimizer, Steps::new(StepSize::Fixed(step)), start)?)
}

/// Returns the entropy rule in nats, used throughout the run.
pub(crate) fn entropy() -> anyhow::Result<Rules> {
    Ok(Rules::only(rule::parse(&format!("entropy:base={}", std::f64::consts::E), "logistic", Labels::Binary)?))
}

/// Creates a stream learner that starts at zero.
pub(crate) fn stream(dim: usize, step: f64) -> anyhow::Result<StreamLearner> {
    Ok(StreamLearner::new(learner(dim, step, None)?, entropy()?, 1, Importance::Equivalent)?)
}
