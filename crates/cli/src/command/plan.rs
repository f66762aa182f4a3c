//! `querist plan`: steps, bounds and label budgets, each with its assumptions; from a pilot, the gain of more labels.

use std::path::PathBuf;

use anyhow::{Context, Error, Result, anyhow, bail};
use clap::Args;
use querist_render::plan::{Plan, PlanError, PlanInputs, StepConstant};
use querist_theory::equivalent::Queried;

use crate::Output;
use crate::run::moved::MovedArgs;
use crate::run::output::count;

mod pilot;

/// Compute step sizes, risk bounds and label budgets of a pair, with their assumptions
#[derive(Args)]
pub(crate) struct PlanArgs {
    /// The ledger of a run so far; prints the expected gain of its next labels, and its query rate
    #[arg(long, value_name = "RUN", conflicts_with_all = BOUND_ARGUMENTS)]
    pilot: Option<PathBuf>,
    /// Number of labels to plan for
    #[arg(long, value_name = "N", value_parser = count, default_value = "100", requires = "pilot")]
    next: u64,
    /// A score to reach: accuracy, or the mean loss for numbers; prints the expected number of labels to get there
    #[arg(long, value_name = "SCORE", requires = "pilot")]
    target: Option<f64>,
    /// The loss (`querist list`)
    #[arg(long, required_unless_present = "pilot")]
    loss: Option<String>,
    /// The rule
    #[arg(long, required_unless_present = "pilot")]
    rule: Option<String>,
    /// D: upper bound on the distance from the start to the optimum
    #[arg(long, value_name = "D", required_unless_present = "pilot")]
    distance: Option<f64>,
    /// G: upper bound on the root mean square of the loss's gradient at each feature
    #[arg(long, value_name = "G", required_unless_present = "pilot")]
    gradient: Option<f64>,
    /// T: number of observations
    #[arg(long, value_name = "T")]
    horizon: Option<f64>,
    /// r: mean query probability of the run
    #[arg(long, value_name = "R", required_unless_present = "pilot")]
    rate: Option<f64>,
    /// The step constant: a number, `umax` for U_max^-1/2, or `oracle` for r^-1/2
    #[arg(long, value_name = "C", default_value = "umax")]
    c: String,
    /// An estimate of the rate, to see the cost of a wrong one
    #[arg(long, value_name = "R")]
    rate_estimate: Option<f64>,
    /// Excess risk of the best model in the class
    #[arg(long, value_name = "A", default_value_t = 0.0)]
    approximation_error: f64,
    /// An excess error rate to guarantee; prints the observations and labels that suffice
    #[arg(long, value_name = "E")]
    target_risk: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    moved: MovedArgs,
}

/// The arguments that only bounds need; a pilot does without them.
const BOUND_ARGUMENTS: [&str; 7] = ["loss", "rule", "rate", "c", "rate_estimate", "approximation_error", "target_risk"];

pub(super) fn run(arguments: &PlanArgs) -> Result<Output> {
    if arguments.pilot.is_none() && (arguments.moved.data.is_some() || arguments.moved.images.is_some()) {
        bail!("--data and --images need --pilot");
    }
    if let Some(ledger) = &arguments.pilot {
        return pilot::run(arguments, ledger);
    }
    let pair = Queried::parse(required(arguments.loss.as_deref())?, required(arguments.rule.as_deref())?)?;
    let plan = Plan::new(&pair, &inputs(arguments)?).map_err(in_flags)?;
    Ok(Output::done(if arguments.json { plan.to_json().to_string() } else { plan.to_text() }))
}

fn inputs(arguments: &PlanArgs) -> Result<PlanInputs> {
    let c = match arguments.c.as_str() {
        "umax" => StepConstant::UMax,
        "oracle" => StepConstant::Oracle,
        text => match text.parse::<f64>() {
            Ok(c) if 0.0 < c && c.is_finite() => StepConstant::Number(c),
            _ => bail!("--c = {text}, need a number > 0, `umax` or `oracle`"),
        },
    };
    Ok(PlanInputs {
        distance: required(arguments.distance)?,
        gradient: required(arguments.gradient)?,
        horizon: arguments.horizon,
        rate: required(arguments.rate)?,
        c,
        rate_estimate: arguments.rate_estimate,
        approximation_error: arguments.approximation_error,
        target_risk: arguments.target_risk,
    })
}

/// Names the flags of a plan in its error.
fn in_flags(error: PlanError) -> Error {
    match error {
        PlanError::Range { .. } | PlanError::Unreachable { .. } => anyhow!("--{error}"),
        PlanError::NoHorizon => anyhow!("use --horizon T, or --target-risk E to compute it"),
        other => other.into(),
    }
}

/// Returns an argument that is required without a pilot.
fn required<T>(value: Option<T>) -> Result<T> {
    value.context("without --pilot a plan needs --loss, --rule, --distance, --gradient and --rate")
}
