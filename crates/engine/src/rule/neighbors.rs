//! The answered items of a kernel estimate, laid out so that a pass over them is vectorized.
//!
//! Items are stored in blocks of eight, feature by feature, while all rows have the same features. Rows with missing
//! features are stored one by one. Both layouts yield the same sums, in eight lanes.

use crate::elementary::exp_neg;
use crate::features::Features;
use crate::linear::Linear;
use crate::simd::dispatch;
use crate::task::Task;

/// The number of answers kept. Older ones are dropped, because every answer costs time with each observation.
pub(super) const KEPT: usize = 1000;
const LANES: usize = 8;
/// Sums of weights below this have underflowed.
const UNDERFLOWED: f64 = 1e-290;

/// The last answers, with their features and their losses under the current model.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbors {
    features: NeighborFeatures,
    norms_squared: Vec<[f64; LANES]>,
    losses: Vec<[f64; LANES]>,
    labels: Vec<f64>,
    /// The index of the oldest answer, which the next one replaces once the store is full.
    oldest: usize,
}

/// The stored features of an item, as (index, value) pairs.
pub(super) type Entries = Vec<(u32, f32)>;

#[derive(Clone, Debug)]
enum NeighborFeatures {
    /// All features, eight items at a time.
    Blocks { dim: usize, values: Vec<[f32; LANES]> },
    /// The stored features, item by item.
    Items(Vec<Entries>),
}

impl Default for NeighborFeatures {
    fn default() -> Self {
        NeighborFeatures::Blocks { dim: 0, values: vec![] }
    }
}

/// Returns the stored features of a row.
pub(super) fn entries<X: Features>(x: X) -> Entries {
    let mut entries = Vec::new();
    x.each(|j, value| entries.push((j as u32, value as f32)));
    entries
}

/// Returns whether features 0, 1 … are all stored.
fn is_whole(entries: &[(u32, f32)]) -> bool {
    entries.last().is_some_and(|(last, _)| *last as usize + 1 == entries.len())
}

impl Neighbors {
    /// Returns the number of answers.
    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns the squared distance of a row to the last answered item, if there is one.
    pub(super) fn distance_to_last(&self, row: &[(u32, f32)], norm_squared: f64) -> Option<f64> {
        let last = if self.len() < KEPT { self.len().checked_sub(1)? } else { (self.oldest + KEPT - 1) % KEPT };
        let product = product(row, &self.features.item(last));
        Some((norm_squared + self.norms_squared[last / LANES][last % LANES] - 2.0 * product).max(0.0))
    }

    /// Appends an answer, or replaces the oldest one if the store is full.
    pub(super) fn push(&mut self, row: Entries, norm_squared: f64, label: f64) {
        let slot = if self.len() < KEPT { self.len() } else { self.oldest };
        if slot == self.len() {
            self.labels.push(label);
        } else {
            self.labels[slot] = label;
            self.oldest = (slot + 1) % KEPT;
        }
        if self.norms_squared.len() <= slot / LANES {
            // A lane without an item is infinitely far away.
            self.norms_squared.push([f64::INFINITY; LANES]);
            self.losses.push([0.0; LANES]);
        }
        self.norms_squared[slot / LANES][slot % LANES] = norm_squared;
        self.features.put(slot, row);
    }

    /// Returns the mean loss.
    pub(super) fn mean_loss(&self) -> f64 {
        self.losses.iter().flatten().sum::<f64>() / self.len() as f64
    }

    /// Returns the mean of the losses, weighted by e^{−‖x−xᵢ‖²/2h²}.
    pub(super) fn estimate(&self, row: &[(u32, f32)], norm_squared: f64, bandwidth_squared: f64) -> f64 {
        let steepness = 0.5 / bandwidth_squared;
        let (weights, losses) = match &self.features {
            NeighborFeatures::Blocks { dim, values } if *dim == row.len() && is_whole(row) => {
                let row: Vec<f64> = row.iter().map(|(_, x)| f64::from(*x)).collect();
                let (row, norms, losses) = (row.as_slice(), self.norms_squared.as_slice(), self.losses.as_slice());
                dispatch(
                    #[inline(always)]
                    move || {
                        let mut sums = KernelSums::default();
                        for ((items, norms), losses) in values.chunks_exact(row.len()).zip(norms).zip(losses) {
                            sums.add(norm_squared, norms, &block_products(items, row), losses, steepness);
                        }
                        sums.total()
                    },
                )
            }
            _ => {
                let mut sums = KernelSums::default();
                for (block, (norms, losses)) in self.norms_squared.iter().zip(&self.losses).enumerate() {
                    sums.add(norm_squared, norms, &self.products(block, row), losses, steepness);
                }
                sums.total()
            }
        };
        if UNDERFLOWED < weights { losses / weights } else { self.nearest(row, norm_squared) }
    }

    /// Returns the loss of the nearest answer, for rows so far from every answer that all weights underflow.
    fn nearest(&self, row: &[(u32, f32)], norm_squared: f64) -> f64 {
        let mut nearest = (f64::INFINITY, 0.0);
        for block in 0..self.norms_squared.len() {
            let products = self.products(block, row);
            for lane in 0..LANES {
                let distance_squared = norm_squared + self.norms_squared[block][lane] - 2.0 * products[lane];
                if distance_squared < nearest.0 {
                    nearest = (distance_squared, self.losses[block][lane]);
                }
            }
        }
        nearest.1
    }

    /// Returns the inner products of a row with the items of a block.
    fn products(&self, block: usize, row: &[(u32, f32)]) -> [f64; LANES] {
        let first = block * LANES;
        std::array::from_fn(|lane| {
            if first + lane < self.len() { product(row, &self.features.item(first + lane)) } else { 0.0 }
        })
    }

    /// Recomputes all losses, after the model has changed.
    pub(super) fn refresh(&mut self, task: &dyn Task, model: Linear, theta: &[f64]) {
        let mut scores = vec![0.0; model.outputs];
        for (slot, label) in self.labels.iter().enumerate() {
            scores.copy_from_slice(&theta[..model.outputs]);
            self.features.each(slot, |j, x| {
                let weights = &theta[model.outputs * (j as usize + 1)..][..model.outputs];
                for (score, w) in scores.iter_mut().zip(weights) {
                    *score += f64::from(x) * w;
                }
            });
            self.losses[slot / LANES][slot % LANES] = task.loss(&scores, *label);
        }
    }
}

/// Σ weights and Σ weights·losses, in eight lanes.
#[derive(Default)]
struct KernelSums {
    weights: [f64; LANES],
    losses: [f64; LANES],
}

impl KernelSums {
    /// Adds eight items, given their squared norms, inner products with the row, and losses.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
    fn add(
        &mut self,
        norm_squared: f64,
        norms_squared: &[f64; LANES],
        products: &[f64; LANES],
        losses: &[f64; LANES],
        steepness: f64,
    ) {
        for lane in 0..LANES {
            let distance_squared = norm_squared + norms_squared[lane] - 2.0 * products[lane];
            let weight = exp_neg(if 0.0 < distance_squared { distance_squared * steepness } else { 0.0 });
            self.weights[lane] += weight;
            self.losses[lane] += weight * losses[lane];
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the end of a dispatched loop")]
    fn total(&self) -> (f64, f64) {
        (self.weights.iter().sum(), self.losses.iter().sum())
    }
}

impl NeighborFeatures {
    fn put(&mut self, slot: usize, row: Entries) {
        if slot == 0 && matches!(self, NeighborFeatures::Blocks { dim: 0, .. }) {
            *self = NeighborFeatures::Blocks { dim: row.len(), values: vec![] };
        }
        match self {
            NeighborFeatures::Blocks { dim, values } if *dim == row.len() && is_whole(&row) => {
                let first = slot / LANES * *dim;
                if values.len() < first + *dim {
                    values.resize(first + *dim, [0.0; LANES]);
                }
                for (value, (_, x)) in values[first..].iter_mut().zip(&row) {
                    value[slot % LANES] = *x;
                }
            }
            // The first row of another layout: from here on, rows are stored one by one.
            NeighborFeatures::Blocks { dim, values } => {
                let items = values.len().checked_div(*dim).unwrap_or(0) * LANES;
                let mut all: Vec<Entries> = (0..items.max(slot + 1)).map(|slot| self.item(slot)).collect();
                all[slot] = row;
                *self = NeighborFeatures::Items(all);
            }
            NeighborFeatures::Items(items) => {
                if items.len() <= slot {
                    items.resize(slot + 1, vec![]);
                }
                items[slot] = row;
            }
        }
    }

    fn each(&self, slot: usize, mut take: impl FnMut(u32, f32)) {
        match self {
            NeighborFeatures::Blocks { dim, values } => {
                let block = values.get(slot / LANES * dim..).unwrap_or_default();
                block.iter().take(*dim).enumerate().for_each(|(j, value)| take(j as u32, value[slot % LANES]));
            }
            NeighborFeatures::Items(items) => items[slot].iter().for_each(|(j, x)| take(*j, *x)),
        }
    }

    fn item(&self, slot: usize) -> Entries {
        let mut item = vec![];
        self.each(slot, |j, x| item.push((j, x)));
        item
    }
}

/// Returns the inner products of a complete row with eight complete items.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn block_products(items: &[[f32; LANES]], row: &[f64]) -> [f64; LANES] {
    let mut products = [0.0; LANES];
    for (values, x) in items.iter().zip(row) {
        for lane in 0..LANES {
            products[lane] += x * f64::from(values[lane]);
        }
    }
    products
}

/// Returns the inner product of two rows with ascending indices.
fn product(a: &[(u32, f32)], b: &[(u32, f32)]) -> f64 {
    let (mut sum, mut j) = (0.0, 0);
    for (index, value) in a {
        while j < b.len() && b[j].0 < *index {
            j += 1;
        }
        if j < b.len() && b[j].0 == *index {
            sum += f64::from(*value) * f64::from(b[j].1);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;
    use crate::task::SquaredError;

    /// Returns items of three numbers as complete rows, zeros included.
    fn rows(n: usize) -> Vec<Entries> {
        let coin = Coin::new(7, "items");
        let value = |i: usize, j: u32| match coin.unit((3 * i as u64) + u64::from(j)) {
            u if u < 0.3 => 0.0,
            u => (4.0 * u - 2.0) as f32,
        };
        (0..n).map(|i| (0..3).map(|j| (j, value(i, j))).collect()).collect()
    }

    fn filled(rows: &[Entries]) -> Neighbors {
        let mut made = Neighbors::default();
        for (i, row) in rows.iter().enumerate() {
            let norm = row.iter().map(|(_, x)| f64::from(*x) * f64::from(*x)).sum();
            made.push(row.clone(), norm, i as f64);
        }
        made.refresh(&SquaredError, Linear { outputs: 1, intercept: true }, &[0.5, 1.0, -1.0, 2.0]);
        made
    }

    #[test]
    fn layouts_agree_and_the_oldest_answers_are_dropped() {
        let whole = rows(2 * KEPT + 13);
        let sparse: Vec<Entries> =
            whole.iter().map(|row| row.iter().copied().filter(|(_, x)| *x != 0.0).collect()).collect();
        let (blocks, items) = (filled(&whole), filled(&sparse));
        assert!(
            matches!(blocks.features, NeighborFeatures::Blocks { .. })
                && matches!(items.features, NeighborFeatures::Items(_))
        );
        assert_eq!(blocks.len(), KEPT);
        for (row, bare) in whole.iter().zip(&sparse).take(50) {
            let norm: f64 = row.iter().map(|(_, x)| f64::from(*x) * f64::from(*x)).sum();
            for bandwidth_squared in [1e-7, 0.01, 1.0] {
                let found = blocks.estimate(row, norm, bandwidth_squared);
                assert_eq!(found.to_bits(), items.estimate(bare, norm, bandwidth_squared).to_bits());
                let expected = plain(&whole[KEPT + 13..], KEPT + 13, row, bandwidth_squared);
                if let Some(expected) = expected {
                    assert!((found - expected).abs() <= 1e-9 * expected, "{found} {expected} {bandwidth_squared}");
                }
            }
        }
    }

    /// Computes the estimate by its formula; returns `None` if every weight underflows.
    fn plain(rows: &[Entries], first: usize, x: &Entries, bandwidth_squared: f64) -> Option<f64> {
        let (mut weights, mut losses) = (0.0, 0.0);
        for (i, row) in rows.iter().enumerate() {
            let distance_squared: f64 =
                row.iter().zip(x).map(|((_, a), (_, b))| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
            let weight = (-distance_squared / (2.0 * bandwidth_squared)).exp();
            let score = 0.5 + f64::from(row[0].1) - f64::from(row[1].1) + 2.0 * f64::from(row[2].1);
            weights += weight;
            losses += weight * (score - (first + i) as f64).powi(2);
        }
        (1e-250 < weights).then(|| losses / weights)
    }

    #[test]
    fn incomplete_rows_can_follow_complete_rows() {
        let mut mixed = rows(20);
        mixed[11].remove(1);
        let made = filled(&mixed);
        assert!((0..20).all(|slot| made.features.item(slot) == mixed[slot]));
    }
}
