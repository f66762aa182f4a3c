//! Means that the drawn values cannot bound: heavy tails, and rows that draws do not represent.

use super::leveled::Levels;
use super::{DrawProbability, Estimate, Warning};
use crate::stats::{deviation, mean, student_quantile, upper_median};

/// Returns whether values are so heavy-tailed that their mean cannot be bounded from a sample.
///
/// If the values are squares of normal numbers, a normal likelihood describes their roots best; if they are squares of
/// Student's t with three degrees of freedom, whose squares have no variance, that of t does. Values of both signs are
/// judged by their squared distances from their median. Zeros have no tail, so only the other values are judged. The limit
/// was measured with noise of many kinds: where a mean is not declared heavy-tailed, intervals cover in at least 94 % of
/// runs with 100 labels or more.
pub(super) fn is_heavy_tailed(values: &[f64]) -> bool {
    let all = squares(values);
    let least = NEGLIGIBLE * mean(&all);
    if !least.is_finite() {
        return true;
    }
    let x: Vec<f64> = all.into_iter().filter(|value| least < *value).collect();
    if x.is_empty() {
        return false;
    }
    // A few values among zeros do not show how large others can be.
    if x.len() < LEAST_VALUES && 2 * x.len() < values.len() {
        return true;
    }
    let (count, mean, median) = (x.len() as f64, mean(&x), upper_median(&x));
    let scale = student_scale(&x, median);
    let student = count * (STUDENT_CONSTANT - 0.5 * scale.ln())
        - 2.0 * x.iter().map(|value| (value / (3.0 * scale)).ln_1p()).sum::<f64>();
    let normal = -0.5 * count * ((std::f64::consts::TAU * mean).ln() + 1.0);
    BASE + PER_VALUE * count < student - normal + PER_LOG_RATIO * (mean / median).ln()
}

/// Values below this fraction of the mean are rounding errors of 0.
const NEGLIGIBLE: f64 = 1e-9;
/// The least number of values other than 0 to judge, if most are 0.
const LEAST_VALUES: usize = 10;
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
    let median = upper_median(values);
    values.iter().map(|value| (value - median).powi(2)).collect()
}

/// Returns the likeliest squared scale of Student's t with three degrees of freedom, for its squared values.
fn student_scale(x: &[f64], start: f64) -> f64 {
    let step = |scale: f64| x.iter().map(|value| 4.0 * value / (3.0 + value / scale)).sum::<f64>() / x.len() as f64;
    (0..STEPS).fold(start, |scale, _| step(scale))
}

/// The least share of missing rows that counts, and its confidence.
const LEAST_MISSING: f64 = 0.05;
const MISSING_CONFIDENCE: f64 = 0.977;
/// The least number of draws that can show that rows are missing: fewer may all be of likely rows.
const LEAST_DRAWS: usize = 10;
/// If floors bound the weights by this number, missing rows would have been drawn.
const BOUNDED_WEIGHT: f64 = 20.0;

impl Levels<'_> {
    /// Returns the share of the pool that the draws do not represent. 1/((N−m+1)q) has expectation 1 for every draw: if its mean
    /// is far below, rows with small probabilities were not drawn, and their values are unknown.
    pub(super) fn missing_share(&self) -> f64 {
        let (draws, pool) = (self.draws, self.pool);
        let weight = |(before, draw): (usize, &DrawProbability)| 1.0 / ((pool - before) as f64 * draw.probability);
        let has_floor =
            |(before, draw): (usize, &DrawProbability)| 1.0 < BOUNDED_WEIGHT * (pool - before) as f64 * draw.floor;
        if draws.len() < LEAST_DRAWS || draws.len() == pool || draws.iter().enumerate().all(has_floor) {
            return 0.0;
        }
        let weights: Vec<f64> = draws.iter().enumerate().map(weight).collect();
        let (missing, count) = (1.0 - mean(&weights), weights.len() as f64);
        let error = student_quantile(MISSING_CONFIDENCE, count - 1.0) * deviation(&weights) / count.sqrt();
        if LEAST_MISSING < missing && error < missing { missing } else { 0.0 }
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
    fn heavy_tails_are_distinguished_from_normal_noise() {
        let count = |number: fn(&[f64; 12]) -> f64| {
            (0..100).filter(|seed| is_heavy_tailed(&squared(300, *seed, number))).count()
        };
        assert!(count(normal) <= 1 && 95 <= count(student_2), "{} {}", count(normal), count(student_2));
    }

    /// Two thirds of the values are 0, as the losses of a model that is often exactly right.
    #[test]
    fn zeros_are_no_tail() {
        let count = |number: fn(&[f64; 12]) -> f64| {
            let with_zeros = |seed: &u64| {
                let others = squared(300, *seed, number).into_iter();
                others.enumerate().map(|(at, value)| if at % 3 == 0 { value } else { 0.0 }).collect::<Vec<f64>>()
            };
            (0..100).filter(|seed| is_heavy_tailed(&with_zeros(seed))).count()
        };
        assert!(count(normal) <= 15 && 85 <= count(student_2), "{} {}", count(normal), count(student_2));
        let (mut ones, mut rounded) = ([0.0; 100], [1e-30; 100]);
        ones[..40].fill(1.0);
        rounded[..40].fill(1.0);
        assert!(!is_heavy_tailed(&ones) && !is_heavy_tailed(&rounded));
    }

    #[test]
    fn constant_values_have_no_tail() {
        assert!(!is_heavy_tailed(&[0.0; 50]) && !is_heavy_tailed(&[3.0; 50]) && !is_heavy_tailed(&[-3.0; 50]));
        let mut mostly_zero = [0.0; 50];
        mostly_zero[7] = 1e3;
        assert!(is_heavy_tailed(&mostly_zero));
    }
}
