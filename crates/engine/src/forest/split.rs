//! The gain of a random split.

use super::columns::MISSING;
use super::targets::NodeTargets;
use crate::simd::wide;
use crate::task::Labels;

/// The classes that a sum over classes adds at once.
const LANES: usize = 4;

/// A split of a node: rows with codes up to `cut` go left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    pub(super) feature: usize,
    pub(super) cut: u16,
    /// Whether missing values go left.
    pub(super) missing_left: bool,
    /// Σ‖sum of a side‖²/weight of the side: the larger, the purer.
    pub(super) gain: f64,
}

/// The rows of a node while its splits are compared.
#[derive(Debug)]
pub(super) struct SplitSearch {
    labels: Labels,
    pub(super) targets: NodeTargets,
    /// The codes of the current feature.
    codes: Vec<u16>,
    /// The weights of classes in the node, and on the left; padded to a multiple of the lanes.
    total: Vec<f64>,
    left: Vec<f64>,
    weight: f64,
    moment: f64,
    least_leaf: usize,
}

/// The rows on the left: their number, weight and moment.
#[derive(Clone, Copy, Debug)]
struct LeftSums {
    rows: usize,
    weight: f64,
    moment: f64,
}

impl SplitSearch {
    /// Makes an empty search.
    pub(super) fn new(labels: Labels, least_leaf: usize) -> Self {
        let padded = if let Labels::Classes(classes) = labels { classes.next_multiple_of(LANES) } else { 0 };
        let (total, left) = (vec![0.0; padded], vec![0.0; padded]);
        let (targets, codes) = (NodeTargets::default(), vec![]);
        Self { labels, targets, codes, total, left, weight: 0.0, moment: 0.0, least_leaf }
    }

    /// Sums the labels of the node, which were gathered before.
    pub(super) fn start(&mut self) {
        if let Labels::Classes(_) = self.labels {
            self.total.fill(0.0);
            for (class, weight) in self.targets.class.iter().zip(&self.targets.class_weight) {
                self.total[*class as usize] += weight;
            }
            self.weight = self.total.iter().sum();
        } else {
            self.weight = self.targets.weight.iter().sum::<i64>() as f64;
            self.moment = self.targets.moment.iter().sum::<i64>() as f64;
        }
    }

    /// Copies the codes of a feature in the node. Returns the smallest and largest one that is not missing, and the number of
    /// missing ones.
    pub(super) fn gather(&mut self, codes: &[u16], rows: &[u32], has_missing: bool) -> (u16, u16, usize) {
        self.codes.clear();
        self.codes.extend(rows.iter().map(|row| codes[*row as usize]));
        if has_missing {
            let present = || self.codes.iter().copied().filter(|code| *code != MISSING);
            let low = present().min().unwrap_or(MISSING);
            return (low, present().max().unwrap_or(0), self.codes.len() - present().count());
        }
        let codes = self.codes.as_slice();
        let (low, high) = wide(
            codes.len(),
            #[inline(always)]
            move || codes.iter().fold((MISSING, 0), |(low, high): (u16, u16), code| (low.min(*code), high.max(*code))),
        );
        (low, high, 0)
    }

    /// Returns the split of the gathered feature at this cut, with missing values on the better side; `None` if a side has
    /// too few rows.
    pub(super) fn at(&mut self, feature: usize, cut: u16, missing: usize) -> Option<Split> {
        let plain = self.gain(|code| code <= cut);
        if missing == 0 {
            // Rows to come may miss the value: they follow the heavier side.
            return plain.map(|(gain, weight)| Split { feature, cut, missing_left: self.weight <= 2.0 * weight, gain });
        }
        let other = self.gain(|code| code <= cut || code == MISSING);
        let split = |missing_left: bool| move |(gain, _): (f64, f64)| Split { feature, cut, missing_left, gain };
        match (plain.map(split(false)), other.map(split(true))) {
            (Some(right), Some(left)) => Some(if right.gain < left.gain { left } else { right }),
            (right, left) => right.or(left),
        }
    }

    /// Returns the gain if these codes go left, and the weight on the left.
    fn gain(&mut self, goes_left: impl Fn(u16) -> bool + Copy) -> Option<(f64, f64)> {
        let sums = if let Labels::Classes(_) = self.labels {
            self.class_sums(goes_left)
        } else {
            left_sums(&self.codes, &self.targets.weight, &self.targets.moment, goes_left)
        };
        let right = self.codes.len() - sums.rows;
        if sums.rows.min(right) < self.least_leaf {
            return None;
        }
        let rest = self.weight - sums.weight;
        let (mut on_left, mut on_right) = (sums.moment * sums.moment, (self.moment - sums.moment).powi(2));
        if let Labels::Classes(_) = self.labels {
            (on_left, on_right) = squares(&self.left, &self.total);
        }
        Some((on_left / sums.weight + on_right / rest, sums.weight))
    }

    /// Sums the weights of classes on the left.
    fn class_sums(&mut self, goes_left: impl Fn(u16) -> bool) -> LeftSums {
        self.left.fill(0.0);
        let (mut rows, mut sum) = (0, 0.0);
        for ((code, class), weight) in self.codes.iter().zip(&self.targets.class).zip(&self.targets.class_weight) {
            let is_left = goes_left(*code);
            let weight = if is_left { *weight } else { 0.0 };
            rows += usize::from(is_left);
            sum += weight;
            self.left[*class as usize] += weight;
        }
        LeftSums { rows, weight: sum, moment: 0.0 }
    }
}

/// Sums the weights and moments on the left.
fn left_sums(codes: &[u16], weights: &[i64], moments: &[i64], goes_left: impl Fn(u16) -> bool + Copy) -> LeftSums {
    let (rows, weight, moment) = wide(
        codes.len(),
        #[inline(always)]
        move || {
            let (mut rows, mut weight, mut moment) = (0_i64, 0_i64, 0_i64);
            for ((code, w), m) in codes.iter().zip(weights).zip(moments) {
                let mask = -i64::from(goes_left(*code));
                rows -= mask;
                weight += w & mask;
                moment += m & mask;
            }
            (rows, weight, moment)
        },
    );
    LeftSums { rows: rows as usize, weight: weight as f64, moment: moment as f64 }
}

/// Returns Σ left² and Σ (total − left)².
fn squares(left: &[f64], total: &[f64]) -> (f64, f64) {
    let (mut on_left, mut on_right) = ([0.0; LANES], [0.0; LANES]);
    for (left, total) in left.as_chunks::<LANES>().0.iter().zip(total.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            on_left[lane] += left[lane] * left[lane];
            on_right[lane] += (total[lane] - left[lane]) * (total[lane] - left[lane]);
        }
    }
    (on_left.iter().sum(), on_right.iter().sum())
}
