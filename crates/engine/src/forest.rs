//! Forests of extremely randomized trees, for pools whose model is fitted again after nearly every answer.
//!
//! A fit is a function of the answers, their weights and the seed. Trees grow side by side and are added in their order, so
//! the number of threads changes no bit. Splits compare ranks: an increasing transformation of a feature changes nothing
//! but the thresholds between its values.
//!
//! A node's value is shrunk toward that of its parent. Averages of many trees are too cautious where classes are easy and too
//! bold where they are not. So every tree leaves out a tenth of the answers, and the predictions for these choose how sharp
//! the probabilities of the forest are around the shares of the classes. Afterwards, these answers are added to the leaves.

use std::fmt::{self, Display};
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::coin::Coin;
use crate::rows::{Row, Rows};
use crate::task::Labels;

mod columns;
mod flat;
mod grow;
mod held_out;
mod saved;
mod split;
mod targets;

pub use saved::SavedForest;

use columns::Columns;
use flat::FlatTrees;
use grow::{Grower, GrownTree, LEAF};
use held_out::{Calibration, Folds, HeldOut};
use targets::Targets;

/// The weight of a parent's value in that of a node, in answers.
const SHRINKAGE: f64 = 0.2;
/// The weight of equal probabilities in the root of a tree, in answers.
const ROOT_PRIOR: f64 = 0.5;
/// The weight of equal probabilities in those of the forest, in answers.
const FOREST_PRIOR: f64 = 0.5;
/// The number of features of a block of rows.
const BLOCK: usize = 4096;
/// The largest number of features of sparse rows.
const MOST_SPARSE: usize = 4096;

/// The settings of a forest.
///
/// ```
/// use querist_engine::forest::ForestSettings;
///
/// let settings = ForestSettings { trees: 50, ..ForestSettings::default() };
/// assert_eq!((settings.least_leaf, settings.features_per_split), (1, None));
/// ```
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct ForestSettings {
    /// The number of trees.
    pub trees: usize,
    /// The least number of answers in a leaf. More than one lowered the accuracy on most sets.
    pub least_leaf: usize,
    /// The number of features that are compared at a split, not counting those that are constant in the node. `None`: 2√d
    /// of d features, and d/3 in regression if that is more.
    pub features_per_split: Option<usize>,
}

impl Default for ForestSettings {
    fn default() -> Self {
        Self { trees: 200, least_leaf: 1, features_per_split: None }
    }
}

impl ForestSettings {
    fn per_split(&self, labels: Labels, features: usize) -> usize {
        let root = (2.0 * (features as f64).sqrt()).round() as usize;
        let default = if labels == Labels::Numbers { root.max(features / 3) } else { root };
        self.features_per_split.unwrap_or(default).max(1)
    }
}

/// The reason why there is no forest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ForestError {
    /// No answer has a weight above 0.
    NoAnswers,
    /// The settings ask for no trees.
    NoTrees,
    /// The numbers of rows, labels and weights differ.
    Lengths {
        /// The number of rows.
        rows: usize,
        /// The number of labels.
        labels: usize,
        /// The number of weights.
        weights: usize,
    },
    /// A label is not one of the labels.
    Label {
        /// The index of the answer.
        answer: usize,
        /// The label.
        label: f64,
        /// The kind of labels.
        labels: Labels,
    },
    /// A weight is negative, infinite or NaN.
    Weight {
        /// The index of the answer.
        answer: usize,
        /// The weight.
        weight: f64,
    },
    /// Rows are sparse and have too many features.
    Sparse {
        /// The number of features.
        features: usize,
    },
    /// A saved forest is inconsistent.
    Saved {
        /// The problem.
        problem: &'static str,
    },
}

impl Display for ForestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswers => write!(f, "a forest needs an answer with a weight above 0"),
            Self::NoTrees => write!(f, "a forest needs at least one tree"),
            Self::Lengths { rows, labels, weights } => {
                write!(f, "{rows} rows have {labels} labels and {weights} weights; the numbers must be equal")
            }
            Self::Label { answer, label, labels } => write!(f, "label {label} of answer {answer} is not {labels}"),
            Self::Weight { answer, weight } => {
                write!(f, "weight {weight} of answer {answer} is not a finite number of at least 0")
            }
            Self::Sparse { features } => {
                write!(
                    f,
                    "sparse rows with {features} features are too wide for a forest, which takes {MOST_SPARSE}; use a linear model"
                )
            }
            Self::Saved { problem } => write!(f, "the saved forest is damaged: {problem}"),
        }
    }
}

impl std::error::Error for ForestError {}

/// A fitted forest.
///
/// ```
/// use querist_engine::forest::{Forest, ForestSettings};
/// use querist_engine::task::Labels;
/// use querist_rows::{DenseRows, Row, Rows};
///
/// let rows = Rows::Dense(DenseRows::from_values(1, (0..40).map(|i| i as f32).collect()).expect("whole rows"));
/// let labels: Vec<f64> = (0..40).map(|i| if i < 25 { -1.0 } else { 1.0 }).collect();
/// let forest = Forest::fit(&rows, &labels, &[1.0; 40], Labels::Binary, &ForestSettings::default(), 1)?;
/// let mut score = [0.0];
/// forest.scores(Row::Dense(&[3.0]), &mut score);
/// assert!(score[0] < -2.0);
/// forest.scores(Row::Dense(&[f32::NAN]), &mut score);
/// assert!(score[0].is_finite());
/// # Ok::<(), querist_engine::forest::ForestError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    labels: Labels,
    features: usize,
    trees: FlatTrees,
    /// The number of answers, which bounds how sure the forest can be.
    answers: f64,
    calibration: Calibration,
    /// The log of the share of each class among the answers, around which probabilities are sharpened; empty in regression.
    base: Vec<f64>,
    /// In regression, the label is center + scale·prediction.
    center: f64,
    scale: f64,
}

/// A grown tree, its values, and those at the leaves of its held-out answers.
struct FinishedTree {
    tree: GrownTree,
    values: Vec<f64>,
    held: Vec<(u32, Vec<f32>)>,
}

impl Forest {
    /// Fits a forest. Answers with weight 0 are skipped; the others' weights are scaled to a mean of 1.
    ///
    /// # Errors
    /// If there are no answers or no trees, if labels or weights are invalid, or if rows are sparse and wide.
    pub fn fit(
        rows: &Rows,
        labels: &[f64],
        weights: &[f64],
        kind: Labels,
        settings: &ForestSettings,
        seed: u64,
    ) -> Result<Self, ForestError> {
        check(rows, labels, weights, kind, settings)?;
        let used: Vec<usize> = (0..rows.len()).filter(|row| 0.0 < weights[*row]).collect();
        if used.is_empty() {
            return Err(ForestError::NoAnswers);
        }
        let pick = |from: &[f64]| -> Vec<f64> { used.iter().map(|row| from[*row]).collect() };
        let targets = Targets::new(kind, &pick(labels), &pick(weights));
        let columns = Columns::new(rows, &used);
        let folds = Folds::new(&targets, used.len(), settings.trees, seed);
        let finished = grow_all(&columns, &targets, &folds, settings, seed);
        let mut forest = Self {
            labels: kind,
            features: rows.dim(),
            trees: FlatTrees::new(targets.width()),
            answers: used.len() as f64,
            calibration: Calibration { sharpness: 1.0, spread: 1.0 },
            base: targets.log_shares(),
            center: targets.center,
            scale: targets.scale,
        };
        let mut held_out = HeldOut::new(used.len(), targets.width(), settings.trees);
        for (at, FinishedTree { tree, values, held }) in finished.iter().enumerate() {
            forest.trees.push(tree, &columns, values);
            for (row, values) in held {
                held_out.add(at, *row as usize, values);
            }
        }
        if folds.are_held_out() {
            forest.calibration = held_out.calibrate(&targets, &forest.base, |mean, out| forest.floored(mean, out));
        }
        Ok(forest)
    }

    /// Returns the numbers that determine the scores.
    pub fn numbers(&self) -> Vec<f64> {
        let Calibration { sharpness, spread } = self.calibration;
        let mut numbers = vec![self.answers, sharpness, spread, self.center, self.scale];
        numbers.extend_from_slice(&self.base);
        for node in &self.trees.nodes {
            numbers.extend([f64::from(node.threshold), f64::from(node.feature), f64::from(node.left)]);
        }
        numbers.extend(self.trees.values.iter().map(|value| f64::from(*value)));
        numbers
    }

    /// Returns the kind of labels.
    pub fn labels(&self) -> Labels {
        self.labels
    }

    /// Returns the number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Returns the number of trees.
    pub fn trees(&self) -> usize {
        self.trees.roots.len()
    }

    /// Returns the number of scores: 1 for two classes and in regression, K for K classes.
    pub fn outputs(&self) -> usize {
        if let Labels::Classes(classes) = self.labels { classes } else { 1 }
    }

    /// Computes the scores of a row, as tasks use them: the log-odds of the positive class, ln p of each of K classes, or the
    /// mean in regression. They are finite.
    ///
    /// # Panics
    /// If the numbers of features or scores are wrong.
    pub fn scores(&self, x: Row<'_>, out: &mut [f64]) {
        let mut sums = vec![0.0; self.trees.width];
        let mut dense = vec![];
        self.trees.each(self.dense(x, &mut dense), |values| {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += f64::from(*value));
        });
        self.finish(&sums, out);
    }

    /// Computes the scores of these rows, [`Self::outputs`] numbers each, bit-identical to [`Self::scores`].
    ///
    /// # Panics
    /// If the range exceeds the rows, or if the numbers of features or scores are wrong.
    pub fn scores_of_rows(&self, rows: &Rows, range: Range<usize>, out: &mut [f64]) {
        assert_eq!(rows.dim(), self.features, "a row has as many features as those of the fit");
        assert_eq!(out.len(), range.len() * self.outputs(), "as many scores as the rows have");
        match rows {
            Rows::Dense(rows) => {
                self.scores_of_dense(&rows.values()[range.start * self.features..range.end * self.features], out);
            }
            Rows::Sparse(_) => {
                for (row, out) in range.zip(out.chunks_exact_mut(self.outputs())) {
                    self.scores(rows.row(row), out);
                }
            }
        }
    }

    /// Computes the scores of rows that are stored contiguously, bit-identical to [`Self::scores`].
    ///
    /// # Panics
    /// If the numbers of features or scores are wrong.
    pub fn scores_of_dense(&self, values: &[f32], out: &mut [f64]) {
        let (outputs, width) = (self.outputs(), self.trees.width);
        assert_eq!(values.len() * outputs, out.len() * self.features, "as many features and scores as rows have");
        let block = (BLOCK / self.features.max(1)).clamp(8, 512);
        let mut sums = vec![0.0; block * width];
        let blocks = out.chunks_mut(block * outputs).enumerate();
        for (at, out) in blocks {
            let (start, rows) = (at * block * self.features, out.len() / outputs);
            let sums = &mut sums[..rows * width];
            sums.fill(0.0);
            self.trees.add_to(&values[start..start + rows * self.features], self.features, sums);
            for (sums, out) in sums.chunks_exact(width).zip(out.chunks_exact_mut(outputs)) {
                self.finish(sums, out);
            }
        }
    }

    /// Returns the standard deviation of the label of a row in regression: that of the trees' means and that within leaves,
    /// scaled so that it matches the errors on held-out answers. Returns `None` for classes.
    ///
    /// # Panics
    /// If the number of features is wrong.
    pub fn spread(&self, x: Row<'_>) -> Option<f64> {
        if self.labels != Labels::Numbers {
            return None;
        }
        let (mut sum, mut squares, mut dense) = (0.0, 0.0, vec![]);
        self.trees.each(self.dense(x, &mut dense), |values| {
            sum += f64::from(values[0]);
            squares += f64::from(values[1]);
        });
        let trees = self.trees() as f64;
        let variance = squares / trees - (sum / trees) * (sum / trees);
        Some(self.calibration.spread * self.scale * variance.max(0.0).sqrt())
    }

    /// Returns the features of a row, copied if it is sparse.
    fn dense<'a>(&self, x: Row<'a>, copied: &'a mut Vec<f32>) -> &'a [f32] {
        let values = match x {
            Row::Dense(values) => values,
            Row::Sparse(_) => {
                copied.resize(self.features, 0.0);
                write_dense(x, copied);
                copied
            }
        };
        assert_eq!(values.len(), self.features, "a row has as many features as those of the fit");
        values
    }

    /// Turns the sums over trees into scores.
    fn finish(&self, sums: &[f64], out: &mut [f64]) {
        assert_eq!(out.len(), self.outputs(), "a place for every score");
        let (trees, sharpness) = (self.trees() as f64, self.calibration.sharpness);
        match self.labels {
            Labels::Numbers => out[0] = self.center + self.scale * (sharpness * (sums[0] / trees)),
            Labels::Binary => {
                let (no, yes) = self.two_floored(sums[0] / trees);
                let base = self.base[1] - self.base[0];
                out[0] = base + sharpness * ((yes / no).ln() - base);
            }
            Labels::Classes(_) => {
                let mean: Vec<f64> = sums.iter().map(|sum| sum / trees).collect();
                self.floored(&mean, out);
                let mut total = 0.0;
                for (score, base) in out.iter_mut().zip(&self.base) {
                    *score = base + sharpness * (score.ln() - base);
                    total += score.exp();
                }
                let total = total.ln();
                for score in out {
                    *score -= total;
                }
            }
        }
    }

    /// Turns averages over trees into probabilities above 0, which depend on the number of answers.
    fn floored(&self, mean: &[f64], out: &mut [f64]) {
        if self.labels == Labels::Binary {
            (out[0], out[1]) = self.two_floored(mean[0]);
            return;
        }
        let prior = FOREST_PRIOR / mean.len() as f64;
        for (out, mean) in out.iter_mut().zip(mean) {
            *out = (self.answers * mean + prior) / (self.answers + FOREST_PRIOR);
        }
    }

    /// Returns the probabilities of the negative and the positive class.
    fn two_floored(&self, mean: f64) -> (f64, f64) {
        let floored = |mean: f64| (self.answers * mean + 0.5 * FOREST_PRIOR) / (self.answers + FOREST_PRIOR);
        (floored(1.0 - mean), floored(mean))
    }
}

/// Grows all trees.
fn grow_all(
    columns: &Columns,
    targets: &Targets,
    folds: &Folds,
    settings: &ForestSettings,
    seed: u64,
) -> Vec<FinishedTree> {
    let per_split = settings.per_split(targets.labels, columns.features());
    let coin = Coin::new(seed, "forest");
    let grow = |grower: &mut Grower<'_>, at: usize| {
        let (seen, held): (Vec<u32>, Vec<u32>) =
            (0..columns.rows() as u32).partition(|row| !folds.is_held_out(at, *row as usize));
        let tree = grower.grow(seen.into_iter(), Coin::new(coin.bits(at as u64), "tree"));
        finish_tree(tree, &held, columns, targets)
    };
    let grower = || Grower::new(columns, targets, per_split, settings.least_leaf.max(1));
    (0..settings.trees).into_par_iter().map_init(grower, grow).collect()
}

/// Predicts the held-out answers of a tree, adds them to its leaves, and computes its values.
fn finish_tree(mut tree: GrownTree, held: &[u32], columns: &Columns, targets: &Targets) -> FinishedTree {
    let width = targets.width();
    let mut values = shrunk(&tree, targets.labels, width);
    let mut predicted = Vec::with_capacity(held.len());
    for row in held {
        let leaf = tree.leaf_of(columns, *row as usize);
        let prediction = values[leaf * width..(leaf + 1) * width].iter().map(|value| *value as f32).collect();
        predicted.push((*row, prediction));
        tree.nodes[leaf].weight += targets.add_to(*row as usize, &mut tree.sums[leaf * width..(leaf + 1) * width]);
    }
    if !held.is_empty() {
        tree.sum_up(width);
        values = shrunk(&tree, targets.labels, width);
    }
    FinishedTree { tree, values, held: predicted }
}

/// Returns the values of all nodes: class probabilities, or the first two moments, each shrunk toward those of the parent.
fn shrunk(tree: &GrownTree, labels: Labels, width: usize) -> Vec<f64> {
    let mut values = tree.sums.clone();
    let prior = if labels == Labels::Numbers { 0.0 } else { ROOT_PRIOR };
    for value in &mut values[..width] {
        *value = (*value + prior / labels.classes().max(1) as f64) / (tree.nodes[0].weight + prior);
    }
    for at in 0..tree.nodes.len() {
        let left = tree.nodes[at].left as usize;
        if tree.nodes[at].left == LEAF {
            continue;
        }
        let (above, below) = values.split_at_mut(left * width);
        let parent = &above[at * width..(at + 1) * width];
        for (child, node) in below.chunks_exact_mut(width).zip(&tree.nodes[left..left + 2]) {
            for (value, parent) in child.iter_mut().zip(parent) {
                *value = (*value + SHRINKAGE * parent) / (node.weight + SHRINKAGE);
            }
        }
    }
    values
}

fn check(
    rows: &Rows,
    labels: &[f64],
    weights: &[f64],
    kind: Labels,
    settings: &ForestSettings,
) -> Result<(), ForestError> {
    if rows.len() != labels.len() || rows.len() != weights.len() {
        return Err(ForestError::Lengths { rows: rows.len(), labels: labels.len(), weights: weights.len() });
    }
    if settings.trees == 0 {
        return Err(ForestError::NoTrees);
    }
    if matches!(rows, Rows::Sparse(_)) && MOST_SPARSE < rows.dim() {
        return Err(ForestError::Sparse { features: rows.dim() });
    }
    for (answer, weight) in weights.iter().copied().enumerate() {
        if !(0.0..f64::INFINITY).contains(&weight) {
            return Err(ForestError::Weight { answer, weight });
        }
        if 0.0 < weight && !kind.contain(labels[answer]) {
            return Err(ForestError::Label { answer, label: labels[answer], labels: kind });
        }
    }
    Ok(())
}

/// Writes every feature of a row.
fn write_dense(row: Row<'_>, out: &mut [f32]) {
    match row {
        Row::Dense(values) => out.copy_from_slice(values),
        Row::Sparse(row) => {
            out.fill(0.0);
            for (index, value) in row.index.iter().zip(row.value) {
                out[*index as usize] = *value;
            }
        }
    }
}
