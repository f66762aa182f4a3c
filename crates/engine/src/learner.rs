//! What stream and pool learners share: parameters, and how an answer changes them.

use std::borrow::Cow;
use std::fmt::{self, Display};

use crate::features::Features;
use crate::linear::Linear;
use crate::optimizer::{Gradient, Optimizer};
use crate::settings::IllegalSettings;
use crate::state::{Reader, Words};
use crate::step::Steps;
use crate::task::Task;
use crate::weights::AveragedWeights;

/// Parameters with everything that moves them.
#[derive(Debug)]
pub struct Learner {
    pub(crate) task: Box<dyn Task>,
    pub(crate) model: Linear,
    pub(crate) optimizer: Optimizer,
    pub(crate) steps: Steps,
    pub(crate) weights: AveragedWeights,
    /// θ₁ where it is not 0.
    start: Option<Vec<f64>>,
}

/// A step that would have left the numbers: it was not taken, so θ is still good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diverged {
    /// How far the step would have gone; infinite or NaN where that is no number.
    pub distance: f64,
    /// The largest score before it.
    pub score: f64,
}

impl Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { distance, score } = self;
        write!(
            f,
            "the run diverges: at a score of {score:.1e} the next step would move the parameters by {distance:.1e}"
        )
    }
}

impl std::error::Error for Diverged {}

/// Scores and steps beyond this are no use to anyone.
const FARTHEST: f64 = 1e12;

impl Learner {
    /// Makes a learner at the start given, in the order w…, b of each output; `None` is 0. A start of another length, or one
    /// that is not finite, is an error, and so are constraints out of range.
    pub fn new(
        task: Box<dyn Task>,
        intercept: bool,
        dim: usize,
        optimizer: Optimizer,
        steps: Steps,
        start: Option<&[f64]>,
    ) -> Result<Self, IllegalSettings> {
        let model = Linear { outputs: task.outputs(), intercept };
        let parameters = model.parameters(dim);
        optimizer.constraint().check()?;
        if let Some(start) = start {
            let expected = if intercept { parameters } else { parameters - model.outputs };
            if start.len() != expected {
                return Err(IllegalSettings::StartLength { found: start.len(), expected, intercept });
            }
            if let Some(bad) = start.iter().find(|t| !t.is_finite()) {
                return Err(IllegalSettings::OutOfRange { setting: "start", value: *bad, need: "finite numbers" });
            }
        }
        let start = start.filter(|start| start.iter().any(|t| *t != 0.0)).map(|start| {
            let mut start = start.to_vec();
            if !intercept {
                start.resize(start.len() + model.outputs, 0.0);
            }
            inward(model, &start)
        });
        let zeros = vec![0.0; if start.is_some() { 0 } else { parameters }];
        let weights = AveragedWeights::new(start.as_deref().unwrap_or(&zeros), model.outputs);
        Ok(Self { task, model, optimizer, steps, weights, start })
    }

    /// What is learned.
    pub fn task(&self) -> &dyn Task {
        &*self.task
    }

    /// How many features it knows.
    pub fn dim(&self) -> usize {
        self.weights.len() / self.model.outputs - 1
    }

    /// θ, the last iterate: weights feature by feature, the intercepts last.
    pub fn theta(&self) -> Vec<f64> {
        outward(self.model, self.weights.theta().into_owned())
    }

    /// θ̄, the weighted average, in the same order.
    pub fn mean(&self) -> Vec<f64> {
        outward(self.model, self.weights.mean())
    }

    /// Moves the weights to interleaved storage where that pays: sparse rows of `dim` features change few of very many weights
    /// at a time. Changes no number.
    pub(crate) fn interleave_weights(&mut self, dim: usize) {
        if self.optimizer.is_sparse() && self.model.outputs == 1 {
            self.weights.interleave(self.model.parameters(dim));
        }
    }

    /// The scores at the point where uncertainty and gradient are evaluated.
    #[inline]
    pub fn scores<X: Features>(&self, x: X, out: &mut [f64]) {
        match self.optimizer.ahead() {
            Some(ahead) => self.model.scores(ahead, x, out),
            None => self.weights.scores(self.model, x, out),
        }
    }

    /// Returns the point where uncertainty and gradient are evaluated, the intercepts first.
    #[inline]
    pub(crate) fn point(&self) -> Cow<'_, [f64]> {
        self.optimizer.ahead().map_or_else(|| self.weights.theta(), Cow::Borrowed)
    }

    /// Goes to these parameters, the intercepts first; θ̄ is θ from here.
    pub(crate) fn place(&mut self, theta: &[f64]) {
        self.weights = AveragedWeights::new(theta, self.model.outputs);
    }

    /// More features than before.
    pub fn widen(&mut self, dim: usize) {
        if self.dim() < dim {
            let parameters = self.model.parameters(dim);
            self.weights.widen(parameters);
            self.optimizer.widen(parameters);
            if let Some(start) = &mut self.start {
                start.resize(parameters, 0.0);
            }
        }
    }

    pub(crate) fn write(&self, words: &mut Words) {
        words.numbers(&self.weights.theta());
        words.optional(self.start.as_deref());
        self.weights.write_average(words);
        self.optimizer.write(words);
        self.steps.write(words);
    }

    /// Takes up what was written.
    pub(crate) fn read(&mut self, words: &mut Reader<'_>) -> Option<()> {
        let (theta, mut start) = (words.numbers()?, None);
        words.optional(&mut start)?;
        let weights = AveragedWeights::read(words, &theta, self.model.outputs)?;
        let parameters = theta.len();
        let whole = !theta.is_empty() && parameters.is_multiple_of(self.model.outputs);
        let fits = start.as_ref().is_none_or(|start| start.len() == parameters);
        (whole && fits && theta.iter().all(|value| value.is_finite())).then_some(())?;
        self.optimizer.read(words, parameters)?;
        self.steps.read(words)?;
        (self.weights, self.start) = (weights, start);
        Some(())
    }

    /// A step on one answer, given the scores at `point`; its gradient is multiplied by `weight`.
    #[inline]
    pub fn learn<X: Features>(&mut self, x: X, scores: &[f64], label: f64, weight: f64) -> Result<(), Diverged> {
        if let [score] = scores {
            let slope = [self.task.slope_of_one(*score, label)];
            let part = Gradient { x, slope: &slope, scale: weight };
            if self.short_step(&part, *score) {
                return Ok(());
            }
            let features_squared = self.model.norm_squared(x);
            let gradient_squared = slope[0] * slope[0] * features_squared * weight * weight;
            return self.descend(&[part], gradient_squared, features_squared, scores);
        }
        let features_squared = self.model.norm_squared(x);
        let mut slope = vec![0.0; scores.len()];
        self.task.slope(scores, label, &mut slope);
        let slope_squared: f64 = slope.iter().map(|s| s * s).sum();
        let part = Gradient { x, slope: &slope, scale: weight };
        self.descend(&[part], slope_squared * features_squared * weight * weight, features_squared, scores)
    }

    /// The step of `descend` where no norm is needed for it: its size depends on none, and it is surely not too long.
    /// Otherwise `false`, and nothing has changed.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one observation's step is on the way of every label")]
    fn short_step<X: Features>(&mut self, part: &Gradient<'_, X>, score: f64) -> bool {
        if self.steps.is_auto() {
            return false;
        }
        let size = self.steps.size(0.0, 0.0);
        let most = size * part.scale * part.slope[0];
        if !is_short(most, score, part.x.norm_squared_at_most()) {
            return false;
        }
        self.steps.taken(0.0, 0.0);
        self.optimizer.step(self.model, &mut self.weights, std::slice::from_ref(part), size);
        true
    }

    /// One step on the mean gradient of several answers, all at the present point.
    pub fn learn_together<X: Features>(&mut self, answers: &[(X, f64)], weights: &[f64]) -> Result<(), Diverged> {
        let outputs = self.model.outputs;
        let mut slopes = vec![0.0; outputs * answers.len()];
        let (mut scores, mut largest) = (vec![0.0; outputs], vec![0.0; outputs]);
        let (mut features_squared, mut gradient) = (0.0_f64, vec![0.0; self.weights.len()]);
        let share = 1.0 / answers.len() as f64;
        for ((slope, (x, label)), weight) in slopes.chunks_exact_mut(outputs).zip(answers).zip(weights) {
            self.scores(*x, &mut scores);
            self.task.slope(&scores, *label, slope);
            features_squared = features_squared.max(self.model.norm_squared(*x));
            self.model.add_gradient(*x, slope, share * weight, &mut gradient);
            for (largest, score) in largest.iter_mut().zip(&scores) {
                *largest = if f64::abs(*largest) < score.abs() { *score } else { *largest };
            }
        }
        let parts: Vec<_> = slopes
            .chunks_exact(outputs)
            .zip(answers)
            .zip(weights)
            .map(|((slope, (x, _)), weight)| Gradient { x: *x, slope, scale: share * weight })
            .collect();
        self.descend(&parts, gradient.iter().map(|g| g * g).sum(), features_squared, &largest)
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one observation's step is on the way of every label")]
    fn descend<X: Features>(
        &mut self,
        parts: &[Gradient<'_, X>],
        gradient_squared: f64,
        features_squared: f64,
        scores: &[f64],
    ) -> Result<(), Diverged> {
        let score = scores.iter().fold(0.0, |most: f64, score| most.max(score.abs()));
        let mut size = self.steps.size(gradient_squared, features_squared);
        // Steps that add up through the velocity would be taken for distance, and distance makes steps.
        if self.steps.is_auto() {
            size *= self.optimizer.at_once();
        }
        // Written so that NaN fails it.
        if !(size * size * gradient_squared <= FARTHEST * FARTHEST && score <= FARTHEST) {
            return Err(Diverged { distance: size * gradient_squared.sqrt(), score });
        }
        self.steps.taken(gradient_squared, features_squared);
        let quick = match parts {
            [part] if self.steps.is_auto() && self.optimizer.is_sparse() => {
                Some(self.distance_change(part, -size * part.scale, features_squared, scores))
            }
            _ => None,
        };
        self.optimizer.step(self.model, &mut self.weights, parts, size);
        match quick {
            Some(change) => self.steps.moved(change),
            None if self.steps.is_auto() => self.steps.at_distance(self.distance_squared()),
            None => {}
        }
        Ok(())
    }

    /// By how much ‖θ − θ₁‖² changes when θ changes by scale·(slope ⊗ x̃).
    fn distance_change<X: Features>(
        &self,
        part: &Gradient<'_, X>,
        scale: f64,
        features_squared: f64,
        scores: &[f64],
    ) -> f64 {
        let mut from_start = scores.to_vec();
        if let Some(start) = &self.start {
            let mut at_start = vec![0.0; scores.len()];
            self.model.scores(start, part.x, &mut at_start);
            for (score, start) in from_start.iter_mut().zip(at_start) {
                *score -= start;
            }
        }
        let terms = part.slope.iter().zip(from_start).map(|(slope, score)| {
            let move_by = scale * slope;
            2.0 * move_by * score + move_by * move_by * features_squared
        });
        terms.sum()
    }

    fn distance_squared(&self) -> f64 {
        let theta = self.weights.theta();
        match &self.start {
            Some(start) => theta.iter().zip(start).map(|(t, s)| (t - s) * (t - s)).sum(),
            None => theta.iter().map(|t| t * t).sum(),
        }
    }

    /// Returns whether a step needs only the score and the features of its own row.
    pub(crate) fn steps_need_no_norm(&self) -> bool {
        self.optimizer.is_sparse() && !self.steps.is_auto()
    }

    /// Stores what a loop over rows changed besides the weights.
    pub(crate) fn commit_steps(&mut self, steps: Steps, average_weight: f64) {
        self.steps = steps;
        self.weights.set_average_weight(average_weight);
    }

    /// An observation that was not asked.
    #[inline]
    pub fn skip(&mut self) {
        self.optimizer.skip(&mut self.weights);
    }
}

/// Whether a step is surely short enough for `descend`: `most` times the features, the sum of whose squares is at most this.
#[inline]
pub(crate) fn is_short(most: f64, score: f64, features_squared: f64) -> bool {
    // Half leaves room for rounding; written so that NaN fails it.
    most * most * (features_squared + 1.0) <= 0.5 * FARTHEST * FARTHEST && score.abs() <= FARTHEST
}

/// w…, b → b, w…
fn inward(model: Linear, outside: &[f64]) -> Vec<f64> {
    let (weights, intercept) = outside.split_at(outside.len() - model.outputs);
    [intercept, weights].concat()
}

/// b, w… → w…, b
fn outward(model: Linear, mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.rotate_left(model.outputs);
    numbers
}
