//! The choice of λ, the strength of the penalty, from the answers themselves.
//!
//! λ starts at mean‖x‖²/[`SPREAD`]²: the prior standard deviation of scores is [`SPREAD`], whatever the units of the
//! features. From there it moves in half decades. Whenever the number of answers has grown by a factor of 1.3, its two
//! neighbors are tried by cross-validation. λ moves up if that improves the loss, and down if that improves it by more
//! than two standard errors: most queried items are near the boundary, and for these alone too small a λ looks good.
//! A choice made from a few answers is soon revised.
//!
//! Fits without a fold start from the fit to all answers and its factor. If answers are many, these fits are spread
//! over the next fits of all answers, so that none of those takes much longer than others.

use super::newton::Newton;
use super::problem::Problem;
use crate::estimate;

/// The prior standard deviation of scores, before there are labels.
pub const SPREAD: f64 = 5.0;
/// The number of folds.
const FOLDS: usize = 5;
/// The least number of answers from which λ is chosen, and the least number for each output. If classes are missing
/// from the folds, a λ that makes all predictions equal looks best.
const FIRST: usize = 15;
const FIRST_PER_OUTPUT: usize = 5;
/// The largest distance of λ from its start, in half decades.
const FARTHEST: i32 = 10;
/// The tolerance of fits in a trial; a comparison of losses needs no more digits.
const TOLERANCE: f64 = 1e-4;

/// The numbers of standard errors by which a move of λ must improve the loss.
#[derive(Clone, Copy, Debug, Default)]
struct Reluctance {
    up: f64,
    down: f64,
}

const RELUCTANCE: Reluctance = Reluctance { up: 0.0, down: 2.0 };
/// That of version 0.1.
const FORMER_RELUCTANCE: Reluctance = Reluctance { up: 1.0, down: 1.0 };

/// λ, and the schedule of its choice.
#[derive(Clone, Debug, Default)]
pub(super) struct Strength {
    /// λ = unit·10^(step/2), unless it is fixed.
    step: i32,
    unit: f64,
    fixed: Option<f64>,
    due: usize,
    seed: u64,
    reluctance: Reluctance,
    trial: Option<StrengthTrial>,
}

/// A trial of λ and its neighbors: fold after fold, and for each fold one λ after the other.
#[derive(Clone, Debug, Default)]
struct StrengthTrial {
    /// The number of answers that take part, those present at the start of the trial.
    answers: usize,
    /// The number of fits done.
    fits: usize,
    /// Weighted losses of the completed folds at the current λ, the next larger and the next smaller one.
    losses: [Vec<f64>; 3],
}

/// The number of fits of a complete trial.
const FITS: usize = 3 * FOLDS;
/// The work of a trial done with each fit of all answers, as answers times parameters; at least one fit is done.
const WORK_PER_FIT: usize = 150_000;

impl Strength {
    /// Creates the λ of a model with this many outputs; `fixed` if it is not to be chosen.
    pub(super) fn new(fixed: Option<f64>, outputs: usize, seed: u64) -> Self {
        let due = FIRST.max(FIRST_PER_OUTPUT * outputs);
        Self { step: 0, unit: 1.0, fixed, due, seed, reluctance: RELUCTANCE, trial: None }
    }

    /// Returns λ if it is not to be chosen, and the seed.
    pub(super) fn settings(&self) -> (Option<f64>, u64) {
        (self.fixed, self.seed)
    }

    /// Chooses λ as version 0.1 did.
    pub(super) fn like_version_0_1(self) -> Self {
        Self { due: FIRST, reluctance: FORMER_RELUCTANCE, ..self }
    }

    /// Returns λ.
    pub(super) fn now(&self) -> f64 {
        self.fixed.unwrap_or_else(|| self.at(self.step))
    }

    fn at(&self, step: i32) -> f64 {
        self.unit * 10_f64.powf(0.5 * f64::from(step))
    }

    /// Returns the number of answers from which on a fit takes part in choosing λ.
    pub(super) fn due(&self) -> usize {
        if self.trial.is_some() { 0 } else { self.due }
    }

    /// Chooses λ again, if that is due. `items` are the answers' indices in the pool, which determine their folds; θ
    /// and `newton` are those of the previous fit.
    pub(super) fn choose(&mut self, problem: &Problem<'_>, items: &[u64], theta: &[f64], newton: &Newton) {
        if self.fixed.is_some() || problem.labels.is_empty() {
            return;
        }
        self.take_unit(problem);
        let answers = problem.labels.len();
        if answers < self.due() {
            return;
        }
        let mut trial = self.trial.take().unwrap_or_else(|| {
            self.due = answers + answers.div_ceil(10) * 3;
            StrengthTrial { answers, ..StrengthTrial::default() }
        });
        let fits = (WORK_PER_FIT / (answers * problem.parameters())).clamp(1, FITS);
        for _ in 0..fits.min(FITS - trial.fits) {
            self.fit_next(&mut trial, problem, items, theta, newton);
        }
        if trial.fits == FITS {
            self.decide(&trial);
        } else {
            self.trial = Some(trial);
        }
    }

    /// Moves λ until a move no longer helps.
    pub(super) fn settle(&mut self, problem: &Problem<'_>, items: &[u64]) {
        self.take_unit(problem);
        let theta = vec![0.0; problem.parameters()];
        let newton = Newton::default();
        while self.fixed.is_none() {
            let mut trial = StrengthTrial { answers: items.len(), ..StrengthTrial::default() };
            while trial.fits < FITS {
                self.fit_next(&mut trial, problem, items, &theta, &newton);
            }
            if !self.decide(&trial) {
                return;
            }
        }
    }

    /// Sets the unit of λ from the features.
    fn take_unit(&mut self, problem: &Problem<'_>) {
        let (mut sum, mut count) = (0.0, 0.0);
        for index in problem.used() {
            sum += problem.rows.norm_squared(index);
            count += 1.0;
        }
        // If all features are 0, any penalty will do.
        self.unit = if 0.0 < sum { sum / count / (SPREAD * SPREAD) } else { 1.0 };
    }

    /// Returns the steps of λ and its neighbors.
    fn candidates(&self) -> [i32; 3] {
        [self.step, self.step + 1, self.step - 1]
    }

    /// Performs the next fit of a trial, to every answer outside a fold, with one λ, and predicts the answers inside.
    fn fit_next(
        &self,
        trial: &mut StrengthTrial,
        problem: &Problem<'_>,
        items: &[u64],
        theta: &[f64],
        newton: &Newton,
    ) {
        let (fold, candidate) = (trial.fits / 3, trial.fits % 3);
        let part = |inside: bool| -> Vec<f64> {
            let keep = |(index, item): (usize, &u64)| {
                index < trial.answers && (estimate::fold(self.seed, *item, FOLDS) == fold) == inside
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

    /// Moves λ to a better neighbor; returns whether there was one.
    fn decide(&mut self, trial: &StrengthTrial) -> bool {
        let ([_, steps @ ..], [now, others @ ..]) = (self.candidates(), &trial.losses);
        let better = others.iter().zip(steps).filter_map(|(losses, step)| {
            let reluctance = if self.step < step { self.reluctance.up } else { self.reluctance.down };
            let gain = gain(now, losses, reluctance)?;
            (step.abs() <= FARTHEST).then_some((gain, step))
        });
        let best = better.reduce(|best, next| if best.0 < next.0 { next } else { best });
        if let Some((_, step)) = best {
            self.step = step;
        }
        best.is_some()
    }
}

/// Returns the total improvement of one list of losses over another, if it exceeds this many standard errors.
fn gain(now: &[f64], other: &[f64], errors: f64) -> Option<f64> {
    let gain: f64 = now.iter().zip(other).map(|(now, other)| now - other).sum();
    let count = now.len() as f64;
    let squares: f64 = now.iter().zip(other).map(|(now, other)| (now - other - gain / count).powi(2)).sum();
    (errors * squares.sqrt() < gain).then_some(gain)
}
