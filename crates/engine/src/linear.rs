//! The model: scores that are linear in the features, with an intercept.
//!
//! Parameters are stored feature by feature, the intercepts first: `θ = (b₁…b_K, w₁₁…w₁K, w₂₁…)`. So new features of a
//! stream only append parameters.

use crate::features::Features;

/// A model with K scores, each linear in the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// The number of scores K.
    pub outputs: usize,
    /// Whether there is an intercept; without one its parameters stay 0.
    pub intercept: bool,
}

impl Linear {
    /// Returns the number of parameters for this many features.
    pub fn parameters(self, dim: usize) -> usize {
        (dim + 1) * self.outputs
    }

    /// Computes the scores of one observation.
    #[inline]
    pub fn scores<X: Features>(self, theta: &[f64], x: X, out: &mut [f64]) {
        let (intercept, weights) = theta.split_at(self.outputs);
        if let [score] = out {
            *score = intercept[0] + x.dot(weights);
            return;
        }
        out.copy_from_slice(intercept);
        x.each(|j, x| {
            let weights = &weights[j * self.outputs..][..self.outputs];
            for (score, w) in out.iter_mut().zip(weights) {
                *score += x * w;
            }
        });
    }

    /// Returns ‖x̃‖², including the 1 of the intercept.
    #[inline]
    pub fn norm_squared<X: Features>(self, x: X) -> f64 {
        x.norm_squared() + if self.intercept { 1.0 } else { 0.0 }
    }

    /// Computes target += scale·(slope ⊗ x̃), the gradient of a loss with this slope in the scores.
    #[inline]
    pub fn add_gradient<X: Features>(self, x: X, slope: &[f64], scale: f64, target: &mut [f64]) {
        let (intercept, weights) = target.split_at_mut(self.outputs);
        if self.intercept {
            for (b, slope) in intercept.iter_mut().zip(slope) {
                *b += scale * slope;
            }
        }
        if let [slope] = slope {
            x.add_to(scale * slope, weights);
            return;
        }
        x.each(|j, x| {
            let weights = &mut weights[j * self.outputs..][..self.outputs];
            for (w, slope) in weights.iter_mut().zip(slope) {
                *w += scale * slope * x;
            }
        });
    }
}
