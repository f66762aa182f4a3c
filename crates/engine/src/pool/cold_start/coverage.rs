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

use super::similarity::Similarity;
use crate::coin::Coin;
use crate::features::Features;
use crate::rows::Rows;

/// The number of rows whose Δ is computed.
const CANDIDATES: usize = 600;
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

/// The coverage of a pool by the rows that were drawn.
#[derive(Clone, Debug)]
pub(crate) struct Coverage {
    similarity: Similarity,
    /// The coverage of each candidate.
    covered: Vec<f64>,
    far: Vec<usize>,
    /// The squared distance of each row of `far` from the nearest drawn row; infinite before the first.
    distances: Vec<f64>,
}

impl Coverage {
    /// Creates the coverage of a pool of which nothing was drawn.
    pub(crate) fn new(rows: &Rows, seed: u64) -> Self {
        let similarity = Similarity::new(rows, sample(rows.len(), CANDIDATES, Coin::new(seed, "coverage")));
        let far = sample(rows.len(), FAR_CANDIDATES, Coin::new(seed, "far"));
        Self {
            covered: vec![0.0; similarity.candidates().len()],
            similarity,
            distances: vec![f64::INFINITY; far.len()],
            far,
        }
    }

    /// Records a row that was drawn or has a label.
    pub(crate) fn cover(&mut self, rows: &Rows, row: usize) {
        for (covered, similarity) in self.covered.iter_mut().zip(self.similarity.to_row(rows, row)) {
            *covered = covered.max(similarity);
        }
        let mut dense = vec![0.0; rows.dim()];
        rows.row(row).each(|feature, value| dense[feature] = value);
        let norm = rows.row(row).norm_squared();
        for (distance, other) in self.distances.iter_mut().zip(&self.far) {
            let other = rows.row(*other);
            *distance = distance.min((norm + other.norm_squared() - 2.0 * other.dot(&dense)).max(0.0));
        }
    }

    /// Draws a row at the random number `coin` in [0, 1); `None` if no row is left.
    pub(crate) fn draw(&self, goal: DrawGoal, remaining: &impl RemainingRows, coin: f64) -> Option<CoverageDraw> {
        if remaining.left() == 0 {
            return None;
        }
        let left = remaining.left() as f64;
        let (candidates, weights) = match goal {
            DrawGoal::Typical => (self.similarity.candidates(), self.gains(remaining)),
            DrawGoal::Far => (&self.far[..], self.far_weights(remaining)),
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

    /// Returns (Δ/max Δ)²⁴ of each candidate that is left, and 0 for others.
    fn gains(&self, remaining: &impl RemainingRows) -> Vec<f64> {
        let gain = |(index, row): (usize, &usize)| {
            if remaining.is_left(*row) { self.similarity.gain(index, &self.covered) } else { 0.0 }
        };
        sharpened(self.similarity.candidates().iter().enumerate().map(gain).collect(), GAIN_POWER)
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
mod tests {
    use super::*;
    use crate::pool::retired::Retired;
    use crate::rows::{DenseRows, Sparse, SparseRows};

    /// Returns rows in three groups, on a line, and one row far from all.
    fn groups() -> Rows {
        let coin = Coin::new(3, "groups");
        let mut values: Vec<f32> = (0..60).map(|row| (10 * (row % 3)) as f32 + coin.unit(row) as f32).collect();
        values.push(100.0);
        Rows::Dense(DenseRows::from_values(1, values).unwrap())
    }

    #[test]
    fn rows_are_drawn_in_proportion_to_u() {
        let rows = groups();
        let mut retired = Retired::new(rows.len());
        let mut coverage = Coverage::new(&rows, 1);
        for row in [4, 17] {
            coverage.cover(&rows, row);
            retired.retire(row);
        }
        for goal in [DrawGoal::Typical, DrawGoal::Far] {
            const COINS: usize = 100_000;
            let mut counts = vec![0.0; rows.len()];
            let mut us = vec![0.0; rows.len()];
            for coin in 0..COINS {
                let drawn = coverage.draw(goal, &retired, (coin as f64 + 0.5) / COINS as f64).unwrap();
                counts[drawn.row] += 1.0 / COINS as f64;
                us[drawn.row] = drawn.uncertainty / drawn.total;
                assert!(drawn.least() <= drawn.uncertainty && drawn.uncertainty <= 1.0);
                assert!((drawn.least() / drawn.total * 59.0 / FLOOR - 1.0).abs() < 1e-9);
            }
            // A row has at most two parts of the unit interval, so its count is off by at most two.
            for row in 0..rows.len() {
                assert!((counts[row] - us[row]).abs() <= 2.0 / COINS as f64, "{goal:?} {row}");
            }
            assert_eq!((counts[4], counts[17]), (0.0, 0.0), "retired");
            assert!((us.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn draws_cover_all_groups_and_then_rows_far_away() {
        let rows = groups();
        let mut retired = Retired::new(rows.len());
        let mut coverage = Coverage::new(&rows, 1);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..3 {
            let drawn = coverage.draw(DrawGoal::Typical, &retired, 0.7).unwrap();
            coverage.cover(&rows, drawn.row);
            retired.retire(drawn.row);
            seen.insert(drawn.row % 3);
        }
        assert_eq!(seen.len(), 3);
        assert_eq!(coverage.draw(DrawGoal::Far, &retired, 0.7).unwrap().row, 60);
    }

    #[test]
    fn the_order_of_covered_rows_does_not_matter() {
        let rows = groups();
        let retired = Retired::new(rows.len());
        let draws = [[5, 30, 41], [41, 5, 30]].map(|order| {
            let mut coverage = Coverage::new(&rows, 1);
            for row in order {
                coverage.cover(&rows, row);
            }
            [DrawGoal::Typical, DrawGoal::Far].map(|goal| coverage.draw(goal, &retired, 0.6))
        });
        assert_eq!(draws[0], draws[1]);
    }

    #[test]
    fn texts_of_one_topic_are_similar_without_a_common_word() {
        // Each text has two of the ten words of its topic.
        let mut texts = SparseRows::new(400);
        for text in 0..120_u32 {
            let first = 200 * (text % 2) + text / 2 % 10;
            let second = 200 * (text % 2) + (text / 2 % 10 + 1 + text / 20 % 8) % 10;
            let index = [first.min(second), first.max(second)];
            texts.push(Sparse { index: &index, value: &[0.7, 0.7] });
        }
        let rows = Rows::Sparse(texts);
        let mut retired = Retired::new(rows.len());
        let mut coverage = Coverage::new(&rows, 1);
        coverage.cover(&rows, 0);
        retired.retire(0);
        let drawn = coverage.draw(DrawGoal::Typical, &retired, 0.8).unwrap();
        assert_eq!(drawn.row % 2, 1, "the other topic");
    }

    #[test]
    fn equal_rows_and_a_single_row_are_drawn_uniformly() {
        for count in [1, 2, 700] {
            let rows = Rows::Dense(DenseRows::from_values(2, vec![0.0; 2 * count]).unwrap());
            let mut retired = Retired::new(count);
            let mut coverage = Coverage::new(&rows, 1);
            coverage.cover(&rows, 0);
            retired.retire(0);
            for goal in [DrawGoal::Typical, DrawGoal::Far] {
                let drawn = coverage.draw(goal, &retired, 0.4);
                assert_eq!(drawn.is_none(), count == 1);
                if let Some(drawn) = drawn {
                    assert!((drawn.total / drawn.uncertainty - (count - 1) as f64).abs() < 1e-9);
                }
            }
        }
    }
}
