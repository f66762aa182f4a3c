//! Step sizes by name.

use std::fmt::{self, Display};
use std::str::FromStr;

use querist_engine::name::{NameError, ParsedName};
use querist_engine::step::StepSize;
use querist_engine::task::{self, Labels, Task};
use querist_rows::Features;
use querist_rows::{DenseRows, Row, Rows};

use crate::error::{Result, bail};
use crate::settings::LearnerSettings;

/// The facts that a step may depend on besides its name.
pub struct StepContext<'a> {
    /// The task.
    pub task: &'a dyn Task,
    /// Rows to estimate D and G from.
    pub sample: &'a Rows,
    /// The largest probability of the rule.
    pub u_max: f64,
    /// The expected number of steps, if known.
    pub horizon: Option<f64>,
    /// The value of c for `umax`: 1 in a pool, where it does not enter.
    pub feasible_c: f64,
}

/// A step size as users name it. Some of them depend on facts of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepName {
    /// Distance over gradients, without parameters: `auto`.
    Auto,
    /// η at every label: `fixed:eta=0.1`.
    Fixed(f64),
    /// η/√k at the k-th label: `inverse-sqrt:eta=1`.
    InverseSqrt(f64),
    /// cD/(G√T): `theory:c=1`.
    Theory(TheoryFactor),
    /// A fixed step for a window, then one set by the query rate in it: `pilot`.
    Pilot,
}

/// The factor c of a step by theory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TheoryFactor {
    /// The factor that needs no knowledge of the query rate: `umax`.
    Feasible,
    /// The best factor for a known query rate: `oracle`.
    Oracle,
    /// A number.
    Number(f64),
}

/// The names of step sizes.
const STEPS: &[&str] = &["auto", "fixed", "inverse-sqrt", "theory", "pilot"];

impl FromStr for StepName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let name = ParsedName::new(text)?;
        match name.head() {
            "auto" => name.expect_plain().map(|()| StepName::Auto),
            "fixed" => name.positive("eta").map(StepName::Fixed),
            "inverse-sqrt" => name.positive("eta").map(StepName::InverseSqrt),
            "theory" => match name.value("c") {
                Ok("umax") => Ok(StepName::Theory(TheoryFactor::Feasible)),
                Ok("oracle") => Ok(StepName::Theory(TheoryFactor::Oracle)),
                _ => match name.positive("c") {
                    Ok(c) => Ok(StepName::Theory(TheoryFactor::Number(c))),
                    Err(error) => Err(name.error(format!("{}; c may also be umax or oracle", error.message))),
                },
            },
            "pilot" => name.expect_plain().map(|()| StepName::Pilot),
            _ => Err(name.unknown("step", STEPS)),
        }
    }
}

impl Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepName::Auto => f.write_str("auto"),
            StepName::Fixed(eta) => write!(f, "fixed:eta={eta}"),
            StepName::InverseSqrt(eta) => write!(f, "inverse-sqrt:eta={eta}"),
            StepName::Theory(TheoryFactor::Feasible) => f.write_str("theory:c=umax"),
            StepName::Theory(TheoryFactor::Oracle) => f.write_str("theory:c=oracle"),
            StepName::Theory(TheoryFactor::Number(c)) => write!(f, "theory:c={c}"),
            StepName::Pilot => f.write_str("pilot"),
        }
    }
}

impl StepName {
    /// Returns the schedule, if it depends on no other fact of the run.
    pub fn schedule(self) -> Option<StepSize> {
        match self {
            StepName::Auto => Some(StepSize::Auto),
            StepName::Fixed(eta) => Some(StepSize::Fixed(eta)),
            StepName::InverseSqrt(eta) => Some(StepSize::InverseSqrt(eta)),
            StepName::Theory(_) | StepName::Pilot => None,
        }
    }

    /// Returns whether the step depends on the sizes of features and the number of rows.
    pub fn needs_sizes(self) -> bool {
        self.schedule().is_none()
    }
}

/// Rejects a step that is invalid for any data, before the data are read.
pub fn check(settings: &LearnerSettings) -> Result<()> {
    let task = task::parse("logistic", Labels::Binary)?;
    let mut sample = Rows::Dense(DenseRows::new(1));
    sample.push(Row::Dense(&[1.0]));
    let context = StepContext { task: &*task, sample: &sample, u_max: 1.0, horizon: Some(1.0), feasible_c: 1.0 };
    resolve(settings, &context).map(|_| ())
}

/// Returns the step size with its numbers.
pub fn resolve(settings: &LearnerSettings, context: &StepContext<'_>) -> Result<StepSize> {
    let unit = || unit_step(settings, context);
    Ok(match *settings.step {
        StepName::Auto => StepSize::Auto,
        StepName::Fixed(eta) => StepSize::Fixed(eta),
        StepName::InverseSqrt(eta) => StepSize::InverseSqrt(eta),
        StepName::Theory(factor) => {
            let c = match (factor, settings.rate) {
                (TheoryFactor::Feasible, _) => context.feasible_c,
                (TheoryFactor::Oracle, Some(rate)) => rate.sqrt().recip(),
                (TheoryFactor::Oracle, None) => {
                    bail!("--step {}: the oracle needs --rate, the mean query rate of the run", settings.step)
                }
                (TheoryFactor::Number(c), _) => c,
            };
            StepSize::Fixed(c * unit()?)
        }
        StepName::Pilot => {
            let horizon = horizon(settings, context)?;
            StepSize::Pilot { unit: unit()?, u_max: context.u_max, window: (horizon / 10.0).ceil() as u64 }
        }
    })
}

fn horizon(settings: &LearnerSettings, context: &StepContext<'_>) -> Result<f64> {
    match settings.horizon.or(context.horizon) {
        Some(horizon) => Ok(horizon),
        None => bail!("--step {} needs --horizon, how many observations are expected", settings.step),
    }
}

/// Returns D/(G√T).
fn unit_step(settings: &LearnerSettings, context: &StepContext<'_>) -> Result<f64> {
    let horizon = horizon(settings, context)?;
    let known = settings.distance.or(settings.radius).is_some() && settings.gradient.is_some();
    if context.sample.is_empty() && !known {
        bail!("--step {} needs --distance and --gradient where rows cannot be looked at beforehand", settings.step);
    }
    let (distance, gradient) = estimates(context);
    let distance = settings.distance.or(settings.radius).unwrap_or(distance);
    let gradient = settings.gradient.unwrap_or(gradient);
    Ok(distance / (gradient * horizon.sqrt()))
}

/// Estimates D and G from features alone. D is where a score along a random direction deviates by 4, which takes the
/// logistic loss from unsure to sure. G is the loss's steepest slope, or its slope at score 0, times the typical ‖x̃‖.
fn estimates(context: &StepContext<'_>) -> (f64, f64) {
    let rows = context.sample;
    let count = rows.len().max(1) as f64;
    let squares: f64 = (0..rows.len()).map(|row| rows.row(row).norm_squared()).sum::<f64>() / count;
    let active: f64 = (0..rows.len()).map(|row| active(rows, row)).sum::<f64>() / count;
    let deviation = (squares / active.max(1.0)).sqrt();
    let slope = context.task.steepness().unwrap_or_else(|| {
        let mut slope = vec![0.0; context.task.outputs()];
        context.task.slope(&vec![0.0; slope.len()], 1.0, &mut slope);
        slope.iter().map(|s| s * s).sum::<f64>().sqrt()
    });
    (4.0 / deviation.max(1e-12), slope.max(1e-12) * (squares + 1.0).sqrt())
}

/// Returns the number of features of a row that are not 0.
fn active(rows: &Rows, row: usize) -> f64 {
    let mut count = 0.0;
    rows.row(row).each(|_, x| count += if x == 0.0 { 0.0 } else { 1.0 });
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_steps_parse_and_print_the_same() {
        for name in ["auto", "fixed:eta=0.1", "inverse-sqrt:eta=2", "theory:c=umax", "theory:c=oracle", "theory:c=3"] {
            assert_eq!(name.parse::<StepName>().unwrap().to_string(), name);
        }
        assert_eq!("pilot".parse(), Ok(StepName::Pilot));
        let error = |name: &str| name.parse::<StepName>().unwrap_err().to_string();
        assert_eq!(error("fixd:eta=1"), "`fixd:eta=1`: unknown step; did you mean `fixed`?");
        assert!(error("theory:c=x").ends_with("c may also be umax or oracle"));
        assert!("pilot:c=1".parse::<StepName>().is_err() && "fixed".parse::<StepName>().is_err());
    }
}
