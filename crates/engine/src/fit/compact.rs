//! Answers by the features that occur in them: only these can have a nonzero weight, and in sparse rows they are few.
//!
//! The penalty keeps all other weights at 0, so omitting them changes only the time it takes.

use crate::rows::{Rows, Sparse, SparseRows};

/// Marks features that did not occur.
const NO_SLOT: u32 = u32::MAX;

/// Answers whose features are renumbered in order of first occurrence.
#[derive(Clone, Debug)]
pub(super) struct CompactAnswers {
    /// The slot of each feature up to the largest that occurred, or [`NO_SLOT`].
    slots: Vec<u32>,
    features: Vec<u32>,
    rows: Rows,
}

impl CompactAnswers {
    /// Creates an empty set of answers.
    pub(super) fn new() -> Self {
        Self { slots: vec![], features: vec![], rows: Rows::Sparse(SparseRows::new(0)) }
    }

    /// Appends an answer.
    pub(super) fn push(&mut self, row: Sparse<'_>) {
        let known = self.features.len() as u32;
        let (mut cells, mut new_cells) = (vec![], vec![]);
        for (feature, value) in row.index.iter().zip(row.value) {
            let slot = self.slot(*feature);
            if slot < known { &mut cells } else { &mut new_cells }.push((slot, *value));
        }
        cells.sort_unstable_by_key(|(slot, _)| *slot);
        // New slots ascend already.
        let (index, value): (Vec<u32>, Vec<f32>) = cells.into_iter().chain(new_cells).unzip();
        if let Rows::Sparse(rows) = &mut self.rows {
            rows.widen(self.features.len());
            rows.push(Sparse { index: &index, value: &value });
        }
    }

    /// Returns the slot of a feature, a new one if it did not occur before.
    fn slot(&mut self, feature: u32) -> u32 {
        let index = feature as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, NO_SLOT);
        }
        if self.slots[index] == NO_SLOT {
            self.slots[index] = self.features.len() as u32;
            self.features.push(feature);
        }
        self.slots[index]
    }

    /// Returns the answers.
    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns the parameters of these features, intercepts first.
    pub(super) fn gather(&self, theta: &[f64], outputs: usize) -> Vec<f64> {
        let weights = self.features.iter().flat_map(|feature| &theta[outputs * (1 + *feature as usize)..][..outputs]);
        theta[..outputs].iter().chain(weights).copied().collect()
    }

    /// Writes compact parameters back to their original indices.
    pub(super) fn scatter(&self, compact: &[f64], theta: &mut [f64], outputs: usize) {
        theta[..outputs].copy_from_slice(&compact[..outputs]);
        for (feature, weights) in self.features.iter().zip(compact[outputs..].chunks_exact(outputs)) {
            theta[outputs * (1 + *feature as usize)..][..outputs].copy_from_slice(weights);
        }
    }
}
