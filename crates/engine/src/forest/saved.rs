//! Forests as plain numbers, for model files.
//!
//! The nodes of a tree are stored level by level, so which of them are leaves determines the tree. Thresholds and values are
//! the bits of `f32`: every format keeps them exactly.

use serde::{Deserialize, Serialize};

use super::flat::{FlatNode, FlatTrees};
use super::held_out::Calibration;
use super::targets::width;
use super::{Forest, ForestError};
use crate::exact;
use crate::task::Labels;

/// A forest as plain numbers.
///
/// ```
/// # use querist_engine::forest::{Forest, ForestError, ForestSettings, SavedForest};
/// # use querist_engine::task::Labels;
/// # use querist_rows::{DenseRows, Rows};
/// # let rows = Rows::Dense(DenseRows::from_values(1, vec![1.0, 2.0]).expect("whole rows"));
/// # let forest = Forest::fit(&rows, &[-1.0, 1.0], &[1.0; 2], Labels::Binary, &ForestSettings::default(), 1)?;
/// let saved = SavedForest::from(&forest);
/// assert_eq!(Forest::try_from(saved)?, forest);
/// # Ok::<(), ForestError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedForest {
    labels: SavedLabels,
    features: usize,
    #[serde(with = "exact")]
    answers: f64,
    #[serde(with = "exact")]
    sharpness: f64,
    #[serde(with = "exact")]
    spread: f64,
    base: Vec<f64>,
    #[serde(with = "exact")]
    center: f64,
    #[serde(with = "exact")]
    scale: f64,
    trees: Vec<SavedTree>,
}

/// The kind of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SavedLabels {
    Binary,
    Classes(usize),
    Numbers,
}

/// A tree, level by level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SavedTree {
    /// For each node 0 if it is a leaf, otherwise 1 + 2·feature, and 1 more if missing values go left.
    nodes: Vec<u64>,
    /// The bits of the threshold of each split.
    thresholds: Vec<u32>,
    /// The bits of the values of each leaf.
    values: Vec<u32>,
}

impl From<&Forest> for SavedForest {
    fn from(forest: &Forest) -> Self {
        let labels = match forest.labels {
            Labels::Binary => SavedLabels::Binary,
            Labels::Classes(classes) => SavedLabels::Classes(classes),
            Labels::Numbers => SavedLabels::Numbers,
        };
        let Forest { features, answers, calibration, center, scale, .. } = *forest;
        let Calibration { sharpness, spread } = calibration;
        let trees = (0..forest.trees()).map(|tree| save(&forest.trees, tree)).collect();
        Self { labels, features, answers, sharpness, spread, base: forest.base.clone(), center, scale, trees }
    }
}

/// Returns one tree as plain numbers.
fn save(trees: &FlatTrees, tree: usize) -> SavedTree {
    let start = trees.roots[tree] as usize;
    let end = trees.roots.get(tree + 1).map_or(trees.nodes.len(), |next| *next as usize);
    let mut saved = SavedTree::default();
    for at in start..end {
        if trees.is_leaf(at) {
            saved.nodes.push(0);
            saved.values.extend(trees.leaf_values(at).iter().map(|value| value.to_bits()));
        } else {
            let node = trees.nodes[at];
            saved.nodes.push(1 + 2 * u64::from(node.feature) + u64::from(trees.missing_left[at]));
            saved.thresholds.push(node.threshold.to_bits());
        }
    }
    saved
}

impl TryFrom<SavedForest> for Forest {
    type Error = ForestError;

    /// Restores a forest.
    ///
    /// # Errors
    /// If the numbers are not those of a forest.
    fn try_from(saved: SavedForest) -> Result<Self, ForestError> {
        let labels = match saved.labels {
            SavedLabels::Binary => Labels::Binary,
            SavedLabels::Classes(classes) => Labels::Classes(classes),
            SavedLabels::Numbers => Labels::Numbers,
        };
        let positive = [saved.answers, saved.sharpness, saved.spread, saved.scale];
        let has_base = saved.base.len() == labels.classes() && saved.base.iter().all(|log| log.is_finite());
        let is_valid = has_base && saved.center.is_finite() && positive.iter().all(|x| 0.0 < *x && x.is_finite());
        if !is_valid || labels == Labels::Classes(0) || saved.trees.is_empty() {
            return Err(ForestError::Saved { problem: "a setting is out of range" });
        }
        let mut trees = FlatTrees::new(width(labels));
        for tree in &saved.trees {
            restore(tree, saved.features, labels, &mut trees)
                .ok_or(ForestError::Saved { problem: "a tree is inconsistent" })?;
        }
        Ok(Self {
            labels,
            features: saved.features,
            trees,
            answers: saved.answers,
            calibration: Calibration { sharpness: saved.sharpness, spread: saved.spread },
            base: saved.base,
            center: saved.center,
            scale: saved.scale,
        })
    }
}

/// Appends a tree. Returns `None` if it is none: a child is missing, a feature does not exist, or a value is out of range.
fn restore(saved: &SavedTree, features: usize, labels: Labels, trees: &mut FlatTrees) -> Option<()> {
    let width = trees.width;
    let splits = saved.nodes.iter().filter(|node| **node != 0).count();
    let leaves = saved.nodes.len() - splits;
    if saved.nodes.len() != 2 * splits + 1 || saved.thresholds.len() != splits || saved.values.len() != leaves * width {
        return None;
    }
    let in_range = |value: f32| value.is_finite() && (labels == Labels::Numbers || (0.0..=1.0).contains(&value));
    let mut thresholds = saved.thresholds.iter().map(|bits| f32::from_bits(*bits));
    let mut values = saved.values.chunks_exact(width);
    let first = trees.nodes.len() as u32;
    trees.roots.push(first);
    let mut next_child = 1;
    for (at, node) in saved.nodes.iter().enumerate() {
        let Some(code) = node.checked_sub(1) else {
            let values = values.next()?.iter().map(|bits| f32::from_bits(*bits));
            values.clone().all(in_range).then(|| trees.push_leaf(values))?;
            continue;
        };
        let threshold = thresholds.next().filter(|threshold| !threshold.is_nan())?;
        let feature = u32::try_from(code / 2).ok().filter(|feature| (*feature as usize) < features)?;
        // A child comes after its parent.
        (at < next_child).then_some(())?;
        trees.push_split(FlatNode { threshold, feature, left: first + next_child as u32 }, code % 2 == 1);
        next_child += 2;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::ForestSettings;
    use super::*;
    use crate::coin::Coin;
    use crate::rows::{DenseRows, Rows};

    fn fitted(kind: Labels) -> (Forest, Rows) {
        let coin = Coin::new(1, "x");
        let values = (0..300).map(|at| coin.unit(at) as f32).collect();
        let rows = Rows::Dense(DenseRows::from_values(3, values).unwrap());
        let label = |row: u64| if kind == Labels::Numbers { coin.unit(3 * row) } else { kind.label(row as usize % 2) };
        let labels: Vec<f64> = (0..100).map(label).collect();
        let settings = ForestSettings { trees: 30, ..ForestSettings::default() };
        (Forest::fit(&rows, &labels, &[1.0; 100], kind, &settings, 1).unwrap(), rows)
    }

    #[test]
    fn the_order_of_trees_does_not_matter() {
        for kind in [Labels::Binary, Labels::Classes(3), Labels::Numbers] {
            let (forest, rows) = fitted(kind);
            let mut saved = SavedForest::from(&forest);
            saved.trees.reverse();
            let turned = Forest::try_from(saved).unwrap();
            let [mut a, mut b] = [0; 2].map(|_| vec![0.0; 100 * forest.outputs()]);
            forest.scores_of_rows(&rows, 0..100, &mut a);
            turned.scores_of_rows(&rows, 0..100, &mut b);
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12), "{kind:?}");
        }
    }

    #[test]
    fn a_damaged_forest_is_rejected() {
        let whole = SavedForest::from(&fitted(Labels::Binary).0);
        let damages: [fn(&mut SavedForest); 10] = [
            |saved| saved.features = 2,
            |saved| saved.answers = f64::NAN,
            |saved| saved.scale = 0.0,
            |saved| saved.labels = SavedLabels::Classes(2),
            |saved| saved.base.clear(),
            |saved| saved.trees.clear(),
            |saved| saved.trees[3].nodes[0] = 0,
            |saved| saved.trees[3].nodes.rotate_right(1),
            |saved| saved.trees[3].thresholds[0] = f32::NAN.to_bits(),
            |saved| saved.trees[3].values[0] = 2.0_f32.to_bits(),
        ];
        for (at, damage) in damages.iter().enumerate() {
            let mut saved = whole.clone();
            damage(&mut saved);
            let is_rejected = matches!(Forest::try_from(saved), Err(ForestError::Saved { .. }));
            assert!(is_rejected, "damage {at}");
        }
    }
}
