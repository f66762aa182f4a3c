//! Tasks: a loss of scores and a label, with its slope.
//!
//! A label is a number: −1 or +1 for two classes, 0 … K−1 for K classes, the target in regression.

use std::fmt::{self, Debug, Display};

use querist_theory::loss::{self, LossTask};
use querist_theory::registry::{NameError, unknown};

mod cross_entropy;
mod logistic_slope;
mod margin;
mod multiclass_hinge;
mod squared_error;

pub use cross_entropy::CrossEntropyTask;
pub(crate) use cross_entropy::softmax_into;
pub(crate) use logistic_slope::LogisticSlope;
pub use margin::MarginTask;
pub use multiclass_hinge::MulticlassHinge;
pub use squared_error::SquaredError;

/// A learning task.
///
/// ```
/// use querist_engine::task::{self, Labels};
///
/// let task = task::parse("hinge", Labels::Binary)?;
/// assert_eq!(task.loss(&[0.25], 1.0), 0.75);
/// assert_eq!(task.slope_of_one(0.25, 1.0), -1.0);
/// assert_eq!(task.decide(&[0.25]), 1.0);
/// # Ok::<(), querist_theory::registry::NameError>(())
/// ```
pub trait Task: Debug + Send + Sync {
    /// Returns the name of the loss.
    fn name(&self) -> &str;

    /// Returns the number of scores.
    fn outputs(&self) -> usize;

    /// Returns the loss of these scores.
    fn loss(&self, scores: &[f64], label: f64) -> f64;

    /// Computes the losses of these scores for each class, in the order of the classes.
    fn losses(&self, scores: &[f64], labels: Labels, out: &mut [f64]) {
        for (class, loss) in out.iter_mut().enumerate() {
            *loss = self.loss(scores, labels.label(class));
        }
    }

    /// Computes the gradient of the loss in the scores.
    fn slope(&self, scores: &[f64], label: f64, out: &mut [f64]);

    /// Returns the slope for a task with one score.
    fn slope_of_one(&self, score: f64, label: f64) -> f64 {
        let mut slope = [0.0];
        self.slope(&[score], label, &mut slope);
        slope[0]
    }

    /// Applies the loss's second derivative in the scores to a direction. Negative curvature counts as 0, so that a fit
    /// descends even where the loss is not convex.
    fn curve(&self, scores: &[f64], label: f64, direction: &[f64], out: &mut [f64]);

    /// Replaces scores by as many numbers from which [`Self::curve_prepared`] is faster than [`Self::curve`]. By default
    /// they stay as they are.
    fn prepare_curve(&self, _scores: &mut [f64], _label: f64) {}

    /// Applies the loss's second derivative like [`Self::curve`], to the same bits, after [`Self::prepare_curve`].
    fn curve_prepared(&self, prepared: &[f64], label: f64, direction: &[f64], out: &mut [f64]) {
        self.curve(prepared, label, direction, out);
    }

    /// Computes the diagonal of the matrix of [`Self::curve`].
    fn curvatures(&self, scores: &[f64], label: f64, out: &mut [f64]) {
        let (mut unit, mut bent) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
        for (k, out) in out.iter_mut().enumerate() {
            unit[k] = 1.0;
            self.curve(scores, label, &unit, &mut bent);
            unit[k] = 0.0;
            *out = bent[k];
        }
    }

    /// Returns this task in a form for second-order fits: itself if its slope is continuous, otherwise with the jumps
    /// smoothed over [`ROUNDING`]. Returns `None` if there is no such form.
    fn smooth(&self) -> Option<Box<dyn Task>>;

    /// Returns the predicted label for these scores.
    fn decide(&self, scores: &[f64]) -> f64;

    /// Returns the probability of each class, in the order of the classes; `None` for a loss that defines none. All
    /// code that shows a probability of a label calls this.
    fn probabilities(&self, _scores: &[f64]) -> Option<Vec<f64>> {
        None
    }

    /// Returns whether this is the logistic loss of two classes: log(1 + e⁻ˢ) at a margin s, whose score is the
    /// log-odds.
    fn is_logistic(&self) -> bool {
        false
    }

    /// Returns a bound on the norm of the gradient in the scores, if there is one.
    fn steepness(&self) -> Option<f64>;

    /// Returns whether labels are classes, so that predictions are right or wrong.
    fn is_classification(&self) -> bool {
        true
    }

    /// Returns the labels of this task.
    fn labels(&self) -> Labels {
        match self.outputs() {
            _ if !self.is_classification() => Labels::Numbers,
            1 => Labels::Binary,
            classes => Labels::Classes(classes),
        }
    }
}

/// The half-width of the interval around a kink over which a loss is smoothed for a fit. Where the slope jumps by 1,
/// the loss changes by at most half of this.
pub const ROUNDING: f64 = 1e-3;

/// The kind of labels, which determines the meaning of a loss's name.
///
/// ```
/// use querist_engine::task::Labels;
///
/// assert_eq!(Labels::Binary.label(0), -1.0);
/// assert_eq!(Labels::Classes(3).label(2), 2.0);
/// assert_eq!(Labels::Binary.class(1.0), 1);
/// assert_eq!(Labels::Numbers.default_loss(), "squared");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// −1 and +1.
    Binary,
    /// 0 … K−1.
    Classes(usize),
    /// Numbers.
    Numbers,
}

impl Labels {
    /// Returns the loss used if none is named.
    pub fn default_loss(self) -> &'static str {
        match self {
            Labels::Binary => "logistic",
            Labels::Classes(_) => "cross-entropy",
            Labels::Numbers => "squared",
        }
    }

    /// Returns the number of classes; 0 for numbers.
    pub fn classes(self) -> usize {
        match self {
            Labels::Binary => 2,
            Labels::Classes(classes) => classes,
            Labels::Numbers => 0,
        }
    }

    /// Returns the class of a label, from 0.
    pub fn class(self, label: f64) -> usize {
        if self == Labels::Binary { usize::from(0.0 < label) } else { label as usize }
    }

    /// Returns whether a number is such a label.
    ///
    /// ```
    /// use querist_engine::task::Labels;
    ///
    /// assert!(Labels::Binary.contain(-1.0) && !Labels::Binary.contain(0.0));
    /// assert!(Labels::Classes(3).contain(2.0) && !Labels::Classes(3).contain(3.0));
    /// assert!(!Labels::Numbers.contain(f64::NAN));
    /// ```
    pub fn contain(self, label: f64) -> bool {
        match self {
            Labels::Binary => label.abs() == 1.0,
            Labels::Classes(classes) => (0..classes).contains(&(label as usize)) && label == (label as usize) as f64,
            Labels::Numbers => label.is_finite(),
        }
    }

    /// Returns the label of a class.
    pub fn label(self, class: usize) -> f64 {
        if self == Labels::Binary { 2.0 * class as f64 - 1.0 } else { class as f64 }
    }
}

impl Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Labels::Binary => write!(f, "-1 or 1"),
            Labels::Classes(classes) => write!(f, "a whole number from 0 to {}", classes.saturating_sub(1)),
            Labels::Numbers => write!(f, "a finite number"),
        }
    }
}

/// Parses the name of a loss for these labels and returns its task.
///
/// # Errors
/// If the name is unknown or the loss does not fit the labels.
///
/// ```
/// use querist_engine::task::{self, Labels};
/// let task = task::parse("logistic", Labels::Binary)?;
/// assert_eq!(task.decide(&[-0.3]), -1.0);
/// # Ok::<(), querist_theory::registry::NameError>(())
/// ```
pub fn parse(name: &str, labels: Labels) -> Result<Box<dyn Task>, NameError> {
    let fail = |message: String| Err(NameError { name: name.to_owned(), message });
    match labels {
        Labels::Binary => {
            let loss = loss::parse(name)?;
            if loss.facts().task == LossTask::Regression {
                return fail("is for numbers, but the labels are two classes; try logistic".to_owned());
            }
            Ok(Box::new(MarginTask::new(loss)))
        }
        Labels::Classes(classes) => match name {
            "logistic" | "cross-entropy" => Ok(Box::new(CrossEntropyTask::new(classes))),
            "hinge" => Ok(Box::new(MulticlassHinge::new(classes))),
            _ if loss::parse(name).is_ok() => {
                fail(format!("has no form for {classes} classes; there are cross-entropy and hinge"))
            }
            _ => fail(unknown("loss", name, ["cross-entropy", "hinge"].into_iter())),
        },
        Labels::Numbers if name == "squared" => Ok(Box::new(SquaredError)),
        Labels::Numbers => fail("is for classes, but the labels are numbers; there is squared".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use querist_theory::loss::LOSSES;

    use super::*;

    /// A probability belongs to a score if that score minimizes the expected loss, so the expected slope is 0.
    #[test]
    fn the_expected_slope_under_the_probabilities_is_zero() {
        let cases = [(Labels::Binary, vec![-3.0]), (Labels::Binary, vec![0.0]), (Labels::Binary, vec![0.7])];
        let classes = [(Labels::Classes(3), vec![0.3, -1.2, 2.0]), (Labels::Classes(3), vec![40.0, 0.0, -700.0])];
        for (labels, scores) in cases.into_iter().chain(classes) {
            for name in ["logistic", "cross-entropy"] {
                let task = parse(name, labels).unwrap();
                let probabilities = task.probabilities(&scores).unwrap();
                assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-15);
                let mut expected = vec![0.0; task.outputs()];
                for (class, p) in probabilities.iter().enumerate() {
                    let mut slope = vec![0.0; task.outputs()];
                    task.slope(&scores, labels.label(class), &mut slope);
                    expected.iter_mut().zip(slope).for_each(|(sum, slope)| *sum += p * slope);
                }
                assert!(expected.iter().all(|slope| slope.abs() < 1e-12), "{name} at {scores:?}: {expected:?}");
            }
        }
    }

    #[test]
    fn other_losses_define_no_probability() {
        for entry in LOSSES {
            let Ok(task) = parse(entry.name, Labels::Binary) else { continue };
            let expected = ["logistic", "cross-entropy"].contains(&entry.name);
            assert_eq!(task.probabilities(&[0.5]).is_some(), expected, "{}", entry.name);
        }
        assert_eq!(parse("hinge", Labels::Classes(3)).unwrap().probabilities(&[0.0, 1.0, 2.0]), None);
        assert_eq!(parse("squared", Labels::Numbers).unwrap().probabilities(&[0.5]), None);
    }

    /// The small probability of a large score keeps its digits.
    #[test]
    fn a_small_probability_is_not_rounded_to_zero() {
        let task = parse("logistic", Labels::Binary).unwrap();
        let small = task.probabilities(&[60.0]).unwrap()[0];
        assert!((small / (-60.0_f64).exp() - 1.0).abs() < 1e-15, "{small}");
    }
}
