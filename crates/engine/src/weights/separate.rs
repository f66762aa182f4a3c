//! Weights and their sums in two arrays.

use super::dense::DenseStore;
use super::narrow::NarrowStore;
use super::parameters::Parameters;
use super::{RowStep, WeightStore};
use crate::features::Features;
use crate::simd::Simd;

/// θ and the weighted sums of its changes.
#[derive(Debug)]
pub(crate) struct SeparateWeights {
    theta: Parameters,
    change_sums: Parameters,
}

impl SeparateWeights {
    /// Makes weights; missing sums are 0.
    pub(super) fn new(theta: &[f64], change_sums: &[f64], outputs: usize) -> Self {
        let mut sums = Parameters::zeros(theta.len(), outputs);
        sums.iter_mut().zip(change_sums).for_each(|(sum, given)| *sum = *given);
        Self { theta: Parameters::new(theta, outputs), change_sums: sums }
    }

    #[inline]
    pub(super) fn theta(&self) -> &[f64] {
        &self.theta
    }

    pub(super) fn change_sums(&self) -> &[f64] {
        &self.change_sums
    }

    pub(super) fn arrays_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.theta, &mut self.change_sums)
    }

    pub(super) fn clear_sums(&mut self) {
        self.change_sums.fill(0.0);
    }

    /// Takes a step of a model with one score.
    #[inline]
    pub(super) fn add_row<X: Features>(&mut self, x: X, step: RowStep) {
        let ([b, weights @ ..], [b_sum, sums @ ..]) = (&mut *self.theta, &mut *self.change_sums) else { return };
        step.add_to_intercept(b, b_sum);
        x.add_to_two(step.theta, weights, step.sum, sums);
    }

    pub(super) fn add_all(&mut self, change: &[f64], average_weight: f64) {
        for ((theta, sum), change) in self.theta.iter_mut().zip(self.change_sums.iter_mut()).zip(change) {
            *theta += change;
            *sum += average_weight * change;
        }
    }

    pub(super) fn widen(&mut self, parameters: usize) {
        self.theta.widen(parameters);
        self.change_sums.widen(parameters);
    }

    /// Opens the weights for rows of any layout.
    #[inline]
    pub(crate) fn open(&mut self) -> SeparateStore<'_> {
        SeparateStore { theta: &mut self.theta, change_sums: &mut self.change_sums }
    }

    /// Opens the weights of a model with one score for dense rows with a number for every weight.
    pub(crate) fn open_dense(&mut self) -> DenseStore<'_> {
        DenseStore::new(self.theta.lines_mut(), self.change_sums.lines_mut())
    }

    /// Opens the weights of a model with one score and at most [`super::NARROW`] features for dense rows. Returns
    /// `None` for other models.
    pub(crate) fn open_narrow(&mut self) -> Option<NarrowStore<'_>> {
        let (([intercept], [line]), ([intercept_sum], [sum_line])) =
            (self.theta.lines_mut(), self.change_sums.lines_mut())
        else {
            return None;
        };
        let (weights, weight_sums) = (line.first_chunk_mut()?, sum_line.first_chunk_mut()?);
        Some(NarrowStore { intercept, weights, intercept_sum, weight_sums })
    }
}

/// [`SeparateWeights`] of a model with one score, for rows of any layout.
pub(crate) struct SeparateStore<'a> {
    theta: &'a mut [f64],
    change_sums: &'a mut [f64],
}

#[allow(clippy::inline_always, reason = "parts of dispatched loops")]
impl<X: Features> WeightStore<X> for SeparateStore<'_> {
    #[inline(always)]
    fn score<S: Simd>(&self, _simd: S, x: X) -> f64 {
        let [intercept, weights @ ..] = &*self.theta else { return 0.0 };
        intercept + x.dot(weights)
    }

    #[inline(always)]
    fn add<S: Simd>(&mut self, _simd: S, x: X, step: RowStep) {
        let ([b, weights @ ..], [b_sum, sums @ ..]) = (&mut *self.theta, &mut *self.change_sums) else { return };
        step.add_to_intercept(b, b_sum);
        let sums = &mut sums[..weights.len()];
        x.each(
            #[inline(always)]
            |j, x| {
                weights[j] = step.theta.mul_add(x, weights[j]);
                sums[j] = step.sum.mul_add(x, sums[j]);
            },
        );
    }
}
