//! Leveled weights, and the same estimator as a sum of conditionally unbiased terms.

use super::DrawProbability;

/// Returns v = 1 + (N−M)/(N−m)·(1/((N−m+1)q) − 1) for m = 1..M: mean 1, at least 0, all 1 once the whole pool is drawn.
pub fn leveled_weights(pool: usize, draws: &[DrawProbability]) -> Vec<f64> {
    let unseen = pool.saturating_sub(draws.len()) as f64;
    let weight = |(before, draw): (usize, &DrawProbability)| {
        let left = pool.saturating_sub(before) as f64;
        // At the last draw of the pool (N−M)/(N−m) is 0/0, and nothing is left to level.
        let share = if unseen == 0.0 { 0.0 } else { unseen / (left - 1.0) };
        1.0 + share * (1.0 / (left * draw.probability) - 1.0)
    };
    draws.iter().enumerate().map(weight).collect()
}

/// The estimator for one sequence of draws.
///
/// Before draw m the values of the drawn items are known, and value/q is unbiased for the sum over the rest.
/// So each a = (known + value/q)/N has the pool's mean as its conditional expectation. The leveled mean is Σ c·a with
/// c = N(N−M)/(M(N−m)(N−m+1)), which add up to 1. Its error is a martingale whose variance can be estimated directly.
pub(super) struct Levels<'a> {
    /// v of each draw.
    pub(super) weights: Vec<f64>,
    /// c of each draw.
    shares: Vec<f64>,
    pub(super) draws: &'a [DrawProbability],
    pub(super) pool: usize,
}

impl<'a> Levels<'a> {
    pub(super) fn new(pool: usize, draws: &'a [DrawProbability]) -> Self {
        let (n, m) = (pool as f64, draws.len() as f64);
        let share = |before: usize| {
            let left = n - before as f64;
            if m == n { f64::from(left == 1.0) } else { n * (n - m) / (m * (left - 1.0) * left) }
        };
        Self { weights: leveled_weights(pool, draws), shares: (0..draws.len()).map(share).collect(), draws, pool }
    }

    /// Returns (1/M) Σ v·value.
    pub(super) fn mean(&self, values: &[f64]) -> f64 {
        let total: f64 = self.weights.iter().zip(values).map(|(v, value)| v * value).sum();
        total / values.len() as f64
    }

    /// Returns c·(a − mean) of each draw: uncorrelated terms of mean 0 whose sum is the error.
    pub(super) fn errors(&self, values: &[f64], mean: f64) -> impl Iterator<Item = f64> {
        let readings = readings(self.pool, values, self.draws);
        self.shares.iter().zip(readings).map(move |(share, reading)| share * (reading - mean))
    }

    /// Returns the factor from the variance of a draw's value to that of the mean: (c/(Nq))², and 0 if no other item
    /// was left.
    pub(super) fn noise(&self) -> Vec<f64> {
        let n = self.pool as f64;
        let noise = |(share, draw): (&f64, &DrawProbability)| {
            let q = draw.probability;
            (share / (n * q)).powi(2) * (1.0 - q).max(0.0)
        };
        self.shares.iter().zip(self.draws).map(noise).collect()
    }

    /// Returns the factor from the variance of a draw's value/q to that of the mean: (c/N)².
    pub(super) fn reading_factors(&self) -> impl Iterator<Item = f64> {
        self.shares.iter().map(|share| (share / self.pool as f64).powi(2))
    }

    /// Returns the effective sample size of an average with these weights.
    pub(super) fn worth(&self, weights: &[f64]) -> Worth {
        let draws = self.weights.len() as f64;
        // Drawn items need no estimation.
        let left = 1.0 - draws / self.pool as f64;
        Worth { draws: effective(weights) / left, is_uneven: effective(&self.weights) < UNEVEN * draws }
    }
}

/// Weights are uneven if the effective sample size is below this fraction of the draws.
pub(super) const UNEVEN: f64 = 0.2;

/// The information in weighted draws.
pub(super) struct Worth {
    /// The equivalent number of equally weighted draws with replacement.
    pub(super) draws: f64,
    /// `true` if that is far below the number of draws.
    pub(super) is_uneven: bool,
}

/// Returns (known + value/q)/N of each draw.
pub(super) fn readings(pool: usize, values: &[f64], draws: &[DrawProbability]) -> Vec<f64> {
    let mut known = 0.0;
    let reading = |(draw, value): (&DrawProbability, &f64)| {
        let total = known + value / draw.probability;
        known += value;
        total / pool as f64
    };
    draws.iter().zip(values).map(reading).collect()
}

/// Returns the effective sample size (Σv)²/Σv²: as many equal weights carry the same information (Kish).
pub(super) fn effective(weights: &[f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    sum * sum / weights.iter().map(|v| v * v).sum::<f64>()
}
