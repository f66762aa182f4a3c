//! Accuracy, precision, recall and F1 of a whole pool.

use super::anytime::{Betting, Control, boundary};
use super::interval::Spread;
use super::leveled::{Levels, effective};
use super::loss_matrix::AnsweredLosses;
use super::score_test::{Count, RatioTerm, ScoreTests, TestedShare};
use super::{DrawProbability, Estimate, Estimator, Invalid, Warning};

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

/// Ratios with fewer drawn cases than this get a warning.
const FEW_CASES: usize = 10;

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
        let controls = tests.predicted_errors();
        let anytime = Betting::new(self.pool, draws, self.confidence).mean(&values, &controls);
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
            let terms = terms_of(judged, class, term);
            ratio_of(self, &terms, draws, tests.map(|tests| (tests, Count { class: Some(class), term })))
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

fn terms_of(judged: &[Judgement], class: usize, term: Term) -> Vec<RatioTerm> {
    judged.iter().map(|judged| term(judged.predicted == class, judged.truth == class)).collect()
}

/// Replaces the interval of an estimate by that of the score tests.
fn widened(estimate: Estimate, interval: Option<(f64, f64)>) -> Estimate {
    let Some((low, high)) = interval else { return estimate };
    // Uneven weights can yield a ratio that no tilted model has.
    Estimate { low: low.min(estimate.value), high: high.max(estimate.value), ..estimate }
}

/// Returns 1 − an estimate.
fn complement(of: Estimate) -> Estimate {
    let anytime = of.anytime.map(|(low, high)| (1.0 - high, 1.0 - low));
    Estimate { value: 1.0 - of.value, low: 1.0 - of.high, high: 1.0 - of.low, anytime, ..of }
}

impl RatioTerm {
    pub(super) fn new(numerator: bool, denominator: bool) -> Self {
        Self { numerator: f64::from(numerator), denominator: f64::from(denominator) }
    }
}

/// Estimates Σ numerator/Σ denominator over the pool; returns `None` if the denominator is 0 for every draw.
pub(super) fn ratio_of(
    estimator: &Estimator,
    terms: &[RatioTerm],
    draws: &[DrawProbability],
    tests: Option<(&ScoreTests<'_>, Count)>,
) -> Option<Estimate> {
    let cases = terms.iter().filter(|term| term.denominator > 0.0).count();
    if cases == 0 {
        return None;
    }
    let levels = Levels::new(estimator.pool, draws);
    let denominators: Vec<f64> = terms.iter().map(|term| term.denominator).collect();
    let hits: Vec<f64> = terms.iter().map(|term| term.numerator).collect();
    let denominator = levels.mean(&denominators);
    let ratio = levels.mean(&hits) / denominator;
    // To first order, the ratio's error is the mean of (numerator − ratio·denominator)/denominator.
    let residuals: Vec<f64> =
        terms.iter().map(|term| (term.numerator - ratio * term.denominator) / denominator).collect();
    let weights: Vec<f64> = denominators.iter().zip(&levels.weights).map(|(denominator, v)| denominator * v).collect();
    let spread = Spread::of(&levels, &residuals);
    let mut worth = levels.worth(&weights);
    // A share that is estimated from the draws alone: a few errors of small weight show too little variance.
    worth.is_uneven |= tests.is_none() && denominators.iter().all(|denominator| *denominator == 1.0);
    let ends = spread.proportion(ratio, &worth, estimator.confidence);
    let anytime = anytime(estimator, terms, draws);
    // To second order, a ratio is biased by −cov(residual, denominator)/denominator, which is estimated like a variance.
    let off: f64 = levels
        .errors(&residuals, 0.0)
        .zip(levels.errors(&denominators, denominator))
        .map(|(e, w)| e * w / denominator)
        .sum();
    let value = (ratio + off).clamp(0.0, 1.0);
    let mut estimate = estimator.estimate(&levels, value, ends, Some(anytime));
    // Only draws that count in the ratio carry information about it.
    estimate.effective_n = effective(&weights);
    let missing = levels.missing_share();
    // A tilted model would be extrapolated to missing rows.
    if let Some((tests, count)) = tests.filter(|_| missing == 0.0) {
        estimate = widened(estimate, tests.ratio_interval(count, estimator.confidence));
    }
    if cases < FEW_CASES.min(draws.len()) && draws.len() < estimator.pool {
        estimate.warning = Some(Warning::FewCases { cases });
    }
    let largest = terms.iter().fold(1.0, |most: f64, term| most.max(term.numerator));
    Some(estimate.ratio_with_missing_rows(missing, denominator, largest).nested())
}

/// The number of intervals of the grid on which ratios are tested, before bisection refines the ends.
const TRIED: usize = 20;

/// Returns the range of ratios that are not excluded. The ratio is r exactly if numerator − r·denominator has mean 0
/// over the pool. Shifted and scaled to [0, 1], this is a mean like any other; before the shift, the value is 0 for every item
/// that does not count.
fn anytime(estimator: &Estimator, terms: &[RatioTerm], draws: &[DrawProbability]) -> (f64, f64) {
    let betting = Betting::new(estimator.pool, draws, estimator.confidence);
    let largest = terms.iter().fold(1.0, |most: f64, term| most.max(term.numerator));
    let is_excluded = |ratio: f64, above: bool| {
        let scale = ratio + largest * (1.0 - ratio);
        let neutral = ratio / scale;
        let values = terms.iter().map(|term| (term.numerator - ratio * term.denominator + ratio) / scale);
        if above {
            betting.is_too_low(values, neutral, &Control::constants(&[neutral]))
        } else {
            betting.is_too_low(values.map(|value| 1.0 - value), 1.0 - neutral, &Control::constants(&[1.0 - neutral]))
        }
    };
    // Wealth need not be monotone in the ratio, so search for the accepted ratios from the outside.
    let grid = |k: usize| k as f64 / TRIED as f64;
    let first = (0..=TRIED).find(|&k| !is_excluded(grid(k), true));
    let last = (0..=TRIED).rev().find(|&k| !is_excluded(grid(k), false));
    let low =
        first.map_or(1.0, |k| if k == 0 { 0.0 } else { boundary(grid(k - 1), grid(k), |r| is_excluded(r, true)) });
    let high =
        last.map_or(0.0, |k| if k == TRIED { 1.0 } else { boundary(grid(k + 1), grid(k), |r| is_excluded(r, false)) });
    (low, high)
}
