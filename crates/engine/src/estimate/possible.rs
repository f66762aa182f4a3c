//! Mean losses of a model whose every possible loss is known.
//!
//! A mean that rests on rare, huge losses looks sure to who has not met one. But what could be met is known: of each item, drawn
//! or not, the model tells what each class would cost it. If classes came with probabilities in proportion to e^{−b·loss}, for
//! log losses the model's own with their odds to the power b, the pool's mean loss would be some m(b), which falls as b rises
//! and so takes every possible value once. A mean is put to the test by the b that brings it: b also tells what to expect of each
//! draw, and with what variance. That is Wilson's way, with a recalibrated model in the place of one share p: for items that are
//! all alike the upper end is his.

use super::Invalid;
use super::levelled::Levels;

/// Calls with the losses of one item after another.
pub type Tell<'a> = dyn Fn(&mut dyn FnMut(&[f64])) + 'a;

/// What each class of an item would cost a model.
pub struct Foreseen<'a> {
    /// The loss of each class, draw by draw.
    pub drawn: &'a [f64],
    /// How many classes there are.
    pub classes: usize,
    /// Tells the losses of each item of the pool, or of a fair sample of it.
    pub pool: &'a Tell<'a>,
}

/// Draws from a pool of which it is known, item by item, what each class would cost.
pub(super) struct Answered<'a> {
    possible: &'a [f64],
    pub(super) classes: usize,
    /// The loss of each class, draw by draw.
    drawn: Vec<f64>,
    /// The loss of the class that it was.
    pub(super) losses: Vec<f64>,
}

impl<'a> Answered<'a> {
    /// Of a pool of this many items; `answers` are the item and the class of each draw.
    pub(super) fn new(pool: usize, possible: &'a [f64], answers: &[(usize, usize)]) -> Result<Self, Invalid> {
        let classes = possible.len() / pool;
        if classes == 0 || classes * pool != possible.len() || !possible.iter().all(|loss| is_loss(*loss)) {
            return Err(Invalid::Possible { losses: possible.len(), pool });
        }
        let (mut is_drawn, mut drawn, mut losses) = (vec![false; pool], vec![], vec![]);
        for (draw, &(item, class)) in answers.iter().enumerate() {
            if item >= pool || class >= classes || std::mem::replace(&mut is_drawn[item], true) {
                return Err(Invalid::Answer { draw });
            }
            let of_item = &possible[item * classes..][..classes];
            drawn.extend_from_slice(of_item);
            losses.push(of_item[class]);
        }
        Ok(Self { possible, classes, drawn, losses })
    }

    /// What comes of what was foreseen.
    pub(super) fn foreseen<T>(&self, then: impl FnOnce(&Foreseen<'_>) -> T) -> T {
        let tell = |hear: &mut dyn FnMut(&[f64])| self.possible.chunks_exact(self.classes).for_each(hear);
        then(&Foreseen { drawn: &self.drawn, classes: self.classes, pool: &tell })
    }
}

/// The share of the seen variance that the lower end reckons with: a mean that came out too high shows too large a variance.
/// Measured on 18 pools with normal quantiles: with all of it 0 to 1.5 % of lower ends are too high, with none 1 to 15 %.
pub(super) const SEEN_BELOW: f64 = 1.0 / 3.0;

/// b from −10¹² to 10¹², as numbers between −this and this; beyond, one class of each item is certain.
const SHARPEST: f64 = 1.0 - 1e-12;
const HALVINGS: usize = 60;
/// No square of a loss may overflow.
const LARGEST: f64 = 1e100;

impl Foreseen<'_> {
    /// Means that these draws, with these losses, do not exclude; `t` deviations are too many. None if a loss is no finite number.
    pub(super) fn interval(&self, levels: &Levels, losses: &[f64], t: f64) -> Option<(f64, f64)> {
        let noise = levels.noise();
        // How far the mean is above what b brings, and its variance: expected by b, and seen.
        let test = |b: f64| {
            let (mut above, mut expected, mut seen) = (0.0, 0.0, 0.0);
            for (m, (possible, loss)) in self.drawn.chunks_exact(self.classes).zip(losses).enumerate() {
                let (mean, variance) = moments(possible, b);
                let error = loss - mean;
                above += levels.weights[m] * error;
                expected += noise[m] * variance;
                seen += noise[m] * error * error;
            }
            (above / losses.len() as f64, expected, seen)
        };
        let centre = reach(-SHARPEST, SHARPEST, |b| test(b).0 < 0.0);
        let highest = reach(centre, -SHARPEST, |b| {
            let (above, expected, seen) = test(b);
            above >= -t * expected.max(seen).sqrt()
        });
        let lowest = reach(centre, SHARPEST, |b| {
            let (above, expected, seen) = test(b);
            above <= t * expected.max(SEEN_BELOW * seen).sqrt()
        });
        self.means(sharpness(lowest), sharpness(highest))
    }

    /// m(b), the pool's mean loss, for two b.
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

/// Whether a loss can be reckoned with.
pub(super) fn is_loss(loss: f64) -> bool {
    loss.abs() < LARGEST
}

/// Mean and variance of a loss that comes with probability in proportion to e^{−b·loss}.
fn moments(losses: &[f64], b: f64) -> (f64, f64) {
    // Seen from the likeliest loss, no power overflows, and the rest do not cancel.
    let likeliest = losses.iter().copied().reduce(|a, c| if b * c < b * a { c } else { a }).unwrap_or(0.0);
    let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
    for loss in losses {
        let off = loss - likeliest;
        let chance = (-b * off).exp();
        total += chance;
        first += chance * off;
        second += chance * off * off;
    }
    let mean = first / total;
    (likeliest + mean, (second / total - mean * mean).max(0.0))
}

/// b, for a number between −1 and 1.
fn sharpness(at: f64) -> f64 {
    at / (1.0 - at.abs())
}

/// How far on the way from one end to the other something holds of b.
fn reach(from: f64, to: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut within, mut beyond) = (from, to);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (within + beyond);
        *(if holds(sharpness(middle)) { &mut within } else { &mut beyond }) = middle;
    }
    within
}
