//! Predictions for answers by the trees that did not see them, and what they calibrate.
//!
//! Every tree skips one of [`FOLDS`] folds. A tenth of the trees predict an answer, so these predictions are noisier
//! than those of the forest. The loss of an average of b trees is nearly a + c/b, so the losses of the average and of its
//! halves give that of all trees.

use super::targets::Targets;
use crate::coin::{Coin, shuffled};
use crate::task::Labels;

/// The number of folds.
pub(super) const FOLDS: usize = 10;
/// The least number of answers, and of trees, of which folds are held out.
const FEWEST_ROWS: usize = 2 * FOLDS;
const FEWEST_TREES: usize = 2 * FOLDS;
/// The prior standard deviation of the log of the sharpness.
const SHARPNESS_SPREAD: f64 = 0.35;
/// The number of answers for which the prior of the slope and of the spread counts in regression.
const PRIOR_ROWS: f64 = 20.0;

/// The fold of each answer, if folds are held out.
#[derive(Debug)]
pub(super) struct Folds(Option<Vec<u8>>);

impl Folds {
    /// Spreads the answers evenly over folds, each class by itself.
    pub(super) fn new(targets: &Targets, rows: usize, trees: usize, seed: u64) -> Self {
        if rows < FEWEST_ROWS || trees < FEWEST_TREES {
            return Self(None);
        }
        let mut order = shuffled(Coin::new(seed, "forest folds"), rows);
        if targets.labels == Labels::Numbers {
            order.sort_by(|a, b| targets.target(*a as usize).total_cmp(&targets.target(*b as usize)));
        } else {
            order.sort_by_key(|row| targets.class(*row as usize));
        }
        let mut folds = vec![0; rows];
        for (rank, row) in order.into_iter().enumerate() {
            folds[row as usize] = (rank % FOLDS) as u8;
        }
        Self(Some(folds))
    }

    /// Returns whether this tree does not see this answer.
    pub(super) fn is_held_out(&self, tree: usize, row: usize) -> bool {
        self.0.as_ref().is_some_and(|folds| usize::from(folds[row]) == tree % FOLDS)
    }

    /// Returns whether there are folds.
    pub(super) fn are_held_out(&self) -> bool {
        self.0.is_some()
    }
}

/// The sums of held-out predictions, in two halves of the trees.
#[derive(Debug)]
pub(super) struct HeldOut {
    width: usize,
    trees: f64,
    /// For each half, the sums of each answer and the number of their trees.
    sums: [Vec<f64>; 2],
    counts: [Vec<f64>; 2],
}

/// What held-out predictions calibrate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calibration {
    /// The factor of log-probabilities, or of the difference to the mean in regression.
    pub(super) sharpness: f64,
    /// The factor of the spread in regression.
    pub(super) spread: f64,
}

impl HeldOut {
    /// Starts without predictions.
    pub(super) fn new(rows: usize, width: usize, trees: usize) -> Self {
        let sums = [vec![0.0; rows * width], vec![0.0; rows * width]];
        Self { width, trees: trees as f64, sums, counts: [vec![0.0; rows], vec![0.0; rows]] }
    }

    /// Adds the prediction of a tree for an answer.
    pub(super) fn add(&mut self, tree: usize, row: usize, values: &[f32]) {
        let half = tree / FOLDS % 2;
        self.counts[half][row] += 1.0;
        let sums = &mut self.sums[half][row * self.width..(row + 1) * self.width];
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += f64::from(*value);
        }
    }

    /// Returns the means over both halves and over each half.
    fn means(&self, row: usize, k: usize) -> [f64; 3] {
        let [a, b] = [0, 1].map(|half| self.sums[half][row * self.width + k]);
        let [of_a, of_b] = [0, 1].map(|half| self.counts[half][row]);
        [(a + b) / (of_a + of_b), a / of_a, b / of_b]
    }

    /// Returns the factors of the losses of the means in that of all trees.
    fn factors(&self, row: usize) -> [f64; 3] {
        let predicting = self.counts[0][row] + self.counts[1][row];
        let share = 1.0 - predicting / self.trees;
        [1.0 + share, -0.5 * share, -0.5 * share]
    }

    /// Chooses the calibration. `floored` turns averages over trees into probabilities.
    pub(super) fn calibrate(
        &self,
        targets: &Targets,
        base: &[f64],
        floored: impl Fn(&[f64], &mut [f64]),
    ) -> Calibration {
        match targets.labels {
            Labels::Numbers => self.calibrate_numbers(targets),
            _ => Calibration { sharpness: self.choose_sharpness(targets, base, floored), spread: 1.0 },
        }
    }

    /// Chooses the sharpness that minimizes the log loss.
    fn choose_sharpness(&self, targets: &Targets, base: &[f64], floored: impl Fn(&[f64], &mut [f64])) -> f64 {
        let (rows, classes) = (self.counts[0].len(), base.len());
        let mut counts = vec![0; classes];
        (0..rows).for_each(|row| counts[targets.class(row)] += 1);
        // Trees cannot predict a class that they did not see.
        let used: Vec<usize> = (0..rows).filter(|row| 1 < counts[targets.class(*row)]).collect();
        let mut logs = Vec::with_capacity(used.len() * 3 * classes);
        let (mut mean, mut probabilities) = (vec![0.0; self.width], vec![0.0; classes]);
        for row in &used {
            for which in 0..3 {
                (0..self.width).for_each(|k| mean[k] = self.means(*row, k)[which]);
                floored(&mean, &mut probabilities);
                logs.extend(probabilities.iter().zip(base).map(|(p, base)| p.ln() - base));
            }
        }
        let loss = |log_sharpness: f64| {
            let sharpness = log_sharpness.exp();
            let mut loss = 0.5 * (log_sharpness / SHARPNESS_SPREAD).powi(2);
            for (row, logs) in used.iter().zip(logs.chunks_exact(3 * classes)) {
                let label = targets.class(*row);
                for (logs, factor) in logs.chunks_exact(classes).zip(self.factors(*row)) {
                    let total: f64 = logs.iter().zip(base).map(|(log, base)| (base + sharpness * log).exp()).sum();
                    loss += targets.weight(*row) * factor * (total.ln() - base[label] - sharpness * logs[label]);
                }
            }
            loss
        };
        minimize(loss).exp()
    }

    /// Chooses the slope by least squares, and the spread so that it matches the errors.
    fn calibrate_numbers(&self, targets: &Targets) -> Calibration {
        let rows = self.counts[0].len();
        let (mut squares, mut products, mut total) = (0.0, 0.0, 0.0);
        for row in 0..rows {
            let (weight, target) = (targets.weight(row), targets.target(row));
            total += weight;
            for (mean, factor) in self.means(row, 0).into_iter().zip(self.factors(row)) {
                squares += weight * factor * mean * mean;
                products += weight * factor * mean * target;
            }
        }
        let prior = PRIOR_ROWS / total * squares;
        let sharpness = if 0.0 < squares { ((products + prior) / (squares + prior)).clamp(0.5, 2.0) } else { 1.0 };
        let (mut errors, mut spreads) = (0.0, 0.0);
        for row in 0..rows {
            let ([mean, ..], [square, ..]) = (self.means(row, 0), self.means(row, 1));
            errors += targets.weight(row) * (targets.target(row) - sharpness * mean).powi(2);
            spreads += targets.weight(row) * (square - mean * mean).max(0.0);
        }
        let prior = PRIOR_ROWS / total * spreads;
        let spread = if 0.0 < spreads { ((errors + prior) / (spreads + prior)).sqrt() } else { 1.0 };
        Calibration { sharpness, spread }
    }
}

/// Returns about the minimum of a function with one valley on [−1.6, 1.6], to within 0.05.
fn minimize(function: impl Fn(f64) -> f64) -> f64 {
    let (mut best, mut least) = (0.0, function(0.0));
    let mut step = 0.4;
    while 0.04 < step {
        for direction in [-1.0, 1.0] {
            loop {
                let next: f64 = best + direction * step;
                let value = if next.abs() <= 1.61 { function(next) } else { f64::INFINITY };
                if !(value < least) {
                    break;
                }
                (best, least) = (next, value);
            }
        }
        step /= 2.0;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_of_a_parabola_is_found() {
        for center in [-1.5, -0.3, 0.0, 0.77, 1.6] {
            let found = minimize(|t| (t - center) * (t - center));
            assert!((found - center).abs() < 0.051, "{found} and {center}");
        }
        assert!(1.5 < minimize(|t| -t));
    }
}
