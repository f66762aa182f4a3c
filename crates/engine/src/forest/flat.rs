//! Trees in flat arrays, and the descent of many rows at once.

use super::columns::Columns;
use super::grow::{GrownTree, LEAF};

/// The number of rows that descend a tree together, so that the processor waits for none of them.
const LANES: usize = 8;
/// The number of steps before it is checked whether all rows have reached leaves.
const STEPS: usize = 4;

/// A node of a tree: x goes to child `left` if x[feature] ≤ threshold, and to the one after it otherwise. A leaf is its own
/// left child.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FlatNode {
    pub(super) threshold: f32,
    pub(super) feature: u32,
    pub(super) left: u32,
}

/// All trees of a forest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FlatTrees {
    pub(super) nodes: Vec<FlatNode>,
    /// Whether missing values go left, for each node.
    pub(super) missing_left: Vec<bool>,
    /// The rank of each leaf among leaves; 0 for other nodes.
    pub(super) leaf: Vec<u32>,
    /// The first node of each tree.
    pub(super) roots: Vec<u32>,
    /// The values of leaves, `width` numbers each.
    pub(super) values: Vec<f32>,
    pub(super) width: usize,
}

impl FlatTrees {
    /// Makes a forest without trees.
    pub(super) fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Appends a tree, whose nodes have these values.
    pub(super) fn push(&mut self, tree: &GrownTree, columns: &Columns, values: &[f64]) {
        let first = self.nodes.len() as u32;
        self.roots.push(first);
        for (at, node) in tree.nodes.iter().enumerate() {
            if node.left == LEAF {
                let values = &values[at * self.width..(at + 1) * self.width];
                self.push_leaf(values.iter().map(|value| *value as f32));
            } else {
                let threshold = columns.threshold(node.feature as usize, node.cut);
                let node_left = FlatNode { threshold, feature: node.feature, left: first + node.left };
                self.push_split(node_left, node.missing_left);
            }
        }
    }

    /// Appends a node that splits.
    pub(super) fn push_split(&mut self, node: FlatNode, missing_left: bool) {
        self.nodes.push(node);
        self.missing_left.push(missing_left);
        self.leaf.push(0);
    }

    /// Appends a leaf.
    pub(super) fn push_leaf(&mut self, values: impl Iterator<Item = f32>) {
        self.leaf.push((self.values.len() / self.width) as u32);
        self.values.extend(values);
        let left = self.nodes.len() as u32;
        self.nodes.push(FlatNode { threshold: f32::INFINITY, feature: 0, left });
        self.missing_left.push(true);
    }

    /// Returns whether a node is a leaf.
    pub(super) fn is_leaf(&self, at: usize) -> bool {
        self.nodes[at].left as usize == at
    }

    /// Returns the values at the leaf of a row, which may miss values.
    fn values_of(&self, root: u32, x: &[f32]) -> &[f32] {
        let mut at = root as usize;
        while !self.is_leaf(at) {
            let node = self.nodes[at];
            let x = x[node.feature as usize];
            let goes_left = if x.is_nan() { self.missing_left[at] } else { x <= node.threshold };
            at = node.left as usize + usize::from(!goes_left);
        }
        self.leaf_values(at)
    }

    /// Returns the values of a leaf.
    pub(super) fn leaf_values(&self, at: usize) -> &[f32] {
        let leaf = self.leaf[at] as usize;
        &self.values[leaf * self.width..(leaf + 1) * self.width]
    }

    /// Calls `take` with the values of each tree for a row.
    pub(super) fn each(&self, x: &[f32], mut take: impl FnMut(&[f32])) {
        for root in &self.roots {
            take(self.values_of(*root, x));
        }
    }

    /// Adds the values of all trees to the sums of some rows, `width` numbers each. Each sum is that of [`Self::each`], in
    /// the same order.
    pub(super) fn add_to(&self, rows: &[f32], dim: usize, sums: &mut [f64]) {
        if dim == 0 || rows.iter().any(|x| x.is_nan()) {
            for (row, sums) in sums.chunks_exact_mut(self.width).enumerate() {
                self.each(&rows[row * dim..(row + 1) * dim], |values| add(values, sums));
            }
            return;
        }
        let whole = rows.len() / dim / LANES * LANES;
        let (lanes, rest) = rows.split_at(whole * dim);
        let (lane_sums, rest_sums) = sums.split_at_mut(whole * self.width);
        for root in &self.roots {
            let blocks = lanes.chunks_exact(LANES * dim).zip(lane_sums.chunks_exact_mut(LANES * self.width));
            for (rows, sums) in blocks {
                let leaves = self.descend(*root, rows, dim);
                for (at, sums) in leaves.into_iter().zip(sums.chunks_exact_mut(self.width)) {
                    add(self.leaf_values(at as usize), sums);
                }
            }
            for (x, sums) in rest.chunks_exact(dim).zip(rest_sums.chunks_exact_mut(self.width)) {
                add(self.values_of(*root, x), sums);
            }
        }
    }

    /// Returns the leaves of some rows without missing values.
    #[inline]
    fn descend(&self, root: u32, rows: &[f32], dim: usize) -> [u32; LANES] {
        let nodes = self.nodes.as_slice();
        let mut at = [root; LANES];
        loop {
            let mut moved = 0;
            for step in 1..=STEPS {
                for lane in 0..LANES {
                    let node = nodes[at[lane] as usize];
                    let goes_right = !(rows[lane * dim + node.feature as usize] <= node.threshold);
                    let next = node.left + u32::from(goes_right);
                    if step == STEPS {
                        moved |= next ^ at[lane];
                    }
                    at[lane] = next;
                }
            }
            if moved == 0 {
                return at;
            }
        }
    }
}

fn add(values: &[f32], sums: &mut [f64]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += f64::from(*value);
    }
}
