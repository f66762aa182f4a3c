//! Estimates of a learner's performance on the whole pool, from the labels it asked for.

use super::RefitPool;
use super::crossfit::CrossFit;
use super::regression::Regression;
use crate::coin::Coin;
use crate::estimate::{
    ClassScores, ClippedMean, DrawProbability, Estimate, Estimator, Invalid, Judgement, LossMatrix, Range,
    ReliabilityBin, ScoreTests,
};
use crate::rows::Rows;
use crate::stop::{Progress, Reading};
use std::fmt::{self, Display};

/// The performance of a fitting learner on its pool, by the labels it asked for. Every answer is judged by a fit
/// without its fold, which has 19 of 20 answers and is hardly worse than the current model. On the answered rows the
/// current model is known to be right or wrong, and counts as such.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Assessment {
    /// Accuracy, or the mean squared error for numbers.
    pub score: Estimate,
    /// R² for numbers; `None` for classes, and if all labels are equal.
    pub regression: Option<Regression>,
    /// The mean loss of a classifier; `None` for numbers, and without the pool's rows.
    pub loss: Option<Estimate>,
    /// The mean loss, clipped: for numbers at a multiple of the median, for a classifier at the loss of a probability of
    /// 0.02. Labels can bound it even if they cannot bound the mean loss.
    pub clipped_loss: Option<ClippedMean>,
    /// Precision, recall and F1 of each class; empty for numbers.
    pub classes: Vec<ClassScores>,
    /// How often predictions of some probability are right; empty for numbers and for losses without probabilities.
    pub reliability: Vec<ReliabilityBin>,
    /// The score of a model of the answers that random sampling would have requested; `None` if those are too few.
    pub twin: Option<Estimate>,
    /// The number of those answers.
    pub twin_labels: usize,
    /// The score that random sampling would have reached with as many labels, extrapolated from those answers; `None` if
    /// those are too few.
    pub twin_at_equal_labels: Option<Estimate>,
    /// A reading of the mean loss, or of the error rate of a classifier, at each draw, by the model of that moment.
    pub readings: Vec<Reading>,
    /// `true` if the score is an accuracy.
    pub is_accuracy: bool,
}

/// A reason why a pool cannot be assessed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NotAssessed {
    /// Some draws had no probabilities.
    NoProbabilities,
    /// The draws are invalid.
    Draws(Invalid),
}

impl Display for NotAssessed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProbabilities => {
                write!(
                    f,
                    "rows were drawn without probabilities, so nothing can be estimated; use the draw scan or reject"
                )
            }
            Self::Draws(invalid) => invalid.fmt(f),
        }
    }
}

impl std::error::Error for NotAssessed {}

/// The probability of the true class below which losses are clipped.
const LEAST_PROBABILITY: f64 = 0.02;
/// The number of losses sampled from a large pool, divided among the classes.
const SAMPLED_LOSSES: usize = 8192;
/// The least number of rows sampled from a large pool.
const MIN_SAMPLED_ROWS: usize = 1024;

impl Assessment {
    /// Returns the progress that advice on stopping is based on.
    pub fn progress(&self) -> Progress<'_> {
        let labels = self.readings.len();
        if self.is_accuracy {
            let accuracy = Progress::of_accuracy(labels, Some(&self.score), &self.readings);
            return Progress { classes: &self.classes, ..accuracy };
        }
        Progress::of_r_squared(labels, self.regression.as_ref())
    }
}

impl RefitPool {
    /// Estimates the performance of the learner on the whole pool. Seed labels are learned from, but excluded from
    /// estimates. The pool's rows, if available, bound the losses that a classifier could have on undrawn rows.
    pub fn assess(&self, rows: Option<&Rows>) -> Result<Assessment, NotAssessed> {
        let evidence = Evidence::of(self)?;
        let models = self.cross_fitted();
        let judged = self.judgements(&models);
        let (loss, tests) = match rows {
            Some(rows) if evidence.is_accuracy() => evidence.loss_and_tests(&judged, &models, rows),
            _ => (None, None),
        };
        let twin = evidence.twin();
        let fitted = self.fitted_judgements();
        let score = evidence.score(&judged, tests.as_ref()).map_err(NotAssessed::Draws)?;
        let classes = evidence.classes(&judged, tests.as_ref()).map_err(NotAssessed::Draws)?;
        Ok(Assessment {
            score: evidence.score_of_fitted_model(score, &judged, &fitted),
            regression: evidence.regression(&judged, &fitted),
            loss: loss.map(|loss| evidence.loss_of_fitted_model(loss, &judged, &fitted, f64::INFINITY)),
            clipped_loss: evidence.clipped_loss(&judged, &fitted, rows.map(|rows| (&models, rows))),
            classes: evidence.classes_of_fitted_model(&classes, &judged, &fitted),
            reliability: evidence.reliability(&models).map_err(NotAssessed::Draws)?,
            twin: twin.score,
            twin_labels: twin.labels,
            twin_at_equal_labels: twin.at_equal_labels,
            readings: evidence.readings().map_err(NotAssessed::Draws)?,
            is_accuracy: evidence.is_accuracy(),
        })
    }
}

/// The draws of a learner and an estimator for its pool.
pub(super) struct Evidence<'a> {
    pub(super) pool: &'a RefitPool,
    pub(super) estimator: Estimator,
    pub(super) draws: Vec<DrawProbability>,
}

impl<'a> Evidence<'a> {
    fn of(pool: &'a RefitPool) -> Result<Self, NotAssessed> {
        let askable = pool.sampler.askable;
        let draws = pool.answers.probabilities(askable).ok_or(NotAssessed::NoProbabilities)?;
        Ok(Self { pool, estimator: Estimator::new(askable), draws })
    }

    pub(super) fn is_accuracy(&self) -> bool {
        self.pool.sampler.learner.task.is_classification()
    }

    pub(super) fn score(&self, judged: &[Judgement], tests: Option<&ScoreTests<'_>>) -> Result<Estimate, Invalid> {
        if self.is_accuracy() {
            return self.estimator.accuracy(judged, &self.draws, tests);
        }
        let losses: Vec<f64> = judged.iter().map(|judged| judged.loss).collect();
        self.estimator.mean(&losses, &self.draws, Range::Unbounded)
    }

    fn classes(&self, judged: &[Judgement], tests: Option<&ScoreTests<'_>>) -> Result<Vec<ClassScores>, Invalid> {
        let classes = 0..self.pool.answers.labels.classes();
        classes.map(|class| self.estimator.class_scores(judged, &self.draws, class, tests)).collect()
    }

    fn score_of_fitted_model(&self, score: Estimate, judged: &[Judgement], fitted: &[Judgement]) -> Estimate {
        if !self.is_accuracy() {
            return self.loss_of_fitted_model(score, judged, fitted, f64::INFINITY);
        }
        let right = |judged: &Judgement| f64::from(judged.predicted == judged.truth);
        let (before, after): (Vec<f64>, Vec<f64>) =
            (judged.iter().map(right).collect(), fitted.iter().map(right).collect());
        self.estimator.of_fitted_model(score, &before, &after, (0.0, 1.0))
    }

    /// Moves a mean loss, clipped at a limit, to the model fitted to all answers.
    fn loss_of_fitted_model(&self, loss: Estimate, judged: &[Judgement], fitted: &[Judgement], limit: f64) -> Estimate {
        self.estimator.of_fitted_model(loss, &clipped(judged, limit), &clipped(fitted, limit), (0.0, limit))
    }

    fn clipped_loss(
        &self,
        judged: &[Judgement],
        fitted: &[Judgement],
        matrix: Option<(&CrossFit, &Rows)>,
    ) -> Option<ClippedMean> {
        let found = if self.is_accuracy() {
            let (models, rows) = matrix?;
            let limit = LEAST_PROBABILITY.ln().abs();
            let losses = clipped(judged, limit);
            let mean = self.with_loss_matrix(models, rows, limit, |matrix| {
                self.estimator.mean_loss(&losses, matrix, &self.draws).ok()
            })?;
            ClippedMean { limit, mean }
        } else {
            self.estimator.clipped_mean(&clipped(judged, f64::INFINITY), &self.draws).ok()??
        };
        let mean = self.loss_of_fitted_model(found.mean, judged, fitted, found.limit);
        Some(ClippedMean { mean, ..found })
    }

    fn classes_of_fitted_model(
        &self,
        classes: &[ClassScores],
        judged: &[Judgement],
        fitted: &[Judgement],
    ) -> Vec<ClassScores> {
        let moved = |(class, scores)| self.estimator.class_of_fitted_model(scores, judged, fitted, &self.draws, class);
        classes.iter().enumerate().map(moved).collect()
    }

    fn reliability(&self, models: &CrossFit) -> Result<Vec<ReliabilityBin>, Invalid> {
        match self.pool.confident_predictions(models) {
            Some(predictions) => self.estimator.reliability(&predictions, &self.draws),
            None => Ok(vec![]),
        }
    }

    fn readings(&self) -> Result<Vec<Reading>, Invalid> {
        let losses = &self.pool.answers.losses;
        let askable = self.pool.sampler.askable;
        if !self.is_accuracy() {
            return Reading::of_losses(askable, losses, &self.draws);
        }
        let errors: Vec<f64> = losses.iter().map(|loss| f64::from(0.0 < *loss)).collect();
        Reading::of_losses(askable, &errors, &self.draws)
    }

    /// Returns the mean loss and the score tests of a classifier that has scored all rows; `None` if a loss is too
    /// large.
    fn loss_and_tests<'b>(
        &'b self,
        judged: &'b [Judgement],
        models: &CrossFit,
        rows: &Rows,
    ) -> (Option<Estimate>, Option<ScoreTests<'b>>) {
        let losses = clipped(judged, f64::INFINITY);
        self.with_loss_matrix(models, rows, f64::INFINITY, |matrix| {
            let loss = self.estimator.mean_loss(&losses, matrix, &self.draws).ok();
            let tests = loss.and_then(|_| self.estimator.score_tests(matrix, judged, &self.draws).ok().flatten());
            (loss, tests)
        })
    }

    /// Calls `then` with the losses of all classes, clipped at a limit, and returns its result.
    fn with_loss_matrix<T>(
        &self,
        models: &CrossFit,
        rows: &Rows,
        limit: f64,
        then: impl FnOnce(&LossMatrix<'_>) -> T,
    ) -> T {
        let (task, labels) = (&*self.pool.sampler.learner.task, self.pool.answers.labels);
        let classes = labels.classes();
        let visit_all = |chosen: &mut dyn Iterator<Item = usize>, visit: &mut dyn FnMut(&[f64])| {
            let (mut scores, mut losses) = (vec![0.0; task.outputs()], vec![0.0; classes]);
            for row in chosen {
                models.scores(row, rows.row(row), &mut scores);
                task.losses(&scores, labels, &mut losses);
                for loss in &mut losses {
                    *loss = loss.min(limit);
                }
                visit(&losses);
            }
        };
        let (mut drawn, (chosen, is_sample)) = (vec![], self.rows_to_visit(rows));
        visit_all(&mut self.pool.answers.draws.iter().map(|drawn| drawn.row), &mut |losses| {
            drawn.extend_from_slice(losses);
        });
        let pool = |visit: &mut dyn FnMut(&[f64])| visit_all(&mut chosen.iter().copied(), visit);
        then(&LossMatrix { drawn: &drawn, classes, pool: &pool, is_sample })
    }

    /// Returns the rows that could be asked, or a sample of them with replacement, and whether it is a sample.
    fn rows_to_visit(&self, rows: &Rows) -> (Vec<usize>, bool) {
        let mut is_drawn = vec![false; rows.len()];
        self.pool.answers.draws.iter().for_each(|drawn| is_drawn[drawn.row] = true);
        let is_askable = |row: &usize| is_drawn[*row] || !self.pool.sampler.retired.contains(*row);
        let most = (SAMPLED_LOSSES / self.pool.answers.labels.classes().max(1)).max(MIN_SAMPLED_ROWS);
        if rows.len() <= most {
            return ((0..rows.len()).filter(is_askable).collect(), false);
        }
        let look = Coin::new(self.pool.sampler.seed, "assess");
        ((0..most as u64).map(|time| look.below(time, rows.len())).filter(is_askable).collect(), true)
    }
}

/// Returns the losses, clipped at a limit.
fn clipped(judged: &[Judgement], limit: f64) -> Vec<f64> {
    judged.iter().map(|judged| judged.loss.min(limit)).collect()
}
