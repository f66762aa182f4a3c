//! Least confidence × logistic, Example 1.

use std::f64::consts::LN_2;

use super::{ClosedForm, LinkValue, PairEntry, ProbabilityForm};
use crate::coordinate::{Bias, Probability};
use crate::numeric::stable::{excess_exponential, phi, sigmoid};

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &["logistic", "cross-entropy"],
    rule: "least-confidence",
    form: "-log r - (1-r) for r >= 1/2, log 2 - r below",
    make: |_, rule| Box::new(LeastConfidenceLogistic { scale: rule.numbers[0] }),
};

/// ℓ̃ = −log r − (1 − r) for r ≥ 1/2 and log 2 − r for r < 1/2.
#[derive(Debug)]
struct LeastConfidenceLogistic {
    scale: f64,
}

impl ClosedForm for LeastConfidenceLogistic {
    fn value(&self, s: f64) -> f64 {
        let right = if 0.0 <= s { excess_exponential((-s).exp().ln_1p()) } else { LN_2 - sigmoid(s) };
        self.scale * right
    }

    fn curvature(&self, s: f64) -> Option<f64> {
        let (r, o) = (sigmoid(s), sigmoid(-s));
        // On the left it is −r·o·(o − r), whose difference would lose all digits near 0.
        Some(self.scale * r * o * if 0.0 <= s { 2.0 * o } else { (0.5 * s).tanh() })
    }

    fn in_probability(&self, at: Probability) -> Option<ProbabilityForm> {
        let form = if at.wrong <= at.right {
            let value = excess_exponential(at.surprise());
            ProbabilityForm { value: self.scale * value, curvature: self.scale / (at.right * at.right) }
        } else {
            ProbabilityForm { value: self.scale * (LN_2 - at.right), curvature: 0.0 }
        };
        Some(form)
    }

    fn link(&self, bias: Bias) -> Option<LinkValue> {
        let z = bias.z;
        Some(LinkValue { value: self.scale * 0.5 * z * z * phi(z), slope: self.scale * 0.5 * z.ln_1p() })
    }
}
