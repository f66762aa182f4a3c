//! The wanted precision of an estimate, as it is written: `0.03`, or `f1:spam=0.05`.

use std::fmt::{self, Display};
use std::str::FromStr;

use querist_engine::name::NameError;
use querist_engine::pool::{Precision, PrecisionGoal, PrecisionPlan};
use querist_engine::rule::Rule;
use querist_engine::settings::IllegalSettings;
use querist_engine::task::Labels;

use crate::error::{Result, bail};
use crate::text::grouped;

/// A wanted precision: ±0.03 of accuracy, or ±0.05 of the F1 of a class.
///
/// ```
/// use querist_run::precision::PrecisionSetting;
///
/// let precision: PrecisionSetting = "f1:spam=0.05,labels=500".parse().unwrap();
/// assert_eq!((precision.class.as_deref(), precision.half_width), (Some("spam"), 0.05));
/// assert_eq!(precision.to_string(), "f1:spam=0.05,labels=500");
/// assert!("5".parse::<PrecisionSetting>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PrecisionSetting {
    /// The class whose F1 is meant; `None` for accuracy.
    pub class: Option<String>,
    /// Half of the wanted width of the 95 % interval.
    pub half_width: f64,
    /// The number of labels within which it is to be reached.
    pub labels: Option<u64>,
}

impl FromStr for PrecisionSetting {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let error = |message: String| NameError { name: text.to_owned(), message };
        let usage = || error("write a number such as 0.03, or f1:CLASS=0.05".to_owned());
        let (goal, labels) = match text.rsplit_once(",labels=") {
            Some((goal, labels)) => (goal, Some(labels.parse().map_err(|_| usage())?)),
            None => (text, None),
        };
        let (class, number) = match goal.strip_prefix("f1:") {
            Some(f1) => {
                let (class, number) = f1.rsplit_once('=').ok_or_else(usage)?;
                (Some(class.to_owned()), number)
            }
            None => (None, goal),
        };
        let half_width: f64 = number.parse().map_err(|_| usage())?;
        if !(0.0 < half_width && half_width < 0.5) {
            return Err(error(format!("the precision is {half_width}, need a number between 0 and 0.5")));
        }
        Ok(Self { class, half_width, labels })
    }
}

impl Display for PrecisionSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(class) = &self.class {
            write!(f, "f1:{class}=")?;
        }
        write!(f, "{}", self.half_width)?;
        self.labels.map_or(Ok(()), |labels| write!(f, ",labels={labels}"))
    }
}

/// The value of a statistic from which the feasibility of a precision is judged, before there is a model.
const CAUTIOUS: f64 = 0.8;
/// The values for which costs are announced.
const ANNOUNCED: [f64; 3] = [0.95, 0.9, 0.8];

impl PrecisionSetting {
    /// Returns the goal, for these names of classes.
    pub fn goal(&self, labels: Labels, classes: &[String]) -> Result<PrecisionGoal> {
        if labels == Labels::Numbers {
            bail!("--precision {}: the labels are numbers, and a precision is of accuracy or of F1", self.wanted());
        }
        let Some(name) = &self.class else { return Ok(PrecisionGoal::Accuracy) };
        match classes.iter().position(|class| class == name) {
            Some(class) => Ok(PrecisionGoal::F1(class)),
            None => bail!(
                "--precision {}: there is no class `{name}`; the classes are {}",
                self.wanted(),
                classes.join(", ")
            ),
        }
    }

    /// Returns the precision without its number of labels, as users write it.
    fn wanted(&self) -> Self {
        Self { labels: None, ..self.clone() }
    }

    /// Returns the precision of this goal.
    pub fn of(&self, goal: PrecisionGoal) -> Precision {
        Precision { goal, half_width: self.half_width, labels: self.labels }
    }

    /// Returns a sentence on the expected cost, with this rule in a pool of this many rows.
    ///
    /// # Errors
    /// If the labels are too few, unless the model is very good, or the rule has no floor.
    pub fn announce(&self, goal: PrecisionGoal, rule: &Rule, pool: usize) -> Result<String> {
        let Rule::Relative(rule) = rule else {
            return Err(IllegalSettings::NeedsFloor { rule: rule.name() }.into());
        };
        let (precision, floor) = (self.of(goal), rule.floor());
        let statistic = self.class.as_ref().map_or("accuracy".to_owned(), |class| format!("the F1 of {class}"));
        if !precision.is_possible(CAUTIOUS, floor, pool) {
            let (budget, needed) =
                (self.labels.unwrap_or(0), Precision { labels: None, ..precision }.plan(CAUTIOUS, floor, pool).labels);
            bail!(
                "--precision {}: if {statistic} is {CAUTIOUS}, that takes about {} labels, more than the budget of {}\n  \
                 use a larger --budget (the run stops as soon as the precision is reached), or a less precise estimate",
                self.wanted(),
                grouped(needed),
                grouped(budget),
            );
        }
        let [first, second, third] = ANNOUNCED.map(|value| {
            let PrecisionPlan { labels, even } = precision.plan(value, floor, pool);
            [grouped(labels), grouped(even), value.to_string()]
        });
        let half_width = self.half_width;
        Ok(format!(
            "{statistic} within ±{half_width} takes about {} labels ({} of them for the estimate) if {statistic} is {}, \
             {} ({}) if it is {}, and {} ({}) if it is {}",
            first[0], first[1], first[2], second[0], second[1], second[2], third[0], third[1], third[2],
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["0.03", "0.03,labels=300", "f1:spam=0.05", "f1:a=b=0.05", "f1:a,b=0.1,labels=9"] {
            assert_eq!(name.parse::<PrecisionSetting>().unwrap().to_string(), name);
        }
        for bad in ["", "x", "0", "0.5", "-1", "nan", "f1:0.05", "f1:spam", "0.03,labels=x", "recall:spam=0.1"] {
            assert!(bad.parse::<PrecisionSetting>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_class_must_exist() {
        let classes = ["ham".to_owned(), "spam".to_owned()];
        let goal = |name: &str, labels| name.parse::<PrecisionSetting>().unwrap().goal(labels, &classes);
        assert_eq!(goal("f1:spam=0.1", Labels::Binary).unwrap(), PrecisionGoal::F1(1));
        assert_eq!(goal("0.1", Labels::Binary).unwrap(), PrecisionGoal::Accuracy);
        let unknown = goal("f1:span=0.1", Labels::Binary).unwrap_err().to_string();
        assert!(unknown.contains("the classes are ham, spam"), "{unknown}");
        assert!(goal("0.1", Labels::Numbers).is_err());
    }

    #[test]
    fn a_cost_above_the_budget_is_declined() {
        let rule = querist_engine::rule::parse("boundary:half=0.01,floor=0.2", "logistic", Labels::Binary).unwrap();
        for (name, goal) in [("0.04", PrecisionGoal::Accuracy), ("f1:spam=0.1", PrecisionGoal::F1(1))] {
            let precision: PrecisionSetting = name.parse().unwrap();
            let within = |budget| PrecisionSetting { labels: Some(budget), ..precision.clone() };
            let is_declined = |budget: u64| within(budget).announce(goal, &rule, 100_000).is_err();
            let cost = |budget: u64| within(budget).of(goal).plan(CAUTIOUS, 0.2, 100_000).labels;
            assert!(is_declined(200) && !is_declined(5000), "{name}");
            for budget in (200..5000).step_by(100) {
                assert_eq!(is_declined(budget), budget < cost(budget), "{name} within {budget}");
            }
        }
    }
}
