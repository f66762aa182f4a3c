//! Anytime-valid intervals, by betting: a mean is excluded when bettors against it grow rich.
//!
//! If the pool's mean is μ, then before draw m the mean ρ of the remaining values is known, and value/((N−m+1)q) has
//! expectation ρ. A bettor who stakes a constant share c of their wealth multiplies it by
//! 1 + c(value/((N−m+1)q)/ρ − 1). This is a fair game that cannot go below 0. The total wealth of many such bettors,
//! starting from 1, ever reaches 1/α with probability at most α (Ville). After Waudby-Smith and Ramdas (2024), for
//! weighted draws without replacement. Predictions of the values as control variates are after Shekhar, Xu, Lipton, Liang
//! and Ramdas (2023).

use super::DrawProbability;

/// The number of bettors, who stake the shares 1, 1/3, 1/9, … One of these is near the best share.
const BETTORS: usize = 8;

/// The part of the starting wealth that each bettor has, measured on 13 pools: intervals are 11 to 13 % narrower than
/// with equal parts. Any parts that add up to 1 are valid.
const PARTS: PerBettor = [0.30, 0.22, 0.14, 0.10, 0.08, 0.06, 0.05, 0.05];

/// The parts of the wealth that are bet with a model's predictions, with the constant 0, which needs no floor of q, and
/// with the constant 1.
const PREDICTION_PARTS: [f64; 3] = [0.6, 0.1, 0.3];

/// The number of bisections: ends are accurate to a millionth, rounded outward.
const HALVINGS: usize = 20;

/// One number for each bettor.
type PerBettor = [f64; BETTORS];

/// Predictions of the values in [0, 1] of a pool, subtracted from them before betting: what is predicted adds no noise.
pub(super) struct Control {
    /// The part of the starting wealth that is bet with it.
    part: f64,
    drawn: ControlValues,
    /// The mean over the pool.
    mean: f64,
    /// A bound on the error of that mean, if it is from a sample.
    slack: f64,
    /// Bounds on the predictions of all items.
    range: (f64, f64),
}

enum ControlValues {
    /// The same value for every item.
    Constant(f64),
    /// A value for each draw.
    Values(Vec<f64>),
}

impl Control {
    /// Returns constant predictions, each with an equal part of the wealth.
    pub(super) fn constants(values: &[f64]) -> Vec<Self> {
        let part = 1.0 / values.len() as f64;
        values.iter().map(|value| Self::constant(*value, part)).collect()
    }

    fn constant(value: f64, part: f64) -> Self {
        Self { part, drawn: ControlValues::Constant(value), mean: value, slack: 0.0, range: (value, value) }
    }

    /// Returns predictions of a model for each draw, and the constants 0 and 1 in case they are useless. `mean` is their mean
    /// over the pool and `slack` a bound on its error; none is above `largest`.
    pub(super) fn predictions(drawn: Vec<f64>, mean: f64, slack: f64, largest: f64) -> Vec<Self> {
        let [part, none, all] = PREDICTION_PARTS;
        let predicted = Self { part, drawn: ControlValues::Values(drawn), mean, slack, range: (0.0, largest) };
        vec![predicted, Self::constant(0.0, none), Self::constant(1.0, all)]
    }

    fn mirrored(&self) -> Self {
        let drawn = match &self.drawn {
            ControlValues::Constant(value) => ControlValues::Constant(1.0 - value),
            ControlValues::Values(values) => ControlValues::Values(values.iter().map(|value| 1.0 - value).collect()),
        };
        Self { drawn, mean: 1.0 - self.mean, range: (1.0 - self.range.1, 1.0 - self.range.0), ..*self }
    }

    fn of_draw(&self, draw: usize) -> f64 {
        match &self.drawn {
            ControlValues::Constant(value) => *value,
            ControlValues::Values(values) => values[draw],
        }
    }
}

/// The bettors of a control.
struct Family<'a> {
    control: &'a Control,
    wealth: PerBettor,
    /// The sum of the predictions of drawn items.
    known: f64,
}

impl Family<'_> {
    /// Bets on a draw and returns the wealth after it.
    fn bet(&mut self, draw: &BetDraw, shares: &PerBettor) -> f64 {
        let (control, predicted) = (self.control, self.control.of_draw(draw.index));
        let rest = (draw.pool * (control.mean - control.slack) - self.known) / draw.left;
        self.known += predicted;
        let largest = control.range.1;
        // The stake is all that can be lost; without a floor the loss is unbounded, so no one bets.
        let lost = if largest == 0.0 { 0.0 } else { largest * draw.largest_weight };
        let loss = lost + draw.expected - rest;
        // The stake shrinks as an estimated weight grows, which would favor the bettors.
        let bias = draw.noise * (rest - draw.expected).max(0.0) * lost / loss;
        let gain = (draw.weight * (draw.value - predicted) - draw.expected + rest - bias) / loss;
        let gain = if loss.is_finite() && 0.0 < loss { gain.max(-1.0) } else { 0.0 };
        for (bettor, share) in self.wealth.iter_mut().zip(shares) {
            *bettor *= 1.0 + share * gain;
        }
        control.part * total(&self.wealth)
    }
}

/// A draw to bet on, with the mean that the hypothesis expects of the remaining items.
struct BetDraw {
    index: usize,
    pool: f64,
    /// The number of remaining items before the draw.
    left: f64,
    weight: f64,
    largest_weight: f64,
    /// The relative variance of the weight.
    noise: f64,
    value: f64,
    expected: f64,
}

/// The means in [0, 1] that a sequence of draws does not exclude.
pub(super) struct Betting {
    pool: f64,
    /// For each draw 1/((N−m+1)q), its upper bound from the floor of q, and its relative variance.
    weights: Vec<(f64, f64, f64)>,
    /// 1/α for one side.
    wealth_limit: f64,
    shares: PerBettor,
}

impl Betting {
    pub(super) fn new(pool: usize, draws: &[DrawProbability], confidence: f64) -> Self {
        let weight = |(before, draw): (usize, &DrawProbability)| {
            let left = (pool - before) as f64;
            let weight = 1.0 / (left * draw.probability);
            (weight, (1.0 / (left * draw.floor)).max(weight), draw.noise)
        };
        Self {
            pool: pool as f64,
            weights: draws.iter().enumerate().map(weight).collect(),
            wealth_limit: 2.0 / (1.0 - confidence),
            shares: std::array::from_fn(|k| 3.0_f64.powf(-(k as f64))),
        }
    }

    /// Returns the interval of means of values in [0, 1], whose ends bisection finds. If weights are known exactly, wealth
    /// decreases with the hypothetical mean, so the accepted means are an interval. For noisy weights this holds only up
    /// to the correction of their bias, which is at most `noise` times the stake.
    pub(super) fn mean(&self, values: &[f64], controls: &[Control]) -> (f64, f64) {
        let mirrored: Vec<f64> = values.iter().map(|value| 1.0 - value).collect();
        let mirrored_controls: Vec<Control> = controls.iter().map(Control::mirrored).collect();
        let end = |values: &[f64], controls: &[Control]| {
            boundary(0.0, 1.0, |mean| self.is_too_low(values.iter().copied(), mean, controls))
        };
        (end(values, controls), 1.0 - end(&mirrored, &mirrored_controls))
    }

    /// Returns whether the draws showed at some time that the pool's mean of these values in [0, 1] is above `mean`.
    ///
    /// Each control has its own bettors, who bet on (value − prediction)/((N−m+1)q) and the mean prediction of the remaining
    /// items: uneven weights then add no noise where predictions are right. For predictions above 0 this can be negative,
    /// and the floor of q bounds the loss; the constant 0 needs no bound.
    pub(super) fn is_too_low(&self, values: impl Iterator<Item = f64>, mean: f64, controls: &[Control]) -> bool {
        let family = |control| Family { control, wealth: PARTS, known: 0.0 };
        let mut families: Vec<Family<'_>> = controls.iter().map(family).collect();
        let (mut known, mut left) = (0.0, self.pool);
        for (index, (&(weight, largest_weight, noise), value)) in self.weights.iter().zip(values).enumerate() {
            let expected = (self.pool * mean - known) / left;
            if expected < 1e-12 {
                // Under the hypothesis only zeros are left, or the sum would even be negative.
                if expected < -1e-9 || value > 1e-9 {
                    return true;
                }
            } else {
                let draw = BetDraw { index, pool: self.pool, left, weight, largest_weight, noise, value, expected };
                let wealth: f64 = families.iter_mut().map(|family| family.bet(&draw, &self.shares)).sum();
                if wealth >= self.wealth_limit {
                    return true;
                }
            }
            known += value;
            left -= 1.0;
        }
        self.pool * mean - known < -1e-9 * self.pool
    }
}

/// Returns the total wealth of these bettors, added in an order that vectorizes.
fn total(wealth: &PerBettor) -> f64 {
    let pairs: [f64; BETTORS / 2] = std::array::from_fn(|k| wealth[k] + wealth[k + BETTORS / 2]);
    let [a, b, c, d] = pairs;
    (a + c) + (b + d)
}

/// Returns the last point on the way from `outside` to `inside` at which `is_excluded` holds; `outside` if it holds
/// nowhere.
pub(super) fn boundary(outside: f64, inside: f64, is_excluded: impl Fn(f64) -> bool) -> f64 {
    let (mut excluded, mut kept) = (outside, inside);
    if !is_excluded(outside) {
        return outside;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (excluded + kept);
        if is_excluded(middle) {
            excluded = middle;
        } else {
            kept = middle;
        }
    }
    excluded
}
