//! Threshold × any loss, Example 3: the loss inside the band, flat outside.

use super::{ClosedForm, Link, PairEntry, linear_link};
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

    fn link(&self, bias: Bias) -> Option<Link> {
        // ψ″ = U(s*)·ψ_orig″ stops at the bias whose minimizer is γ; ψ goes on along its tangent (erratum 2).
        let link = self.loss.link(bias)?;
        let Some(edge) = self.loss.bias_of(self.gamma) else {
            // The hinge's minimizer is 1 for every bias: ψ = z·∫₀¹ U.
            return Some(linear_link(self.gamma.min(1.0), bias));
        };
        if bias.z <= edge.z {
            return Some(link.into());
        }
        let at_edge = self.loss.link(edge)?;
        let beyond = bias.beyond(edge);
        Some(Link { value: at_edge.value + at_edge.slope * beyond, slope: at_edge.slope })
    }
}
