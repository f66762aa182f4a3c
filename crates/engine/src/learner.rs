//! What stream and pool learners share: parameters, and how an answer changes them.

use std::borrow::Cow;
use std::fmt::{self, Display};

use crate::average::Average;
use crate::features::Features;
use crate::linear::Linear;
use crate::optimizer::{Gradient, Optimizer};
use crate::paired::Paired;
use crate::parameters::Parameters;
use crate::settings::IllegalSettings;
use crate::state::{Reader, Words};
use crate::step::{StepSize, Steps};
use crate::task::{LogisticSlope, Task};

mod plane;

pub(crate) use plane::{Moving, Sided};

/// Parameters with everything that moves them.
#[derive(Debug)]
pub struct Learner {
    pub(crate) task: Box<dyn Task>,
    pub(crate) model: Linear,
    pub(crate) optimizer: Optimizer,
    pub(crate) steps: Steps,
    pub(crate) average: Average,
    theta: Parameters,
    /// θ and the sums of its average while they stand beside each other; the places above are empty then.
    paired: Option<Paired>,
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
        let mut theta = Parameters::zeros(parameters, model.outputs);
        if let Some(start) = &start {
            theta.copy_from_slice(start);
        }
        let average = Average::new(parameters, model.outputs);
        Ok(Self { task, model, optimizer, steps, average, theta, paired: None, start })
    }

    /// What is learned.
    pub fn task(&self) -> &dyn Task {
        &*self.task
    }

    /// How many features it knows.
    pub fn dim(&self) -> usize {
        self.parameters() / self.model.outputs - 1
    }

    fn parameters(&self) -> usize {
        self.paired.as_ref().map_or(self.theta.len(), Paired::len)
    }

    /// θ, the last iterate: weights feature by feature, the intercepts last.
    pub fn theta(&self) -> Vec<f64> {
        outward(self.model, self.numbers().into_owned())
    }

    /// θ̄, the weighted average, in the same order.
    pub fn mean(&self) -> Vec<f64> {
        outward(self.model, self.averaged().mean(&self.numbers()))
    }

    /// θ, the intercepts first.
    fn numbers(&self) -> Cow<'_, [f64]> {
        match &self.paired {
            None => Cow::Borrowed(&self.theta),
            Some(paired) => Cow::Owned(paired.theta()),
        }
    }

    /// Its average.
    fn averaged(&self) -> Cow<'_, Average> {
        match &self.paired {
            None => Cow::Borrowed(&self.average),
            Some(paired) => Cow::Owned(self.average.with_sums(paired.sums())),
        }
    }

    /// Puts sums beside their weights, where that pays: a few of very many features are moved at a time.
    pub(crate) fn pair(&mut self, dim: usize) {
        if self.paired.is_none() && self.optimizer.is_sparse() && self.model.outputs == 1 {
            self.paired = Paired::new(&self.theta, self.average.sums(), self.model.parameters(dim));
            if self.paired.is_some() {
                self.theta = Parameters::default();
                self.average.drop_sums();
            }
        }
    }

    /// Weights and sums that stand beside each other.
    #[inline]
    pub(crate) fn paired(&self) -> Option<&Paired> {
        self.paired.as_ref()
    }

    /// The average forgets the past.
    pub(crate) fn restart_average(&mut self) {
        self.average.restart();
        if let Some(paired) = &mut self.paired {
            paired.forget_sums();
        }
    }

    /// The scores at the point where uncertainty and gradient are evaluated.
    #[inline]
    pub fn scores<X: Features>(&self, x: X, out: &mut [f64]) {
        match &self.paired {
            None => self.model.scores(self.optimizer.point(&self.theta), x, out),
            Some(paired) => out.fill(paired.score(x)),
        }
    }

    /// θ as it is kept, the intercepts first, where its numbers are not [`Self::paired`].
    #[inline]
    pub(crate) fn point(&self) -> &[f64] {
        debug_assert!(self.paired.is_none(), "θ stands beside its sums");
        self.optimizer.point(&self.theta)
    }

    /// Goes to these parameters, the intercepts first; θ̄ is θ from here.
    pub(crate) fn place(&mut self, theta: &[f64]) {
        if self.paired.take().is_some() {
            self.theta = Parameters::zeros(theta.len(), self.model.outputs);
            self.average = Average::new(theta.len(), self.model.outputs);
        }
        self.theta.copy_from_slice(theta);
        self.average.restart();
    }

    /// More features than before.
    pub fn widen(&mut self, dim: usize) {
        if self.dim() < dim {
            let parameters = self.model.parameters(dim);
            if let Some(paired) = &mut self.paired {
                paired.widen(parameters);
            } else {
                self.theta.widen(parameters);
                self.average.widen(parameters);
            }
            self.optimizer.widen(parameters);
            if let Some(start) = &mut self.start {
                start.resize(parameters, 0.0);
            }
        }
    }

    pub(crate) fn write(&self, words: &mut Words) {
        words.numbers(&self.numbers());
        words.optional(self.start.as_deref());
        self.averaged().write(words);
        self.optimizer.write(words);
        self.steps.write(words);
    }

    /// Takes up what was written.
    pub(crate) fn read(&mut self, words: &mut Reader<'_>) -> Option<()> {
        let (theta, mut start) = (words.numbers()?, None);
        words.optional(&mut start)?;
        let average = Average::read(words, self.model.outputs)?;
        let parameters = theta.len();
        let whole = !theta.is_empty() && parameters.is_multiple_of(self.model.outputs);
        let fits = average.parameters() == parameters && start.as_ref().is_none_or(|start| start.len() == parameters);
        (whole && fits && theta.iter().all(|value| value.is_finite())).then_some(())?;
        self.optimizer.read(words, parameters)?;
        self.steps.read(words)?;
        (self.theta, self.start, self.average) = (Parameters::new(&theta, self.model.outputs), start, average);
        self.paired = None;
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
        self.go(std::slice::from_ref(part), size);
        true
    }

    /// One step on the mean gradient of several answers, all at the present point.
    pub fn learn_together<X: Features>(&mut self, answers: &[(X, f64)], weights: &[f64]) -> Result<(), Diverged> {
        let outputs = self.model.outputs;
        let mut slopes = vec![0.0; outputs * answers.len()];
        let (mut scores, mut largest) = (vec![0.0; outputs], vec![0.0; outputs]);
        let (mut features_squared, mut gradient) = (0.0_f64, vec![0.0; self.parameters()]);
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
        self.go(parts, size);
        match quick {
            Some(change) => self.steps.moved(change),
            None if self.steps.is_auto() => self.steps.at_distance(self.distance_squared()),
            None => {}
        }
        Ok(())
    }

    /// A step of this size down the gradients.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one observation's step is on the way of every label")]
    fn go<X: Features>(&mut self, parts: &[Gradient<'_, X>], size: f64) {
        let Some(paired) = &mut self.paired else {
            self.optimizer.step(self.model, &mut self.theta, &mut self.average, parts, size);
            return;
        };
        for part in parts {
            let (scale, slope) = (-size * part.scale, part.slope[0]);
            paired.change(self.model.intercept, part.x, (scale * slope, scale * self.average.weight() * slope));
        }
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
        let theta = self.numbers();
        match &self.start {
            Some(start) => theta.iter().zip(start).map(|(t, s)| (t - s) * (t - s)).sum(),
            None => theta.iter().map(|t| t * t).sum(),
        }
    }

    /// What moves in the plane, and the slope that moves it, where steps are fixed and nothing else moves θ.
    pub(crate) fn plain_steps(&self) -> Option<(Moving, &LogisticSlope)> {
        let StepSize::Fixed(step) = self.steps.rule() else { return None };
        let plain = self.optimizer.is_sparse() && self.model.intercept;
        let theta = *self.theta.first_chunk().filter(|_| plain && self.theta.len() == 3)?;
        let (behind, weight) = self.average.in_plane()?;
        Some((Moving { theta, behind, weight, step }, self.task.slope_table()?))
    }

    /// What moves where only answers move θ and no step needs a gradient's norm.
    pub(crate) fn plain(&mut self) -> Option<(Plain<'_>, Weights<'_>)> {
        let plain = self.optimizer.is_sparse() && self.model.intercept && !self.steps.is_auto();
        let table = self.task.slope_table().filter(|_| plain)?;
        let (weight, behind) = self.average.parts_mut();
        let weights = match &mut self.paired {
            None => Weights::Apart { theta: &mut self.theta, behind },
            Some(paired) => Weights::Paired(paired),
        };
        Some((Plain { weight, steps: &mut self.steps, table }, weights))
    }

    /// So many plain steps were taken.
    pub(crate) fn moved_plainly(&mut self, moved: Moving, answers: u64) {
        self.theta.copy_from_slice(&moved.theta);
        self.average.set_in_plane(moved.behind, moved.weight);
        self.steps.taken_plainly(answers);
    }

    /// An observation that was not asked.
    #[inline]
    pub fn skip(&mut self) {
        self.optimizer.skip(&mut self.theta, &mut self.average);
    }
}

/// What plain answers move besides θ, and the slope they have.
pub(crate) struct Plain<'a> {
    /// The weight of `Average`.
    pub(crate) weight: &'a mut f64,
    pub(crate) steps: &'a mut Steps,
    pub(crate) table: &'a LogisticSlope,
}

/// θ and the sums of `Average`, as they stand.
pub(crate) enum Weights<'a> {
    Apart { theta: &'a mut Parameters, behind: &'a mut Parameters },
    Paired(&'a mut Paired),
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
