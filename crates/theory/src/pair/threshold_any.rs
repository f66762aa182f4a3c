//! Threshold × any loss, Example 3: the loss inside the band, flat outside.

use super::{ClosedForm, LinkValue, PairEntry, linear_link};
use crate::coordinate::Bias;
use crate::loss::{Ground, Loss};
use crate::registry::Named;

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &[],
    rule: "threshold",
    form: "the loss of s clipped to [-gamma, gamma]",
    make: |loss, rule| Box::new(ThresholdAny { loss: loss.clone(), gamma: rule.numbers[0] }),
};

/// ℓ̃(s) = ℓ(clip(s, −γ, γ)).
#[derive(Debug)]
struct ThresholdAny {
    loss: Named<dyn Loss>,
    gamma: f64,
}

impl ThresholdAny {
    fn clip(&self, s: f64) -> f64 {
        s.clamp(-self.gamma, self.gamma)
    }
}

impl ClosedForm for ThresholdAny {
    fn value(&self, s: f64) -> f64 {
        self.loss.value(self.clip(s))
    }

    fn above_infimum(&self, s: f64) -> f64 {
        match self.loss.facts().ground {
            Ground::Infinity => self.loss.drop_between(self.clip(s), self.gamma),
            Ground::Point(lowest) => self.value(s) - self.value(lowest),
        }
    }

    fn link(&self, bias: Bias) -> Option<LinkValue> {
        // ψ″ = U(s*)·ψ_orig″ vanishes beyond the bias whose minimizer is γ; ψ continues along its tangent (erratum 2).
        let link = self.loss.link(bias)?;
        let Some(edge) = self.loss.bias_of(self.gamma) else {
            // The hinge's minimizer is 1 for every bias: ψ = z·∫₀¹ U.
            return Some(linear_link(self.gamma.min(1.0), bias));
        };
        // The edge may round to z = 1, so the two are compared through 1 − z, which keeps more digits.
        let beyond = bias.beyond(edge);
        if beyond < 0.0 || (beyond == 0.0 && link.slope.is_finite()) {
            return Some(link.into());
        }
        let at_edge = self.loss.link(edge)?;
        // For edges where even 1 − z underflows: ψ′ = ∫₀^γ (|ℓ′(t)| + |ℓ′(−t)|)/2 dt.
        let whole = 0.5 * (self.loss.value(-self.gamma) - self.loss.value(self.gamma));
        let slope = if at_edge.slope.is_finite() { at_edge.slope } else { whole };
        let value = if beyond == 0.0 { at_edge.value } else { at_edge.value + slope * beyond };
        Some(LinkValue { value, slope })
    }
}
