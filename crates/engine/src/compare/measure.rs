//! Measurements of a model on the test rows.

use super::{Contest, ContestSplit};
use crate::fit::{self, Problem, minimize};
use crate::linear::Linear;
use crate::scorer::Scorer;
use crate::task::Task;

/// The number of equal bins of [0, 1].
pub const BINS: usize = 10;

/// The probability below which log loss counts a probability as this one, so that it stays finite.
const LEAST_PROBABILITY: f64 = f64::EPSILON;

/// The results of a model on the test rows, from which every [`Metric`](super::Metric) is computed.
///
/// ```
/// use querist_engine::compare::{ClassCounts, TestScores};
///
/// // A model that decides for the first class on all of 90 + 10 rows.
/// let first = ClassCounts { labeled: 90, decided: 100, correct: 90 };
/// let second = ClassCounts { labeled: 10, decided: 0, correct: 0 };
/// let scores = TestScores::of_classes(vec![first, second]);
/// assert_eq!(scores.accuracy(), 0.9);
/// assert_eq!(scores.balanced_accuracy(), 0.5);
/// assert_eq!((scores.f1(0), scores.f1(1)), (180.0 / 190.0, 0.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TestScores {
    /// The mean of the loss that is learned.
    pub loss: f64,
    /// The mean of −ln of the probability of the true class; `None` if the loss defines no probabilities.
    pub log_loss: Option<f64>,
    /// R²; `None` for classes.
    pub r_squared: Option<f64>,
    /// The counts of each class; empty for numbers.
    pub classes: Vec<ClassCounts>,
}

/// The numbers of test rows that concern one class.
///
/// ```
/// use querist_engine::compare::ClassCounts;
///
/// let counts = ClassCounts { labeled: 8, decided: 4, correct: 3 };
/// assert_eq!(counts.recall(), Some(0.375));
/// assert_eq!(ClassCounts::default().recall(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Rows with this label.
    pub labeled: u64,
    /// Rows for which the model decides for this class.
    pub decided: u64,
    /// Rows that are both.
    pub correct: u64,
}

impl ClassCounts {
    /// Returns the fraction of the class that the model finds; `None` if no test row has this label.
    pub fn recall(&self) -> Option<f64> {
        (0 < self.labeled).then(|| self.correct as f64 / self.labeled as f64)
    }
}

impl TestScores {
    /// Creates the scores of decisions with these counts, without losses.
    pub fn of_classes(classes: Vec<ClassCounts>) -> Self {
        Self { loss: f64::NAN, classes, ..Self::default() }
    }

    /// Returns the fraction of correct decisions; NaN without test rows.
    pub fn accuracy(&self) -> f64 {
        let sum = |count: fn(&ClassCounts) -> u64| self.classes.iter().map(count).sum::<u64>() as f64;
        sum(|class| class.correct) / sum(|class| class.labeled)
    }

    /// Returns the mean recall of the classes that the test rows have.
    pub fn balanced_accuracy(&self) -> f64 {
        let recalls: Vec<f64> = self.classes.iter().filter_map(ClassCounts::recall).collect();
        crate::stats::mean(&recalls)
    }

    /// Returns F1 of a class, the harmonic mean of precision and recall; 0 if there is no row to find or decided so.
    pub fn f1(&self, class: usize) -> f64 {
        let ClassCounts { labeled, decided, correct } = self.classes[class];
        if correct == 0 { 0.0 } else { 2.0 * correct as f64 / (labeled + decided) as f64 }
    }
}

/// Measures the model on the test rows.
pub(super) fn measure(contest: &Contest<'_>, task: &dyn Task, split: &ContestSplit, model: &Scorer) -> TestScores {
    let mut scores = vec![0.0; model.outputs()];
    let mut classes = vec![ClassCounts::default(); contest.kind.classes()];
    let (mut n, mut loss, mut log_loss) = (0.0, 0.0, Some(0.0));
    let (mut sum, mut squares, mut errors) = (0.0, 0.0, 0.0);
    for (x, label) in split.test(contest) {
        model.scores(x, &mut scores);
        n += 1.0;
        loss += task.loss(&scores, label);
        if !task.is_classification() {
            sum += label;
            squares += label * label;
            errors += (scores[0] - label) * (scores[0] - label);
            continue;
        }
        let (truth, decision) = (contest.kind.class(label), contest.kind.class(task.decide(&scores)));
        classes[truth].labeled += 1;
        classes[decision].decided += 1;
        classes[truth].correct += u64::from(truth == decision);
        let probability = task.probabilities(&scores).map(|all| all[truth].max(LEAST_PROBABILITY));
        log_loss = log_loss.zip(probability).map(|(sum, probability)| sum - probability.ln());
    }
    let variance = squares / n - (sum / n) * (sum / n);
    let is_classification = task.is_classification();
    TestScores {
        loss: loss / n,
        log_loss: log_loss.filter(|_| is_classification).map(|sum| sum / n),
        r_squared: (!is_classification).then(|| 1.0 - errors / n / variance),
        classes,
    }
}

/// Measures a fit to every label of the pool; returns `None` if the loss cannot be fitted.
pub(super) fn measure_full(
    contest: &Contest<'_>,
    task: &dyn Task,
    split: &ContestSplit,
    seed: u64,
) -> Option<TestScores> {
    let smooth = task.smooth()?;
    let weights: Vec<f64> = split.is_held.iter().map(|held| if *held { 0.0 } else { 1.0 }).collect();
    let model = Linear { outputs: task.outputs(), intercept: true };
    let problem = Problem {
        task: &*smooth,
        model,
        rows: contest.rows.into(),
        labels: contest.labels,
        weights: &weights,
        strength: 1.0,
    };
    let problem = Problem { strength: fit::strength(&problem, seed), ..problem };
    let model = Scorer::of_inward(model.outputs, &minimize(&problem).0);
    Some(measure(contest, task, split, &model))
}

/// Counts decisions by their probability and correctness; all counts are 0 if the loss defines no probability.
pub(super) fn calibration(
    contest: &Contest<'_>,
    task: &dyn Task,
    split: &ContestSplit,
    model: &Scorer,
) -> [(u64, f64, u64); BINS] {
    let mut bins = [(0, 0.0, 0); BINS];
    let mut scores = vec![0.0; model.outputs()];
    for (x, label) in split.test(contest) {
        model.scores(x, &mut scores);
        let Some(probabilities) = task.probabilities(&scores) else { return bins };
        let confidence = probabilities.iter().copied().fold(0.0, f64::max);
        let bin = &mut bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += 1;
        bin.1 += confidence;
        bin.2 += u64::from(task.decide(&scores) == label);
    }
    bins
}
