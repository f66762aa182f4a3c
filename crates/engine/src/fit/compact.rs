//! Answers in the features they have: of sparse rows, only features of some answer can have a weight, and they are few.
//!
//! The penalty holds all other weights at 0, so leaving them out changes nothing but the time it takes.

use std::collections::HashMap;

use crate::rows::{Rows, Sparse, SparseRows};

/// The answers in their features, which are numbered in the order they were met.
#[derive(Clone, Debug)]
pub(super) struct Compact {
    places: HashMap<u32, u32>,
    features: Vec<u32>,
    rows: Rows,
}

impl Compact {
    /// No answers yet.
    pub(super) fn new() -> Self {
        Self { places: HashMap::new(), features: vec![], rows: Rows::Sparse(SparseRows::new(0)) }
    }

    /// Another answer.
    pub(super) fn push(&mut self, row: Sparse<'_>) {
        let mut cells: Vec<(u32, f32)> = vec![];
        for (feature, value) in row.index.iter().zip(row.value) {
            let next = self.features.len() as u32;
            let place = *self.places.entry(*feature).or_insert(next);
            if place == next {
                self.features.push(*feature);
            }
            cells.push((place, *value));
        }
        cells.sort_unstable_by_key(|(place, _)| *place);
        let (index, value): (Vec<u32>, Vec<f32>) = cells.into_iter().unzip();
        if let Rows::Sparse(rows) = &mut self.rows {
            rows.widen(self.features.len());
            rows.push(Sparse { index: &index, value: &value });
        }
    }

    /// The answers.
    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The parameters of these features, the intercepts first.
    pub(super) fn gather(&self, theta: &[f64], outputs: usize) -> Vec<f64> {
        let weights = self.features.iter().flat_map(|feature| &theta[outputs * (1 + *feature as usize)..][..outputs]);
        theta[..outputs].iter().chain(weights).copied().collect()
    }

    /// Puts parameters back where they belong.
    pub(super) fn scatter(&self, compact: &[f64], theta: &mut [f64], outputs: usize) {
        theta[..outputs].copy_from_slice(&compact[..outputs]);
        for (feature, weights) in self.features.iter().zip(compact[outputs..].chunks_exact(outputs)) {
            theta[outputs * (1 + *feature as usize)..][..outputs].copy_from_slice(weights);
        }
    }
}
