//! Command-line arguments about the learner, shared by streams and pools.

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use querist_engine::name::NameError;
use querist_engine::pool::ColdDraws;
use querist_run::precision::PrecisionSetting;
use querist_run::settings::{ClockSetting, Defaults, LearnerSettings};
use querist_run::written::Written;

use super::output::{count, whole};

/// The learner.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Learner")]
pub(crate) struct LearnerArgs {
    /// The loss [default: logistic, cross-entropy or squared, by the labels]
    #[arg(long)]
    loss: Option<String>,
    /// The query rule [default: entropy; boundary if a pool is fitted; conditional-loss for numbers]
    #[arg(long)]
    rule: Option<String>,
    /// Step sizes: auto, fixed:eta=0.1, inverse-sqrt:eta=1, theory:c=umax|oracle|NUMBER, pilot
    #[arg(long, default_value = "auto")]
    step: String,
    /// D, the distance from the start to the optimum, for theory and pilot [default: from the features]
    #[arg(long, value_name = "D")]
    distance: Option<f64>,
    /// G, the size of gradients, for theory and pilot [default: from the loss and the features]
    #[arg(long, value_name = "G")]
    gradient: Option<f64>,
    /// T, the expected number of observations, for theory and pilot [default: the number of rows]
    #[arg(long, value_name = "T")]
    horizon: Option<f64>,
    /// The mean query rate, for theory:c=oracle
    #[arg(long, value_name = "R")]
    rate: Option<f64>,
    /// none, heavy-ball:beta=0.9, nesterov:beta=0.9, or nesterov with its own schedule
    #[arg(long, default_value = "none")]
    momentum: String,
    /// The observations that advance momentum
    #[arg(long, value_enum, default_value = "query")]
    clock: ClockName,
    /// λ: add λ/2·‖w‖² to the loss; with --fit refit, 0 chooses λ from the answers
    #[arg(long, value_name = "LAMBDA", default_value_t = 0.0)]
    l2: f64,
    /// Keep the parameters within this distance of 0
    #[arg(long, value_name = "R")]
    radius: Option<f64>,
    /// Do not fit an intercept
    #[arg(long)]
    no_intercept: bool,
    /// The initial parameters, w1,w2,…,b [default: zeros]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_delimiter = ',')]
    start: Option<Vec<f64>>,
    /// Weight gradients by 1/U, to minimize the loss itself instead of the equivalent loss
    #[arg(long)]
    importance: bool,
    /// The rule for the first labels (warm start), for example critical, whose objective is convex
    #[arg(long, value_name = "RULE", requires = "warm_labels")]
    warm_rule: Option<String>,
    /// Number of labels of the warm start
    #[arg(long, value_name = "N", value_parser = count, requires = "warm_rule")]
    warm_labels: Option<u64>,
    /// Random seed
    #[arg(long, value_parser = whole::<u64>, default_value_t = 0)]
    seed: u64,
}

/// The draws of a cold start.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ColdStartName {
    /// Rows that are typical of what no drawn row resembles; any row with more than 10 classes
    Coverage,
    /// Any row
    Random,
}

impl ColdStartName {
    /// Returns the setting of this name.
    pub(crate) fn setting(self) -> Written<ColdDraws> {
        match self {
            ColdStartName::Coverage => ColdDraws::Coverage.into(),
            ColdStartName::Random => ColdDraws::Random.into(),
        }
    }
}

/// The observations that advance momentum.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClockName {
    /// Queried observations
    Query,
    /// All observations
    Raw,
}

impl LearnerArgs {
    /// Returns the rule for the first labels and their number, if there is one.
    pub(crate) fn warm(&self) -> Option<(&str, u64)> {
        self.warm_rule.as_deref().zip(self.warm_labels)
    }

    /// Returns the settings from the command line.
    ///
    /// # Errors
    /// If the name of a step or a momentum is unknown or has invalid parameters.
    pub(crate) fn settings(&self) -> Result<LearnerSettings> {
        let same = self.clone();
        Ok(LearnerSettings {
            loss: same.loss,
            rule: same.rule,
            step: same.step.parse().map_err(|error: NameError| anyhow!("--step {error}"))?,
            distance: same.distance,
            gradient: same.gradient,
            horizon: same.horizon,
            rate: same.rate,
            momentum: same.momentum.parse().map_err(|error: NameError| anyhow!("--momentum {error}"))?,
            clock: match same.clock {
                ClockName::Query => ClockSetting::Query,
                ClockName::Raw => ClockSetting::Raw,
            },
            l2: optional_l2(same.l2),
            radius: same.radius,
            no_intercept: same.no_intercept,
            start: same.start,
            importance: same.importance,
            warm_rule: same.warm_rule,
            warm_labels: same.warm_labels,
            cold_start: None,
            start_with: None,
            start_like: vec![],
            precision: None,
            seed: same.seed,
            defaults: Defaults::default(),
        })
    }
}

/// Parses a precision to be reached within a number of labels.
pub(crate) fn precision(text: Option<&str>, labels: Option<u64>) -> Result<Option<Written<PrecisionSetting>>> {
    let Some(text) = text else { return Ok(None) };
    let found: PrecisionSetting = text.parse().map_err(|error: NameError| anyhow!("--precision {error}"))?;
    Ok(Some(PrecisionSetting { labels: found.labels.or(labels), ..found }.into()))
}

/// Returns λ; `None` for 0, which is the default.
pub(crate) fn optional_l2(l2: f64) -> Option<f64> {
    Some(l2).filter(|l2| *l2 != 0.0)
}
