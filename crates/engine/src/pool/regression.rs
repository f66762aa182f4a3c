//! R² of a model for numbers, and what more labels would add to it.

use super::assess::Evidence;
use crate::estimate::{Estimate, Judgement, NumberJudgement, Range};
use crate::stop::Outlook;

/// The least number of answers to extrapolate from.
const FEWEST: usize = 30;

/// The estimates of a model for numbers beyond its mean squared error.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Regression {
    /// R² on the pool.
    pub r_squared: Estimate,
    /// The extrapolation of R²; `None` after fewer than 30 answers.
    pub outlook: Option<Outlook>,
}

impl Evidence<'_> {
    /// Estimates R² of the fitted model; `None` for classes, and if all drawn numbers are equal.
    pub(super) fn regression(&self, judged: &[Judgement], fitted: &[Judgement]) -> Option<Regression> {
        if self.is_accuracy() {
            return None;
        }
        let answers = &self.pool.answers;
        let numbers = &answers.models.labels()[answers.seed_labels..];
        // The loss of numbers is the squared error.
        let judgements: Vec<NumberJudgement> = numbers
            .iter()
            .zip(judged.iter().zip(fitted))
            .map(|(truth, (judged, fitted))| NumberJudgement {
                truth: *truth,
                squared_error: judged.loss,
                fitted: fitted.loss,
            })
            .collect();
        let r_squared = self.estimator.r_squared(&judgements, &self.draws).ok()??;
        Some(Regression { r_squared, outlook: self.outlook(numbers, judged) })
    }

    /// Extrapolates R² from the models of the first half of the answers and of all of them. Both judge all draws, so most
    /// of the noise of the draws cancels in the difference.
    fn outlook(&self, numbers: &[f64], judged: &[Judgement]) -> Option<Outlook> {
        let (labels, half) = (numbers.len(), numbers.len() / 2);
        if labels < FEWEST {
            return None;
        }
        let variance = self.estimator.variance(numbers, &self.draws).ok()?;
        let first: Vec<usize> = (0..half).collect();
        let before = self.pool.judgements_of_members(&first);
        let gains: Vec<f64> =
            before.iter().zip(judged).map(|(before, now)| (before.loss - now.loss) / variance).collect();
        let gain = self.estimator.mean(&gains, &self.draws, Range::Unbounded).ok()?;
        Some(Outlook::of_gain(&gain, half, labels))
    }
}
