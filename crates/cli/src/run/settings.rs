//! What can be said of a learner on the command line, the same for streams and pools.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::output::count;
use super::step;

/// The learner.
#[derive(Args, Clone, Debug, Deserialize, Serialize)]
#[command(next_help_heading = "Learner")]
pub(crate) struct Settings {
    /// The loss [default: logistic, cross-entropy or squared, by the labels]
    #[arg(long)]
    pub(crate) loss: Option<String>,
    /// The rule that decides what is asked [default: entropy; boundary where a pool is fitted; conditional-loss for numbers]
    #[arg(long)]
    pub(crate) rule: Option<String>,
    /// Step sizes: auto, fixed:eta=0.1, inverse-sqrt:eta=1, theory:c=umax|oracle|NUMBER, pilot
    #[arg(long, default_value = "auto")]
    pub(crate) step: String,
    /// D, the distance of the start from the optimum, for theory and pilot [default: from the features]
    #[arg(long, value_name = "D")]
    pub(crate) distance: Option<f64>,
    /// G, the size of gradients, for theory and pilot [default: from the loss and the features]
    #[arg(long, value_name = "G")]
    pub(crate) gradient: Option<f64>,
    /// T, how many observations are expected, for theory and pilot [default: as many as there are]
    #[arg(long, value_name = "T")]
    pub(crate) horizon: Option<f64>,
    /// The mean query rate, for theory:c=oracle
    #[arg(long, value_name = "R")]
    pub(crate) rate: Option<f64>,
    /// none, heavy-ball:beta=0.9, nesterov:beta=0.9, or nesterov with its own schedule
    #[arg(long, default_value = "none")]
    pub(crate) momentum: String,
    /// What advances momentum: asked observations, or all
    #[arg(long, value_enum, default_value = "query")]
    pub(crate) clock: ClockName,
    /// λ: adds λ/2·‖w‖² to the loss; 0 with --fit refit chooses it from the answers
    #[arg(long, value_name = "LAMBDA", default_value_t = 0.0)]
    pub(crate) l2: f64,
    /// Keeps the parameters within this distance of 0
    #[arg(long, value_name = "R")]
    pub(crate) radius: Option<f64>,
    /// Scores without an intercept
    #[arg(long)]
    pub(crate) no_intercept: bool,
    /// The parameters to start from, w1,w2,…,b [default: zeros]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_delimiter = ',')]
    pub(crate) start: Option<Vec<f64>>,
    /// Weights asked gradients by 1/U: minimizes the loss itself instead of the equivalent loss
    #[arg(long)]
    pub(crate) importance: bool,
    /// A rule for the first labels, such as critical, whose objective is convex
    #[arg(long, value_name = "RULE", requires = "warm_labels")]
    pub(crate) warm_rule: Option<String>,
    /// How many labels it asks for
    #[arg(long, value_name = "N", value_parser = count, requires = "warm_rule")]
    pub(crate) warm_labels: Option<u64>,
    /// The seed of all chance in the run
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// What advances momentum.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClockName {
    /// Asked observations
    Query,
    /// All observations
    Raw,
}

impl Settings {
    /// A flag that was given and that only steps know, if any.
    pub(crate) fn of_steps(&self) -> Option<&'static str> {
        let given = [
            ("--step", self.step != "auto"),
            ("--distance", self.distance.is_some()),
            ("--gradient", self.gradient.is_some()),
            ("--horizon", self.horizon.is_some()),
            ("--rate", self.rate.is_some()),
            ("--momentum", self.momentum != "none"),
            ("--clock", self.clock != ClockName::Query),
            ("--radius", self.radius.is_some()),
            ("--start", self.start.is_some()),
            ("--importance", self.importance),
        ];
        given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
    }

    /// How it learns, where that is not as usual; the step always.
    pub(crate) fn describe(&self) -> String {
        let mut parts = vec![format!("step {}", self.step)];
        if self.momentum != "none" {
            let clock = if self.clock == ClockName::Raw { " on the raw clock" } else { "" };
            parts.push(format!("momentum {}{clock}", self.momentum));
        }
        parts.extend((self.l2 != 0.0).then(|| format!("l2 {}", self.l2)));
        parts.extend(self.radius.map(|radius| format!("radius {radius}")));
        parts.extend(self.importance.then(|| "weights 1/U".to_owned()));
        if let (Some(rule), Some(labels)) = (&self.warm_rule, self.warm_labels) {
            parts.push(format!("{labels} labels by {rule} first"));
        }
        parts.join(", ")
    }

    /// Refuses numbers no run can have.
    pub(crate) fn check(&self) -> Result<()> {
        let positive = [
            ("--distance", self.distance),
            ("--gradient", self.gradient),
            ("--horizon", self.horizon),
            ("--radius", self.radius),
        ];
        for (flag, value) in positive {
            if let Some(value) = value.filter(|value| !(0.0 < *value && value.is_finite())) {
                bail!("{flag} = {value}, need a finite number > 0");
            }
        }
        if let Some(rate) = self.rate.filter(|rate| !(0.0 < *rate && *rate <= 1.0)) {
            bail!("--rate = {rate}, need 0 < rate <= 1");
        }
        if !(0.0 <= self.l2 && self.l2.is_finite()) {
            bail!("--l2 = {}, need a finite number >= 0", self.l2);
        }
        if let Some(name) = self.loss.as_deref().filter(|name| *name != "cross-entropy") {
            querist_theory::loss::parse(name)?;
        }
        step::momentum(&self.momentum)?;
        step::check(self)?;
        if let Some(bad) = self.start.iter().flatten().find(|value| !value.is_finite()) {
            bail!("--start has {bad}, need finite numbers");
        }
        Ok(())
    }
}
