//! From settings and data to a learner.

use anyhow::{Context, Result, bail};
use querist_data::{Encoder, Task as DataTask};
use querist_engine::fit::Refit;
use querist_engine::index::WIDE;
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Optimizer};
use querist_engine::pool::{ColdStart, Draw, Objective, PoolLearner, PoolSettings, Replacement};
use querist_engine::rule::{self, Rule};
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner, Warm};
use querist_engine::task::{self, Labels, Task};
use querist_rows::Rows;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::settings::{ClockName, Settings};
use super::step;

/// What the labels of a run are.
pub(crate) fn labels(encoder: &Encoder) -> Result<Labels> {
    Ok(match encoder.task() {
        Some(DataTask::Binary) => Labels::Binary,
        Some(DataTask::Classes(classes)) => Labels::Classes(classes),
        Some(DataTask::Number) => Labels::Numbers,
        None => bail!(
            "which column has the labels? say --label COLUMN (found {}; an .npy file has no labels, save both as .npz)",
            encoder.describe()
        ),
    })
}

/// The loss, by name.
pub(crate) fn task(settings: &Settings, labels: Labels) -> Result<Box<dyn Task>> {
    Ok(task::parse(settings.loss.as_deref().unwrap_or(labels.default_loss()), labels)?)
}

/// The rules of a pool, by name.
pub(crate) fn pool_rules(settings: &Settings, task: &dyn Task, labels: Labels, is_fitted: bool) -> Result<Rules> {
    if !is_fitted {
        return rules(settings, task, labels);
    }
    let default = if labels == Labels::Numbers { "conditional-loss" } else { "boundary" };
    let name = |name: &str| rule::in_pool(name, labels);
    let settings = Settings {
        rule: Some(name(settings.rule.as_deref().unwrap_or(default))),
        warm_rule: settings.warm_rule.as_deref().map(name),
        ..settings.clone()
    };
    rules(&settings, task, labels)
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

/// What the data decided at the start of a run: with the settings, all a learner is made of.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Resolved {
    /// `binary`, `numbers`, or how many classes.
    labels: Value,
    /// Features at the start.
    pub(crate) dim: usize,
    /// The step with its numbers.
    step: Value,
}

impl Resolved {
    pub(crate) fn new(labels: Labels, dim: usize, step: StepSize) -> Self {
        let labels = match labels {
            Labels::Binary => "binary".into(),
            Labels::Numbers => "numbers".into(),
            Labels::Classes(classes) => classes.into(),
        };
        let step = match step {
            StepSize::Auto => json!(["auto"]),
            StepSize::Fixed(step) => json!(["fixed", step]),
            StepSize::InverseSqrt(step) => json!(["inverse-sqrt", step]),
            StepSize::Pilot { unit, u_max, window } => json!(["pilot", unit, u_max, window]),
        };
        Self { labels, dim, step }
    }

    pub(crate) fn labels(&self) -> Result<Labels> {
        Ok(match (self.labels.as_str(), self.labels.as_u64()) {
            (Some("binary"), _) => Labels::Binary,
            (Some("numbers"), _) => Labels::Numbers,
            (_, Some(classes)) => Labels::Classes(classes as usize),
            _ => bail!("the ledger says nothing of its labels"),
        })
    }

    fn step(&self) -> Result<StepSize> {
        let number =
            |place: usize| self.step.get(place).and_then(Value::as_f64).context("the ledger's step has a number");
        Ok(match self.step.get(0).and_then(Value::as_str) {
            Some("auto") => StepSize::Auto,
            Some("fixed") => StepSize::Fixed(number(1)?),
            Some("inverse-sqrt") => StepSize::InverseSqrt(number(1)?),
            Some("pilot") => StepSize::Pilot { unit: number(1)?, u_max: number(2)?, window: number(3)? as u64 },
            _ => bail!("the ledger's step is unknown"),
        })
    }
}

/// The learner, at its start.
pub(crate) fn learner(settings: &Settings, task: Box<dyn Task>, resolved: &Resolved) -> Result<Learner> {
    learner_of(settings, task, resolved, resolved.dim)
}

/// The same with room for `dim` features; the others are made room for later.
fn learner_of(settings: &Settings, task: Box<dyn Task>, resolved: &Resolved, dim: usize) -> Result<Learner> {
    let clock = match settings.clock {
        ClockName::Query => Clock::Query,
        ClockName::Raw => Clock::Raw,
    };
    let constraint = Constraint { l2: settings.l2, radius: settings.radius };
    let optimizer = Optimizer::new(step::momentum(&settings.momentum)?, clock, constraint);
    let steps = Steps::new(resolved.step()?);
    Ok(Learner::new(task, !settings.no_intercept, dim, optimizer, steps, settings.start.as_deref())?)
}

/// A stream's learner, at its start.
pub(crate) fn stream(settings: &Settings, resolved: &Resolved) -> Result<StreamLearner> {
    let labels = resolved.labels()?;
    let task = task(settings, labels)?;
    let rules = rules(settings, &*task, labels)?;
    // A start has a number for every feature; otherwise very many features have weights once they are met.
    let dim = if WIDE < resolved.dim && settings.start.is_none() { 0 } else { resolved.dim };
    let learner = learner_of(settings, task, resolved, dim)?;
    let mut learner = StreamLearner::new(learner, rules, settings.seed, importance(settings))?;
    learner.widen(resolved.dim);
    Ok(learner)
}

/// What asked gradients are multiplied by.
pub(crate) fn importance(settings: &Settings) -> Importance {
    if settings.importance { Importance::Original } else { Importance::Equivalent }
}

/// What a user should know of a rule for K classes.
pub(crate) fn warning(rules: &Rules, labels: Labels, loss: &str) -> Option<String> {
    let Labels::Classes(classes) = labels else { return None };
    let name = rules.rule.name();
    // What a certificate calls the rule.
    let certified = match &rules.rule {
        Rule::Classes(_) => Some(name.clone()),
        // Whatever the scale of the pool, there is no objective.
        Rule::Relative(rule) => rule.is_of_gaps().then(|| "boundary".to_owned()),
        Rule::Score(_) | Rule::ConditionalLoss(_) => return None,
    };
    let shows = match certified.filter(|_| loss == "cross-entropy") {
        Some(rule) => format!(" (`querist certify softmax-cross-entropy {rule} --classes {classes}` shows it)"),
        None => String::new(),
    };
    (2 < classes && !name.starts_with("constant")).then(|| {
        format!(
            "`{name}` has no equivalent loss for {classes} classes: U·∇ℓ has curl, so what is optimized depends on the \
             path{shows}; `--rule conditional-loss` has one"
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
    Ok(PoolLearner::new(learner, rules, rows, pool)?)
}

/// What a pool's learner needs to fit.
pub(crate) struct Fitted<'a> {
    /// What answers count, by name.
    pub(crate) objective: &'a str,
    /// No rows yet, of the pool's kind.
    pub(crate) empty: Rows,
}

/// The learner of a pool that fits, at its start.
pub(crate) fn fitted_pool(
    settings: &Settings,
    resolved: &Resolved,
    draw: Draw,
    fitted: Fitted<'_>,
    rows: usize,
) -> Result<PoolLearner> {
    let labels = resolved.labels()?;
    let task = task(settings, labels)?;
    let rules = pool_rules(settings, &*task, labels, true)?;
    let objective = match fitted.objective {
        "as-asked" => Objective::AsAsked,
        "equivalent" => Objective::Equivalent,
        "original" => Objective::Original,
        other => bail!("`{other}` is no objective"),
    };
    let strength = (0.0 < settings.l2).then_some(settings.l2);
    let refit = Refit::new(&*task, !settings.no_intercept, fitted.empty, strength, settings.seed)?;
    let learner = learner(settings, task, resolved)?;
    let pool = PoolSettings {
        draw,
        replacement: Replacement::Without,
        importance: Importance::Equivalent,
        seed: settings.seed,
    };
    Ok(PoolLearner::new(learner, rules, rows, pool)?.fitted_by(refit, objective, ColdStart::new(labels)))
}

/// How rows are drawn, by name.
pub(crate) fn draw(name: &str) -> Draw {
    match name {
        "scan" => Draw::Scan,
        "top" => Draw::Top,
        _ => Draw::Reject,
    }
}
