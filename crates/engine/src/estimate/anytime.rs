//! Intervals for somebody who looks after every label: a mean is excluded when gamblers who bet against it grow rich.
//!
//! If the pool's mean is μ, then before draw m the mean ρ of what is left is known, and value/((N−m+1)q) has expectation
//! ρ. Whoever stakes a constant share c of their money on it multiplies it by 1 + c(value/((N−m+1)q)/ρ − 1), a fair
//! game that cannot go below 0. The money of many such gamblers together, starting from 1, ever reaches 1/α with probability
//! at most α (Ville). After Waudby-Smith and Ramdas (2024), for weighted draws without replacement.

use super::Draw;

/// Shares staked: 1, 1/3, 1/9, … Whatever share would have been best, one is near; the others cost a factor of their count.
const GAMBLERS: usize = 8;

/// Ends are found to a millionth, on the safe side.
const HALVINGS: usize = 20;

/// Means in [0, 1] that a run of draws does not exclude.
pub(super) struct Betting<'a> {
    pool: f64,
    draws: &'a [Draw],
    /// 1/α for one side.
    rich: f64,
    shares: Vec<f64>,
}

impl<'a> Betting<'a> {
    pub(super) fn new(pool: usize, draws: &'a [Draw], confidence: f64) -> Self {
        let shares = (0..GAMBLERS as i32).map(|k| 3.0_f64.powi(-k)).collect();
        Self { pool: pool as f64, draws, rich: 2.0 / (1.0 - confidence), shares }
    }

    /// The interval of means of values in [0, 1]. Wealth falls as the mean in question rises, so ends are found by halving.
    pub(super) fn mean(&self, values: &[f64], neutral: &[f64]) -> (f64, f64) {
        let mirrored: Vec<f64> = values.iter().map(|value| 1.0 - value).collect();
        let neutral_mirrored: Vec<f64> = neutral.iter().map(|value| 1.0 - value).collect();
        let end = |values: &[f64], neutral: &[f64]| {
            boundary(0.0, 1.0, |mean| self.is_too_low(values.iter().copied(), mean, neutral))
        };
        (end(values, neutral), 1.0 - end(&mirrored, &neutral_mirrored))
    }

    /// Whether at some time the draws had shown that the pool's mean of these values in [0, 1] is above `mean`.
    ///
    /// Each neutral value s has gamblers of its own, who bet on (value − s)/((N−m+1)q): where most values are s, uneven
    /// weights then make no noise. Above 0 that can be negative, and the floor of q says how much can be lost; 0 needs none.
    pub(super) fn is_too_low(&self, values: impl Iterator<Item = f64>, mean: f64, neutral: &[f64]) -> bool {
        let mut money = vec![1.0; neutral.len() * self.shares.len()];
        let rich = self.rich * money.len() as f64;
        let mut known = 0.0;
        for (before, (draw, value)) in self.draws.iter().zip(values).enumerate() {
            let left = self.pool - before as f64;
            let expected = (self.pool * mean - known) / left;
            known += value;
            if expected < 1e-12 {
                // The hypothesis says that nothing but zeros is left, or less than that.
                if expected < -1e-9 || value > 1e-9 {
                    return true;
                }
                continue;
            }
            let weight = 1.0 / (left * draw.probability);
            for (table, &s) in money.chunks_exact_mut(self.shares.len()).zip(neutral) {
                let most = if s == 0.0 { 0.0 } else { s * (1.0 / (left * draw.floor)).max(weight) };
                // The stake is all that can be lost; without a floor that has no end, and nobody bets.
                let gain = (weight * (value - s) - expected + s) / (most + expected - s);
                if most.is_finite() {
                    for (money, share) in table.iter_mut().zip(&self.shares) {
                        *money *= (1.0 + share * gain).max(0.0);
                    }
                }
            }
            if money.iter().sum::<f64>() >= rich {
                return true;
            }
        }
        false
    }
}

/// The last place, going from `outside` to `inside`, of which `is_excluded` holds; `outside` if it holds nowhere.
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
