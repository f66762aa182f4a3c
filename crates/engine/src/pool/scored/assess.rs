//! Estimates of the performance of any model on a pool, weights for training, and advice on stopping.

use super::{DrawMethod, Predictions, ScoredDraw, ScoredPool, ScoredPoolError};
use crate::coin::Coin;
use crate::estimate::{
    ClassScores, DrawProbability, Estimate, Estimator, Invalid, Judgement, LossMatrix, Range, leveled_weights,
};
use crate::pool::precision::ShareEvidence;
use crate::rule::Rule;
use crate::stop::{Advice, Progress, Reading, StopRule};

/// The estimated performance of a model on the whole pool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScoredPoolEstimate {
    /// The fraction of rows that are classified correctly.
    pub accuracy: Estimate,
    /// The mean of −ln of the probability of the true class.
    pub log_loss: Estimate,
    /// The Brier score: the mean squared error of the probabilities, of the second class of two, or summed over more.
    pub brier: Estimate,
    /// The scores of each class.
    pub classes: Vec<ClassScores>,
}

/// The number of losses sampled from a large pool, divided among the classes.
const SAMPLED_LOSSES: usize = 1 << 16;
/// The least number of rows sampled from a large pool.
const MIN_SAMPLED_ROWS: usize = 4096;
/// The least probability of a class in estimates, where a model predicts 0.
const LEAST_PROBABILITY: f64 = 1e-12;

impl ScoredPool {
    /// Returns the probability and the floor of each draw.
    pub fn probabilities(&self) -> Vec<DrawProbability> {
        let draws = self.draws.iter().enumerate();
        draws.map(|(index, draw)| DrawProbability::exact(draw.probability, self.floor(draw, index))).collect()
    }

    /// Returns a lower bound on the probability of every row that was left at a draw.
    fn floor(&self, draw: &ScoredDraw, index: usize) -> f64 {
        let least = match (draw.method, draw.scale) {
            (DrawMethod::Uniform | DrawMethod::Fallback, _) => return draw.probability,
            (_, Some(scale)) => scale.base / (1.0 + scale.base),
            (_, None) => self.rule.as_ref().map_or(0.0, Rule::least),
        };
        let left = (self.settings.rows - index) as f64;
        (least / (draw.rate * left)).min(draw.probability)
    }

    /// Returns the draws before the first one without an answer: their rows with their classes, and their probabilities.
    /// Only these are a sample with known probabilities.
    fn answered_draws(&self) -> (Vec<(usize, usize)>, Vec<DrawProbability>) {
        let answers: Vec<(usize, usize)> = self
            .draws
            .iter()
            .zip(&self.answers)
            .map_while(|(draw, class)| class.map(|class| (draw.row, class)))
            .collect();
        let mut probabilities = self.probabilities();
        probabilities.truncate(answers.len());
        (answers, probabilities)
    }

    /// Returns the number of draws that estimates use: those before the first one without an answer.
    pub fn n_usable(&self) -> usize {
        self.answers.iter().take_while(|answer| answer.is_some()).count()
    }

    /// Returns whether each usable draw was predicted wrongly before its label was known; `None` without a prediction.
    fn progressive_errors(&self) -> Option<Vec<bool>> {
        let draws = self.draws.iter().zip(&self.answers).take(self.n_usable());
        draws.map(|(draw, class)| draw.prediction.as_ref().map(|found| Some(found.class()) != *class)).collect()
    }

    /// Estimates the accuracy over the pool of the predictions that were current at the draws so far, averaged over those
    /// draws, after at most this many numbers of answers. It is empty if a row was drawn without a prediction.
    pub fn progressive_accuracy(&self, points: usize) -> Vec<Estimate> {
        let Some(wrong) = self.progressive_errors() else { return vec![] };
        let right: Vec<bool> = wrong.into_iter().map(|wrong| !wrong).collect();
        let (estimator, draws) = (Estimator::new(self.settings.rows), self.answered_draws().1);
        let step = right.len().div_ceil(points.max(1)).max(1);
        let is_shown = |labels: &usize| labels.is_multiple_of(step) || *labels == right.len();
        let counts = (1..=right.len()).filter(is_shown);
        counts.filter_map(|labels| estimator.share(&right[..labels], &draws[..labels]).ok()).collect()
    }

    pub(super) fn evidence_of_errors(&self) -> Option<ShareEvidence> {
        let (wrong, (_, draws)) = (self.progressive_errors()?, self.answered_draws());
        let (share, even_draws) = Estimator::new(self.settings.rows).share_and_even_draws(&wrong, &draws).ok()?;
        Some(ShareEvidence { share, even_draws })
    }

    /// Returns the weight of each draw so that weighted means over draws are those over the pool, whether or not it has an
    /// answer.
    pub fn leveled_weights(&self) -> Vec<f64> {
        leveled_weights(self.settings.rows, &self.probabilities())
    }

    /// Returns U by the rule of each draw, at these predictions.
    pub fn uncertainties(&self, predictions: &Predictions<'_>) -> Result<Vec<f64>, ScoredPoolError> {
        let rule = self.settled_rule(predictions)?;
        self.draws.iter().map(|draw| Ok(predictions.prediction(draw.row)?.uncertainty(&rule))).collect()
    }

    /// Estimates the performance of a model with these predictions, none of which was learned from the label of its row.
    ///
    /// # Errors
    /// If predictions or draws are invalid, or there are no answers.
    pub fn estimate(
        &self,
        predictions: &Predictions<'_>,
        confidence: f64,
    ) -> Result<Result<ScoredPoolEstimate, Invalid>, ScoredPoolError> {
        let (rows, classes) = (self.settings.rows, predictions.classes());
        if rows != predictions.len() {
            return Err(ScoredPoolError::OtherRows { expected: rows, found: predictions.len() });
        }
        if let Some(expected) = self.classes().filter(|expected| *expected != classes) {
            return Err(ScoredPoolError::OtherClasses { expected, found: classes });
        }
        let (answers, draws) = self.answered_draws();
        if let Some((_, class)) = answers.iter().find(|(_, class)| classes <= *class) {
            return Err(ScoredPoolError::NoClass { class: *class, classes });
        }
        let sampled = self.sampled_rows(classes);
        let is_sample = sampled.len() < rows;
        let mut losses = Vec::with_capacity(sampled.len() * classes);
        let mut probabilities = vec![0.0; classes];
        let mut losses_of = |row: usize, losses: &mut Vec<f64>| {
            predictions.probabilities(row, &mut probabilities)?;
            losses.extend(probabilities.iter().map(|p| -p.max(LEAST_PROBABILITY).ln()));
            Ok::<f64, ScoredPoolError>(probabilities.iter().map(|p| p * p).sum())
        };
        for row in sampled {
            losses_of(row, &mut losses)?;
        }
        let (mut drawn, mut judged, mut brier) = (vec![], vec![], vec![]);
        for (row, truth) in &answers {
            let start = drawn.len();
            let squares = losses_of(*row, &mut drawn)?;
            let loss = drawn[start + truth];
            // Σ (p − y)² = Σ p² − 2p + 1; of two classes, half of it.
            let error = (squares - 2.0 * (-loss).exp() + 1.0).max(0.0);
            brier.push(if classes == 2 { 0.5 * error } else { error });
            judged.push(Judgement { loss, predicted: predictions.prediction(*row)?.class(), truth: *truth });
        }
        let visit = |visit: &mut dyn FnMut(&[f64])| losses.chunks_exact(classes).for_each(visit);
        let matrix = LossMatrix { drawn: &drawn, classes, pool: &visit, is_sample };
        let estimator = Estimator::new(rows).with_confidence(confidence);
        Ok(scores(&estimator, (&judged, &brier), &matrix, &draws))
    }

    /// Returns all rows of a small pool, otherwise a uniform sample of them.
    fn sampled_rows(&self, classes: usize) -> Vec<usize> {
        let most = (SAMPLED_LOSSES / classes).max(MIN_SAMPLED_ROWS);
        if self.settings.rows <= most {
            return (0..self.settings.rows).collect();
        }
        let coin = Coin::new(self.settings.seed, "assess");
        (0..most as u64).map(|time| coin.below(time, self.settings.rows)).collect()
    }

    /// Returns the advice of a stopping rule about a model with this estimated performance. Expected gains are those of the
    /// predictions that were current at each draw.
    pub fn advise(&self, rule: &StopRule, found: Option<&ScoredPoolEstimate>) -> Advice {
        let readings = self.progressive_errors().and_then(|wrong| {
            let losses: Vec<f64> = wrong.into_iter().map(|wrong| f64::from(u8::from(wrong))).collect();
            Reading::of_losses(self.settings.rows, &losses, &self.answered_draws().1).ok()
        });
        let readings = readings.unwrap_or_default();
        let accuracy = found.map(|found| &found.accuracy);
        rule.advise(&Progress {
            classes: found.map_or(&[], |found| &found.classes),
            ..Progress::of_accuracy(self.n_usable(), accuracy, &readings)
        })
    }
}

fn scores(
    estimator: &Estimator,
    (judged, brier): (&[Judgement], &[f64]),
    matrix: &LossMatrix<'_>,
    draws: &[DrawProbability],
) -> Result<ScoredPoolEstimate, Invalid> {
    let losses: Vec<f64> = judged.iter().map(|judged| judged.loss).collect();
    let most = if matrix.classes == 2 { 1.0 } else { 2.0 };
    let tests = estimator.score_tests(matrix, judged, draws)?;
    let of_class = |class| estimator.class_scores(judged, draws, class, tests.as_ref());
    Ok(ScoredPoolEstimate {
        accuracy: estimator.accuracy(judged, draws, tests.as_ref())?,
        log_loss: estimator.mean_loss(&losses, matrix, draws)?,
        brier: estimator.mean(brier, draws, Range::Within(0.0, most))?,
        classes: (0..matrix.classes).map(of_class).collect::<Result<_, _>>()?,
    })
}
