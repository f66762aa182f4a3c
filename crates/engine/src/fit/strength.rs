//! How strongly parameters are held, chosen from the answers themselves.
//!
//! λ starts at mean‖x‖²/[`SPREAD`]²: before any label, scores are thought to deviate by [`SPREAD`], whatever the units of the
//! features. From there it moves in half decades. When the answers have grown by 1.3, its two neighbors are tried: every answer is
//! predicted by the fit to the other folds, and λ moves a step if that betters the loss by more than its standard error. So λ
//! follows what the answers show and not their noise, and a choice made from a few answers is soon made again.

use super::newton::Newton;
use super::problem::Problem;
use crate::estimate;
use crate::features::Features;

/// How far scores are thought to deviate before there are labels.
pub const SPREAD: f64 = 5.0;
/// Folds of the answers.
const FOLDS: usize = 5;
/// Fewer answers say nothing about λ.
const FIRST: usize = 15;
/// Half decades to either side.
const FARTHEST: i32 = 10;
/// A comparison of losses needs no more digits.
const TOLERANCE: f64 = 1e-5;

/// λ, and when it is chosen again.
#[derive(Clone, Debug)]
pub(super) struct Strength {
    /// λ = unit·10^(step/2), unless it was given.
    step: i32,
    unit: f64,
    given: Option<f64>,
    due: usize,
    seed: u64,
}

impl Strength {
    pub(super) fn new(given: Option<f64>, seed: u64) -> Self {
        Self { step: 0, unit: 1.0, given, due: FIRST, seed }
    }

    /// λ.
    pub(super) fn now(&self) -> f64 {
        self.given.unwrap_or_else(|| self.at(self.step))
    }

    fn at(&self, step: i32) -> f64 {
        self.unit * 10_f64.powf(0.5 * f64::from(step))
    }

    /// At how many answers it is chosen again.
    pub(super) fn due(&self) -> usize {
        self.due
    }

    /// Chooses again, if that is due. `items` are the answers' numbers, which decide their folds.
    pub(super) fn choose(&mut self, problem: &Problem<'_>, items: &[u64], theta: &[f64]) {
        if self.given.is_some() || problem.labels.is_empty() {
            return;
        }
        self.take_unit(problem);
        if problem.labels.len() < self.due {
            return;
        }
        self.due = problem.labels.len() + problem.labels.len().div_ceil(10) * 3;
        self.step(problem, items, theta);
    }

    /// Moves until moving no longer helps.
    pub(super) fn settle(&mut self, problem: &Problem<'_>, items: &[u64]) {
        self.take_unit(problem);
        let theta = vec![0.0; problem.parameters()];
        while self.given.is_none() && self.step(problem, items, &theta) {}
    }

    /// λ's unit is that of the features.
    fn take_unit(&mut self, problem: &Problem<'_>) {
        let (mut sum, mut count) = (0.0, 0.0);
        for place in problem.used() {
            sum += problem.rows.row(place).norm_squared();
            count += 1.0;
        }
        // Features that are all 0 are held by anything.
        self.unit = if 0.0 < sum { sum / count / (SPREAD * SPREAD) } else { 1.0 };
    }

    /// A step to a better neighbor; says whether there was one.
    fn step(&mut self, problem: &Problem<'_>, items: &[u64], theta: &[f64]) -> bool {
        let folds: Vec<usize> = items.iter().map(|item| estimate::fold(self.seed, *item, FOLDS)).collect();
        let steps = [self.step, self.step + 1, self.step - 1];
        let mut losses = [const { Vec::new() }; 3];
        for fold in 0..FOLDS {
            add_losses(problem, &folds, fold, theta, steps.map(|step| self.at(step)), &mut losses);
        }
        let [now, others @ ..] = &losses;
        let better = others.iter().zip(&steps[1..]).filter_map(|(losses, step)| {
            let gain = gain(now, losses)?;
            (step.abs() <= FARTHEST).then_some((gain, *step))
        });
        let best = better.reduce(|best, next| if best.0 < next.0 { next } else { best });
        if let Some((_, step)) = best {
            self.step = step;
        }
        best.is_some()
    }
}

/// By how much one list of losses is below another, where that is more than its standard error.
fn gain(now: &[f64], other: &[f64]) -> Option<f64> {
    let gain: f64 = now.iter().zip(other).map(|(now, other)| now - other).sum();
    let count = now.len() as f64;
    let squares: f64 = now.iter().zip(other).map(|(now, other)| (now - other - gain / count).powi(2)).sum();
    (squares.sqrt() < gain).then_some(gain)
}

/// The losses of one fold when the others are fitted, for each λ.
fn add_losses(
    problem: &Problem<'_>,
    folds: &[usize],
    fold: usize,
    theta: &[f64],
    strengths: [f64; 3],
    losses: &mut [Vec<f64>; 3],
) {
    let part = |inside: bool| -> Vec<f64> {
        let keep = |(weight, at): (&f64, &usize)| if (*at == fold) == inside { *weight } else { 0.0 };
        problem.weights.iter().zip(folds).map(keep).collect()
    };
    let (held, rest) = (part(true), part(false));
    let (mut newton, mut theta) = (Newton::default(), theta.to_vec());
    for (strength, losses) in strengths.into_iter().zip(losses) {
        let fit = Problem { weights: &rest, strength, ..*problem };
        newton.minimize(&fit, &mut theta, TOLERANCE);
        problem.add_losses(&theta, &held, losses);
    }
}
