//! K classes: the hinge of the gap to the best other class (Crammer and Singer 2001).

use super::Task;
use super::cross_entropy::largest;

/// The loss max(0, 1 + the best other score − the label's score).
#[derive(Clone, Copy, Debug)]
pub struct MulticlassHinge {
    classes: usize,
}

impl MulticlassHinge {
    /// Makes the loss for this many classes.
    pub fn new(classes: usize) -> Self {
        Self { classes }
    }
}

/// Returns the best class other than the label, the first of equals.
fn rival(scores: &[f64], label: usize) -> usize {
    let start = usize::from(label == 0);
    (start..scores.len()).filter(|k| *k != label).fold(start, |best, k| if scores[best] < scores[k] { k } else { best })
}

impl Task for MulticlassHinge {
    fn name(&self) -> &'static str {
        "hinge"
    }

    fn outputs(&self) -> usize {
        self.classes
    }

    fn loss(&self, scores: &[f64], label: f64) -> f64 {
        let label = label as usize;
        (1.0 + scores[rival(scores, label)] - scores[label]).max(0.0)
    }

    fn slope(&self, scores: &[f64], label: f64, out: &mut [f64]) {
        out.fill(0.0);
        // At the kink the slope is 0, as for two classes.
        if 0.0 < self.loss(scores, label) {
            out[rival(scores, label as usize)] = 1.0;
            out[label as usize] = -1.0;
        }
    }

    fn curve(&self, _scores: &[f64], _label: f64, _direction: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    /// Returns `None`: the kinks lie along surfaces, which nothing here smooths.
    fn smooth(&self) -> Option<Box<dyn Task>> {
        None
    }

    fn decide(&self, scores: &[f64]) -> f64 {
        largest(scores) as f64
    }

    fn steepness(&self) -> Option<f64> {
        Some(std::f64::consts::SQRT_2)
    }
}
