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

/// Money of the gamblers of one table.
type Table = [f64; GAMBLERS];

/// Means in [0, 1] that a run of draws does not exclude.
pub(super) struct Betting {
    pool: f64,
    /// For each draw 1/((N−m+1)q), and the most it could have been.
    weights: Vec<(f64, f64)>,
    /// 1/α for one side.
    rich: f64,
    shares: Table,
}

impl Betting {
    pub(super) fn new(pool: usize, draws: &[Draw], confidence: f64) -> Self {
        let weight = |(before, draw): (usize, &Draw)| {
            let left = (pool - before) as f64;
            let weight = 1.0 / (left * draw.probability);
            (weight, (1.0 / (left * draw.floor)).max(weight))
        };
        Self {
            pool: pool as f64,
            weights: draws.iter().enumerate().map(weight).collect(),
            rich: 2.0 / (1.0 - confidence),
            shares: std::array::from_fn(|k| 3.0_f64.powf(-(k as f64))),
        }
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
        let mut tables: Vec<Table> = vec![[1.0; GAMBLERS]; neutral.len()];
        let rich = self.rich * (GAMBLERS * neutral.len()) as f64;
        let (mut known, mut left) = (0.0, self.pool);
        for (&(weight, most), value) in self.weights.iter().zip(values) {
            let expected = (self.pool * mean - known) / left;
            known += value;
            left -= 1.0;
            if expected < 1e-12 {
                // The hypothesis says that nothing but zeros is left, or less than that.
                if expected < -1e-9 || value > 1e-9 {
                    return true;
                }
                continue;
            }
            let mut money = 0.0;
            for (table, &s) in tables.iter_mut().zip(neutral) {
                // The stake is all that can be lost; without a floor that has no end, and nobody bets.
                let loss = if s == 0.0 { expected } else { s * most + expected - s };
                let gain = (weight * (value - s) - expected + s) / loss;
                let gain = if loss.is_finite() { gain.max(-1.0) } else { 0.0 };
                for (gambler, share) in table.iter_mut().zip(&self.shares) {
                    *gambler *= 1.0 + share * gain;
                }
                money += total(table);
            }
            if money >= rich {
                return true;
            }
        }
        self.pool * mean - known < -1e-9 * self.pool
    }
}

/// All money of a table; in this order it is added in wide registers.
fn total(table: &Table) -> f64 {
    let pairs: [f64; GAMBLERS / 2] = std::array::from_fn(|k| table[k] + table[k + GAMBLERS / 2]);
    let [a, b, c, d] = pairs;
    (a + c) + (b + d)
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
