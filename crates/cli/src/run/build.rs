//! From settings and data to a learner.

use anyhow::{Result, bail};
use querist_data::{Encoder, Task as DataTask};
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Optimizer};
use querist_engine::rows::Rows;
use querist_engine::rule;
use querist_engine::step::Steps;
use querist_engine::stream::{Importance, Rules, Warm};
use querist_engine::task::{self, Labels, Task};

use super::settings::{ClockName, Settings};
use super::step::{self, Surroundings};

/// What the labels of a run are.
pub(crate) fn labels(encoder: &Encoder) -> Result<Labels> {
    Ok(match encoder.task() {
        Some(DataTask::Binary) => Labels::Binary,
        Some(DataTask::Classes(classes)) => Labels::Classes(classes),
        Some(DataTask::Number) => Labels::Numbers,
        None => bail!("which column has the labels? say --label COLUMN"),
    })
}

/// The loss, by name.
pub(crate) fn task(settings: &Settings, labels: Labels) -> Result<Box<dyn Task>> {
    let default = match labels {
        Labels::Binary => "logistic",
        Labels::Classes(_) => "cross-entropy",
        Labels::Numbers => "squared",
    };
    Ok(task::parse(settings.loss.as_deref().unwrap_or(default), labels)?)
}

/// The rules, by name.
pub(crate) fn rules(settings: &Settings, task: &dyn Task, labels: Labels) -> Result<Rules> {
    let default = match labels {
        Labels::Binary => "entropy".to_owned(),
        Labels::Classes(classes) => format!("entropy:base={classes}"),
        Labels::Numbers => "conditional-loss".to_owned(),
    };
    let parse = |name: &str| rule::parse(name, task.name(), labels);
    let rule = parse(settings.rule.as_deref().unwrap_or(&default))?;
    let warm = match (&settings.warm_rule, settings.warm_labels) {
        (Some(name), Some(labels)) if 0 < labels => Some(Warm { rule: parse(name)?, labels }),
        _ => None,
    };
    Ok(Rules { warm, rule })
}

/// A stream asks with probability U, so U must be one.
pub(crate) fn require_probability(rules: &Rules, labels: Labels) -> Result<()> {
    for rule in [Some(&rules.rule), rules.warm.as_ref().map(|warm| &warm.rule)].into_iter().flatten() {
        if 1.0 < rule.max() {
            let hint = match labels {
                Labels::Classes(classes) if rule.name().starts_with("entropy") => {
                    format!("; `entropy:base={classes}` is at most 1")
                }
                _ => String::new(),
            };
            bail!("`{}` reaches {}, so it is not a probability{hint}", rule.name(), rule.max());
        }
    }
    Ok(())
}

/// What is known of the run's length.
#[derive(Clone, Copy)]
pub(crate) struct Length {
    /// Observations of a stream, labels of a pool.
    pub(crate) steps: Option<f64>,
    /// Whether it is a pool's.
    pub(crate) pool: bool,
}

/// The learner, at its start.
pub(crate) fn learner(
    settings: &Settings,
    task: Box<dyn Task>,
    rules: &Rules,
    dim: usize,
    sample: &Rows,
    length: Length,
) -> Result<Learner> {
    settings.check()?;
    let parameters = (dim + 1) * task.outputs();
    if let Some(start) = settings.start.as_ref().filter(|start| start.len() != parameters) {
        bail!("--start has {} numbers, need {parameters}: a weight for each feature, then the intercept", start.len());
    }
    let u_max = rules.max();
    let feasible_c = if length.pool { 1.0 } else { u_max.sqrt().recip() };
    let surroundings = Surroundings { task: &*task, sample, u_max, horizon: length.steps, feasible_c };
    let steps = Steps::new(step::parse(settings, &surroundings)?);
    let clock = match settings.clock {
        ClockName::Query => Clock::Query,
        ClockName::Raw => Clock::Raw,
    };
    let constraint = Constraint { l2: settings.l2, radius: settings.radius };
    let optimizer = Optimizer::new(step::momentum(&settings.momentum)?, clock, constraint);
    Ok(Learner::new(task, !settings.no_intercept, dim, optimizer, steps, settings.start.as_deref()))
}

/// What asked gradients are multiplied by.
pub(crate) fn importance(settings: &Settings) -> Importance {
    if settings.importance { Importance::Original } else { Importance::Equivalent }
}

/// What a user should know of a rule for K classes.
pub(crate) fn warning(rules: &Rules, labels: Labels) -> Option<String> {
    let Labels::Classes(classes) = labels else { return None };
    let querist_engine::rule::Rule::Classes(_) = &rules.rule else { return None };
    let name = rules.rule.name();
    (2 < classes && !name.starts_with("constant")).then(|| {
        format!(
            "`{name}` has no equivalent loss for {classes} classes: U·∇ℓ has curl, so what is optimized depends on the \
             path (`querist certify cross-entropy {name} --classes {classes}`); `--rule conditional-loss` has one"
        )
    })
}

/// A pool's learner, at its start.
pub(crate) fn pool(
    settings: &Settings,
    resolved: &Resolved,
    draw: Draw,
    replacement: Replacement,
    rows: usize,
) -> Result<PoolLearner> {
    let labels = resolved.labels()?;
    let task = task(settings, labels)?;
    let rules = rules(settings, &*task, labels)?;
    let learner = learner(settings, task, resolved)?;
    let pool = PoolSettings { draw, replacement, importance: importance(settings), seed: settings.seed };
    Ok(PoolLearner::new(learner, rules, rows, pool))
}
