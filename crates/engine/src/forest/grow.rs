//! Growth of one extremely randomized tree (Geurts, Ernst and Wehenkel 2006), with random cuts between ranks.

use super::columns::{Columns, MISSING};
use super::split::{Split, SplitSearch};
use super::targets::Targets;
use crate::coin::Coin;

/// The child of a leaf.
pub(super) const LEAF: u32 = 0;

/// The random numbers of a tree, in the order of their use.
#[derive(Debug)]
struct TreeDraws {
    coin: Coin,
    at: u64,
}

impl TreeDraws {
    /// Returns a random integer below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.at += 1;
        self.coin.below(self.at, n)
    }
}

/// A grown tree. Children have larger indices than their parent, and the right child follows the left one.
#[derive(Debug, Default)]
pub(super) struct GrownTree {
    pub(super) nodes: Vec<GrownNode>,
    /// The sums of each node, `width` numbers each.
    pub(super) sums: Vec<f64>,
}

/// A node of a grown tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrownNode {
    pub(super) feature: u32,
    pub(super) cut: u16,
    pub(super) missing_left: bool,
    /// The left child, or [`LEAF`].
    pub(super) left: u32,
    pub(super) weight: f64,
    /// The rows of the node while the tree grows.
    rows: (u32, u32),
}

/// The memory for growing trees.
#[derive(Debug)]
pub(super) struct Grower<'a> {
    columns: &'a Columns,
    targets: &'a Targets,
    per_split: usize,
    least_leaf: usize,
    rows: Vec<u32>,
    features: Vec<u32>,
    search: SplitSearch,
}

impl<'a> Grower<'a> {
    /// Makes a grower of trees on these rows.
    pub(super) fn new(columns: &'a Columns, targets: &'a Targets, per_split: usize, least_leaf: usize) -> Self {
        let features = vec![];
        let search = SplitSearch::new(targets.labels, least_leaf);
        Self { columns, targets, per_split, least_leaf, rows: vec![], features, search }
    }

    /// Grows a tree on these rows, a function of the coin.
    pub(super) fn grow(&mut self, rows: impl Iterator<Item = u32>, coin: Coin) -> GrownTree {
        self.rows.clear();
        self.rows.extend(rows);
        self.features.clear();
        self.features.extend(0..self.columns.features() as u32);
        let mut draws = TreeDraws { coin, at: 0 };
        let mut tree = GrownTree { nodes: vec![leaf(0, self.rows.len())], sums: vec![] };
        let mut at = 0;
        while let Some(node) = tree.nodes.get(at) {
            let (start, end) = (node.rows.0 as usize, node.rows.1 as usize);
            if let Some(split) = self.best_split(start, end, &mut draws) {
                let middle = start + self.partition(start, end, &split);
                let left = tree.nodes.len() as u32;
                tree.nodes.extend([leaf(start, middle), leaf(middle, end)]);
                let Split { feature, cut, missing_left, .. } = split;
                tree.nodes[at] = GrownNode { feature: feature as u32, cut, missing_left, left, ..tree.nodes[at] };
            }
            at += 1;
        }
        self.sum_leaves(&mut tree);
        tree
    }

    /// Returns the best of some random splits of a node. Features that are constant in the node do not count.
    fn best_split(&mut self, start: usize, end: usize, draws: &mut TreeDraws) -> Option<Split> {
        let rows = &self.rows[start..end];
        if rows.len() < 2 * self.least_leaf || self.targets.gather(rows, &mut self.search.targets) {
            return None;
        }
        self.search.start();
        let mut best: Option<Split> = None;
        let (mut left, mut tried) = (self.features.len(), 0);
        while 0 < left && tried < self.per_split {
            let drawn = draws.below(left);
            left -= 1;
            self.features.swap(drawn, left);
            let feature = self.features[left] as usize;
            let has_missing = self.columns.has_missing(feature);
            let (low, high, missing) = self.search.gather(self.columns.codes(feature), rows, has_missing);
            // With missing values the last cut separates them from all others.
            let cuts = usize::from(high.saturating_sub(low)) + usize::from(0 < missing && missing < rows.len());
            if cuts == 0 {
                continue;
            }
            tried += 1;
            let cut = low + draws.below(cuts) as u16;
            if let Some(split) = self.search.at(feature, cut, missing)
                && best.is_none_or(|best| best.gain < split.gain)
            {
                best = Some(split);
            }
        }
        best
    }

    /// Moves the rows that go left to the front and returns their number.
    fn partition(&mut self, start: usize, end: usize, split: &Split) -> usize {
        let codes = self.columns.codes(split.feature);
        let rows = &mut self.rows[start..end];
        let mut count = 0;
        for at in 0..rows.len() {
            let goes_left = goes_left(codes[rows[at] as usize], split.cut, split.missing_left);
            rows.swap(at, count);
            count += usize::from(goes_left);
        }
        count
    }

    /// Sums the labels of every leaf, and of every other node.
    fn sum_leaves(&self, tree: &mut GrownTree) {
        let width = self.targets.width();
        tree.sums = vec![0.0; tree.nodes.len() * width];
        for (node, sums) in tree.nodes.iter_mut().zip(tree.sums.chunks_exact_mut(width)) {
            if node.left == LEAF {
                let rows = &self.rows[node.rows.0 as usize..node.rows.1 as usize];
                node.weight = rows.iter().map(|row| self.targets.add_to(*row as usize, sums)).sum();
            }
        }
        tree.sum_up(width);
    }
}

impl GrownTree {
    /// Sets the sums of every node that is not a leaf to those of its children.
    pub(super) fn sum_up(&mut self, width: usize) {
        for at in (0..self.nodes.len()).rev() {
            let left = self.nodes[at].left as usize;
            if self.nodes[at].left == LEAF {
                continue;
            }
            self.nodes[at].weight = self.nodes[left].weight + self.nodes[left + 1].weight;
            let (above, below) = self.sums.split_at_mut(left * width);
            for k in 0..width {
                above[at * width + k] = below[k] + below[width + k];
            }
        }
    }

    /// Returns the leaf of a row.
    pub(super) fn leaf_of(&self, columns: &Columns, row: usize) -> usize {
        let mut at = 0;
        while self.nodes[at].left != LEAF {
            let node = self.nodes[at];
            let code = columns.codes(node.feature as usize)[row];
            at = node.left as usize + usize::from(!goes_left(code, node.cut, node.missing_left));
        }
        at
    }
}

fn leaf(start: usize, end: usize) -> GrownNode {
    let rows = (start as u32, end as u32);
    GrownNode { feature: 0, cut: 0, missing_left: false, left: LEAF, weight: 0.0, rows }
}

#[inline]
fn goes_left(code: u16, cut: u16, missing_left: bool) -> bool {
    if code == MISSING { missing_left } else { code <= cut }
}
