//! K classes: softmax and cross entropy (label `sec:multi_dim`).

use querist_theory::vector::cross_entropy;

use super::{Labels, Task};

/// The negative log of the softmax probability of the label, for K classes.
#[derive(Clone, Copy, Debug)]
pub struct CrossEntropyTask {
    classes: usize,
}

impl CrossEntropyTask {
    /// Makes the loss for this many classes.
    pub fn new(classes: usize) -> Self {
        Self { classes }
    }
}

impl Task for CrossEntropyTask {
    fn name(&self) -> &'static str {
        "cross-entropy"
    }

    fn outputs(&self) -> usize {
        self.classes
    }

    fn loss(&self, scores: &[f64], label: f64) -> f64 {
        cross_entropy(scores, label as usize)
    }

    fn losses(&self, scores: &[f64], _labels: Labels, out: &mut [f64]) {
        // One log-sum-exp serves all classes.
        let top = largest(scores);
        let first = cross_entropy(scores, top);
        for (loss, score) in out.iter_mut().zip(scores) {
            *loss = first + (scores[top] - score);
        }
    }

    fn slope(&self, scores: &[f64], label: f64, out: &mut [f64]) {
        softmax_into(scores, out);
        // Summing the other probabilities gives 1 − p to full precision even if p is nearly 1.
        out[label as usize] = 0.0;
        out[label as usize] = -out.iter().sum::<f64>();
    }

    fn curve(&self, scores: &[f64], label: f64, direction: &[f64], out: &mut [f64]) {
        let mut probabilities = scores.to_vec();
        self.prepare_curve(&mut probabilities, label);
        self.curve_prepared(&probabilities, label, direction, out);
    }

    fn prepare_curve(&self, scores: &mut [f64], _label: f64) {
        softmax(scores);
    }

    fn curve_prepared(&self, probabilities: &[f64], _label: f64, direction: &[f64], out: &mut [f64]) {
        let mean: f64 = probabilities.iter().zip(direction).map(|(p, u)| p * u).sum();
        for ((out, p), u) in out.iter_mut().zip(probabilities).zip(direction) {
            *out = p * (u - mean);
        }
    }

    fn curvatures(&self, scores: &[f64], _label: f64, out: &mut [f64]) {
        softmax_into(scores, out);
        for p in out {
            *p *= 1.0 - *p;
        }
    }

    fn smooth(&self) -> Option<Box<dyn Task>> {
        Some(Box::new(*self))
    }

    fn decide(&self, scores: &[f64]) -> f64 {
        largest(scores) as f64
    }

    fn probabilities(&self, scores: &[f64]) -> Option<Vec<f64>> {
        let mut probabilities = vec![0.0; self.classes];
        softmax_into(scores, &mut probabilities);
        Some(probabilities)
    }

    fn steepness(&self) -> Option<f64> {
        Some(std::f64::consts::SQRT_2)
    }
}

/// Returns the index of the largest score, the first of equals.
pub(super) fn largest(scores: &[f64]) -> usize {
    (1..scores.len()).fold(0, |best, k| if scores[best] < scores[k] { k } else { best })
}

/// Computes the softmax, shifted so that nothing overflows.
pub(crate) fn softmax_into(scores: &[f64], out: &mut [f64]) {
    out.copy_from_slice(scores);
    softmax(out);
}

/// Replaces scores by their softmax.
fn softmax(scores: &mut [f64]) {
    let top = scores[largest(scores)];
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - top).exp();
        sum += *score;
    }
    for p in scores {
        *p /= sum;
    }
}
