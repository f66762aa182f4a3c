//! Constant × any loss: the loss times p. The critical rule of the hinge is the constant 1.

use super::{ClosedForm, LinkValue, PairEntry, ProbabilityForm};
use crate::coordinate::{Bias, Probability};
use crate::loss::Loss;
use crate::registry::Named;

pub(super) const ENTRY: PairEntry = PairEntry {
    losses: &[],
    rule: "constant",
    form: "p times the loss",
    make: |loss, rule| Box::new(ConstantAny { loss: loss.clone(), p: rule.numbers[0] }),
};

pub(super) const CRITICAL: PairEntry = PairEntry {
    losses: &["hinge"],
    rule: "critical",
    form: "the loss itself: no rule but a constant keeps the hinge convex",
    make: |loss, _| Box::new(ConstantAny { loss: loss.clone(), p: 1.0 }),
};

/// ℓ̃ = p·ℓ.
#[derive(Debug)]
struct ConstantAny {
    loss: Named<dyn Loss>,
    p: f64,
}

impl ClosedForm for ConstantAny {
    fn value(&self, s: f64) -> f64 {
        self.p * self.loss.value(s)
    }

    fn curvature(&self, s: f64) -> Option<f64> {
        Some(self.p * self.loss.curvature(s))
    }

    fn in_probability(&self, at: Probability) -> Option<ProbabilityForm> {
        let jet = self.loss.in_probability(at);
        Some(ProbabilityForm { value: self.p * jet.value, curvature: self.p * jet.curvature })
    }

    fn link(&self, bias: Bias) -> Option<LinkValue> {
        let link = self.loss.link(bias)?;
        Some(LinkValue { value: self.p * link.value, slope: self.p * link.slope })
    }
}
