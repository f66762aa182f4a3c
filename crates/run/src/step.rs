//! Step sizes and momenta by name.

use querist_engine::optimizer::Momentum;
use querist_engine::step::{StepSize, number};
use querist_engine::task::{self, Labels, Task};
use querist_rows::Features;
use querist_rows::{DenseRows, Row, Rows};

use crate::error::{Error, Result, bail};
use crate::settings::Settings;

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

/// Rejects a step that is invalid for any data, before the data are read.
pub fn check(settings: &Settings) -> Result<()> {
    let task = task::parse("logistic", Labels::Binary)?;
    let mut sample = Rows::Dense(DenseRows::new(1));
    sample.push(Row::Dense(&[1.0]));
    let context = StepContext { task: &*task, sample: &sample, u_max: 1.0, horizon: Some(1.0), feasible_c: 1.0 };
    parse(settings, &context).map(|_| ())
}

/// Parses the name of a step size.
pub fn parse(settings: &Settings, context: &StepContext<'_>) -> Result<StepSize> {
    if let Some(plain) = StepSize::parse(&settings.step) {
        return plain.map_err(|why| Error::Invalid(format!("--step {why}")));
    }
    let (head, rest) = settings.step.split_once(':').unwrap_or((&settings.step, ""));
    let unit = || unit_step(settings, context);
    Ok(match head {
        "pilot" if !rest.is_empty() => bail!("--step {}: {head} has nothing to set", settings.step),
        "theory" => {
            let c = match rest.strip_prefix("c=") {
                Some("umax") => context.feasible_c,
                Some("oracle") => match settings.rate {
                    Some(rate) => rate.sqrt().recip(),
                    None => bail!("--step {}: the oracle needs --rate, the mean query rate of the run", settings.step),
                },
                _ => number(&settings.step, rest, "c")
                    .map_err(|why| Error::Invalid(format!("--step {why}; c may also be umax or oracle")))?,
            };
            StepSize::Fixed(c * unit()?)
        }
        "pilot" => {
            let horizon = horizon(settings, context)?;
            StepSize::Pilot { unit: unit()?, u_max: context.u_max, window: (horizon / 10.0).ceil() as u64 }
        }
        _ => bail!(
            "--step {}: there are auto, fixed:eta=NUMBER, inverse-sqrt:eta=NUMBER, theory:c=umax|oracle|NUMBER, pilot",
            settings.step
        ),
    })
}

/// Parses the name of a momentum.
pub fn momentum(name: &str) -> Result<Momentum> {
    Momentum::parse(name).map_err(|why| Error::Invalid(format!("--momentum {why}")))
}

fn horizon(settings: &Settings, context: &StepContext<'_>) -> Result<f64> {
    match settings.horizon.or(context.horizon) {
        Some(horizon) => Ok(horizon),
        None => bail!("--step {} needs --horizon, how many observations are expected", settings.step),
    }
}

/// Returns D/(G√T).
fn unit_step(settings: &Settings, context: &StepContext<'_>) -> Result<f64> {
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
    let squares: f64 = (0..rows.len()).map(|place| rows.row(place).norm_squared()).sum::<f64>() / count;
    let active: f64 = (0..rows.len()).map(|place| active(rows, place)).sum::<f64>() / count;
    let deviation = (squares / active.max(1.0)).sqrt();
    let slope = context.task.steepness().unwrap_or_else(|| {
        let mut slope = vec![0.0; context.task.outputs()];
        context.task.slope(&vec![0.0; slope.len()], 1.0, &mut slope);
        slope.iter().map(|s| s * s).sum::<f64>().sqrt()
    });
    (4.0 / deviation.max(1e-12), slope.max(1e-12) * (squares + 1.0).sqrt())
}

/// Returns the number of features of a row that are not 0.
fn active(rows: &Rows, place: usize) -> f64 {
    let mut count = 0.0;
    rows.row(place).each(|_, x| count += if x == 0.0 { 0.0 } else { 1.0 });
    count
}
