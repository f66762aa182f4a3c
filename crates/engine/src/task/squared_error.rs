//! Regression: the squared error (v − y)².

use super::Task;

/// The loss (v − y)².
#[derive(Clone, Copy, Debug)]
pub struct SquaredError;

impl Task for SquaredError {
    fn name(&self) -> &'static str {
        "squared"
    }

    fn outputs(&self) -> usize {
        1
    }

    fn loss(&self, scores: &[f64], label: f64) -> f64 {
        (scores[0] - label) * (scores[0] - label)
    }

    fn slope(&self, scores: &[f64], label: f64, out: &mut [f64]) {
        out[0] = 2.0 * (scores[0] - label);
    }

    fn curve(&self, _scores: &[f64], _label: f64, direction: &[f64], out: &mut [f64]) {
        out[0] = 2.0 * direction[0];
    }

    fn smooth(&self) -> Option<Box<dyn Task>> {
        Some(Box::new(*self))
    }

    fn decide(&self, scores: &[f64]) -> f64 {
        scores[0]
    }

    fn steepness(&self) -> Option<f64> {
        None
    }

    fn is_classification(&self) -> bool {
        false
    }
}
