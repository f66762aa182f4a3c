//! Means that the drawn values cannot bound: heavy tails, and rows that draws do not represent.

use super::leveled::Levels;
use super::{DrawProbability, Estimate, Warning};

/// Returns whether values are so heavy-tailed that their mean cannot be bounded from a sample.
///
/// If the values are squares of normal numbers, a normal likelihood describes their roots best; if they are squares of
/// Student's t with three degrees of freedom, whose squares have no variance, that of t does. Values of both signs are
/// judged by their squared distances from their median. The limit was measured with noise of many kinds: where a mean is
/// not declared heavy-tailed, intervals cover in at least 94 % of runs with 100 labels or more.
pub(super) fn is_heavy_tailed(values: &[f64]) -> bool {
    let x = squares(values);
    let count = x.len() as f64;
    let mean = x.iter().sum::<f64>() / count;
    if !(0.0 < mean) {
        return false;
    }
    let median = median_of(&x);
    if median == 0.0 {
        return true;
    }
    let scale = student_scale(&x, median);
    let student = count * (STUDENT_CONSTANT - 0.5 * scale.ln())
        - 2.0 * x.iter().map(|value| (value / (3.0 * scale)).ln_1p()).sum::<f64>();
    let normal = -0.5 * count * ((std::f64::consts::TAU * mean).ln() + 1.0);
    BASE + PER_VALUE * count < student - normal + PER_LOG_RATIO * (mean / median).ln()
}

/// The logarithm of the density of Student's t with three degrees of freedom at 0: ln(2/(π√3)).
const STUDENT_CONSTANT: f64 = -1.000_832;
/// The limit: its value without draws, its growth, and the weight of ln(mean/median), fitted to simulated noise.
const BASE: f64 = 18.1;
const PER_VALUE: f64 = 0.0543;
const PER_LOG_RATIO: f64 = 25.0;
/// The number of steps of the likeliest scale; it converges linearly.
const STEPS: usize = 60;

/// Returns the values themselves if none is negative, else their squared distances from the median.
fn squares(values: &[f64]) -> Vec<f64> {
    if values.iter().all(|value| 0.0 <= *value) {
        return values.to_vec();
    }
    let median = median_of(values);
    values.iter().map(|value| (value - median).powi(2)).collect()
}

pub(super) fn median_of(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Returns the likeliest squared scale of Student's t with three degrees of freedom, for its squared values.
fn student_scale(x: &[f64], start: f64) -> f64 {
    let step = |scale: f64| x.iter().map(|value| 4.0 * value / (3.0 + value / scale)).sum::<f64>() / x.len() as f64;
    (0..STEPS).fold(start, |scale, _| step(scale))
}

/// The least share of missing rows that counts, and its least number of standard errors.
const LEAST_MISSING: f64 = 0.05;
const LEAST_ERRORS: f64 = 2.0;
/// If floors bound the weights by this number, missing rows would have been drawn.
const BOUNDED_WEIGHT: f64 = 20.0;

impl Levels<'_> {
    /// Returns the share of the pool that the draws do not represent. 1/((N−m+1)q) has expectation 1 for every draw: if its mean
    /// is far below, rows with small probabilities were not drawn, and nothing is known of their values.
    pub(super) fn missing_share(&self) -> f64 {
        let (draws, pool) = (self.draws, self.pool);
        let weight = |(before, draw): (usize, &DrawProbability)| 1.0 / ((pool - before) as f64 * draw.probability);
        let has_floor =
            |(before, draw): (usize, &DrawProbability)| 1.0 < BOUNDED_WEIGHT * (pool - before) as f64 * draw.floor;
        if draws.len() == pool || draws.iter().enumerate().all(has_floor) {
            return 0.0;
        }
        let weights: Vec<f64> = draws.iter().enumerate().map(weight).collect();
        let count = weights.len() as f64;
        let mean = weights.iter().sum::<f64>() / count;
        let variance = weights.iter().map(|weight| (weight - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let (missing, error) = (1.0 - mean, (variance / count).sqrt());
        if LEAST_MISSING < missing && LEAST_ERRORS * error < missing { missing } else { 0.0 }
    }
}

impl Estimate {
    /// Widens a mean of values in a range by the values that missing rows could have. The estimate counts them as 0.
    pub(super) fn with_missing_rows(self, share: f64, (least, most): (f64, f64)) -> Self {
        if share == 0.0 {
            return self;
        }
        let times = |value: f64| if value == 0.0 { 0.0 } else { share * value };
        Self {
            low: (self.low + times(least.min(0.0))).max(least),
            high: (self.high + times(most.max(0.0))).min(most),
            warning: Some(Warning::MissingRows { share }),
            ..self
        }
    }

    /// Widens a ratio by what missing rows could add to its two sums. The denominator is a mean over the pool in which they
    /// count as 0. Each could add 1 to the denominator alone, or `largest` to both.
    pub(super) fn ratio_with_missing_rows(self, share: f64, denominator: f64, largest: f64) -> Self {
        if share == 0.0 {
            return self;
        }
        Self {
            low: self.low * denominator / (denominator + share),
            high: (self.high * denominator + largest * share) / (denominator + largest * share),
            warning: Some(Warning::MissingRows { share }),
            ..self
        }
    }

    /// Withdraws the end of an interval that heavy tails do not allow: the upper one if no value is negative, else both.
    pub(super) fn unbounded(self, values: &[f64]) -> Self {
        let is_positive = values.iter().all(|value| 0.0 <= *value);
        let low = if is_positive { self.low } else { f64::NEG_INFINITY };
        Self { low, high: f64::INFINITY, warning: Some(Warning::HeavyTail), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    /// Returns squares of numbers, each made of some uniform ones.
    fn squared(count: u64, seed: u64, number: impl Fn(&[f64; 12]) -> f64) -> Vec<f64> {
        let coin = Coin::new(seed, "numbers");
        (0..count).map(|at| number(&std::array::from_fn(|part| coin.unit(12 * at + part as u64))).powi(2)).collect()
    }

    fn normal(uniform: &[f64; 12]) -> f64 {
        uniform.iter().sum::<f64>() - 6.0
    }

    /// The ratio of a normal number and an exponential root: Student's t with two degrees of freedom.
    fn student_2(uniform: &[f64; 12]) -> f64 {
        let near_normal = (uniform[..6].iter().sum::<f64>() - 3.0) * std::f64::consts::SQRT_2;
        near_normal / (-uniform[6].max(1e-12).ln()).sqrt()
    }

    #[test]
    fn heavy_tails_are_told_from_normal_noise() {
        let share = |number: fn(&[f64; 12]) -> f64| {
            (0..100).filter(|seed| is_heavy_tailed(&squared(300, *seed, number))).count()
        };
        assert!(share(normal) <= 1 && 95 <= share(student_2), "{} {}", share(normal), share(student_2));
    }

    #[test]
    fn constant_values_have_no_tail() {
        assert!(!is_heavy_tailed(&[0.0; 50]) && !is_heavy_tailed(&[3.0; 50]) && !is_heavy_tailed(&[-3.0; 50]));
        let mut mostly_zero = [0.0; 50];
        mostly_zero[7] = 1e3;
        assert!(is_heavy_tailed(&mostly_zero));
    }
}
