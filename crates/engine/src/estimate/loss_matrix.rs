//! Mean losses of a model whose loss matrix is known.
//!
//! A mean that depends on rare, huge losses looks certain until one is drawn. But all losses are known: for
//! each item, drawn or not, the model gives its loss for each class. Suppose classes had probabilities proportional to
//! e^{−b·loss}; for log losses these are the model's own, with their odds to the power b. Then the pool's mean loss
//! would be m(b), which falls as b rises and so takes every value once. A mean is tested by its b, which also
//! gives the expectation and variance of each draw. This is Wilson's method, with a recalibrated model in place of a
//! proportion p; for identical items the upper end equals his.

use super::Invalid;
use super::leveled::Levels;

/// A function that calls its argument with the losses of each item in turn.
pub type VisitLosses<'a> = dyn Fn(&mut dyn FnMut(&[f64])) + 'a;

/// The loss matrix of a model: its loss for each class of an item.
pub struct LossMatrix<'a> {
    /// The loss of each class, draw by draw.
    pub drawn: &'a [f64],
    /// The number of classes.
    pub classes: usize,
    /// Visits the losses of each item of the pool, or of a uniform sample of it.
    pub pool: &'a VisitLosses<'a>,
    /// Whether `pool` visits a sample, drawn with replacement.
    pub is_sample: bool,
}

/// Draws from a pool whose loss matrix is known.
pub(super) struct AnsweredLosses<'a> {
    matrix: &'a [f64],
    pub(super) classes: usize,
    /// The loss of each class, draw by draw.
    drawn: Vec<f64>,
    /// The loss of the true class, draw by draw.
    pub(super) losses: Vec<f64>,
}

impl<'a> AnsweredLosses<'a> {
    /// Validates the draws of a pool of this many items; `answers` holds the item and the class of each draw.
    pub(super) fn new(pool: usize, matrix: &'a [f64], answers: &[(usize, usize)]) -> Result<Self, Invalid> {
        let classes = matrix.len() / pool;
        if classes == 0 || classes * pool != matrix.len() || !matrix.iter().all(|loss| is_loss(*loss)) {
            return Err(Invalid::LossMatrix { losses: matrix.len(), pool });
        }
        let (mut is_drawn, mut drawn, mut losses) = (vec![false; pool], vec![], vec![]);
        for (draw, &(item, class)) in answers.iter().enumerate() {
            if item >= pool || class >= classes || std::mem::replace(&mut is_drawn[item], true) {
                return Err(Invalid::Answer { draw });
            }
            let of_item = &matrix[item * classes..][..classes];
            drawn.extend_from_slice(of_item);
            losses.push(of_item[class]);
        }
        Ok(Self { matrix, classes, drawn, losses })
    }

    /// Calls `then` with the loss matrix and returns its result.
    pub(super) fn with_matrix<T>(&self, then: impl FnOnce(&LossMatrix<'_>) -> T) -> T {
        let visit_all = |visit: &mut dyn FnMut(&[f64])| self.matrix.chunks_exact(self.classes).for_each(visit);
        then(&LossMatrix { drawn: &self.drawn, classes: self.classes, pool: &visit_all, is_sample: false })
    }
}

/// The fraction of the observed variance that the lower end uses: a mean that came out too high shows too large a
/// variance.
const LOSS_SEEN_BELOW: f64 = 2.0 / 3.0;

/// The bound on the transformed b, which corresponds to |b| = 10¹²; beyond, one class of each item is certain.
const SHARPEST: f64 = 1.0 - 1e-12;
const HALVINGS: usize = 60;
/// A relative difference that rounding can cause.
const ROUNDING: f64 = 1e-9;
/// The largest loss, so that no square overflows.
const LARGEST: f64 = 1e100;

impl LossMatrix<'_> {
    /// Returns the means that these draws and losses do not exclude at `t` standard deviations; `None` if a loss is not
    /// finite.
    pub(super) fn interval(&self, levels: &Levels, losses: &[f64], t: f64) -> Option<(f64, f64)> {
        let noise = levels.noise();
        // The excess of the mean over that expected under b, and its variances: expected under b, and observed.
        let test = |b: f64| {
            let (mut above, mut expected, mut seen) = (0.0, 0.0, 0.0);
            for (m, (matrix, loss)) in self.drawn.chunks_exact(self.classes).zip(losses).enumerate() {
                let (mean, variance) = moments(matrix, b);
                let error = loss - mean;
                above += levels.weights[m] * error;
                expected += noise[m] * variance;
                seen += noise[m] * error * error;
            }
            (above / losses.len() as f64, expected, seen)
        };
        let center = bisect_threshold(-SHARPEST, SHARPEST, |b| test(b).0 < 0.0);
        let highest = bisect_threshold(center, -SHARPEST, |b| {
            let (above, expected, seen) = test(b);
            above >= -t * expected.max(seen).sqrt()
        });
        let lowest = bisect_threshold(center, SHARPEST, |b| {
            let (above, expected, seen) = test(b);
            above <= t * expected.max(LOSS_SEEN_BELOW * seen).sqrt()
        });
        self.means(sharpness(lowest), sharpness(highest))
    }

    /// Returns how far the mean of the largest losses, each weighted by itself, exceeds their plain mean: what one more
    /// draw of a rare, large loss would add to the sum of losses.
    pub(super) fn largest_influence(&self) -> f64 {
        let (mut items, mut sum, mut squares) = (0.0, 0.0, 0.0);
        (self.pool)(&mut |losses| {
            let largest = losses.iter().copied().fold(0.0, f64::max);
            items += 1.0;
            sum += largest;
            squares += largest * largest;
        });
        let (mean, excess) = (sum / items, squares / sum - sum / items);
        // Equal losses differ by rounding only.
        if ROUNDING * mean < excess { excess } else { 0.0 }
    }

    /// Returns m(b), the pool's mean loss, for two values of b.
    fn means(&self, low: f64, high: f64) -> Option<(f64, f64)> {
        let (mut items, mut sums, mut finite) = (0.0, (0.0, 0.0), true);
        (self.pool)(&mut |losses| {
            items += 1.0;
            finite &= losses.iter().all(|loss| is_loss(*loss));
            sums = (sums.0 + moments(losses, low).0, sums.1 + moments(losses, high).0);
        });
        finite.then_some((sums.0 / items, sums.1 / items))
    }
}

/// Returns whether a loss is small enough that no arithmetic overflows.
pub(super) fn is_loss(loss: f64) -> bool {
    loss.abs() < LARGEST
}

/// Returns the mean and variance of a loss with probability proportional to e^{−b·loss}.
fn moments(losses: &[f64], b: f64) -> (f64, f64) {
    // Relative to the likeliest loss, no power overflows, and the others do not cancel.
    let likeliest = losses.iter().copied().reduce(|a, c| if b * c < b * a { c } else { a }).unwrap_or(0.0);
    let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
    for loss in losses {
        let off = loss - likeliest;
        let probability = (-b * off).exp();
        total += probability;
        first += probability * off;
        second += probability * off * off;
    }
    let mean = first / total;
    (likeliest + mean, (second / total - mean * mean).max(0.0))
}

/// Maps a number between −1 and 1 to b.
fn sharpness(at: f64) -> f64 {
    at / (1.0 - at.abs())
}

/// Bisects for the last number, on the way from `from` to `to`, for whose b the condition holds.
fn bisect_threshold(from: f64, to: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut within, mut beyond) = (from, to);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (within + beyond);
        *(if holds(sharpness(middle)) { &mut within } else { &mut beyond }) = middle;
    }
    within
}
