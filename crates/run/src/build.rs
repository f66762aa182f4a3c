//! Construction of learners from settings and data.

use querist_data::{Encoder, LabelKind};
use querist_engine::fit::Refit;
use querist_engine::index::WIDE;
use querist_engine::learner::Learner;
use querist_engine::model_kind::ModelKind;
use querist_engine::optimizer::{Clock, Constraint, Optimizer};
use querist_engine::pool::{
    Draw, ModelCandidate, Objective, PrecisionGoal, RefitPool, RefitSettings, Replacement, SgdPool, SgdSettings,
};
use querist_engine::rule::{self, Rule};
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner, Warm};
use querist_engine::task::{self, Labels, Task};
use querist_rows::Rows;
use serde::{Deserialize, Serialize};

use crate::error::{Result, bail};
use crate::settings::{ClockSetting, Defaults, LearnerSettings};

/// Returns the kind of labels of a run.
pub fn labels(encoder: &Encoder) -> Result<Labels> {
    Ok(match encoder.task() {
        Some(LabelKind::Binary) => Labels::Binary,
        Some(LabelKind::Classes(classes)) => Labels::Classes(classes),
        Some(LabelKind::Number) => Labels::Numbers,
        None => bail!(
            "no label column: use --label COLUMN (found {}; an .npy file has no labels, save both as .npz)",
            encoder.describe()
        ),
    })
}

/// Parses the loss.
pub fn task(settings: &LearnerSettings, labels: Labels) -> Result<Box<dyn Task>> {
    Ok(task::parse(settings.loss.as_deref().unwrap_or(labels.default_loss()), labels)?)
}

/// Parses the rules of a pool.
pub fn pool_rules(settings: &LearnerSettings, task: &dyn Task, labels: Labels, is_fitted: bool) -> Result<Rules> {
    if !is_fitted {
        return rules(settings, task, labels);
    }
    let default = if labels == Labels::Numbers { "conditional-loss" } else { "boundary" };
    let name = |name: &str| settings.defaults.complete(name, labels);
    let settings = LearnerSettings {
        rule: Some(name(settings.rule.as_deref().unwrap_or(default))),
        warm_rule: settings.warm_rule.as_deref().map(name),
        ..settings.clone()
    };
    rules(&settings, task, labels)
}

/// Parses the rules of a stream.
pub fn rules(settings: &LearnerSettings, task: &dyn Task, labels: Labels) -> Result<Rules> {
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

/// The facts that the data determined at the start of a run. With the settings, they determine the learner.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Resolved {
    /// The kind of labels.
    #[serde(with = "stored::labels")]
    pub labels: Labels,
    /// The number of features at the start.
    pub dim: usize,
    /// The step size with its numbers.
    #[serde(with = "stored::step")]
    pub step: StepSize,
    /// The statistic whose precision is wanted, if it is the F1 of a class: the class.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub precision_class: Option<usize>,
}

/// Makes a learner at its start.
pub fn learner(settings: &LearnerSettings, task: Box<dyn Task>, resolved: &Resolved) -> Result<Learner> {
    learner_of(settings, task, resolved, resolved.dim)
}

/// Makes a learner with `dim` features; the others are added later.
fn learner_of(settings: &LearnerSettings, task: Box<dyn Task>, resolved: &Resolved, dim: usize) -> Result<Learner> {
    let clock = match settings.clock {
        ClockSetting::Query => Clock::Query,
        ClockSetting::Raw => Clock::Raw,
    };
    let constraint = Constraint { l2: settings.l2.unwrap_or(0.0), radius: settings.radius };
    let optimizer = Optimizer::new(*settings.momentum, clock, constraint);
    let steps = Steps::new(resolved.step);
    Ok(Learner::new(task, !settings.no_intercept, dim, optimizer, steps, settings.start.as_deref())?)
}

/// Makes the learner of a stream at its start.
pub fn stream(settings: &LearnerSettings, resolved: &Resolved) -> Result<StreamLearner> {
    let labels = resolved.labels;
    let task = task(settings, labels)?;
    let rules = rules(settings, &*task, labels)?;
    // A start has a number for every feature. Without one, very many features get weights only when they occur.
    let dim = if WIDE < resolved.dim && settings.start.is_none() { 0 } else { resolved.dim };
    let learner = learner_of(settings, task, resolved, dim)?;
    let mut learner = StreamLearner::new(learner, rules, settings.seed, importance(settings))?;
    learner.widen(resolved.dim);
    Ok(learner)
}

/// Returns the importance weighting of queried gradients.
pub fn importance(settings: &LearnerSettings) -> Importance {
    if settings.importance { Importance::Original } else { Importance::Equivalent }
}

/// Returns a warning for users about a rule for K classes, if there is one.
pub fn warning(rules: &Rules, labels: Labels, loss: &str) -> Option<String> {
    let Labels::Classes(classes) = labels else { return None };
    let name = rules.rule.name();
    // The name of the rule in certificates.
    let certified = match &rules.rule {
        Rule::Classes(_) => Some(name.clone()),
        // There is no objective for any scale of the pool.
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

/// Makes the learner of a pool that takes gradient steps, at its start.
pub fn sgd_pool(
    settings: &LearnerSettings,
    resolved: &Resolved,
    draw: Draw,
    replacement: Replacement,
    rows: usize,
) -> Result<SgdPool> {
    let labels = resolved.labels;
    let task = task(settings, labels)?;
    let rules = rules(settings, &*task, labels)?;
    let learner = learner(settings, task, resolved)?;
    let pool = SgdSettings { draw, replacement, importance: importance(settings), seed: settings.seed };
    Ok(SgdPool::new(learner, rules, rows, pool)?)
}

/// The settings of a pool learner that fits.
pub struct FitSettings {
    /// The objective of the fit.
    pub objective: Objective,
    /// An empty set of rows of the pool's kind.
    pub empty: Rows,
    /// The kinds of models among which the answers decide.
    pub models: Vec<ModelCandidate>,
}

/// Returns the models that a pool with these rows can fit.
///
/// # Errors
/// If the kind of model does not support the rows or the loss.
pub fn models(
    kind: ModelKind,
    rows: &Rows,
    task: &dyn Task,
    settings: &LearnerSettings,
) -> Result<Vec<ModelCandidate>> {
    let Some(mut models) = kind.candidates(rows) else {
        bail!("--model {kind} does not support text, indexed features or hashed categories; use --model linear");
    };
    // The scores of a forest are log-odds or means, which other losses do not have.
    let takes_forest = matches!(task.name(), "logistic" | "cross-entropy" | "squared");
    if !takes_forest && matches!(kind, ModelKind::Forest(_)) {
        bail!(
            "--model {kind} needs a loss with probabilities, logistic or cross-entropy, or squared; found {}",
            task.name()
        );
    }
    if matches!(kind, ModelKind::Forest(_)) && (settings.l2.is_some() || settings.no_intercept) {
        bail!("--l2 and --no-intercept are for linear and kernel models; a forest has neither");
    }
    models.retain(|model| takes_forest || !matches!(model, ModelCandidate::Forest(_)));
    Ok(models)
}

/// Makes the learner of a pool that fits, at its start.
pub fn refit_pool(
    settings: &LearnerSettings,
    resolved: &Resolved,
    draw: Draw,
    fitted: FitSettings,
    rows: usize,
) -> Result<RefitPool> {
    let labels = resolved.labels;
    let task = task(settings, labels)?;
    let rules = pool_rules(settings, &*task, labels, true)?;
    let mut refit = Refit::new(&*task, !settings.no_intercept, fitted.empty, settings.l2, settings.seed)?;
    if settings.defaults == Defaults::V0_1 {
        refit = refit.like_version_0_1();
    }
    let learner = learner(settings, task, resolved)?;
    let pool = RefitSettings { draw, seed: settings.seed, refit, objective: fitted.objective, labels };
    let pool =
        RefitPool::new(learner, rules, rows, pool)?.with_cold_draws(settings.cold_draws()).with_models(fitted.models);
    let Some(precision) = &settings.precision else { return Ok(pool) };
    let goal = resolved.precision_class.map_or(PrecisionGoal::Accuracy, PrecisionGoal::F1);
    Ok(pool.with_precision(precision.of(goal))?)
}

/// The format of labels and steps in ledgers.
mod stored {
    /// `binary`, `numbers`, or the number of classes.
    pub(super) mod labels {
        use querist_engine::task::Labels;
        use serde::de::Error;
        use serde::{Deserialize, Deserializer, Serialize, Serializer};
        use serde_json::Value;

        pub(in super::super) fn serialize<S: Serializer>(labels: &Labels, serializer: S) -> Result<S::Ok, S::Error> {
            match labels {
                Labels::Binary => "binary".serialize(serializer),
                Labels::Numbers => "numbers".serialize(serializer),
                Labels::Classes(classes) => classes.serialize(serializer),
            }
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Labels, D::Error> {
            let value = Value::deserialize(deserializer)?;
            match (value.as_str(), value.as_u64()) {
                (Some("binary"), _) => Ok(Labels::Binary),
                (Some("numbers"), _) => Ok(Labels::Numbers),
                (_, Some(classes)) => Ok(Labels::Classes(classes as usize)),
                _ => Err(D::Error::custom("the ledger says nothing of its labels")),
            }
        }
    }

    /// The name of a step and its numbers, as `["fixed", 0.1]`.
    pub(super) mod step {
        use querist_engine::step::StepSize;
        use serde::de::Error;
        use serde::{Deserialize, Deserializer, Serialize, Serializer};
        use serde_json::Value;

        pub(in super::super) fn serialize<S: Serializer>(step: &StepSize, serializer: S) -> Result<S::Ok, S::Error> {
            match step {
                StepSize::Auto => ["auto"].serialize(serializer),
                StepSize::Fixed(step) => ("fixed", step).serialize(serializer),
                StepSize::InverseSqrt(step) => ("inverse-sqrt", step).serialize(serializer),
                StepSize::Pilot { unit, u_max, window } => ("pilot", unit, u_max, window).serialize(serializer),
            }
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StepSize, D::Error> {
            let value = Value::deserialize(deserializer)?;
            let number = |index: usize| {
                let number = value.get(index).and_then(Value::as_f64);
                number.ok_or_else(|| D::Error::custom("the ledger's step has a number"))
            };
            Ok(match value.get(0).and_then(Value::as_str) {
                Some("auto") => StepSize::Auto,
                Some("fixed") => StepSize::Fixed(number(1)?),
                Some("inverse-sqrt") => StepSize::InverseSqrt(number(1)?),
                Some("pilot") => StepSize::Pilot { unit: number(1)?, u_max: number(2)?, window: number(3)? as u64 },
                _ => return Err(D::Error::custom("the ledger's step is unknown")),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_data_decide_is_stored_under_the_same_names() {
        let pilot = StepSize::Pilot { unit: 0.5, u_max: 1.0, window: 7 };
        let table = [
            (Labels::Binary, StepSize::Auto, r#"{"labels":"binary","dim":3,"step":["auto"]}"#),
            (Labels::Numbers, StepSize::Fixed(0.1), r#"{"labels":"numbers","dim":3,"step":["fixed",0.1]}"#),
            (Labels::Classes(4), StepSize::InverseSqrt(2.0), r#"{"labels":4,"dim":3,"step":["inverse-sqrt",2.0]}"#),
            (Labels::Binary, pilot, r#"{"labels":"binary","dim":3,"step":["pilot",0.5,1.0,7]}"#),
        ];
        for (labels, step, text) in table {
            let resolved = Resolved { labels, dim: 3, step, precision_class: None };
            assert_eq!(serde_json::to_string(&resolved).unwrap(), text);
            assert_eq!(serde_json::from_str::<Resolved>(text).unwrap(), resolved);
        }
        assert!(serde_json::from_str::<Resolved>(r#"{"labels":null,"dim":3,"step":["auto"]}"#).is_err());
        assert!(serde_json::from_str::<Resolved>(r#"{"labels":2,"dim":3,"step":["other"]}"#).is_err());
    }
}
