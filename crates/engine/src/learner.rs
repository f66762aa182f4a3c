//! The part that stream and pool learners share: the parameters and the update on an answer.

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

/// The parameters of a model with everything that updates them.
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

/// A step that would have overflowed. It was not taken, so θ is still valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diverged {
    /// The length of the rejected step; infinite or NaN if it overflows.
    pub distance: f64,
    /// The largest score before the step.
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

/// The limit on scores and step lengths. A run beyond it has diverged.
const FARTHEST: f64 = 1e12;

impl Learner {
    /// Makes a learner that starts at `start`, in the order w…, b of each output; `None` means 0.
    ///
    /// # Errors
    /// If `start` has the wrong length or a number that is not finite, or a constraint is out of range.
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

    /// Returns the task.
    pub fn task(&self) -> &dyn Task {
        &*self.task
    }

    /// Returns the number of features that have weights.
    pub fn dim(&self) -> usize {
        self.weights.len() / self.model.outputs - 1
    }

    /// Returns θ, the last iterate: weights feature by feature, the intercepts last.
    pub fn theta(&self) -> Vec<f64> {
        outward(self.model, self.weights.theta().into_owned())
    }

    /// Returns θ̄, the weighted average, in the order of [`Self::theta`].
    pub fn mean(&self) -> Vec<f64> {
        outward(self.model, self.weights.mean())
    }

    /// Moves the weights to interleaved storage where that is faster: sparse rows of `dim` features change few of very
    /// many weights at a time. All values stay the same.
    pub(crate) fn interleave_weights(&mut self, dim: usize) {
        if self.optimizer.is_sparse() && self.model.outputs == 1 {
            self.weights.interleave(self.model.parameters(dim));
        }
    }

    /// Computes the scores at the point where uncertainty and gradient are evaluated.
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

    /// Sets the parameters, the intercepts first, and restarts the average θ̄ at them.
    pub(crate) fn set_parameters(&mut self, theta: &[f64]) {
        self.weights = AveragedWeights::new(theta, self.model.outputs);
    }

    /// Extends the model to `dim` features; new weights are 0. Does nothing if it has as many already.
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

    /// Restores the state that [`Self::write`] stored. Returns `None` if the words do not fit.
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

    /// Takes a step on one answer, given the scores at `point`, with the gradient multiplied by `weight`.
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

    /// Takes the step of `descend` if it needs no norm: its size depends on none, and it is certainly short enough.
    /// Otherwise returns `false` and changes nothing.
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

    /// Takes one step on the mean gradient of several answers, all evaluated at the current point.
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
    #[allow(clippy::inline_always, reason = "every label takes a step on one observation")]
    fn descend<X: Features>(
        &mut self,
        parts: &[Gradient<'_, X>],
        gradient_squared: f64,
        features_squared: f64,
        scores: &[f64],
    ) -> Result<(), Diverged> {
        let score = scores.iter().fold(0.0, |most: f64, score| most.max(score.abs()));
        let mut size = self.steps.size(gradient_squared, features_squared);
        // Momentum would inflate the distance by repeated steps, and the distance sets the step size.
        if self.steps.is_auto() {
            size *= self.optimizer.at_once();
        }
        // This form of the comparison is false for NaN.
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

    /// Returns the change of ‖θ − θ₁‖² when θ changes by scale·(slope ⊗ x̃).
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

    /// Processes an observation that was not queried.
    #[inline]
    pub fn skip(&mut self) {
        self.optimizer.skip(&mut self.weights);
    }
}

/// Returns whether a step is certainly short enough for `descend`. The step is at most `most` times the features, whose
/// squares sum to at most `features_squared`.
#[inline]
pub(crate) fn is_short(most: f64, score: f64, features_squared: f64) -> bool {
    // The factor of one half leaves room for rounding. This form of the comparison is false for NaN.
    most * most * (features_squared + 1.0) <= 0.5 * FARTHEST * FARTHEST && score.abs() <= FARTHEST
}

/// Converts w…, b to b, w….
fn inward(model: Linear, outside: &[f64]) -> Vec<f64> {
    let (weights, intercept) = outside.split_at(outside.len() - model.outputs);
    [intercept, weights].concat()
}

/// Converts b, w… to w…, b.
fn outward(model: Linear, mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.rotate_left(model.outputs);
    numbers
}
