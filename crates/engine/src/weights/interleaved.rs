//! Weights interleaved with their sums.
//!
//! The few weights of a row are each in a cache line of their own, and separate sums would need as many more lines.
//! Where memory access dominates, half the lines take half the time. The numbers are bit-identical to those of
//! [`super::SeparateWeights`].

use prefetch_index::prefetch_index;

use super::{RowStep, WeightStore};
use crate::features::Features;
use crate::numbers::Zeros;
use crate::simd::Simd;
use querist_rows::with_widest_simd;

/// The number of weights that fit in a cache.
const CACHED_WEIGHTS: usize = 1 << 15;

/// The number of weights for which address space is reserved at the start, so that features that occur late cause no
/// copy. Memory is used only for what is written.
const RESERVED_WEIGHTS: usize = 1 << 22;

/// θ of a model with one score, the intercept first, with the weighted sum of changes next to each number.
#[derive(Debug)]
pub(crate) struct InterleavedWeights {
    numbers: Zeros,
    len: usize,
}

impl InterleavedWeights {
    /// Makes weights, or returns `None` if they fit in a cache and will continue to.
    pub(super) fn new(theta: &[f64], change_sums: &[f64], parameters: usize) -> Option<Self> {
        let most = parameters.max(theta.len());
        (CACHED_WEIGHTS < most).then(|| {
            let mut weights = Self { numbers: Zeros::new(2 * most.max(RESERVED_WEIGHTS)), len: theta.len() };
            for ((pair, theta), sum) in weights.pairs_mut().iter_mut().zip(theta).zip(change_sums) {
                *pair = [*theta, *sum];
            }
            weights
        })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn widen(&mut self, parameters: usize) {
        let len = self.len;
        self.len = parameters.max(len);
        if self.numbers.len() < 2 * self.len {
            let mut wider = Zeros::new(2 * self.len.max(2 * len));
            wider[..2 * len].copy_from_slice(&self.numbers[..2 * len]);
            self.numbers = wider;
        }
    }

    pub(super) fn theta(&self) -> Vec<f64> {
        self.pairs().iter().map(|[theta, _]| *theta).collect()
    }

    pub(super) fn change_sums(&self) -> Vec<f64> {
        self.pairs().iter().map(|[_, sum]| *sum).collect()
    }

    pub(super) fn clear_sums(&mut self) {
        self.pairs_mut().iter_mut().for_each(|[_, sum]| *sum = 0.0);
    }

    /// Takes a step.
    #[inline]
    pub(super) fn add_row<X: Features>(&mut self, x: X, step: RowStep) {
        let mut store = self.open();
        with_widest_simd!(|simd| store.add(simd, x, step));
    }

    pub(super) fn add_all(&mut self, change: &[f64], average_weight: f64) {
        for ([theta, sum], change) in self.pairs_mut().iter_mut().zip(change) {
            *theta += change;
            *sum += average_weight * change;
        }
    }

    #[inline]
    pub(super) fn score<X: Features>(&self, x: X) -> f64 {
        score(self.pairs(), x)
    }

    /// Prefetches the weight of a feature.
    #[inline]
    pub(crate) fn prefetch(&self, feature: usize) {
        prefetch(self.pairs(), feature);
    }

    /// Opens the weights for rows of any layout.
    #[inline]
    pub(crate) fn open(&mut self) -> InterleavedStore<'_> {
        InterleavedStore { pairs: self.pairs_mut() }
    }

    #[inline]
    fn pairs(&self) -> &[[f64; 2]] {
        &self.numbers.as_chunks().0[..self.len]
    }

    #[inline]
    fn pairs_mut(&mut self) -> &mut [[f64; 2]] {
        &mut self.numbers.as_chunks_mut().0[..self.len]
    }
}

/// [`InterleavedWeights`], for rows of any layout.
pub(crate) struct InterleavedStore<'a> {
    pairs: &'a mut [[f64; 2]],
}

#[allow(clippy::inline_always, reason = "parts of dispatched loops")]
impl<X: Features> WeightStore<X> for InterleavedStore<'_> {
    const IS_LARGE: bool = true;

    #[inline(always)]
    fn prefetch(&self, x: X) {
        x.each(|feature, _| prefetch(self.pairs, feature));
    }

    #[inline(always)]
    fn score<S: Simd>(&self, _simd: S, x: X) -> f64 {
        score(self.pairs, x)
    }

    #[inline(always)]
    fn add<S: Simd>(&mut self, _simd: S, x: X, step: RowStep) {
        let [[b, b_sum], weights @ ..] = &mut *self.pairs else { return };
        step.add_to_intercept(b, b_sum);
        x.each(
            #[inline(always)]
            |j, x| {
                let [w, sum] = &mut weights[j];
                *w = step.theta.mul_add(x, *w);
                *sum = step.sum.mul_add(x, *sum);
            },
        );
    }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of dispatched loops")]
fn score<X: Features>(pairs: &[[f64; 2]], x: X) -> f64 {
    let [[intercept, _], weights @ ..] = pairs else { return 0.0 };
    intercept + x.dot_by(|j| weights[j][0])
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of dispatched loops")]
fn prefetch(pairs: &[[f64; 2]], feature: usize) {
    // The intercept comes first.
    prefetch_index(pairs, feature + 1);
}
