//! What can be said of a pool's run on the command line.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::run::files::Files;
use crate::run::outcome::grouped;
use crate::run::output::{OutputArgs, count};
use crate::run::settings::{ClockName, Settings};

/// Pool-based uncertainty sampling on a file whose labels are known, revealed as they are asked
#[derive(Args)]
pub(crate) struct Arguments {
    /// The pool
    pub(super) data: PathBuf,
    /// How many labels may be asked for
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) budget: u64,
    /// How rows are drawn [default: scan; reject with --fit sgd]
    #[arg(long, value_enum)]
    pub(super) draw: Option<DrawName>,
    /// How answers change the model
    #[arg(long, value_enum, default_value = "refit")]
    pub(super) fit: FitName,
    /// What answers count in a fit [default: as-asked]
    #[arg(long, value_enum)]
    pub(super) objective: Option<ObjectiveName>,
    /// Ids, one a line, of rows whose labels are known from the start: learned from, never asked, in no estimate
    #[arg(long, value_name = "FILE")]
    pub(super) seed_labels: Option<PathBuf>,
    /// Stops before the budget is spent: target=A once accuracy is surely A, gain=G once 50 more labels would gain less than
    /// G; several are separated by commas, and the first to say so counts
    #[arg(long, value_name = "RULES")]
    pub(super) stop: Option<String>,
    /// Rows can be asked again
    #[arg(long)]
    pub(super) repeat: bool,
    /// How many labels a step takes
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 1)]
    pub(super) batch: u64,
    /// Rows of a batch differ: x and y count as near where ‖x − y‖² ≤ D·(‖x‖² + ‖y‖²), and what is near a row of the batch is drawn
    /// a tenth as often, its probability still known
    #[arg(long, value_name = "D", num_args = 0..=1, require_equals = true, default_missing_value = "0.1")]
    pub(super) apart: Option<f64>,
    /// Lists every ask in the JSON
    #[arg(long, requires = "json")]
    pub(super) asks: bool,
    #[command(flatten)]
    pub(super) settings: Settings,
    #[command(flatten)]
    pub(super) files: Files,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// How rows are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DrawName {
    /// Proposed at random, taken in proportion to U: the cost does not grow with the pool
    Reject,
    /// A pass over the pool for each draw: the mean of U is known
    Scan,
    /// The most uncertain first: no probabilities
    Top,
}

/// How answers change the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FitName {
    /// All answers are fitted anew after each
    Refit,
    /// One gradient step for each, as in the paper
    Sgd,
}

/// What answers count in a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ObjectiveName {
    /// All the same
    AsAsked,
    /// U/p: the equivalent loss on the whole pool
    Equivalent,
    /// 1/p: the loss on the whole pool
    Original,
}

impl Arguments {
    pub(super) fn is_fitted(&self) -> bool {
        self.fit == FitName::Refit
    }

    pub(super) fn draw(&self) -> DrawName {
        self.draw.unwrap_or(if self.is_fitted() { DrawName::Scan } else { DrawName::Reject })
    }

    pub(super) fn objective(&self) -> &'static str {
        match self.objective.unwrap_or(ObjectiveName::AsAsked) {
            ObjectiveName::AsAsked => "as-asked",
            ObjectiveName::Equivalent => "equivalent",
            ObjectiveName::Original => "original",
        }
    }

    /// How a run without steps learns, for its title.
    pub(super) fn describe_fit(&self) -> String {
        let after = if self.batch == 1 { "answer".to_owned() } else { format!("{} answers", grouped(self.batch)) };
        let mut parts = vec![format!("fitted after every {after}")];
        match self.objective() {
            "as-asked" => {}
            objective => parts.push(format!("objective {objective}")),
        }
        if let (Some(rule), Some(labels)) = (&self.settings.warm_rule, self.settings.warm_labels) {
            parts.push(format!("{labels} labels by {rule} first"));
        }
        parts.join(", ")
    }

    /// Refuses steps that need what passes by.
    fn check_step(&self) -> Result<()> {
        let step = &self.settings.step;
        if self.settings.clock == ClockName::Raw {
            bail!("--clock raw is for streams: in a pool no observation passes by without being asked");
        }
        if step.starts_with("pilot") || step == "theory:c=oracle" {
            bail!("--step {step} is for streams: in a pool the rate does not enter, and theory:c=1 is best");
        }
        Ok(())
    }

    /// Refuses what no run can have, before any data are read.
    pub(super) fn check(&self) -> Result<()> {
        self.output.check(Some(&self.data))?;
        self.check_step()?;
        self.settings.check()?;
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
        let draw = self.draw();
        if draw == DrawName::Top && self.settings.importance {
            bail!("--importance needs probabilities, and --draw top has none");
        }
        if !self.is_fitted() {
            let only = [
                ("--objective", self.objective.is_some()),
                ("--seed-labels", self.seed_labels.is_some()),
                ("--stop", self.stop.is_some()),
            ];
            if let Some((flag, _)) = only.iter().find(|(_, given)| *given) {
                bail!("{flag} is for --fit refit");
            }
            return Ok(());
        }
        if let Some(flag) = self.settings.of_steps() {
            bail!("{flag} is for steps: say --fit sgd with it");
        }
        if self.repeat {
            bail!("--repeat is for steps: say --fit sgd with it; a fit has every row once");
        }
        if draw == DrawName::Top && self.objective() != "as-asked" {
            bail!("--objective {} needs probabilities, and --draw top has none", self.objective());
        }
        if draw == DrawName::Top && self.stop.is_some() {
            bail!("--stop needs estimates, estimates need probabilities, and --draw top has none");
        }
        Ok(())
    }
}

impl DrawName {
    /// As it is typed.
    pub(super) fn name(self) -> &'static str {
        match self {
            DrawName::Reject => "reject",
            DrawName::Scan => "scan",
            DrawName::Top => "top",
        }
    }
}
