//! Critical × logistic: the half-floor rule (1 + e^{−|s|})/2, not in the paper.

use super::{ClosedForm, LinkValue, PairEntry};
use crate::coordinate::Bias;
use crate::numeric::stable::artanh;

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &["logistic", "cross-entropy"],
    rule: "critical",
    form: "e^-s/2 for s >= 0, (1 - s)/2 below",
    make: |_, _| Box::new(CriticalLogistic),
};

/// ℓ̃ = e⁻ˢ/2 for s ≥ 0, (1 − s)/2 below.
#[derive(Debug)]
struct CriticalLogistic;

impl ClosedForm for CriticalLogistic {
    fn value(&self, s: f64) -> f64 {
        0.5 * if 0.0 <= s { (-s).exp() } else { 1.0 - s }
    }

    fn curvature(&self, s: f64) -> Option<f64> {
        Some(if 0.0 <= s { 0.5 * (-s).exp() } else { 0.0 })
    }

    fn link(&self, bias: Bias) -> Option<LinkValue> {
        let Bias { z, gap } = bias;
        let slope = 0.5 * (artanh(z, gap) + z / (1.0 + z));
        let value = if gap == 0.0 {
            0.5
        } else if z < 0.3 {
            // z/2 − (1 − z) artanh(z)/2 = (z² − (1 − z)(z³/3 + z⁵/5 + …))/2.
            let y = z * z;
            let rest = (1..25).rev().fold(0.0, |sum, k| (sum + 1.0 / f64::from(2 * k + 1)) * y);
            0.5 * (y - gap * z * rest)
        } else {
            0.5 * (z - gap * artanh(z, gap))
        };
        Some(LinkValue { value, slope })
    }
}
