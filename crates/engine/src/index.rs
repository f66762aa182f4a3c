//! An index of features, which allocates weights only for features that occur.
//!
//! A model of at most [`WIDE`] features has a weight for each. Beyond that, one feature with a large index must not
//! cost the memory of all indices below it. So features are divided into pages, and a page gets weights when one of its
//! features first occurs.

use crate::features::Features;
use crate::rows::{Rows, Sparse, SparseRows};

/// The largest number of features for which every feature has a weight. Beyond it, only pages that occurred have
/// weights.
pub const WIDE: usize = 1 << 22;

/// The number of features in a page.
const PAGE: usize = 256;

/// A map from features to slots, the indices of their weights. Pages get slots in the order in which they first occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FeatureIndex {
    /// The page of slots for each page of features.
    slots: Vec<u32>,
    /// The page of slots for all features that have not occurred. Their weights are 0 and never change.
    unmet: u32,
    /// The page of features for each page of slots; `u32::MAX` for the page of `unmet`.
    pages: Vec<u32>,
}

/// A row whose features are replaced by their slots, which need not be sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotRow {
    index: Vec<u32>,
    value: Vec<f32>,
}

impl SlotRow {
    /// Replaces the features of a row by their slots.
    pub(crate) fn new<X: Features>(x: X, slot: impl Fn(usize) -> usize) -> Self {
        let mut row = Self::default();
        x.each(|feature, value| {
            row.index.push(slot(feature) as u32);
            // The value was an `f32` before.
            row.value.push(value as f32);
        });
        row
    }

    pub(crate) fn as_sparse(&self) -> Sparse<'_> {
        Sparse { index: &self.index, value: &self.value }
    }
}

impl FeatureIndex {
    /// Makes an index in which the first `dim` features have their own indices as slots.
    pub(crate) fn new(dim: usize) -> Self {
        let unmet = dim.div_ceil(PAGE) as u32;
        Self { slots: (0..unmet).collect(), unmet, pages: (0..unmet).chain([u32::MAX]).collect() }
    }

    /// Makes an index of the sorted features of a finished model.
    pub(crate) fn of(features: &[u32]) -> Self {
        let mut index = Self::new(0);
        for feature in features {
            index.allocate(*feature);
        }
        index
    }

    /// Returns the number of slots.
    pub(crate) fn dim(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Returns the slot of a feature; one with weight 0 if the feature has not occurred.
    #[inline]
    pub(crate) fn slot(&self, feature: usize) -> usize {
        let page = self.slots.get(feature / PAGE).copied().unwrap_or(self.unmet);
        page as usize * PAGE + feature % PAGE
    }

    /// Returns the feature of a slot, or `None` for slots of features that have not occurred.
    pub(crate) fn feature(&self, slot: usize) -> Option<u32> {
        let page = self.pages[slot / PAGE];
        (page != u32::MAX).then(|| page * PAGE as u32 + (slot % PAGE) as u32)
    }

    /// Allocates slots for the page of a feature if it has none.
    #[inline]
    pub(crate) fn allocate(&mut self, feature: u32) {
        let page = feature as usize / PAGE;
        if self.slots.get(page).is_none_or(|slots| *slots == self.unmet) {
            self.add_page(page);
        }
    }

    #[cold]
    fn add_page(&mut self, page: usize) {
        if self.slots.len() <= page {
            self.slots.resize(page + 1, self.unmet);
        }
        self.slots[page] = self.pages.len() as u32;
        self.pages.push(page as u32);
    }

    /// Returns a row by the slots of its features.
    pub(crate) fn row<X: Features>(&self, x: X) -> SlotRow {
        SlotRow::new(x, |feature| self.slot(feature))
    }

    /// Returns a row by the slots of its features, after allocating slots for all of them.
    pub(crate) fn allocate_row<X: Features>(&mut self, x: X) -> SlotRow {
        x.each(|feature, _| self.allocate(feature as u32));
        self.row(x)
    }

    /// Returns rows by the slots of their features, after allocating slots for all of them.
    pub(crate) fn allocate_rows(&mut self, rows: &Rows, range: std::ops::Range<usize>) -> Rows {
        let mut slots = SparseRows::new(0);
        for row in range {
            let row = self.allocate_row(rows.row(row));
            slots.push_slots(row.as_sparse());
        }
        slots.widen(self.dim());
        Rows::Sparse(slots)
    }

    /// Returns the pages of slots as words for [`Self::from_words`].
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        [u64::from(self.unmet), self.pages.len() as u64]
            .into_iter()
            .chain(self.pages.iter().map(|page| u64::from(*page)))
    }

    /// Restores an index from words. Returns `None` if they are not those of an index.
    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let [unmet, count, pages @ ..] = words else { return None };
        let (unmet, count) = (u32::try_from(*unmet).ok()?, usize::try_from(*count).ok()?);
        let most = (1_usize << 32) / PAGE;
        (count == pages.len() && (unmet as usize) < count && unmet as usize <= most).then_some(())?;
        let mut index = Self::new(unmet as usize * PAGE);
        for (slot, page) in pages.iter().enumerate().skip(unmet as usize + 1) {
            let page = usize::try_from(*page).ok().filter(|page| *page < most)?;
            index.allocate((page * PAGE) as u32);
            (index.pages.len() == slot + 1).then_some(())?;
        }
        (index.pages.iter().zip(pages).all(|(a, b)| u64::from(*a) == *b)).then_some(index)
    }
}

/// θ and θ̄ of a learner or of a model: the weights of features, then the intercepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// The features that have weights, in ascending order; `None` if every feature below the dimension has one.
    pub features: Option<Vec<u32>>,
    /// θ.
    pub theta: Vec<f64>,
    /// θ̄.
    pub mean: Vec<f64>,
}

impl Coefficients {
    /// Makes coefficients in which every feature has a weight.
    pub fn dense(theta: Vec<f64>, mean: Vec<f64>) -> Self {
        Self { features: None, theta, mean }
    }

    /// Makes coefficients from numbers by slots, `outputs` for each. Skips features whose numbers are all 0, so that
    /// the result depends only on the numbers and not on which features occurred.
    pub(crate) fn of_slots(index: &FeatureIndex, outputs: usize, theta: &[f64], mean: &[f64]) -> Self {
        let weights = theta.len() - outputs;
        let is_set = |slot: &usize| {
            let range = slot * outputs..(slot + 1) * outputs;
            theta[range.clone()].iter().chain(&mean[range]).any(|number| *number != 0.0)
        };
        let set = (0..weights / outputs).filter(is_set);
        let mut listed: Vec<(u32, usize)> = set.filter_map(|slot| Some((index.feature(slot)?, slot))).collect();
        listed.sort_unstable();
        let gather = |numbers: &[f64]| {
            let of_features = listed.iter().flat_map(|(_, slot)| &numbers[slot * outputs..(slot + 1) * outputs]);
            of_features.chain(&numbers[weights..]).copied().collect()
        };
        let (theta, mean) = (gather(theta), gather(mean));
        Self { features: Some(listed.into_iter().map(|(feature, _)| feature).collect()), theta, mean }
    }

    /// Returns numbers for all of `dim` features, with 0 for those without a weight, then the intercepts.
    pub fn spread(&self, numbers: &[f64], outputs: usize, dim: usize) -> Vec<f64> {
        let Some(features) = &self.features else { return numbers.to_vec() };
        let mut spread = vec![0.0; (dim + 1) * outputs];
        let (weights, intercepts) = numbers.split_at(numbers.len() - outputs);
        for (feature, weights) in features.iter().zip(weights.chunks_exact(outputs)) {
            spread[*feature as usize * outputs..][..outputs].copy_from_slice(weights);
        }
        spread[dim * outputs..].copy_from_slice(intercepts);
        spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_get_slots_when_they_first_occur() {
        let mut index = FeatureIndex::new(300);
        assert_eq!((index.slot(299), index.dim()), (299, 3 * PAGE), "two pages, and one for the unmet");
        let far = 134_217_727;
        assert_eq!(index.feature(index.slot(far)), None);
        index.allocate(far as u32);
        index.allocate(1000);
        assert_eq!((index.feature(index.slot(far)), index.feature(index.slot(1000))), (Some(far as u32), Some(1000)));
        assert_ne!(index.slot(far), index.slot(1000));
        assert_eq!(index.dim(), 5 * PAGE);
        assert_eq!(index.feature(index.slot(far - PAGE)), None, "the page below");
        let words: Vec<u64> = index.words().collect();
        assert_eq!(FeatureIndex::from_words(&words), Some(index));
    }

    #[test]
    fn changed_words_are_rejected() {
        let mut index = FeatureIndex::new(0);
        index.allocate(5 << 20);
        let words: Vec<u64> = index.words().collect();
        for position in 0..words.len() {
            for changed in [0, 1, 7, u64::MAX] {
                let mut odd = words.clone();
                odd[position] = changed;
                let read = FeatureIndex::from_words(&odd);
                assert!(read.is_none_or(|read| read.words().eq(odd)), "word {position} as {changed}");
            }
            assert_eq!(FeatureIndex::from_words(&words[..position]), None);
        }
    }

    #[test]
    fn coefficients_do_not_depend_on_the_order_of_features() {
        let features = [9_000_000, 70_000_000, 5_000_000_u32];
        let of = |order: &[usize]| {
            let mut index = FeatureIndex::new(0);
            for position in order {
                index.allocate(features[*position]);
            }
            index.allocate(123_456_789);
            let mut theta = vec![0.0; 2 * index.dim() + 2];
            for (position, feature) in features.iter().enumerate() {
                theta[2 * index.slot(*feature as usize) + position % 2] = position as f64 + 1.0;
            }
            theta[2 * index.dim()] = -1.0;
            let mean = theta.clone();
            Coefficients::of_slots(&index, 2, &theta, &mean)
        };
        let found = of(&[0, 1, 2]);
        assert_eq!(found, of(&[2, 0, 1]));
        assert_eq!(found.features, Some(vec![5_000_000, 9_000_000, 70_000_000]), "123456789 has no weight");
        assert_eq!(found.theta, [3.0, 0.0, 1.0, 0.0, 0.0, 2.0, -1.0, 0.0]);
        let spread = found.spread(&found.theta, 2, 70_000_001);
        assert_eq!((spread[140_000_001], spread.len()), (2.0, 140_000_004));
    }
}
