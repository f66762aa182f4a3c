//! How strongly parameters are held, chosen from the answers themselves.
//!
//! λ stands on a grid of half decades and starts at 1. When the answers have grown by 1.3, its two neighbors are tried: every
//! answer is predicted by the fit to the other folds, and the λ with the least loss is taken; of equals, the larger. So λ moves a
//! step at a time, and a choice made from a few answers is soon made again.

use super::newton::Newton;
use super::problem::Problem;
use crate::estimate;

/// Folds of the answers.
const FOLDS: usize = 5;
/// Fewer answers say nothing about λ.
const FIRST: usize = 12;
/// The grid ends at 10⁻⁶ and 10⁶.
const FARTHEST: i32 = 12;
/// A comparison of losses needs no more digits.
const TOLERANCE: f64 = 1e-5;

/// λ, and when it is chosen again.
#[derive(Clone, Debug)]
pub(super) struct Strength {
    /// λ = 10^(step/2), unless it was given.
    step: i32,
    given: Option<f64>,
    due: usize,
    seed: u64,
}

impl Strength {
    pub(super) fn new(given: Option<f64>, seed: u64) -> Self {
        Self { step: 0, given, due: FIRST, seed }
    }

    /// λ.
    pub(super) fn now(&self) -> f64 {
        self.given.unwrap_or_else(|| at(self.step))
    }

    /// Chooses again, if that is due. `items` are the answers' numbers, which decide their folds.
    pub(super) fn choose(&mut self, problem: &Problem<'_>, items: &[u64], theta: &[f64]) {
        if self.given.is_some() || problem.labels.len() < self.due {
            return;
        }
        self.due = problem.labels.len() + problem.labels.len().div_ceil(10) * 3;
        let folds: Vec<usize> = items.iter().map(|item| estimate::fold(self.seed, *item, FOLDS)).collect();
        let steps = [self.step + 1, self.step, self.step - 1];
        let mut losses = [0.0; 3];
        for fold in 0..FOLDS {
            add_losses(problem, &folds, fold, theta, steps.map(at), &mut losses);
        }
        let mut best = 0;
        for place in 1..3 {
            if losses[place] < losses[best] {
                best = place;
            }
        }
        self.step = steps[best].clamp(-FARTHEST, FARTHEST);
    }
}

/// The losses of one fold when the others are fitted, for each λ.
fn add_losses(
    problem: &Problem<'_>,
    folds: &[usize],
    fold: usize,
    theta: &[f64],
    strengths: [f64; 3],
    losses: &mut [f64; 3],
) {
    let part = |inside: bool| -> Vec<f64> {
        let keep = |(weight, at): (&f64, &usize)| if (*at == fold) == inside { *weight } else { 0.0 };
        problem.weights.iter().zip(folds).map(keep).collect()
    };
    let (held, rest) = (part(true), part(false));
    let (mut newton, mut theta) = (Newton::default(), theta.to_vec());
    for (strength, loss) in strengths.into_iter().zip(losses) {
        let fit = Problem { weights: &rest, strength, ..*problem };
        newton.minimize(&fit, &mut theta, TOLERANCE);
        *loss += problem.total_loss(&theta, &held);
    }
}

fn at(step: i32) -> f64 {
    10_f64.powf(0.5 * f64::from(step))
}
