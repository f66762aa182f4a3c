//! What the labels that were asked for say of the whole pool.

use super::fitting::Fitting;
use super::{Drawn, PoolLearner};
use crate::estimate::{Draw, Estimate, Estimator, Invalid, Range, Twin, fold};
use crate::stop::{Better, Progress, accuracy_readings};

/// How a learner that fits does on its pool, by the labels it has asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Accuracy, or the mean loss for numbers. Every answer is judged by a fit without its fold, so what is estimated is a model
    /// of four fifths of the answers: a little less than the model at hand.
    pub score: Estimate,
    /// The same for a model of the answers that random sampling would have asked for; `None` while those are too few.
    pub twin: Option<Estimate>,
    /// How many answers those are.
    pub twin_labels: usize,
    /// A reading of the score at each draw, by the model of that moment.
    pub readings: Vec<f64>,
    /// Whether the score is an accuracy.
    pub is_accuracy: bool,
}

/// Why a pool cannot be assessed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NotAssessed {
    /// Answers took steps: models without some of them are not at hand.
    Steps,
    /// Some draws had no probabilities.
    NoProbabilities,
    /// Rows were drawn more than once.
    Repeated,
    /// The draws themselves.
    Draws(Invalid),
}

const FOLDS: usize = 5;
/// A model of fewer answers is none.
const FEWEST: usize = 10;

impl Assessment {
    /// What advice on stopping is made of.
    pub fn progress(&self) -> Progress<'_> {
        let (name, better) = if self.is_accuracy { ("accuracy", Better::Higher) } else { ("the loss", Better::Lower) };
        Progress { labels: self.readings.len(), name, better, score: Some(&self.score), readings: &self.readings }
    }
}

impl PoolLearner {
    /// Estimates of the score on the whole pool. Labels that were given are learned from, and no part of the estimates.
    pub fn assess(&self) -> Result<Assessment, NotAssessed> {
        let fitting = self.fitting.as_ref().ok_or(NotAssessed::Steps)?;
        if self.replacement == super::Replacement::With {
            return Err(NotAssessed::Repeated);
        }
        let draws = fitting.chances(self.askable).ok_or(NotAssessed::NoProbabilities)?;
        let estimator = Estimator::new(self.askable);
        let is_accuracy = self.learner.task.is_classification();
        let estimate = |weights: &[f64]| self.estimate(fitting, &estimator, &draws, weights);
        let score = estimate(&fitting.weights).map_err(NotAssessed::Draws)?;
        let ids: Vec<u64> = fitting.draws.iter().map(|drawn| drawn.row as u64).collect();
        let twin = Twin::of(self.askable, self.seed, &draws, &ids);
        let mut only = vec![1.0; fitting.given];
        only.resize(fitting.weights.len(), 0.0);
        for member in twin.members() {
            only[fitting.given + member] = 1.0;
        }
        let twin_labels = twin.members().len();
        let of_twin = if twin_labels < FEWEST { None } else { estimate(&only).ok() };
        let readings = if is_accuracy {
            let wrong: Vec<bool> = fitting.losses.iter().map(|loss| 0.0 < *loss).collect();
            accuracy_readings(&estimator, &wrong, &draws)
        } else {
            estimator.readings(&fitting.losses, &draws)
        };
        let readings = readings.map_err(NotAssessed::Draws)?;
        Ok(Assessment { score, twin: of_twin, twin_labels, readings, is_accuracy })
    }

    /// The score of fits with these weights, every answer judged by one without its fold.
    fn estimate(
        &self,
        fitting: &Fitting,
        estimator: &Estimator,
        draws: &[Draw],
        weights: &[f64],
    ) -> Result<Estimate, Invalid> {
        let task = &*self.learner.task;
        let folds: Vec<usize> =
            fitting.refit.items().iter().map(|item| fold(self.seed ^ ASSESS, *item, FOLDS)).collect();
        let mut losses = vec![0.0; draws.len()];
        let mut scores = vec![0.0; self.learner.model.outputs];
        for fold in 0..FOLDS {
            let rest: Vec<f64> = weights.iter().zip(&folds).map(|(w, at)| if *at == fold { 0.0 } else { *w }).collect();
            let theta = fitting.refit.fitted_to(&rest);
            for (place, loss) in losses.iter_mut().enumerate() {
                let answer = fitting.given + place;
                if folds[answer] == fold {
                    self.learner.model.scores(&theta, fitting.refit.rows().row(answer), &mut scores);
                    *loss = self.wrong(task.loss(&scores, fitting.refit.labels()[answer]), &scores, answer, fitting);
                }
            }
        }
        if task.is_classification() {
            let wrong: Vec<bool> = losses.iter().map(|loss| 0.0 < *loss).collect();
            let errors = estimator.share(&wrong, draws)?;
            let anytime = errors.anytime.map(|(low, high)| (1.0 - high, 1.0 - low));
            let (value, low, high) = (1.0 - errors.value, 1.0 - errors.high, 1.0 - errors.low);
            return Ok(Estimate { value, low, high, anytime, ..errors });
        }
        estimator.mean(&losses, draws, Range::Unbounded)
    }

    /// 1 for a wrong decision and 0 for a right one; for numbers, the loss.
    fn wrong(&self, loss: f64, scores: &[f64], answer: usize, fitting: &Fitting) -> f64 {
        if !self.learner.task.is_classification() {
            return loss;
        }
        f64::from(u8::from(self.learner.task.decide(scores) != fitting.refit.labels()[answer]))
    }

    /// What the present model makes of answers it has not seen: the progressive losses.
    pub(super) fn judge(&mut self, answers: &[(crate::rows::Row<'_>, Drawn, f64)]) -> Vec<f64> {
        let is_classification = self.learner.task.is_classification();
        let mut losses = vec![];
        for (x, _, label) in answers {
            self.learner.scores(*x, &mut self.scores);
            losses.push(if is_classification {
                f64::from(u8::from(self.learner.task.decide(&self.scores) != *label))
            } else {
                self.learner.task.loss(&self.scores, *label)
            });
        }
        losses
    }
}

/// The folds of an assessment are others than those λ was chosen by.
const ASSESS: u64 = 0x5eed;
