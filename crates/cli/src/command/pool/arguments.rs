//! Command-line arguments of a pool run.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use querist_engine::name::NameError;
use querist_engine::pool::{Draw, Objective};
use querist_engine::stop::StopRule;
use querist_run::pool::PoolRunSettings;
use querist_run::settings::{ClockSetting, LearnerSettings};
use querist_run::step::{StepName, TheoryFactor};
use querist_run::text::grouped;
use querist_run::written::Written;

use crate::run::files::DataArgs;
use crate::run::output::{OutputArgs, count};
use crate::run::settings::{ColdStartName, LearnerArgs, precision};
use crate::run::start::StartArgs;

/// Run pool-based uncertainty sampling on a file with labels, which are revealed as they are queried
#[derive(Args)]
pub(crate) struct PoolArgs {
    /// The pool
    data: PathBuf,
    /// Number of labels to query
    #[arg(long, value_name = "N", value_parser = count)]
    budget: u64,
    /// How to draw rows [default: scan; reject with --fit sgd]
    #[arg(long, value_enum)]
    draw: Option<DrawName>,
    /// How answers update the model
    #[arg(long, value_enum, default_value = "refit")]
    fit: FitName,
    /// Weights of answers in a fit [default: as-asked]
    #[arg(long, value_enum)]
    objective: Option<ObjectiveName>,
    /// How to draw until a fit is possible [default: coverage; random for the rule `constant`]
    #[arg(long, value_enum)]
    cold_start: Option<ColdStartName>,
    #[command(flatten)]
    start: StartArgs,
    /// Ids of seed labels, one per line; the model learns from these rows, never queries them, and excludes them from
    /// estimates
    #[arg(long, value_name = "FILE")]
    seed_labels: Option<PathBuf>,
    /// Stop before the budget is spent: target=A once accuracy is at least A with confidence, gain=G once 50 more
    /// labels would add less than G. Separate several rules by commas; the first that applies stops the run
    #[arg(long, value_name = "RULES")]
    stop: Option<String>,
    /// Stop once the estimate of accuracy is within ±H, for example 0.03, or with f1:CLASS=H that of a class's F1. The
    /// program announces the cost, and later draws are spread more evenly over the pool
    #[arg(long, value_name = "H")]
    precision: Option<String>,
    /// Allow rows to be queried again
    #[arg(long)]
    repeat: bool,
    /// Number of labels per step
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 1)]
    batch: u64,
    /// Diversify batches: rows x and y are near if ‖x − y‖² ≤ D·(‖x‖² + ‖y‖²). A row near one of the batch is drawn a
    /// tenth as often; its probability is recorded
    #[arg(long, value_name = "D", num_args = 0..=1, require_equals = true, default_missing_value = "0.1")]
    apart: Option<f64>,
    /// List every query in the JSON
    #[arg(long, requires = "json")]
    asks: bool,
    #[command(flatten)]
    learner: LearnerArgs,
    #[command(flatten)]
    files: DataArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// A method to draw rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DrawName {
    /// Propose rows at random and accept them in proportion to U; the cost does not grow with the pool
    Reject,
    /// Score the pool before each draw, so that the mean of U is exact
    Scan,
    /// Take the most uncertain row first; draws have no probabilities
    Top,
}

/// A method to learn from answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FitName {
    /// Fit the model to all answers after each answer
    Refit,
    /// Take one gradient step for each answer, as in the paper
    Sgd,
}

/// The weights of answers in a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ObjectiveName {
    /// Equal weights
    AsAsked,
    /// U/p: the equivalent loss on the pool
    Equivalent,
    /// 1/p: the loss on the pool
    Original,
}

impl PoolArgs {
    /// Returns the settings from the command line.
    pub(super) fn settings(&self) -> Result<PoolRunSettings> {
        let stop = self.stop.as_deref().map(str::parse::<Written<StopRule>>).transpose();
        let mut learner = LearnerSettings {
            cold_start: self.cold_start.map(ColdStartName::setting),
            precision: precision(self.precision.as_deref(), Some(self.budget))?,
            ..self.learner.settings()?
        };
        self.start.add_to(&mut learner)?;
        let mut files = self.files.settings();
        self.start.add_column_to(&mut files);
        files.model = self.output.model_kind();
        Ok(PoolRunSettings {
            data: self.data.clone(),
            budget: self.budget,
            draw: self.draw(),
            fit: (self.fit == FitName::Refit).then(|| self.objective()),
            seed_labels: self.seed_labels.clone(),
            stop: stop.map_err(|error: NameError| anyhow!("--stop {error}"))?,
            repeat: self.repeat,
            batch: self.batch,
            apart: self.apart,
            keep_asks: self.asks,
            learner,
            files,
            recording: self.output.recording(),
            test: self.output.test.clone(),
            test_fraction: self.output.test_fraction,
        })
    }

    fn draw(&self) -> Draw {
        match (self.draw, self.fit) {
            (Some(DrawName::Scan), _) | (None, FitName::Refit) => Draw::Scan,
            (Some(DrawName::Reject), _) | (None, FitName::Sgd) => Draw::Reject,
            (Some(DrawName::Top), _) => Draw::Top,
        }
    }

    fn objective(&self) -> Objective {
        match self.objective.unwrap_or(ObjectiveName::AsAsked) {
            ObjectiveName::AsAsked => Objective::AsAsked,
            ObjectiveName::Equivalent => Objective::Equivalent,
            ObjectiveName::Original => Objective::Original,
        }
    }

    /// Returns a description of the fit, for the title.
    pub(super) fn describe_fit(&self) -> String {
        let after = if self.batch == 1 { "answer".to_owned() } else { format!("{} answers", grouped(self.batch)) };
        let mut parts = vec![format!("fitted after every {after}")];
        match self.objective() {
            Objective::AsAsked => {}
            objective => parts.push(format!("objective {objective}")),
        }
        if let Some((rule, labels)) = self.learner.warm() {
            parts.push(format!("first {labels} labels by {rule}"));
        }
        parts.join(", ")
    }

    /// Rejects invalid arguments before any data are read.
    pub(super) fn check(&self, settings: &PoolRunSettings) -> Result<()> {
        self.output.check(Some(&self.data))?;
        check_step(settings)?;
        settings.learner.check()?;
        if self.budget == 0 || self.batch == 0 {
            bail!("--budget and --batch must be at least 1");
        }
        if let Some(within) = self.apart {
            if !(0.0 < within && within < 1.0) {
                bail!("--apart = {within}, need 0 < D < 1");
            }
            if self.batch == 1 {
                bail!("--apart needs batches: add --batch N");
            }
        }
        if settings.draw == Draw::Top && settings.learner.importance {
            bail!("--importance needs probabilities, which --draw top does not have");
        }
        let Some(objective) = settings.fit else {
            let only = [
                ("--objective", self.objective.is_some()),
                ("--cold-start", self.cold_start.is_some()),
                ("--seed-labels", self.seed_labels.is_some()),
                ("--stop", self.stop.is_some()),
                ("--precision", self.precision.is_some()),
            ];
            if let Some((flag, _)) = only.iter().chain(&self.start.flags()).find(|(_, is_set)| *is_set) {
                bail!("{flag} needs --fit refit");
            }
            return Ok(());
        };
        if let Some(flag) = settings.learner.of_steps() {
            bail!("{flag} needs --fit sgd");
        }
        if self.repeat {
            bail!("--repeat needs --fit sgd; with --fit refit each row is queried once");
        }
        if settings.draw == Draw::Top && objective != Objective::AsAsked {
            bail!("--objective {objective} needs probabilities, which --draw top does not have");
        }
        for (flag, is_set) in [("--stop", self.stop.is_some()), ("--precision", self.precision.is_some())] {
            if settings.draw == Draw::Top && is_set {
                bail!("{flag} needs estimates from probabilities, which --draw top does not have");
            }
        }
        Ok(())
    }
}

/// Rejects step schedules that need a stream.
fn check_step(settings: &PoolRunSettings) -> Result<()> {
    let step = &settings.learner.step;
    if settings.learner.clock == ClockSetting::Raw {
        bail!("--clock raw is for streams: every observation from a pool is queried");
    }
    if matches!(**step, StepName::Pilot | StepName::Theory(TheoryFactor::Oracle)) {
        bail!("--step {step} is for streams; in a pool use theory:c=1, which does not depend on the rate");
    }
    Ok(())
}
