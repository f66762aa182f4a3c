//! The labels of answers as sums that trees add up.
//!
//! Weights and targets are whole multiples of fixed units, so sums are exact in every order.

use crate::task::Labels;

/// The units of weights and of targets per 1, after scaling.
const WEIGHT_UNITS: f64 = 1048576.0;
const TARGET_UNITS: f64 = 1073741824.0;

/// The answers that are added to each class before shares are computed. With fewer, the classes that happen to be frequent
/// among a few answers are predicted too often.
const SHARE_PRIOR: f64 = 5.0;

/// The labels and weights of answers.
#[derive(Debug)]
pub(super) struct Targets {
    pub(super) labels: Labels,
    /// The scaled target in regression: the label is center + scale·target.
    pub(super) center: f64,
    pub(super) scale: f64,
    /// Weights, of mean 1, in units.
    weight: Vec<i64>,
    /// Weights times targets, in units. The target is 1 for the positive class, and unused for more than two classes.
    moment: Vec<i64>,
    /// The classes.
    class: Vec<u32>,
    /// The targets in regression.
    target: Vec<f64>,
}

/// The labels of the rows in one node, contiguous for loops.
#[derive(Debug, Default)]
pub(super) struct NodeTargets {
    pub(super) weight: Vec<i64>,
    pub(super) moment: Vec<i64>,
    pub(super) class: Vec<u32>,
    pub(super) class_weight: Vec<f64>,
}

impl Targets {
    /// Scales labels and weights.
    pub(super) fn new(labels: Labels, answers: &[f64], weights: &[f64]) -> Self {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let total: f64 = weights.iter().zip(answers).map(|(weight, label)| weight / mean * label).sum();
        let center = if labels == Labels::Numbers { total / weights.len() as f64 } else { 0.0 };
        let largest = answers.iter().map(|label| (label - center).abs()).fold(0.0, f64::max);
        let scale = if labels == Labels::Numbers && 0.0 < largest { largest } else { 1.0 };
        // A weight above 0 is at least one unit.
        let weight: Vec<i64> =
            weights.iter().map(|weight| ((weight / mean * WEIGHT_UNITS).round() as i64).max(1)).collect();
        let class = answers.iter().map(|label| class_of(labels, *label)).collect();
        let target: Vec<f64> = answers.iter().map(|label| (label - center) / scale).collect();
        let moment = (0..answers.len())
            .map(|row| match labels {
                Labels::Binary => weight[row] * i64::from(0.0 < answers[row]),
                Labels::Classes(_) => 0,
                Labels::Numbers => (weight[row] as f64 / WEIGHT_UNITS * target[row] * TARGET_UNITS).round() as i64,
            })
            .collect();
        Self { labels, center, scale, weight, moment, class, target }
    }

    /// Returns the number of sums in a node beside its weight: one for two classes, K for K classes, and the first two
    /// moments in regression.
    pub(super) fn width(&self) -> usize {
        width(self.labels)
    }

    /// Returns the class of a row.
    pub(super) fn class(&self, row: usize) -> usize {
        self.class[row] as usize
    }

    /// Returns the scaled target of a row.
    pub(super) fn target(&self, row: usize) -> f64 {
        self.target[row]
    }

    /// Returns the weight of a row.
    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weight[row] as f64 / WEIGHT_UNITS
    }

    /// Adds a row to the sums of a node and returns its weight.
    pub(super) fn add_to(&self, row: usize, sums: &mut [f64]) -> f64 {
        let weight = self.weight(row);
        match self.labels {
            Labels::Binary => sums[0] += self.moment[row] as f64 / WEIGHT_UNITS,
            Labels::Classes(_) => sums[self.class(row)] += weight,
            Labels::Numbers => {
                sums[0] += weight * self.target[row];
                sums[1] += weight * self.target[row] * self.target[row];
            }
        }
        weight
    }

    /// Returns the log of the share of each class, closer to equal shares if answers are few. Empty in regression.
    pub(super) fn log_shares(&self) -> Vec<f64> {
        let classes = self.labels.classes();
        let mut shares = vec![SHARE_PRIOR; classes];
        if 0 < classes {
            (0..self.class.len()).for_each(|row| shares[self.class(row)] += self.weight(row));
        }
        let total: f64 = shares.iter().sum();
        shares.iter().map(|share| (share / total).ln()).collect()
    }

    /// Copies the labels of some rows. Returns whether all labels are equal.
    pub(super) fn gather(&self, rows: &[u32], into: &mut NodeTargets) -> bool {
        let rows = || rows.iter().map(|row| *row as usize);
        let Some(first) = rows().next() else { return true };
        if let Labels::Classes(_) = self.labels {
            into.class.clear();
            into.class.extend(rows().map(|row| self.class[row]));
            into.class_weight.clear();
            into.class_weight.extend(rows().map(|row| self.weight[row] as f64));
            return into.class.iter().all(|class| *class == self.class[first]);
        }
        into.weight.clear();
        into.weight.extend(rows().map(|row| self.weight[row]));
        into.moment.clear();
        into.moment.extend(rows().map(|row| self.moment[row]));
        rows().all(|row| self.target[row] == self.target[first])
    }
}

/// Returns the number of sums in a node beside its weight.
pub(super) fn width(labels: Labels) -> usize {
    match labels {
        Labels::Binary => 1,
        Labels::Classes(classes) => classes,
        Labels::Numbers => 2,
    }
}

fn class_of(labels: Labels, label: f64) -> u32 {
    if labels == Labels::Numbers { 0 } else { labels.class(label) as u32 }
}
