//! Scores that are linear in the features and in similarities to landmarks.

use std::sync::Arc;

use crate::linear::Linear;
use crate::rows::kernel::{KernelFeatures, KernelMap, Similarities};

/// A kernel model whose parameters no longer change.
///
/// It was fitted to kernel features, √V·L⁻¹k for the similarities k. Scores need no product with L⁻¹, since it is multiplied with
/// the weights once: w·(√V·L⁻¹k) = α·k.
#[derive(Clone, Debug)]
pub struct KernelScorer {
    model: Linear,
    /// The intercepts, then the weights of the row's own features.
    theta: Vec<f64>,
    /// α, landmark by landmark.
    alpha: Vec<f64>,
    map: Arc<KernelMap>,
    similarities: Arc<Similarities>,
}

/// The number of rows whose similarities are computed together.
const BLOCK: usize = 64;

impl KernelScorer {
    /// Creates a scorer from parameters of features and kernel features, intercepts first.
    ///
    /// # Panics
    /// If there are not as many parameters as the features need.
    pub fn new(map: &Arc<KernelMap>, features: &KernelFeatures, outputs: usize, theta: &[f64]) -> Self {
        let model = Linear { outputs, intercept: true };
        let (own, kernel) = theta.split_at(model.parameters(features.dim()));
        let alpha = features.weights_of_similarities(kernel, outputs);
        Self {
            model,
            theta: own.to_vec(),
            alpha,
            map: Arc::clone(map),
            similarities: Arc::clone(features.similarities()),
        }
    }

    /// Creates a scorer from saved parameters: the intercepts and the weights of features, and α. Returns `None` if there are not
    /// as many parameters as the features need.
    pub fn from_weights(map: KernelMap, outputs: usize, theta: Vec<f64>, alpha: Vec<f64>) -> Option<Self> {
        let model = Linear { outputs, intercept: true };
        let fits = theta.len() == model.parameters(map.dim()) && alpha.len() == map.landmarks() * outputs;
        let similarities = Arc::new(map.similarities());
        fits.then(|| Self { model, theta, alpha, map: Arc::new(map), similarities })
    }

    /// Returns the landmarks.
    pub fn map(&self) -> &KernelMap {
        &self.map
    }

    /// Returns the number of scores of an observation.
    pub fn outputs(&self) -> usize {
        self.model.outputs
    }

    /// Returns the number of features.
    pub fn dim(&self) -> usize {
        self.similarities.dim()
    }

    /// Returns the intercepts and the weights of the row's own features.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Returns the weights of similarities, landmark by landmark.
    pub fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// Writes the scores of one observation.
    pub(super) fn scores(&self, x: &[f32], out: &mut [f64]) {
        self.scores_of_dense(x, out);
    }

    /// Writes the scores of rows stored contiguously, bit-identical to those of single rows.
    pub(super) fn scores_of_dense(&self, values: &[f32], out: &mut [f64]) {
        let (dim, outputs, landmarks) = (self.dim(), self.outputs(), self.similarities.landmarks());
        let rows = out.len() / outputs;
        assert_eq!(values.len(), rows * dim, "as many features and scores as rows have");
        let mut similarities = vec![0.0; BLOCK.min(rows) * landmarks];
        let blocks = values.chunks(BLOCK * dim.max(1)).zip(out.chunks_mut(BLOCK * outputs));
        for (values, out) in blocks {
            let similarities = &mut similarities[..out.len() / outputs * landmarks];
            self.similarities.of_rows(values, similarities);
            let each = values.chunks_exact(dim).zip(similarities.chunks_exact(landmarks));
            for ((x, similarities), out) in each.zip(out.chunks_exact_mut(outputs)) {
                self.model.scores(&self.theta, x, out);
                self.similarities.add_products(similarities, &self.alpha, out);
            }
        }
    }
}
