//! Metrics of a comparison: their names, their directions, and the default for the labels.

use std::fmt::{self, Display};
use std::str::FromStr;

use querist_theory::registry::unknown;

use super::TestScores;
use crate::name::NameError;
use crate::stop::Better;
use crate::task::{Labels, Task};

/// A metric by which models are compared on the test rows.
///
/// ```
/// use querist_engine::compare::Metric;
/// use querist_engine::stop::Better;
///
/// let metric: Metric = "f1:spam".parse()?;
/// assert_eq!(metric, Metric::F1("spam".to_owned()));
/// assert_eq!(metric.to_string(), "f1:spam");
/// assert_eq!(Metric::LogLoss.better(), Better::Lower);
/// # Ok::<(), querist_engine::name::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The fraction of correct decisions.
    Accuracy,
    /// The mean recall of the classes.
    BalancedAccuracy,
    /// The harmonic mean of precision and recall of the class with this label.
    F1(String),
    /// The mean of −ln of the probability of the true class.
    LogLoss,
    /// R², the explained fraction of the variance of numbers.
    R2,
}

/// The names of metrics.
const NAMES: &[&str] = &["accuracy", "balanced-accuracy", "f1:CLASS", "log-loss", "r2"];

impl Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Accuracy => f.write_str("accuracy"),
            Metric::BalancedAccuracy => f.write_str("balanced-accuracy"),
            Metric::F1(class) => write!(f, "f1:{class}"),
            Metric::LogLoss => f.write_str("log-loss"),
            Metric::R2 => f.write_str("r2"),
        }
    }
}

impl FromStr for Metric {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let error = |message: String| Err(NameError { name: text.to_owned(), message });
        match text {
            "accuracy" => Ok(Metric::Accuracy),
            "balanced-accuracy" => Ok(Metric::BalancedAccuracy),
            "log-loss" => Ok(Metric::LogLoss),
            "r2" => Ok(Metric::R2),
            "f1" | "f1:" => error("write f1:CLASS, with a label of the data".to_owned()),
            _ => match text.strip_prefix("f1:") {
                Some(class) => Ok(Metric::F1(class.to_owned())),
                None => error(unknown("metric", text, NAMES.iter().copied())),
            },
        }
    }
}

impl Metric {
    /// Returns the direction in which the metric improves.
    pub fn better(&self) -> Better {
        if *self == Metric::LogLoss { Better::Lower } else { Better::Higher }
    }

    /// Returns the name in a sentence, such as "F1 of spam".
    pub fn title(&self) -> String {
        match self {
            Metric::Accuracy => "accuracy".to_owned(),
            Metric::BalancedAccuracy => "balanced accuracy".to_owned(),
            Metric::F1(class) => format!("F1 of {class}"),
            Metric::LogLoss => "log loss".to_owned(),
            Metric::R2 => "R²".to_owned(),
        }
    }

    /// Returns whether values are printed as percentages, and differences as points.
    pub fn is_percentage(&self) -> bool {
        matches!(self, Metric::Accuracy | Metric::BalancedAccuracy)
    }
}

/// A metric that is known to apply to a task.
///
/// ```
/// use querist_engine::compare::{ClassCounts, Criterion, Metric, TestScores};
/// use querist_engine::task::{self, Labels};
///
/// let task = task::parse("logistic", Labels::Binary)?;
/// let classes = ["ham".to_owned(), "spam".to_owned()];
/// let criterion = Criterion::new(Metric::F1("spam".to_owned()), &*task, &classes)?;
/// let found = ClassCounts { labeled: 10, decided: 10, correct: 5 };
/// assert_eq!(criterion.value(&TestScores::of_classes(vec![ClassCounts::default(), found])), 0.5);
/// assert!(Criterion::new(Metric::R2, &*task, &classes).is_err());
/// # Ok::<(), querist_engine::name::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    metric: Metric,
    /// The class of F1.
    class: usize,
}

impl Criterion {
    /// Resolves a metric for a task, whose classes have these labels.
    ///
    /// # Errors
    /// If the metric is for other labels, the class of F1 is unknown, or log loss needs probabilities that the loss
    /// does not define.
    pub fn new(metric: Metric, task: &dyn Task, classes: &[String]) -> Result<Self, NameError> {
        let error = |message: &str| Err(NameError { name: metric.to_string(), message: message.to_owned() });
        let labels = task.labels();
        match &metric {
            Metric::R2 if labels != Labels::Numbers => return error("is for numbers, but the labels are classes"),
            Metric::R2 => {}
            _ if labels == Labels::Numbers => return error("is for classes, but the labels are numbers; use r2"),
            Metric::LogLoss if task.probabilities(&vec![0.0; task.outputs()]).is_none() => {
                return error(&format!("the loss {} defines no probabilities; use --loss logistic", task.name()));
            }
            Metric::F1(label) => match classes.iter().position(|class| class == label) {
                Some(class) => return Ok(Self { metric, class }),
                None => return error(&unknown("label", label, classes.iter().map(String::as_str))),
            },
            _ => {}
        }
        Ok(Self { metric, class: 0 })
    }

    /// Returns the metric.
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Returns the value of the metric; NaN where it is undefined.
    pub fn value(&self, scores: &TestScores) -> f64 {
        match self.metric {
            Metric::Accuracy => scores.accuracy(),
            Metric::BalancedAccuracy => scores.balanced_accuracy(),
            Metric::F1(_) => scores.f1(self.class),
            Metric::LogLoss => scores.log_loss.unwrap_or(f64::NAN),
            Metric::R2 => scores.r_squared.unwrap_or(f64::NAN),
        }
    }
}

/// The default metric for some labels, and the reason for it.
///
/// ```
/// use querist_engine::compare::{DefaultMetric, Metric};
/// use querist_engine::task::Labels;
///
/// let classes = ["ham".to_owned(), "spam".to_owned()];
/// let default = DefaultMetric::new(Labels::Binary, &[-1.0, -1.0, -1.0, 1.0], &classes);
/// assert_eq!(default.metric, Metric::F1("spam".to_owned()));
/// assert_eq!(default.reason, "75 % of the labels are ham");
/// assert_eq!(DefaultMetric::new(Labels::Binary, &[-1.0, 1.0], &classes).metric, Metric::Accuracy);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefaultMetric {
    /// The metric.
    pub metric: Metric,
    /// The reason.
    pub reason: String,
}

impl DefaultMetric {
    /// The fraction of the most frequent label above which accuracy shows little: a model that always predicts it is
    /// right this often.
    pub const UNBALANCED: f64 = 0.7;

    /// Chooses R² for numbers and accuracy for balanced classes. If one class has more than [`Self::UNBALANCED`] of the
    /// labels, chooses F1 of the other for two classes, and balanced accuracy for more. `classes` has the texts
    /// of the classes; labels that are NaN do not count.
    pub fn new(kind: Labels, labels: &[f64], classes: &[String]) -> Self {
        if kind == Labels::Numbers {
            return Self { metric: Metric::R2, reason: "the labels are numbers".to_owned() };
        }
        let mut counts = vec![0_u64; kind.classes()];
        for label in labels.iter().filter(|label| !label.is_nan()) {
            counts[kind.class(*label)] += 1;
        }
        let total: u64 = counts.iter().sum();
        // The first of equals.
        let most = (0..counts.len()).rev().max_by_key(|class| counts[*class]).unwrap_or(0);
        let share = counts.get(most).map_or(0.0, |count| *count as f64 / total as f64);
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        if !(Self::UNBALANCED < share) {
            let reason = format!("no class has more than {} of the labels", percent(Self::UNBALANCED));
            return Self { metric: Metric::Accuracy, reason };
        }
        let metric = if counts.len() == 2 { Metric::F1(classes[1 - most].clone()) } else { Metric::BalancedAccuracy };
        Self { metric, reason: format!("{} of the labels are {}", percent(share), classes[most]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task;

    #[test]
    fn a_metric_is_printed_as_it_was_parsed() {
        for name in ["accuracy", "balanced-accuracy", "f1:spam", "f1:a:b", "log-loss", "r2"] {
            assert_eq!(name.parse::<Metric>().unwrap().to_string(), name);
        }
        let error = "logloss".parse::<Metric>().unwrap_err().to_string();
        assert_eq!(error, "`logloss`: unknown metric; did you mean `log-loss`?");
        assert_eq!("f1".parse::<Metric>().unwrap_err().to_string(), "`f1`: write f1:CLASS, with a label of the data");
    }

    #[test]
    fn a_metric_must_apply_to_the_task() {
        let resolve = |metric: &str, loss: &str, labels| {
            let task = task::parse(loss, labels).unwrap();
            Criterion::new(metric.parse().unwrap(), &*task, &["0", "1", "2"].map(str::to_owned))
        };
        let accepted = [
            ("accuracy", "hinge", Labels::Binary),
            ("log-loss", "logistic", Labels::Binary),
            ("log-loss", "cross-entropy", Labels::Classes(3)),
            ("f1:2", "hinge", Labels::Classes(3)),
            ("r2", "squared", Labels::Numbers),
        ];
        for (metric, loss, labels) in accepted {
            assert!(resolve(metric, loss, labels).is_ok(), "{metric}, {loss}");
        }
        let rejected = [
            ("r2", "logistic", Labels::Binary),
            ("accuracy", "squared", Labels::Numbers),
            ("log-loss", "hinge", Labels::Binary),
            ("f1:blue", "logistic", Labels::Binary),
        ];
        for (metric, loss, labels) in rejected {
            assert!(resolve(metric, loss, labels).is_err(), "{metric}, {loss}");
        }
    }

    #[test]
    fn the_default_metric_depends_on_the_most_frequent_class() {
        let classes = ["0", "1", "2"].map(str::to_owned);
        let default = |kind, labels: &[f64]| DefaultMetric::new(kind, labels, &classes).metric;
        let labels = |counts: &[usize]| -> Vec<f64> {
            counts.iter().enumerate().flat_map(|(class, count)| vec![class as f64; *count]).collect()
        };
        // Exactly 70 % is balanced.
        assert_eq!(default(Labels::Classes(3), &labels(&[70, 20, 10])), Metric::Accuracy);
        assert_eq!(default(Labels::Classes(3), &labels(&[71, 19, 10])), Metric::BalancedAccuracy);
        assert_eq!(default(Labels::Binary, &[1.0, 1.0, 1.0, -1.0, f64::NAN]), Metric::F1("0".to_owned()));
        assert_eq!(default(Labels::Numbers, &[1.0, 1.0]), Metric::R2);
    }
}
