//! Answers by the features that occur in them: only these can have a nonzero weight, and in sparse rows they are few.
//!
//! The penalty keeps all other weights at 0, so omitting them changes only the time it takes.

use std::collections::HashMap;

use crate::rows::{Rows, Sparse, SparseRows};

/// Answers whose features are renumbered in order of first occurrence.
#[derive(Clone, Debug)]
pub(super) struct CompactAnswers {
    slots: HashMap<u32, u32>,
    features: Vec<u32>,
    rows: Rows,
}

impl CompactAnswers {
    /// Creates an empty set of answers.
    pub(super) fn new() -> Self {
        Self { slots: HashMap::new(), features: vec![], rows: Rows::Sparse(SparseRows::new(0)) }
    }

    /// Appends an answer.
    pub(super) fn push(&mut self, row: Sparse<'_>) {
        let mut cells: Vec<(u32, f32)> = vec![];
        for (feature, value) in row.index.iter().zip(row.value) {
            let next = self.features.len() as u32;
            let slot = *self.slots.entry(*feature).or_insert(next);
            if slot == next {
                self.features.push(*feature);
            }
            cells.push((slot, *value));
        }
        cells.sort_unstable_by_key(|(slot, _)| *slot);
        let (index, value): (Vec<u32>, Vec<f32>) = cells.into_iter().unzip();
        if let Rows::Sparse(rows) = &mut self.rows {
            rows.widen(self.features.len());
            rows.push(Sparse { index: &index, value: &value });
        }
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
