//! How strongly parameters are held, chosen from the answers themselves.
//!
//! λ starts at mean‖x‖²/[`SPREAD`]²: before any label, scores are thought to deviate by [`SPREAD`], whatever the units of the
//! features. From there it moves in half decades. When the answers have grown by 1.3, its two neighbors are tried: every answer is
//! predicted by the fit to the other folds, and λ moves a step if that betters the loss by more than its standard error. So λ
//! follows what the answers show and not their noise, and a choice made from a few answers is soon made again.
//!
//! Fits without a fold start from the fit to all and its factor. Where answers are many, they are spread over the next fits of all
//! answers, so that none of these takes much longer than others.

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
const TOLERANCE: f64 = 1e-4;

/// λ, and when it is chosen again.
#[derive(Clone, Debug, Default)]
pub(super) struct Strength {
    /// λ = unit·10^(step/2), unless it was given.
    step: i32,
    unit: f64,
    given: Option<f64>,
    due: usize,
    seed: u64,
    trial: Option<Trial>,
}

/// λ and its neighbors under trial: fold after fold, and for each fold one λ after the other.
#[derive(Clone, Debug, Default)]
struct Trial {
    /// The answers that take part: those there were when it began.
    answers: usize,
    /// Fits so far.
    fits: usize,
    /// Weighted losses of the folds so far, with λ as it is, above and below.
    losses: [Vec<f64>; 3],
}

/// Fits of a whole trial.
const FITS: usize = 3 * FOLDS;
/// With every fit of all answers as many fits of a trial are made as have together this many answers times parameters, and one
/// at least.
const AT_ONCE: usize = 150_000;

impl Strength {
    pub(super) fn new(given: Option<f64>, seed: u64) -> Self {
        Self { step: 0, unit: 1.0, given, due: FIRST, seed, trial: None }
    }

    /// λ.
    pub(super) fn now(&self) -> f64 {
        self.given.unwrap_or_else(|| self.at(self.step))
    }

    fn at(&self, step: i32) -> f64 {
        self.unit * 10_f64.powf(0.5 * f64::from(step))
    }

    /// At how many answers a fit has a part in choosing it.
    pub(super) fn due(&self) -> usize {
        if self.trial.is_some() { 0 } else { self.due }
    }

    /// Chooses again, if that is due. `items` are the answers' numbers, which decide their folds; θ and `newton` are those of the
    /// fit of before.
    pub(super) fn choose(&mut self, problem: &Problem<'_>, items: &[u64], theta: &[f64], newton: &Newton) {
        if self.given.is_some() || problem.labels.is_empty() {
            return;
        }
        self.take_unit(problem);
        let answers = problem.labels.len();
        if answers < self.due() {
            return;
        }
        let mut trial = self.trial.take().unwrap_or_else(|| {
            self.due = answers + answers.div_ceil(10) * 3;
            Trial { answers, ..Trial::default() }
        });
        let fits = (AT_ONCE / (answers * problem.parameters())).clamp(1, FITS);
        for _ in 0..fits.min(FITS - trial.fits) {
            self.go_on(&mut trial, problem, items, theta, newton);
        }
        if trial.fits == FITS {
            self.decide(&trial);
        } else {
            self.trial = Some(trial);
        }
    }

    /// Moves until moving no longer helps.
    pub(super) fn settle(&mut self, problem: &Problem<'_>, items: &[u64]) {
        self.take_unit(problem);
        let theta = vec![0.0; problem.parameters()];
        let newton = Newton::default();
        while self.given.is_none() {
            let mut trial = Trial { answers: items.len(), ..Trial::default() };
            while trial.fits < FITS {
                self.go_on(&mut trial, problem, items, &theta, &newton);
            }
            if !self.decide(&trial) {
                return;
            }
        }
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

    /// λ and its neighbors, as half decades.
    fn candidates(&self) -> [i32; 3] {
        [self.step, self.step + 1, self.step - 1]
    }

    /// The next fit of a trial: every answer outside a fold, with one λ; those inside are predicted.
    fn go_on(&self, trial: &mut Trial, problem: &Problem<'_>, items: &[u64], theta: &[f64], newton: &Newton) {
        let (fold, candidate) = (trial.fits / 3, trial.fits % 3);
        let part = |inside: bool| -> Vec<f64> {
            let keep = |(place, item): (usize, &u64)| {
                place < trial.answers && (estimate::fold(self.seed, *item, FOLDS) == fold) == inside
            };
            let weights = problem.weights.iter().zip(items.iter().enumerate());
            weights.map(|(weight, answer)| if keep(answer) { *weight } else { 0.0 }).collect()
        };
        let (held, rest) = (part(true), part(false));
        let fit = Problem { weights: &rest, strength: self.at(self.candidates()[candidate]), ..*problem };
        let mut theta = theta.to_vec();
        newton.clone().minimize(&fit, &mut theta, TOLERANCE);
        problem.add_losses(&theta, &held, &mut trial.losses[candidate]);
        trial.fits += 1;
    }

    /// A step to a better neighbor; says whether there was one.
    fn decide(&mut self, trial: &Trial) -> bool {
        let ([_, steps @ ..], [now, others @ ..]) = (self.candidates(), &trial.losses);
        let better = others.iter().zip(steps).filter_map(|(losses, step)| {
            let gain = gain(now, losses)?;
            (step.abs() <= FARTHEST).then_some((gain, step))
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
