//! Cross-fitted models of a pool, which judge each row without having seen its label.

use super::RefitPool;
use crate::estimate::{ConfidentPrediction, Judgement, fold};
use crate::features::Features;
use crate::rows::Row;
use crate::scorer::Scorer;

/// The number of folds. The assessed models have all answers but a twentieth, so they are nearly as good as the current
/// model: with 5 folds, estimates were of models that lag behind it by up to two points.
const FOLDS: usize = 20;
/// Makes the folds of an assessment differ from those that λ was chosen with.
const ASSESS: u64 = 0x5eed;

/// A model for each fold of a pool, fitted without the fold's answers.
#[derive(Debug)]
pub struct CrossFit {
    models: Vec<Scorer>,
    seed: u64,
}

impl CrossFit {
    /// Writes the scores of a row under the model that had not seen it.
    pub fn scores<X: Features>(&self, row: usize, x: X, out: &mut [f64]) {
        self.models[fold(self.seed, row as u64, FOLDS)].scores(x, out);
    }
}

impl RefitPool {
    /// Returns the models that the learner is assessed with.
    pub fn cross_fitted(&self) -> CrossFit {
        self.cross_fit(&self.answers.weights)
    }

    /// Fits a model for each fold to the other answers, with these weights.
    pub(super) fn cross_fit(&self, weights: &[f64]) -> CrossFit {
        let seed = self.sampler.seed ^ ASSESS;
        let folds: Vec<usize> = self.answers.models.items().iter().map(|item| fold(seed, *item, FOLDS)).collect();
        let without = |left: usize| -> Vec<f64> {
            weights.iter().zip(&folds).map(|(weight, fold)| if *fold == left { 0.0 } else { *weight }).collect()
        };
        let models = (0..FOLDS).map(|left| self.answers.models.fitted_to(&without(left))).collect();
        CrossFit { models, seed }
    }

    /// Returns the judgment of each draw by these models. For numbers only the loss is meaningful.
    pub(super) fn judgements(&self, models: &CrossFit) -> Vec<Judgement> {
        self.judge_draws(|item, x, scores| models.scores(item, x, scores))
    }

    /// Returns the judgment of each draw by the current model, which has learned from its answer.
    pub(super) fn fitted_judgements(&self) -> Vec<Judgement> {
        let model = self.scorer();
        self.judge_draws(|_, x, scores| model.scores(x, scores))
    }

    /// Returns the predicted probability of the likeliest class of each draw, and whether it is the true one; `None` for
    /// a loss that defines no probabilities.
    pub(super) fn confident_predictions(&self, models: &CrossFit) -> Option<Vec<ConfidentPrediction>> {
        let task = &*self.sampler.learner.task;
        let mut scores = vec![0.0; self.sampler.learner.model.outputs];
        let predict = |answer: usize| {
            let (item, truth) = (self.answers.models.items()[answer] as usize, self.answers.models.labels()[answer]);
            models.scores(item, self.answers.models.rows().row(answer), &mut scores);
            let confidence = task.probabilities(&scores)?.into_iter().fold(0.0, f64::max);
            Some(ConfidentPrediction { confidence, is_right: task.decide(&scores) == truth })
        };
        (self.answers.seed_labels..self.answers.models.answers()).map(predict).collect()
    }

    fn judge_draws(&self, score: impl Fn(usize, Row<'_>, &mut [f64])) -> Vec<Judgement> {
        let (task, labels) = (&*self.sampler.learner.task, self.answers.labels);
        let mut scores = vec![0.0; self.sampler.learner.model.outputs];
        let judge = |answer: usize| {
            let (item, truth) = (self.answers.models.items()[answer] as usize, self.answers.models.labels()[answer]);
            score(item, self.answers.models.rows().row(answer), &mut scores);
            let class = |label: f64| if task.is_classification() { labels.class(label) } else { 0 };
            Judgement { loss: task.loss(&scores, truth), predicted: class(task.decide(&scores)), truth: class(truth) }
        };
        (self.answers.seed_labels..self.answers.models.answers()).map(judge).collect()
    }
}
