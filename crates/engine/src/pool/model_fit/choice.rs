//! The choice among kinds of models by cross-validation on the answers.
//!
//! Whenever the number of answers has grown by a factor of 1.3, every candidate is fitted and predicts each fifth of the answers
//! from the others. The current kind is replaced only if another has a Brier score that is lower by more than [`RELUCTANCE`]
//! standard errors: many answers lie near the boundary of the current model, and on these alone others look too good. The log
//! loss would favor cautious models over accurate ones.

use super::{CandidateFit, ModelFit};
use crate::estimate::fold;
use crate::scorer::Scorer;
use crate::task::{Labels, Task};

/// The number of folds.
const FOLDS: usize = 5;
/// Makes the folds differ from those of λ and of assessments.
const CHOICE: u64 = 0xc401ce;
/// The least number of answers for a choice.
const FIRST: usize = 30;
/// The number of standard errors by which another kind must be better.
const RELUCTANCE: f64 = 2.0;

/// The numbers of answers at which a choice is made.
#[derive(Clone, Debug)]
pub(super) struct ChoiceSchedule {
    due: usize,
    seed: u64,
}

impl ChoiceSchedule {
    pub(super) fn new(seed: u64) -> Self {
        Self { due: FIRST, seed: seed ^ CHOICE }
    }

    /// Returns the number of answers from which on a choice is due.
    pub(super) fn due(&self) -> usize {
        self.due
    }

    /// Returns whether a choice is due, and if so schedules the next one.
    pub(super) fn begin(&mut self, answers: usize) -> bool {
        let is_due = self.due <= answers;
        if is_due {
            self.due = answers + answers.div_ceil(10) * 3;
        }
        is_due
    }
}

/// The loss of a candidate on answers that it has not seen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CandidateLoss {
    /// The kind, such as `forest`.
    pub name: &'static str,
    /// The mean Brier score, or the mean loss if there are no probabilities.
    pub mean: f64,
    /// The standard error of its difference to that of the chosen candidate.
    pub error: f64,
}

/// A choice among candidates.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelChoice {
    /// The number of answers it was made from.
    pub answers: usize,
    /// The index of the chosen candidate.
    pub chosen: usize,
    /// The loss of each candidate.
    pub losses: Vec<CandidateLoss>,
}

impl ModelFit {
    /// Fits all candidates and chooses one of them.
    pub(super) fn choose(&mut self, weights: &[f64], task: &dyn Task) {
        let losses: Vec<Vec<f64>> = (0..self.candidates.len())
            .map(|index| {
                self.fit_candidate(index, weights);
                self.unseen_losses(index, weights, task)
            })
            .collect();
        let better = (0..losses.len()).filter(|index| is_better(&losses[*index], &losses[self.current]));
        let best = better.min_by(|a, b| mean(&losses[*a]).total_cmp(&mean(&losses[*b])));
        self.current = best.unwrap_or(self.current);
        let of = |(candidate, losses_of): (&CandidateFit, &Vec<f64>)| {
            let (_, error) = difference(losses_of, &losses[self.current]);
            CandidateLoss { name: candidate.name(), mean: mean(losses_of), error }
        };
        let losses = self.candidates.iter().zip(&losses).map(of).collect();
        self.choice = Some(ModelChoice { answers: self.answers(), chosen: self.current, losses });
    }

    /// Returns the loss of a candidate on each answer, by a model of the other folds.
    fn unseen_losses(&self, index: usize, weights: &[f64], task: &dyn Task) -> Vec<f64> {
        let folds: Vec<usize> = self.items().iter().map(|item| fold(self.schedule.seed, *item, FOLDS)).collect();
        let model_without = |left: usize| -> Scorer {
            let kept = weights.iter().zip(&folds).map(|(weight, fold)| if *fold == left { 0.0 } else { *weight });
            self.candidate_fitted_to(index, &kept.collect::<Vec<_>>())
        };
        let models: Vec<Scorer> = (0..FOLDS).map(model_without).collect();
        let mut scores = vec![0.0; task.outputs()];
        let labels = self.label_kind;
        let loss = |answer: usize| {
            models[folds[answer]].scores(self.rows().row(answer), &mut scores);
            brier(task, &scores, labels, self.labels()[answer])
        };
        (0..self.answers()).map(loss).collect()
    }
}

/// Returns the Brier score of a prediction, the squared error of its probabilities; its loss if it has none.
fn brier(task: &dyn Task, scores: &[f64], labels: Labels, label: f64) -> f64 {
    let Some(probabilities) = task.probabilities(scores) else { return task.loss(scores, label) };
    let class = labels.class(label);
    let error = |(k, p): (usize, &f64)| (p - f64::from(u8::from(k == class))).powi(2);
    probabilities.iter().enumerate().map(error).sum()
}

fn mean(losses: &[f64]) -> f64 {
    losses.iter().sum::<f64>() / losses.len() as f64
}

/// Returns the mean difference of two lists of losses and its standard error.
fn difference(one: &[f64], other: &[f64]) -> (f64, f64) {
    let n = one.len() as f64;
    let mean = one.iter().zip(other).map(|(one, other)| one - other).sum::<f64>() / n;
    let squares: f64 = one.iter().zip(other).map(|(one, other)| (one - other - mean).powi(2)).sum();
    (mean, squares.sqrt() / n)
}

/// Returns whether losses are lower than the current ones, beyond chance.
fn is_better(losses: &[f64], current: &[f64]) -> bool {
    let (difference, error) = difference(losses, current);
    difference < -RELUCTANCE * error
}
