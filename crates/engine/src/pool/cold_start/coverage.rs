//! Draws that cover the pool, with exact probabilities.
//!
//! The *coverage* of a row x′ is the largest similarity k(x′, z) to a row z that was drawn or has a label. Drawing x
//! raises the mean coverage by Δ(x) = mean over x′ of max(0, k(x, x′) − coverage(x′)). The row of the largest Δ is the
//! next one of kernel herding (Bae et al. 2024, `MaxHerding`). Here a row is drawn in proportion to (Δ/max Δ)⁸ + base: nearly
//! as good, and every row has a known probability. `base` spreads a tenth of the draws uniformly over all rows.
//!
//! If the first answers are all of one class, rows of another may be unlike the bulk of the pool. Then rows far from all
//! drawn ones are sought, in proportion to (distance²/largest)²⁰ + base.
//!
//! Δ is computed for a sample of the rows, which depends only on the seed. So a draw does not cost a pass over the pool.
//!
//! Groups of [`StartRows`] come first, if there are any: each group has the same total weight, and the rows of a group
//! are drawn in proportion to their weight and to (Δ/max Δ)⁸, where Δ is taken over the group.

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
const GAIN_POWER: i32 = 8;
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

    /// Returns (Δ/max Δ)⁸ of each candidate that is left, and 0 for others.
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
        let is_used = |group: &&CoveredGroup| phase.is_early || (group.lasts && phase.goal != DrawGoal::Far);
        let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
        for (row, share) in self.groups.iter().filter(is_used).flat_map(|group| group.shares(remaining)) {
            *weights.entry(row).or_default() += share;
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

    fn phase(goal: DrawGoal) -> ColdPhase {
        ColdPhase { goal, is_early: true }
    }

    #[test]
    fn rows_are_drawn_in_proportion_to_u() {
        let rows = groups();
        let mut retired = Retired::new(rows.len());
        let mut coverage = Coverage::new(&rows, 1, &StartRows::default());
        for row in [4, 17] {
            coverage.cover(&rows, row);
            retired.retire(row);
        }
        for goal in [DrawGoal::Typical, DrawGoal::Far] {
            const COINS: usize = 100_000;
            let mut counts = vec![0.0; rows.len()];
            let mut us = vec![0.0; rows.len()];
            for coin in 0..COINS {
                let drawn = coverage.draw(phase(goal), &retired, (coin as f64 + 0.5) / COINS as f64).unwrap();
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

    /// Returns a start group of these rows with a weight of 1 for the first, 2 for the second, and so on.
    fn start_group(rows: &[usize], lasts: bool) -> StartGroup {
        StartGroup { rows: rows.iter().zip(1..).map(|(row, weight)| (*row, f64::from(weight))).collect(), lasts }
    }

    #[test]
    fn rows_of_start_groups_are_drawn_in_proportion_to_u() {
        let rows = groups();
        let mut start = StartRows::default();
        start.add(start_group(&[0, 3, 4, 6, 7, 10], false));
        start.add(start_group(&[7, 60], true));
        let mut coverage = Coverage::new(&rows, 1, &start);
        let mut retired = Retired::new(rows.len());
        for row in [4, 17] {
            coverage.cover(&rows, row);
            retired.retire(row);
        }
        const COINS: usize = 100_000;
        let (mut counts, mut us) = (vec![0.0; rows.len()], vec![f64::NAN; rows.len()]);
        for coin in 0..COINS {
            let at = (coin as f64 + 0.5) / COINS as f64;
            let drawn = coverage.draw(phase(DrawGoal::Typical), &retired, at).unwrap();
            counts[drawn.row] += 1.0;
            let u = drawn.uncertainty / drawn.total;
            assert!(us[drawn.row].is_nan() || (us[drawn.row] - u).abs() < 1e-15, "U of a row is one number");
            us[drawn.row] = u;
            assert!(drawn.least() <= drawn.uncertainty && drawn.uncertainty <= 1.0);
            assert!((drawn.least() / drawn.total * 59.0 / FLOOR - 1.0).abs() < 1e-9);
        }
        // A row has at most four parts of the unit interval.
        for row in (0..rows.len()).filter(|row| ![4, 17].contains(row)) {
            assert!((counts[row] - us[row] * COINS as f64).abs() <= 4.0, "{row}");
        }
        let of_rows = |rows: &[usize]| rows.iter().map(|row| us[*row] - FLOOR / 59.0).sum::<f64>();
        let (first, both, second) = (of_rows(&[0, 3, 6, 10]), of_rows(&[7]), of_rows(&[60]));
        assert!((first + both + second - 0.9).abs() < 1e-9 && first < 0.45 && second < 0.45, "{first} {both} {second}");
        let elsewhere = us.iter().enumerate().filter(|(row, _)| ![0, 3, 4, 6, 7, 10, 17, 60].contains(row));
        assert!(
            elsewhere.clone().count() == 53 && elsewhere.into_iter().all(|(_, u)| (u - FLOOR / 59.0).abs() < 1e-12)
        );
    }

    #[test]
    fn start_groups_come_first_until_their_end() {
        let rows = groups();
        let mut start = StartRows::default();
        start.add(start_group(&[1, 4], false));
        start.add(start_group(&[60], true));
        let mut coverage = Coverage::new(&rows, 1, &start);
        let mut retired = Retired::new(rows.len());
        let is_first = |coverage: &Coverage, retired: &Retired, goal: DrawGoal, is_early: bool, row: usize| {
            let least = |at: f64| coverage.draw(ColdPhase { goal, is_early }, retired, at).unwrap();
            (0..100).map(|coin| least(f64::from(coin) / 100.0)).filter(|drawn| drawn.row == row).count() > 20
        };
        for goal in [DrawGoal::Typical, DrawGoal::Uniform] {
            assert!(is_first(&coverage, &retired, goal, true, 4) && is_first(&coverage, &retired, goal, true, 60));
            assert!(!is_first(&coverage, &retired, goal, false, 4), "not later");
            assert!(is_first(&coverage, &retired, goal, false, 60), "until the end");
        }
        coverage.cover(&rows, 60);
        retired.retire(60);
        for row in [1, 4] {
            assert!(is_first(&coverage, &retired, DrawGoal::Typical, true, 4) || row == 4);
            coverage.cover(&rows, row);
            retired.retire(row);
        }
        // No row of a group is left: draws are those of the usual cold start.
        let usual = {
            let mut usual = Coverage::new(&rows, 1, &StartRows::default());
            [60, 1, 4].into_iter().for_each(|row| usual.cover(&rows, row));
            usual
        };
        for goal in [DrawGoal::Typical, DrawGoal::Far, DrawGoal::Uniform] {
            for coin in [0.05, 0.3, 0.6, 0.9] {
                assert_eq!(coverage.draw(phase(goal), &retired, coin), usual.draw(phase(goal), &retired, coin));
            }
        }
    }

    #[test]
    fn copies_of_drawn_rows_still_come_first() {
        let rows = Rows::Dense(DenseRows::from_values(1, vec![0.0; 50]).unwrap());
        let mut start = StartRows::default();
        start.add(start_group(&[3, 9, 20], false));
        let mut coverage = Coverage::new(&rows, 1, &start);
        let mut retired = Retired::new(50);
        coverage.cover(&rows, 3);
        retired.retire(3);
        let drawn = coverage.draw(phase(DrawGoal::Typical), &retired, 0.9).unwrap();
        assert!([9, 20].contains(&drawn.row), "{drawn:?}");
    }

    #[test]
    fn all_rows_of_a_small_group_in_a_large_pool_can_be_drawn() {
        const ROWS: usize = 1_000_000;
        let coin = Coin::new(5, "large");
        let values = (0..ROWS as u64).map(|row| coin.unit(row) as f32).collect();
        let rows = Rows::Dense(DenseRows::from_values(1, values).unwrap());
        let few: Vec<usize> = (0..40).map(|row| 25_000 * row + 13).collect();
        let mut start = StartRows::default();
        start.add(start_group(&few, false));
        let coverage = Coverage::new(&rows, 1, &start);
        let retired = Retired::new(ROWS);
        let mut total = 0.0;
        for coin in 0..1000 {
            let drawn = coverage.draw(phase(DrawGoal::Typical), &retired, f64::from(coin) / 1000.0).unwrap();
            total += f64::from(u8::from(few.contains(&drawn.row)));
            assert!((drawn.least() / drawn.total * ROWS as f64 / FLOOR - 1.0).abs() < 1e-9);
        }
        assert!((total / 1000.0 - 0.9).abs() < 0.01, "{total}");
    }

    #[test]
    fn draws_cover_all_groups_and_then_rows_far_away() {
        let rows = groups();
        let mut retired = Retired::new(rows.len());
        let mut coverage = Coverage::new(&rows, 1, &StartRows::default());
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..3 {
            let drawn = coverage.draw(phase(DrawGoal::Typical), &retired, 0.7).unwrap();
            coverage.cover(&rows, drawn.row);
            retired.retire(drawn.row);
            seen.insert(drawn.row % 3);
        }
        assert_eq!(seen.len(), 3);
        assert_eq!(coverage.draw(phase(DrawGoal::Far), &retired, 0.7).unwrap().row, 60);
    }

    #[test]
    fn the_order_of_covered_rows_does_not_matter() {
        let rows = groups();
        let retired = Retired::new(rows.len());
        let draws = [[5, 30, 41], [41, 5, 30]].map(|order| {
            let mut coverage = Coverage::new(&rows, 1, &StartRows::default());
            for row in order {
                coverage.cover(&rows, row);
            }
            [DrawGoal::Typical, DrawGoal::Far].map(|goal| coverage.draw(phase(goal), &retired, 0.6))
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
        let mut coverage = Coverage::new(&rows, 1, &StartRows::default());
        coverage.cover(&rows, 0);
        retired.retire(0);
        let drawn = coverage.draw(phase(DrawGoal::Typical), &retired, 0.8).unwrap();
        assert_eq!(drawn.row % 2, 1, "the other topic");
    }

    #[test]
    fn equal_rows_and_a_single_row_are_drawn_uniformly() {
        for count in [1, 2, 700] {
            let rows = Rows::Dense(DenseRows::from_values(2, vec![0.0; 2 * count]).unwrap());
            let mut retired = Retired::new(count);
            let mut coverage = Coverage::new(&rows, 1, &StartRows::default());
            coverage.cover(&rows, 0);
            retired.retire(0);
            for goal in [DrawGoal::Typical, DrawGoal::Far] {
                let drawn = coverage.draw(phase(goal), &retired, 0.4);
                assert_eq!(drawn.is_none(), count == 1);
                if let Some(drawn) = drawn {
                    assert!((drawn.total / drawn.uncertainty - (count - 1) as f64).abs() < 1e-9);
                }
            }
        }
    }
}
