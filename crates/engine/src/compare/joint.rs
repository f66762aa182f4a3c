//! The joint test of all entrants against random sampling, and the number of seeds that it needs.

use super::summary::{Curve, SeedInterval, interval};
use crate::stats::{deviation, mean, student_quantile, student_two_sided};

/// A paired t-test of one entrant against random sampling, one of a family.
///
/// ```
/// use querist_engine::compare::JointTest;
///
/// let test = JointTest::of_gains(&[(1, vec![0.02, 0.03, 0.02, 0.04]), (2, vec![0.01, -0.02, 0.03, -0.01])]);
/// assert!(test.entrants[0].is_better() && !test.entrants[1].is_better());
/// assert!((test.entrants[0].adjusted_p - 2.0 * test.entrants[0].p).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EntrantTest {
    /// The index of the entrant.
    pub entrant: usize,
    /// The mean gain over random, with an interval. The intervals of all entrants together miss with probability 5 %.
    /// If only a later step of Holm's procedure is significant, the nearer end is 0.
    pub gain: SeedInterval,
    /// The two-sided p-value of this test alone.
    pub p: f64,
    /// The p-value, adjusted by Holm's procedure.
    pub adjusted_p: f64,
    /// The mean gain in standard deviations between seeds.
    effect: f64,
}

impl EntrantTest {
    /// Returns whether the entrant is significantly better than random, jointly with all others.
    pub fn is_better(&self) -> bool {
        self.is_significant() && 0.0 < self.gain.middle
    }

    /// Returns whether the entrant is significantly worse than random, jointly with all others.
    pub fn is_worse(&self) -> bool {
        self.is_significant() && self.gain.middle < 0.0
    }

    fn is_significant(&self) -> bool {
        self.adjusted_p <= JointTest::LEVEL
    }
}

/// The paired tests of all entrants against random sampling, adjusted by Holm's step-down procedure.
///
/// Holm's procedure keeps the probability of any false result at 5 % however the entrants' scores depend on each other,
/// which they do, because all share the splits and the runs of `random`.
///
/// ```
/// use querist_engine::compare::JointTest;
///
/// let test = JointTest::of_gains(&[(1, vec![0.01, 0.02, -0.01])]);
/// assert!(!test.entrants[0].is_better());
/// assert_eq!(test.more_seeds(), Some(41));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JointTest {
    /// The tests, in the order of the entrants.
    pub entrants: Vec<EntrantTest>,
    seeds: usize,
}

impl JointTest {
    /// The probability of any false result, over all entrants.
    pub const LEVEL: f64 = 0.05;
    /// The probability with which [`Self::more_seeds`] finds the difference that is estimated now.
    pub const POWER: f64 = 0.8;
    /// The largest number of further seeds that is worth naming.
    pub const MAX_MORE_SEEDS: u64 = 1000;

    /// Tests the areas of all curves against those of the curve at index `random`.
    pub fn new(curves: &[Curve], random: usize) -> Self {
        let others = (0..curves.len()).filter(|entrant| *entrant != random);
        let gains: Vec<_> = others.map(|entrant| (entrant, curves[entrant].gains(&curves[random]))).collect();
        Self::of_gains(&gains)
    }

    /// Tests the gains over random of each entrant, which are in the order of the seeds.
    pub fn of_gains(gains: &[(usize, Vec<f64>)]) -> Self {
        let seeds = gains.first().map_or(0, |(_, gains)| gains.len());
        let level = Self::LEVEL / gains.len() as f64;
        let mut entrants: Vec<EntrantTest> = gains
            .iter()
            .map(|(entrant, gains)| EntrantTest {
                entrant: *entrant,
                gain: interval(gains, level),
                p: p_value(gains),
                adjusted_p: 1.0,
                effect: mean(gains) / deviation(gains),
            })
            .collect();
        adjust(&mut entrants);
        for test in &mut entrants {
            if test.is_better() {
                test.gain.low = test.gain.low.max(0.0);
            } else if test.is_worse() {
                test.gain.high = test.gain.high.min(0.0);
            }
        }
        Self { entrants, seeds }
    }

    /// Returns the test of the significantly better entrant with the largest mean gain.
    pub fn best(&self) -> Option<&EntrantTest> {
        let better = self.entrants.iter().filter(|test| test.is_better());
        better.reduce(|best, next| if best.gain.middle < next.gain.middle { next } else { best })
    }

    /// Returns the test of the entrant with the largest mean gain, significant or not.
    pub fn leader(&self) -> Option<&EntrantTest> {
        let larger = |a: f64, b: f64| a < b || a.is_nan();
        self.entrants.iter().reduce(|best, next| if larger(best.gain.middle, next.gain.middle) { next } else { best })
    }

    /// Returns whether every entrant is significantly worse than random.
    pub fn all_are_worse(&self) -> bool {
        !self.entrants.is_empty() && self.entrants.iter().all(EntrantTest::is_worse)
    }

    /// Returns the number of further seeds after which an undecided comparison would be decided with probability
    /// [`Self::POWER`], if the differences and deviations are those estimated now. If an entrant is ahead of random, one
    /// such entrant has to become significantly better; otherwise all have to become significantly worse. Returns `None`
    /// above [`Self::MAX_MORE_SEEDS`].
    pub fn more_seeds(&self) -> Option<u64> {
        let open: Vec<f64> =
            self.entrants.iter().filter(|test| !test.is_significant()).map(|test| test.effect).collect();
        let step_level = |rejected: usize| Self::LEVEL / (open.len() - rejected) as f64;
        if open.iter().any(|effect| 0.0 < *effect) {
            return self.seeds_for(open.iter().copied().fold(f64::NAN, f64::max), step_level(0));
        }
        let mut open = open.clone();
        open.sort_by(f64::total_cmp);
        let needed = open.iter().enumerate().map(|(rejected, effect)| self.seeds_for(-effect, step_level(rejected)));
        needed.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    /// Returns the number of further seeds after which a t-test at this level finds an effect, given in standard
    /// deviations.
    fn seeds_for(&self, effect: f64, level: f64) -> Option<u64> {
        let is_found = |more: u64| {
            let seeds = self.seeds as f64 + more as f64;
            let quantile = |p: f64| student_quantile(p, seeds - 1.0);
            quantile(1.0 - 0.5 * level) + quantile(Self::POWER) <= effect * seeds.sqrt()
        };
        let (mut low, mut high) = (1, Self::MAX_MORE_SEEDS);
        if !is_found(high) {
            return None;
        }
        while low < high {
            let middle = u64::midpoint(low, high);
            (low, high) = if is_found(middle) { (low, middle) } else { (middle + 1, high) };
        }
        Some(low)
    }
}

/// Returns the two-sided p-value of a mean of 0. Gains that are all equal have no deviation; their p-value is that of a
/// sign test.
fn p_value(gains: &[f64]) -> f64 {
    const ROUNDING: f64 = 1e-12;
    let (n, center, deviation) = (gains.len() as f64, mean(gains), deviation(gains));
    let p = if center == 0.0 {
        1.0
    } else if deviation <= ROUNDING * center.abs() {
        0.5_f64.powf(n - 1.0)
    } else {
        student_two_sided(center / deviation * n.sqrt(), n - 1.0)
    };
    // An undefined score decides nothing.
    if p.is_nan() { 1.0 } else { p }
}

/// Sets the adjusted p-values of Holm's procedure: in ascending order of p, the running maximum of p times the number
/// of tests that remain.
fn adjust(tests: &mut [EntrantTest]) {
    let mut order: Vec<usize> = (0..tests.len()).collect();
    order.sort_by(|a, b| tests[*a].p.total_cmp(&tests[*b].p));
    let mut largest = 0.0_f64;
    for (rank, index) in order.iter().enumerate() {
        largest = largest.max(((order.len() - rank) as f64 * tests[*index].p).min(1.0));
        tests[*index].adjusted_p = largest;
    }
}

#[cfg(test)]
mod tests;
