//! Accuracy, precision, recall and F1 of a whole pool.

use super::anytime::Betting;
use super::leveled::Levels;
use super::loss_matrix::AnsweredLosses;
use super::ratio::{Ratio, RatioTerm};
use super::score_test::{Count, ScoreTests, TestedShare};
use super::{DrawProbability, Estimate, Estimator, Invalid};

/// The judgment of an item by a model that had not seen its label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The loss.
    pub loss: f64,
    /// The predicted class.
    pub predicted: usize,
    /// The true class.
    pub truth: usize,
}

/// The scores of a classifier on one class of a whole pool.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassScores {
    /// The fraction of items predicted as the class that belong to it; `None` if no drawn item was predicted so.
    pub precision: Option<Estimate>,
    /// The fraction of items of the class that are predicted as it; `None` if no drawn item belongs to it.
    pub recall: Option<Estimate>,
    /// The harmonic mean of both.
    pub f1: Option<Estimate>,
}

/// The scores of a classifier on a whole pool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scores {
    /// The fraction of items that are classified correctly.
    pub accuracy: Estimate,
    /// The mean of −ln of the probability of the true class.
    pub log_loss: Estimate,
    /// The scores of each class.
    pub classes: Vec<ClassScores>,
}

impl Estimator {
    /// Estimates all scores of a model that has judged the whole pool. `probabilities` holds the class probabilities,
    /// item by item; the model predicts the likeliest class, the first of equals. `answers` holds the item and the
    /// class of each draw.
    pub fn scores(
        &self,
        probabilities: &[f64],
        answers: &[(usize, usize)],
        draws: &[DrawProbability],
    ) -> Result<Scores, Invalid> {
        self.check(answers.len(), draws)?;
        let possible: Vec<f64> = probabilities.iter().map(|p| -p.ln()).collect();
        let answered = AnsweredLosses::new(self.pool, &possible, answers)?;
        let k = answered.classes;
        let judge = |(&(item, truth), &loss): (&(usize, usize), &f64)| {
            // Compare probabilities rather than losses, because two probabilities can round to the same loss.
            let of_item = &probabilities[item * k..][..k];
            let predicted = (1..k).fold(0, |best, class| if of_item[class] > of_item[best] { class } else { best });
            Judgement { loss, predicted, truth }
        };
        let judged: Vec<Judgement> = answers.iter().zip(&answered.losses).map(judge).collect();
        answered.with_matrix(|matrix| {
            let tests = self.score_tests(matrix, &judged, draws)?;
            let of_class = |class| self.class_scores(&judged, draws, class, tests.as_ref());
            Ok(Scores {
                accuracy: self.accuracy(&judged, draws, tests.as_ref())?,
                log_loss: self.mean_loss(&answered.losses, matrix, draws)?,
                classes: (0..k).map(of_class).collect::<Result<_, _>>()?,
            })
        })
    }

    /// Estimates the accuracy on the whole pool. With `tests`, the model's predictions are a control variate of the estimate
    /// and of both intervals, and the fixed-sample interval also accounts for errors among undrawn items.
    pub fn accuracy(
        &self,
        judged: &[Judgement],
        draws: &[DrawProbability],
        tests: Option<&ScoreTests<'_>>,
    ) -> Result<Estimate, Invalid> {
        // Rules seek errors, so the weights of errors are small, and so is the noise of their sum.
        let wrong: Vec<bool> = judged.iter().map(|j| j.predicted != j.truth).collect();
        let errors = self.plain_share(&wrong, draws)?;
        let missing = Levels::new(self.pool, draws).missing_share();
        // A tilted model would be extrapolated to missing rows.
        let tested = tests.filter(|_| missing == 0.0).and_then(|tests| Some((tests, tests.accuracy(self.confidence)?)));
        let Some((tests, TestedShare { value, low, high })) = tested else {
            return Ok(complement(errors.with_missing_rows(missing, (0.0, 1.0))).nested());
        };
        let values: Vec<f64> = wrong.iter().map(|&wrong| f64::from(wrong)).collect();
        let bets = tests.error_bets(self.confidence);
        let anytime = Betting::new(self.pool, draws, bets.confidence).mean(&values, &bets.controls);
        let estimate = complement(Estimate { anytime: Some(anytime), ..errors });
        Ok(Estimate { value, low, high, ..estimate }.nested())
    }

    /// Estimates precision, recall and F1 of a class on the whole pool, with intervals like those of accuracy.
    pub fn class_scores(
        &self,
        judged: &[Judgement],
        draws: &[DrawProbability],
        class: usize,
        tests: Option<&ScoreTests<'_>>,
    ) -> Result<ClassScores, Invalid> {
        self.check(judged.len(), draws)?;
        let ratio = |term: Term| {
            let ratio = Ratio {
                terms: terms_of(judged, class, term),
                largest: largest_numerator(term),
                is_share: false,
                draws,
            };
            let estimate = ratio.estimate(self, tests.map(|tests| (tests, Count { class: Some(class), term })))?;
            Some(ratio.with_anytime(estimate, self))
        };
        Ok(ClassScores { precision: ratio(precision_term), recall: ratio(recall_term), f1: ratio(f1_term) })
    }

    /// Moves the scores of a class from cross-fitted models to the model fitted to all answers, like
    /// [`Estimator::of_fitted_model`]. Both sums of a ratio change.
    pub fn class_of_fitted_model(
        &self,
        scores: &ClassScores,
        judged: &[Judgement],
        fitted: &[Judgement],
        draws: &[DrawProbability],
        class: usize,
    ) -> ClassScores {
        let levels = Levels::new(self.pool, draws);
        let moved = |estimate: Option<Estimate>, term: Term| {
            let (before, after) = (terms_of(judged, class, term), terms_of(fitted, class, term));
            let change = |part: fn(&RatioTerm) -> f64| {
                let changes = before.iter().zip(&after).map(|(before, after)| part(after) - part(before));
                changes.sum::<f64>() / self.pool as f64
            };
            let denominators: Vec<f64> = before.iter().map(|term| term.denominator).collect();
            let (numerator, denominator) = (change(|term| term.numerator), change(|term| term.denominator));
            let old = levels.mean(&denominators);
            let moved = |ratio: f64| (ratio * old + numerator) / (old + denominator);
            estimate.map(|estimate| if 0.0 < old + denominator { estimate.moved(moved, (0.0, 1.0)) } else { estimate })
        };
        ClassScores {
            precision: moved(scores.precision, precision_term),
            recall: moved(scores.recall, recall_term),
            f1: moved(scores.f1, f1_term),
        }
    }
}

/// A function (predicted, true) ↦ contribution to a ratio.
type Term = fn(bool, bool) -> RatioTerm;

fn precision_term(predicted: bool, actual: bool) -> RatioTerm {
    RatioTerm::new(predicted && actual, predicted)
}

fn recall_term(predicted: bool, actual: bool) -> RatioTerm {
    RatioTerm::new(predicted && actual, actual)
}

/// 2TP/(2TP + FP + FN): true positives count twice.
fn f1_term(predicted: bool, actual: bool) -> RatioTerm {
    let numerator = 2.0 * f64::from(predicted && actual);
    RatioTerm { numerator, denominator: f64::from(predicted) + f64::from(actual) }
}

/// Returns the largest numerator that an item can have.
fn largest_numerator(term: Term) -> f64 {
    let numerators = [(false, false), (false, true), (true, false), (true, true)].map(|(p, is)| term(p, is).numerator);
    numerators.into_iter().fold(0.0, f64::max)
}

fn terms_of(judged: &[Judgement], class: usize, term: Term) -> Vec<RatioTerm> {
    judged.iter().map(|judged| term(judged.predicted == class, judged.truth == class)).collect()
}

/// Returns 1 − an estimate.
fn complement(of: Estimate) -> Estimate {
    let anytime = of.anytime.map(|(low, high)| (1.0 - high, 1.0 - low));
    Estimate { value: 1.0 - of.value, low: 1.0 - of.high, high: 1.0 - of.low, anytime, ..of }
}
