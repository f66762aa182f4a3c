//! Draws that cover the pool, with exact probabilities.
//!
//! The *coverage* of a row x′ is the largest similarity k(x′, z) to a row z that was drawn or has a label. Drawing x
//! raises the mean coverage by Δ(x) = mean over x′ of max(0, k(x, x′) − coverage(x′)). The row of the largest Δ is the
//! next one of kernel herding (Bae et al. 2024, `MaxHerding`). Here a row is drawn in proportion to (Δ/max Δ)²⁴ + base: nearly
//! as good, and every row has a known probability. `base` spreads a tenth of the draws uniformly over all rows.
//!
//! If the first answers are all of one class, rows of another may be unlike the bulk of the pool. Then rows far from all
//! drawn ones are sought, in proportion to (distance²/largest)²⁰ + base.
//!
//! Δ is computed for a sample of the rows, which depends only on the seed. So a draw does not cost a pass over the pool.
//!
//! Groups of [`StartRows`] come first, if there are any: each group has the same total weight, and the rows of a group
//! are drawn in proportion to their weight and to (Δ/max Δ)²⁴, where Δ is taken over the group.

use std::collections::BTreeMap;

use super::similarity::Similarity;
use super::start_rows::{StartGroup, StartRows};
use crate::coin::Coin;
use crate::features::Features;
use crate::rows::Rows;

/// The number of rows whose Δ is computed.
const CANDIDATES: usize = 600;
/// The least number of rows of a start group whose Δ is computed, if it has as many.
const LEAST_CANDIDATES: usize = 100;
/// The number of rows whose distance from the drawn ones is computed.
const FAR_CANDIDATES: usize = 4096;
/// The fraction of draws that are spread uniformly over all rows.
const FLOOR: f64 = 0.1;
/// The exponent of Δ.
const GAIN_POWER: i32 = 24;
/// The exponent of the squared distance.
const FAR_POWER: i32 = 20;

/// What a draw looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrawGoal {
    /// Rows that are typical of what is not covered yet.
    Typical,
    /// Rows far from all that were drawn.
    Far,
    /// Any row.
    Uniform,
}

/// The phase of a cold start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColdPhase {
    /// What a draw looks for when no start group has a row left.
    pub(crate) goal: DrawGoal,
    /// `true` until half of the least number of labels is reached.
    pub(crate) is_early: bool,
}

/// A draw that covers the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CoverageDraw {
    /// The index of the row.
    pub(crate) row: usize,
    /// U of the row.
    pub(crate) uncertainty: f64,
    /// ΣU over the rows that were left.
    pub(crate) total: f64,
    /// The constant in U = (weight + base)/(1 + base).
    pub(crate) base: f64,
}

impl CoverageDraw {
    /// Returns U of rows with weight 0, the least of all.
    pub(crate) fn least(&self) -> f64 {
        self.base / (1.0 + self.base)
    }
}

/// The rows that can be drawn.
pub(crate) trait RemainingRows {
    /// Returns the number of rows that are left.
    fn left(&self) -> usize;
    /// Returns whether a row is left.
    fn is_left(&self, row: usize) -> bool;
    /// Returns the n-th row that is left, counted from 0.
    fn nth_left(&self, n: usize) -> Option<usize>;
}

/// A sample of rows, and how well the drawn rows cover it.
#[derive(Clone, Debug)]
struct CoveredRows {
    similarity: Similarity,
    /// The coverage of each candidate.
    covered: Vec<f64>,
}

impl CoveredRows {
    fn new(rows: &Rows, candidates: Vec<usize>) -> Self {
        Self { covered: vec![0.0; candidates.len()], similarity: Similarity::new(rows, candidates) }
    }

    fn cover(&mut self, rows: &Rows, row: usize) {
        for (covered, similarity) in self.covered.iter_mut().zip(self.similarity.to_row(rows, row)) {
            *covered = covered.max(similarity);
        }
    }

    /// Returns (Δ/max Δ)²⁴ of each candidate that is left, and 0 for others.
    fn gains(&self, remaining: &impl RemainingRows) -> Vec<f64> {
        let gain = |(index, row): (usize, &usize)| {
            if remaining.is_left(*row) { self.similarity.gain(index, &self.covered) } else { 0.0 }
        };
        sharpened(self.similarity.candidates().iter().enumerate().map(gain).collect(), GAIN_POWER)
    }
}

/// The coverage of a start group.
#[derive(Clone, Debug)]
struct CoveredGroup {
    rows: CoveredRows,
    /// The weight of each candidate.
    weights: Vec<f64>,
    lasts: bool,
}

impl CoveredGroup {
    fn new(rows: &Rows, group: &StartGroup, size: usize, coin: Coin) -> Self {
        let chosen: Vec<(usize, f64)> =
            sample(group.rows.len(), size, coin).into_iter().map(|index| group.rows[index]).collect();
        let (candidates, weights) = chosen.into_iter().unzip();
        Self { rows: CoveredRows::new(rows, candidates), weights, lasts: group.lasts }
    }

    /// Returns the rows that are left with their weights, which add up to 1; none if no row is left.
    fn shares(&self, remaining: &impl RemainingRows) -> Vec<(usize, f64)> {
        let candidates = self.rows.similarity.candidates();
        let mut shares: Vec<f64> = self.rows.gains(remaining).iter().zip(&self.weights).map(|(g, w)| g * w).collect();
        if shares.iter().sum::<f64>() <= 0.0 {
            // Every row of the group is a copy of a drawn one.
            let weight = |(row, weight): (&usize, &f64)| if remaining.is_left(*row) { *weight } else { 0.0 };
            shares = candidates.iter().zip(&self.weights).map(weight).collect();
        }
        let sum: f64 = shares.iter().sum();
        candidates
            .iter()
            .zip(shares)
            .filter(|(_, share)| 0.0 < *share)
            .map(|(row, share)| (*row, share / sum))
            .collect()
    }
}

/// The coverage of a pool by the rows that were drawn.
#[derive(Clone, Debug)]
pub(crate) struct Coverage {
    pool: CoveredRows,
    groups: Vec<CoveredGroup>,
    far: Vec<usize>,
    /// The squared distance of each row of `far` from the nearest drawn row; infinite before the first.
    distances: Vec<f64>,
}

impl Coverage {
    /// Creates the coverage of a pool of which nothing was drawn.
    pub(crate) fn new(rows: &Rows, seed: u64, start: &StartRows) -> Self {
        let far = sample(rows.len(), FAR_CANDIDATES, Coin::new(seed, "far"));
        let groups = start.groups();
        let size = (CANDIDATES / groups.len().max(1)).max(LEAST_CANDIDATES);
        let covered = |(index, group): (usize, &StartGroup)| {
            CoveredGroup::new(rows, group, size, Coin::new(seed, &format!("start {index}")))
        };
        Self {
            pool: CoveredRows::new(rows, sample(rows.len(), CANDIDATES, Coin::new(seed, "coverage"))),
            groups: groups.iter().enumerate().map(covered).collect(),
            distances: vec![f64::INFINITY; far.len()],
            far,
        }
    }

    /// Records a row that was drawn or has a label.
    pub(crate) fn cover(&mut self, rows: &Rows, row: usize) {
        self.pool.cover(rows, row);
        self.groups.iter_mut().for_each(|group| group.rows.cover(rows, row));
        let mut dense = vec![0.0; rows.dim()];
        rows.row(row).each(|feature, value| dense[feature] = value);
        let norm = rows.row(row).norm_squared();
        for (distance, other) in self.distances.iter_mut().zip(&self.far) {
            let other = rows.row(*other);
            *distance = distance.min((norm + other.norm_squared() - 2.0 * other.dot(&dense)).max(0.0));
        }
    }

    /// Draws a row at the random number `coin` in [0, 1); `None` if no row is left.
    pub(crate) fn draw(&self, phase: ColdPhase, remaining: &impl RemainingRows, coin: f64) -> Option<CoverageDraw> {
        if remaining.left() == 0 {
            return None;
        }
        let left = remaining.left() as f64;
        let (first, first_weights) = self.start_weights(phase, remaining);
        let (candidates, weights) = match phase.goal {
            _ if !first.is_empty() => (&first[..], first_weights),
            DrawGoal::Typical => (self.pool.similarity.candidates(), self.pool.gains(remaining)),
            DrawGoal::Far => (&self.far[..], self.far_weights(remaining)),
            DrawGoal::Uniform => (&[][..], vec![]),
        };
        let sum: f64 = weights.iter().sum();
        let base = if 0.0 < sum { FLOOR / (1.0 - FLOOR) * sum / left } else { 1.0 };
        let total = sum + base * left;
        let at = coin * total;
        let (row, weight) = if at < base * left {
            let row = remaining.nth_left(((at / base) as usize).min(remaining.left() - 1))?;
            (row, candidates.iter().position(|candidate| *candidate == row).map_or(0.0, |index| weights[index]))
        } else {
            let (index, _) = super::super::scan::index_at(&weights, at - base * left);
            (candidates[index], weights[index])
        };
        let scale = 1.0 + base;
        Some(CoverageDraw { row, uncertainty: (weight + base) / scale, total: total / scale, base })
    }

    /// Returns the rows of the start groups that are left, each once, with weights of which the largest is 1.
    fn start_weights(&self, phase: ColdPhase, remaining: &impl RemainingRows) -> (Vec<usize>, Vec<f64>) {
        let is_used = |group: &&CoveredGroup| phase.is_early || group.lasts;
        let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
        for (row, share) in self.groups.iter().filter(is_used).flat_map(|group| group.shares(remaining)) {
            *weights.entry(row).or_default() += share;
        }
        if phase.goal == DrawGoal::Far && !weights.is_empty() {
            // Predictions that found no other class so far may be wrong, so rows far away are one more group.
            let far = self.far_weights(remaining);
            let sum: f64 = far.iter().sum();
            for (row, weight) in self.far.iter().zip(far).filter(|(_, weight)| 0.0 < *weight) {
                *weights.entry(*row).or_default() += weight / sum;
            }
        }
        let (rows, weights) = weights.into_iter().unzip();
        (rows, sharpened(weights, 1))
    }

    fn far_weights(&self, remaining: &impl RemainingRows) -> Vec<f64> {
        let distance = |(row, distance): (&usize, &f64)| {
            if remaining.is_left(*row) && distance.is_finite() { *distance } else { 0.0 }
        };
        sharpened(self.far.iter().zip(&self.distances).map(distance).collect(), FAR_POWER)
    }
}

/// Divides values by the largest and raises them to a power.
fn sharpened(mut values: Vec<f64>, power: i32) -> Vec<f64> {
    let largest = values.iter().copied().fold(0.0, f64::max);
    if 0.0 < largest {
        for value in &mut values {
            *value = (*value / largest).powi(power);
        }
    }
    values
}

/// Returns all of a few rows, otherwise a random sample without repetition, in ascending order.
fn sample(rows: usize, size: usize, coin: Coin) -> Vec<usize> {
    if rows <= size {
        return (0..rows).collect();
    }
    let mut chosen = std::collections::BTreeSet::new();
    let mut at = 0;
    while chosen.len() < size {
        chosen.insert(coin.below(at, rows));
        at += 1;
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests;
