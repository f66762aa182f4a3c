//! An inverted index of sparse answers.

use crate::rows::Sparse;

/// The answers with each feature, so that the products of a sparse row with all answers take only the common features.
#[derive(Clone, Debug, Default)]
pub(super) struct Postings {
    answers: usize,
    lists: Vec<Vec<(u32, f32)>>,
}

impl Postings {
    /// Returns the products of a row with all answers so far.
    pub(super) fn products(&self, x: Sparse<'_>) -> Vec<f64> {
        let mut products = vec![0.0; self.answers];
        for (feature, value) in x.index.iter().zip(x.value) {
            let value = f64::from(*value);
            for (answer, other) in self.lists.get(*feature as usize).map_or(&[][..], Vec::as_slice) {
                products[*answer as usize] += value * f64::from(*other);
            }
        }
        products
    }

    /// Appends an answer.
    pub(super) fn push(&mut self, x: Sparse<'_>) {
        for (feature, value) in x.index.iter().zip(x.value) {
            let feature = *feature as usize;
            if self.lists.len() <= feature {
                self.lists.resize(feature + 1, vec![]);
            }
            self.lists[feature].push((self.answers as u32, *value));
        }
        self.answers += 1;
    }
}
