//! Advice on when to stop asking: a target is reached, little is left to gain, or a budget is spent. The driver
//! decides.

use std::fmt::{self, Display};
use std::str::FromStr;

use querist_theory::registry::unknown;

use crate::estimate::{ClassScores, Estimate};
use crate::name::NameError;
use crate::pool::{Precision, PrecisionGoal, Regression};

mod gain;

pub(crate) use gain::{EXPONENTS, PARAMETRIC};
pub use gain::{Gain, Needed, Outlook, Reading};

/// The direction in which a score improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Higher is better, as for accuracy.
    Higher,
    /// Lower is better, as for a loss.
    Lower,
}

/// A stopping rule.
#[derive(Clone, Debug, PartialEq)]
pub enum StopRule {
    /// Stop when the anytime-valid interval shows that the score has reached this value.
    Target(f64),
    /// Stop when even the upper end of the gain expected from the next batch is below a limit.
    Gain {
        /// The number of labels in the batch.
        batch: usize,
        /// The smallest gain that is worth a batch.
        below: f64,
    },
    /// Stop as soon as the interval of a statistic is as narrow as wanted.
    Precision(Precision),
    /// Stop after this number of labels.
    Budget(usize),
    /// Stop as soon as one of these rules does.
    Any(Vec<StopRule>),
    /// Stop once all of these rules do; an empty list never does.
    All(Vec<StopRule>),
}

/// The number of further labels whose gain a rule named `gain` expects.
pub const GAIN_BATCH: usize = 50;

/// The names of stopping rules.
const NAMES: &[&str] = &["target", "gain"];

impl FromStr for StopRule {
    type Err = NameError;

    /// Parses `target=0.95`, `gain=0.002`, or several of these, separated by commas: the first to be met stops.
    fn from_str(text: &str) -> Result<Self, NameError> {
        text.split(',').map(|piece| parse_one(piece.trim())).collect::<Result<_, _>>().map(StopRule::Any)
    }
}

fn parse_one(piece: &str) -> Result<StopRule, NameError> {
    let error = |message: String| NameError { name: piece.to_owned(), message };
    let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
    let number = value.parse().ok().filter(|number: &f64| number.is_finite());
    match name {
        "target" => number.map(StopRule::Target).ok_or_else(|| error("need target=NUMBER".to_owned())),
        "gain" => match number.filter(|gain| 0.0 < *gain) {
            Some(below) => Ok(StopRule::Gain { batch: GAIN_BATCH, below }),
            None => Err(error("need gain=NUMBER, above 0".to_owned())),
        },
        _ => Err(error(unknown("stopping rule", name, NAMES.iter().copied()))),
    }
}

impl Display for StopRule {
    /// Writes the name; rules of a list are separated by commas, or by `&` if all must be met.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |rules: &[StopRule], separator: &str| {
            rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(separator)
        };
        match self {
            StopRule::Target(target) => write!(f, "target={target}"),
            StopRule::Gain { below, .. } => write!(f, "gain={below}"),
            StopRule::Precision(precision) => write!(f, "precision={}", precision.half_width),
            StopRule::Budget(labels) => write!(f, "budget={labels}"),
            StopRule::Any(rules) => f.write_str(&join(rules, ",")),
            StopRule::All(rules) => f.write_str(&join(rules, "&")),
        }
    }
}

/// The state of a run for which advice is requested.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The number of labels, without imported ones.
    pub labels: usize,
    /// The name of the score in a sentence: "accuracy".
    pub name: &'a str,
    /// The direction in which the score improves.
    pub better: Better,
    /// The score, if there is an estimate yet.
    pub score: Option<&'a Estimate>,
    /// The scores of each class; empty if there are none.
    pub classes: &'a [ClassScores],
    /// A reading of the mean loss at each draw; for accuracy, of the error rate.
    pub readings: &'a [Reading],
    /// An extrapolation of the score that replaces that of the readings.
    pub outlook: Option<&'a Outlook>,
}

/// The advice of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// `true` if the rule advises to stop.
    pub stop: bool,
    /// The reason, in a sentence; reasons of several rules are separated by semicolons.
    pub why: String,
}

impl StopRule {
    /// Applies the rule to the state of a run.
    pub fn advise(&self, progress: &Progress) -> Advice {
        match self {
            StopRule::Target(target) => unless_warned(reached(*target, progress), progress),
            StopRule::Gain { batch, below } => unless_warned(little_to_gain(*batch, *below, progress), progress),
            StopRule::Precision(precision) => narrow_enough(precision, progress),
            StopRule::Budget(budget) => spent(*budget, progress),
            StopRule::Any(rules) => combined(rules, progress, true),
            StopRule::All(rules) => combined(rules, progress, false),
        }
    }
}

/// Withdraws the advice to stop if the estimate carries a warning.
fn unless_warned(advice: Advice, progress: &Progress) -> Advice {
    match progress.score.and_then(|score| score.warning) {
        Some(warning) if advice.stop => {
            Advice { stop: false, why: format!("{}; but the estimate is not reliable: {warning}", advice.why) }
        }
        _ => advice,
    }
}

fn reached(target: f64, progress: &Progress) -> Advice {
    let name = progress.name;
    let Some(estimate) = progress.score else {
        return Advice { stop: false, why: format!("there is no estimate of {name} yet") };
    };
    let Some((low, high)) = estimate.anytime else {
        let why = format!("{name} has no bound, so no interval of it holds at all times: state a range to clip it to");
        return Advice { stop: false, why };
    };
    let (sure, side) = match progress.better {
        Better::Higher => (low, "at least"),
        Better::Lower => (high, "at most"),
    };
    if sure.is_infinite() {
        let why = format!("these labels do not bound {name}, so the target is not shown to be reached");
        return Advice { stop: false, why };
    }
    let stop = match progress.better {
        Better::Higher => sure >= target,
        Better::Lower => sure <= target,
    };
    // Only one end of the interval is used, which fails half as often as both.
    let confidence = 50.0 + 50.0 * estimate.confidence;
    let status =
        format!("{name} is {side} {} with {} % confidence, valid after every label", Short(sure), Short(confidence));
    let verdict = if stop { "the target is reached" } else { "the target is not shown to be reached" };
    Advice { stop, why: format!("{status}: {verdict}, {side} {}", Short(target)) }
}

fn little_to_gain(batch: usize, below: f64, progress: &Progress) -> Advice {
    let name = progress.name;
    let Some(gain) = progress.outlook().map(|outlook| outlook.gain(batch)) else {
        return Advice { stop: false, why: format!("too few labels to say what {batch} more would do for {name}") };
    };
    let stop = gain.high < below;
    let expected = Short(gain.value);
    let most = if gain.high.is_finite() {
        format!("{} at most", Short(gain.high.max(0.0)))
    } else {
        "these labels do not bound it".to_owned()
    };
    let limit = if stop { "less than the limit of" } else { "the limit is" };
    let improvement = if gain.value <= 0.0 {
        format!("should not improve {name}")
    } else {
        format!("should improve {name} by about {expected}")
    };
    let why = format!("{batch} more labels {improvement} ({most}); {limit} {}", Short(below));
    Advice { stop, why }
}

fn narrow_enough(precision: &Precision, progress: &Progress) -> Advice {
    let (name, estimate) = match precision.goal {
        PrecisionGoal::Accuracy => (progress.name, progress.score),
        PrecisionGoal::F1(class) => ("F1", progress.classes.get(class).and_then(|scores| scores.f1.as_ref())),
    };
    let Some(estimate) = estimate else {
        return Advice { stop: false, why: format!("there is no estimate of {name} yet") };
    };
    let (half, wanted) = (0.5 * (estimate.high - estimate.low), precision.half_width);
    let status = format!("{name} is {} ±{}", Short(estimate.value), Short(half));
    if let Some(warning) = estimate.warning {
        return Advice { stop: false, why: format!("{status}; but the estimate is not reliable: {warning}") };
    }
    let stop = half <= wanted;
    let verdict = if stop { "as precise as wanted" } else { "less precise than wanted" };
    Advice { stop, why: format!("{status}: {verdict}, ±{}", Short(wanted)) }
}

fn spent(budget: usize, progress: &Progress) -> Advice {
    let labels = progress.labels;
    match budget.checked_sub(labels) {
        None | Some(0) => Advice { stop: true, why: format!("the budget of {budget} labels is spent") },
        Some(left) => Advice { stop: false, why: format!("{left} of {budget} labels are left in the budget") },
    }
}

fn combined(rules: &[StopRule], progress: &Progress, any: bool) -> Advice {
    let advice: Vec<Advice> = rules.iter().map(|rule| rule.advise(progress)).collect();
    let stops = advice.iter().filter(|advice| advice.stop).count();
    let stop = if any { stops > 0 } else { stops == rules.len() && stops > 0 };
    // Report the rules that decided: for any, those that say stop; for all, those that do not.
    let decided = advice.iter().filter(|advice| advice.stop == stop).map(|advice| advice.why.as_str());
    let why = decided.collect::<Vec<_>>().join("; ");
    Advice { stop, why: if why.is_empty() { "no rule was given".to_owned() } else { why } }
}

/// A number with at most four decimals and no trailing zeros.
struct Short(f64);

impl Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:.4}", self.0);
        f.write_str(digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl<'a> Progress<'a> {
    /// Creates the progress of accuracy from its estimate and readings of the error rate.
    pub fn of_accuracy(labels: usize, accuracy: Option<&'a Estimate>, readings: &'a [Reading]) -> Self {
        Self {
            labels,
            name: "accuracy",
            better: Better::Higher,
            score: accuracy,
            classes: &[],
            readings,
            outlook: None,
        }
    }

    /// Creates the progress of R² from its estimates.
    pub fn of_r_squared(labels: usize, regression: Option<&'a Regression>) -> Self {
        Self {
            labels,
            name: "R²",
            better: Better::Higher,
            score: regression.map(|regression| &regression.r_squared),
            classes: &[],
            readings: &[],
            outlook: regression.and_then(|regression| regression.outlook.as_ref()),
        }
    }

    /// Returns the extrapolation of the score; `None` after fewer than 30 labels.
    pub fn outlook(&self) -> Option<Outlook> {
        let confidence = self.score.map_or(0.95, |score| score.confidence);
        self.outlook.copied().or_else(|| Outlook::of(self.readings, self.better, confidence))
    }
}
