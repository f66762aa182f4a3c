//! Cross entropy in the probability coordinate, Example 1.

use std::sync::Arc;

use super::{Logistic, Loss, LossFacts};
use crate::coordinate::{Bias, Coordinate, Jet, Probability};
use crate::expression::{Enclosure, Interval};
use crate::registry::Entry;

pub(super) const ENTRY: Entry<dyn Loss> = Entry {
    name: "cross-entropy",
    summary: "-log r, with r the modeled probability of the label that occurred",
    params: &[],
    make: |_| Ok(Arc::new(CrossEntropy)),
    samples: &["cross-entropy"],
    source: "Example 1",
};

/// ℓ(r) = −log r, which becomes the logistic loss through the logit r = σ(s).
#[derive(Clone, Copy, Debug)]
pub struct CrossEntropy;

impl Loss for CrossEntropy {
    fn value(&self, s: f64) -> f64 {
        Logistic.value(s)
    }

    fn slope(&self, s: f64) -> f64 {
        Logistic.slope(s)
    }

    fn curvature(&self, s: f64) -> f64 {
        Logistic.curvature(s)
    }

    fn drop_between(&self, s: f64, t: f64) -> f64 {
        Logistic.drop_between(s, t)
    }

    fn in_probability(&self, at: Probability) -> Jet {
        Logistic.in_probability(at)
    }

    fn minimizer(&self, bias: Bias) -> Option<f64> {
        Logistic.minimizer(bias)
    }

    fn bias_of(&self, s: f64) -> Option<Bias> {
        Logistic.bias_of(s)
    }

    fn link(&self, bias: Bias) -> Option<Jet> {
        Logistic.link(bias)
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        Logistic.enclose(over)
    }

    fn facts(&self) -> LossFacts {
        // −1/r is unbounded in r although bounded in s.
        LossFacts { coordinate: Coordinate::Probability, lipschitz: None, ..Logistic.facts() }
    }
}
