//! Command-line arguments of a pool run.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use querist_engine::name::NameError;
use querist_engine::pool::{Draw, Objective};
use querist_engine::stop::StopRule;
use querist_run::pool::PoolRunSettings;
use querist_run::settings::ClockSetting;
use querist_run::step::{StepName, TheoryFactor};
use querist_run::text::grouped;
use querist_run::written::Written;

use crate::run::files::DataArgs;
use crate::run::output::{OutputArgs, count};
use crate::run::settings::LearnerArgs;

/// Pool-based uncertainty sampling on a file whose labels are known, revealed as they are asked
#[derive(Args)]
pub(crate) struct Arguments {
    /// The pool
    data: PathBuf,
    /// How many labels may be asked for
    #[arg(long, value_name = "N", value_parser = count)]
    budget: u64,
    /// How rows are drawn [default: scan; reject with --fit sgd]
    #[arg(long, value_enum)]
    draw: Option<DrawName>,
    /// How answers change the model
    #[arg(long, value_enum, default_value = "refit")]
    fit: FitName,
    /// What answers count in a fit [default: as-asked]
    #[arg(long, value_enum)]
    objective: Option<ObjectiveName>,
    /// Ids, one a line, of rows whose labels are known from the start: learned from, never asked, in no estimate
    #[arg(long, value_name = "FILE")]
    seed_labels: Option<PathBuf>,
    /// Stops before the budget is spent: target=A once accuracy is surely A, gain=G once 50 more labels would gain less than
    /// G; several are separated by commas, and the first to say so counts
    #[arg(long, value_name = "RULES")]
    stop: Option<String>,
    /// Rows can be asked again
    #[arg(long)]
    repeat: bool,
    /// How many labels a step takes
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 1)]
    batch: u64,
    /// Rows of a batch differ: x and y count as near where ‖x − y‖² ≤ D·(‖x‖² + ‖y‖²), and what is near a row of the batch is drawn
    /// a tenth as often, its probability still known
    #[arg(long, value_name = "D", num_args = 0..=1, require_equals = true, default_missing_value = "0.1")]
    apart: Option<f64>,
    /// Lists every ask in the JSON
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
    /// Proposed at random, taken in proportion to U: the cost does not grow with the pool
    Reject,
    /// A pass over the pool for each draw: the mean of U is known
    Scan,
    /// The most uncertain first: no probabilities
    Top,
}

/// A method to learn from answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FitName {
    /// Fits all answers again after each answer
    Refit,
    /// One gradient step for each, as in the paper
    Sgd,
}

/// The weights of answers in a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ObjectiveName {
    /// All the same
    AsAsked,
    /// U/p: the equivalent loss on the whole pool
    Equivalent,
    /// 1/p: the loss on the whole pool
    Original,
}

impl Arguments {
    /// Returns the settings from the command line.
    pub(super) fn settings(&self) -> Result<PoolRunSettings> {
        let stop = self.stop.as_deref().map(str::parse::<Written<StopRule>>).transpose();
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
            learner: self.learner.settings()?,
            files: self.files.settings(),
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
            parts.push(format!("{labels} labels by {rule} first"));
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
                bail!("--apart is for batches: say --batch with it");
            }
        }
        if settings.draw == Draw::Top && settings.learner.importance {
            bail!("--importance needs probabilities, and --draw top has none");
        }
        let Some(objective) = settings.fit else {
            let only = [
                ("--objective", self.objective.is_some()),
                ("--seed-labels", self.seed_labels.is_some()),
                ("--stop", self.stop.is_some()),
            ];
            if let Some((flag, _)) = only.iter().find(|(_, given)| *given) {
                bail!("{flag} is for --fit refit");
            }
            return Ok(());
        };
        if let Some(flag) = settings.learner.of_steps() {
            bail!("{flag} is for steps: say --fit sgd with it");
        }
        if self.repeat {
            bail!("--repeat is for steps: say --fit sgd with it; a fit has every row once");
        }
        if settings.draw == Draw::Top && objective != Objective::AsAsked {
            bail!("--objective {objective} needs probabilities, and --draw top has none");
        }
        if settings.draw == Draw::Top && self.stop.is_some() {
            bail!("--stop needs estimates, estimates need probabilities, and --draw top has none");
        }
        Ok(())
    }
}

/// Rejects step schedules that need a stream.
fn check_step(settings: &PoolRunSettings) -> Result<()> {
    let step = &settings.learner.step;
    if settings.learner.clock == ClockSetting::Raw {
        bail!("--clock raw is for streams: in a pool no observation passes by without being asked");
    }
    if matches!(**step, StepName::Pilot | StepName::Theory(TheoryFactor::Oracle)) {
        bail!("--step {step} is for streams: in a pool the rate does not enter, and theory:c=1 is best");
    }
    Ok(())
}
