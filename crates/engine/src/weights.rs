//! θ and its weighted average θ̄, which change only together and only here.
//!
//! With W the current weight of the average, Σ wₜθₜ = W·θ − Σ (W before a change)·(change). So it is enough to
//! accumulate the second sum whenever θ changes, and only for the parameters that change.

use std::borrow::Cow;

use crate::features::Features;
use crate::linear::Linear;
use crate::simd::Simd;
use crate::state::{Reader, Words};

mod dense;
mod interleaved;
mod narrow;
mod parameters;
mod separate;

pub(crate) use dense::LaneRow;
pub(crate) use interleaved::InterleavedWeights;
pub(crate) use narrow::{NARROW, NarrowRow};
pub(crate) use separate::SeparateWeights;

/// θ, the intercepts first, with the sums that its average needs.
#[derive(Debug)]
pub(crate) struct AveragedWeights {
    storage: Storage,
    /// W, the current weight of the average.
    average_weight: f64,
}

/// θ and the weighted sums of its changes, in one of two layouts.
#[derive(Debug)]
pub(crate) enum Storage {
    /// Two arrays.
    Separate(SeparateWeights),
    /// One array of pairs, for sparse rows of a model with one score and very many features.
    Interleaved(InterleavedWeights),
}

/// A change of θ along the features of one row, for models with one score.
#[derive(Clone, Copy)]
pub(crate) struct RowStep {
    /// θ changes by this times the row.
    theta: f64,
    /// The weighted change sums change by this times the row.
    sum: f64,
    /// Whether the intercept changes as well.
    intercept: bool,
}

impl RowStep {
    /// Returns the change of θ by scale·slope·x̃ at an average of this weight.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of dispatched loops")]
    pub(crate) fn new(scale: f64, slope: f64, average_weight: f64, intercept: bool) -> Self {
        Self { theta: scale * slope, sum: scale * average_weight * slope, intercept }
    }

    /// Changes an intercept and its sum.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of dispatched loops")]
    fn add_to_intercept(self, intercept: &mut f64, sum: &mut f64) {
        if self.intercept {
            *intercept += self.theta;
            *sum += self.sum;
        }
    }
}

/// Weights of a model with one score, opened for a loop over rows. All methods must be `#[inline(always)]`.
pub(crate) trait WeightStore<Row> {
    /// Whether the weights exceed the cache, so that [`Self::prefetch`] pays.
    const IS_LARGE: bool = false;

    /// Prefetches the weights of a row.
    fn prefetch(&self, _row: Row) {}

    fn score<S: Simd>(&self, simd: S, row: Row) -> f64;

    /// Changes θ and the weighted change sums.
    fn add<S: Simd>(&mut self, simd: S, row: Row, step: RowStep);
}

impl AveragedWeights {
    /// Makes weights at θ, `outputs` of which are intercepts, with nothing averaged.
    pub(crate) fn new(theta: &[f64], outputs: usize) -> Self {
        let storage = Storage::Separate(SeparateWeights::new(theta, &[], outputs));
        Self { storage, average_weight: 0.0 }
    }

    /// Returns the number of parameters.
    pub(crate) fn len(&self) -> usize {
        match &self.storage {
            Storage::Separate(weights) => weights.theta().len(),
            Storage::Interleaved(weights) => weights.len(),
        }
    }

    /// Returns θ; a copy where weights are interleaved.
    #[inline]
    pub(crate) fn theta(&self) -> Cow<'_, [f64]> {
        match &self.storage {
            Storage::Separate(weights) => Cow::Borrowed(weights.theta()),
            Storage::Interleaved(weights) => Cow::Owned(weights.theta()),
        }
    }

    /// Returns the weighted sums of the changes of θ.
    fn change_sums(&self) -> Cow<'_, [f64]> {
        match &self.storage {
            Storage::Separate(weights) => Cow::Borrowed(weights.change_sums()),
            Storage::Interleaved(weights) => Cow::Owned(weights.change_sums()),
        }
    }

    /// Returns θ̄; θ itself while the average has no weight.
    pub(crate) fn mean(&self) -> Vec<f64> {
        let theta = self.theta();
        if self.average_weight == 0.0 {
            return theta.into_owned();
        }
        theta.iter().zip(&*self.change_sums()).map(|(t, sum)| t - sum / self.average_weight).collect()
    }

    /// Returns W, the current weight of the average.
    pub(crate) fn average_weight(&self) -> f64 {
        self.average_weight
    }

    /// Sets W: forward for observations under the current θ, or back to a value since the last change of θ.
    pub(crate) fn set_average_weight(&mut self, weight: f64) {
        self.average_weight = weight;
    }

    /// Adds this weight to the current θ in the average.
    #[inline]
    pub(crate) fn advance_average(&mut self, weight: f64) {
        self.average_weight += weight;
    }

    /// Restarts the average at the current θ.
    pub(crate) fn restart_average(&mut self) {
        self.average_weight = 0.0;
        match &mut self.storage {
            Storage::Separate(weights) => weights.clear_sums(),
            Storage::Interleaved(weights) => weights.clear_sums(),
        }
    }

    /// Computes the scores of one row.
    #[inline]
    pub(crate) fn scores<X: Features>(&self, model: Linear, x: X, out: &mut [f64]) {
        match &self.storage {
            Storage::Separate(weights) => model.scores(weights.theta(), x, out),
            Storage::Interleaved(weights) => out.fill(weights.score(x)),
        }
    }

    /// Returns the weights, if they are interleaved.
    pub(crate) fn interleaved(&self) -> Option<&InterleavedWeights> {
        match &self.storage {
            Storage::Separate(_) => None,
            Storage::Interleaved(weights) => Some(weights),
        }
    }

    /// Returns the storage, to be opened for a loop over rows.
    #[inline]
    pub(crate) fn storage_mut(&mut self) -> &mut Storage {
        &mut self.storage
    }

    /// Changes θ by scale·(slope ⊗ x̃).
    #[inline]
    pub(crate) fn add_gradient<X: Features>(&mut self, model: Linear, x: X, slope: &[f64], scale: f64) {
        let sum_scale = scale * self.average_weight;
        match (&mut self.storage, slope) {
            (Storage::Separate(weights), [slope]) => {
                weights.add_row(x, RowStep::new(scale, *slope, self.average_weight, model.intercept));
            }
            (Storage::Separate(weights), _) => {
                let (theta, sums) = weights.arrays_mut();
                model.add_gradient(x, slope, scale, theta);
                model.add_gradient(x, slope, sum_scale, sums);
            }
            // Interleaved weights always have one score.
            (Storage::Interleaved(weights), _) => {
                weights.add_row(x, RowStep::new(scale, slope[0], self.average_weight, model.intercept));
            }
        }
    }

    /// Changes every parameter.
    pub(crate) fn add_all(&mut self, change: &[f64]) {
        match &mut self.storage {
            Storage::Separate(weights) => weights.add_all(change, self.average_weight),
            Storage::Interleaved(weights) => weights.add_all(change, self.average_weight),
        }
    }

    /// Appends parameters, whose value was 0 in the past as well.
    pub(crate) fn widen(&mut self, parameters: usize) {
        match &mut self.storage {
            Storage::Separate(weights) => weights.widen(parameters),
            Storage::Interleaved(weights) => weights.widen(parameters),
        }
    }

    /// Moves the weights of a model with one score to interleaved storage, if they are or will be too many for a cache.
    pub(crate) fn interleave(&mut self, parameters: usize) {
        if let Storage::Separate(weights) = &self.storage
            && let Some(interleaved) = InterleavedWeights::new(weights.theta(), weights.change_sums(), parameters)
        {
            self.storage = Storage::Interleaved(interleaved);
        }
    }

    /// Writes what [`Self::read`] needs besides θ.
    pub(crate) fn write_average(&self, words: &mut Words) {
        words.number(self.average_weight);
        words.numbers(&self.change_sums());
    }

    /// Reads weights at θ. Returns `None` if the words do not fit.
    pub(crate) fn read(words: &mut Reader<'_>, theta: &[f64], outputs: usize) -> Option<Self> {
        let (average_weight, sums) = (words.number()?, words.numbers()?);
        let storage = Storage::Separate(SeparateWeights::new(theta, &sums, outputs));
        (sums.len() == theta.len()).then_some(Self { storage, average_weight })
    }
}
