//! Equivalent losses known in closed form (Appendix "Equivalent Loss", with errata 3, 5 and 6 put right, and more).

use std::fmt::Debug;

use crate::coordinate::{Bias, Jet, Probability};
use crate::loss::Loss;
use crate::registry::Named;
use crate::uncertainty::Uncertainty;

mod constant_any;
mod critical_logistic;
mod entropy_logistic;
mod exponential_exponential;
mod exponential_hinge;
mod exponential_logistic;
mod exponential_squared_hinge;
mod least_confidence_logistic;
mod margin_exponential;
mod margin_hinge;
mod margin_squared_hinge;
mod threshold_any;

/// Every pair whose equivalent loss is known in closed form.
pub static PAIRS: &[PairEntry] = &[
    entropy_logistic::ENTRY,
    least_confidence_logistic::ENTRY,
    margin_squared_hinge::ENTRY,
    margin_squared_hinge::CRITICAL,
    margin_hinge::ENTRY,
    margin_exponential::ENTRY,
    exponential_exponential::ENTRY,
    exponential_exponential::CRITICAL,
    exponential_logistic::ENTRY,
    exponential_hinge::ENTRY,
    exponential_squared_hinge::ENTRY,
    critical_logistic::ENTRY,
    threshold_any::ENTRY,
    constant_any::ENTRY,
    constant_any::CRITICAL,
];

/// Makes a closed form from the loss and the rule it is of.
pub type MakeClosedForm = fn(&Named<dyn Loss>, &Named<dyn Uncertainty>) -> Box<dyn ClosedForm>;

/// One line of the list of closed forms.
#[derive(Debug)]
pub struct PairEntry {
    /// The losses it is for; empty for every loss.
    pub losses: &'static [&'static str],
    /// The rule.
    pub rule: &'static str,
    /// What it looks like, in one line.
    pub form: &'static str,
    /// Makes it from the loss and the rule.
    pub make: MakeClosedForm,
}

/// The closed form of this pair, if one is known.
pub fn find(loss: &Named<dyn Loss>, rule: &Named<dyn Uncertainty>) -> Option<Box<dyn ClosedForm>> {
    let entry = PAIRS
        .iter()
        .find(|entry| entry.rule == rule.entry && (entry.losses.is_empty() || entry.losses.contains(&loss.entry)))?;
    Some((entry.make)(loss, rule))
}

/// An equivalent loss in closed form. Its slope is U·ℓ′ by definition and needs no formula.
pub trait ClosedForm: Debug + Send + Sync {
    /// ℓ̃(s), with the pair's usual constant.
    fn value(&self, s: f64) -> f64;

    /// ℓ̃(s) − inf ℓ̃.
    fn above_infimum(&self, s: f64) -> f64 {
        self.value(s)
    }

    /// ℓ̃″(s) away from kinks, where U′ℓ′ + Uℓ″ would cancel.
    fn curvature(&self, _s: f64) -> Option<f64> {
        None
    }

    /// Value and second derivative in the probability coordinate, where going through the logit would cancel.
    fn in_probability(&self, _at: Probability) -> Option<ProbabilityForm> {
        None
    }

    /// ψ and ψ′ at z.
    fn link(&self, _bias: Bias) -> Option<Link> {
        None
    }
}

/// Value and curvature of an equivalent loss in r.
#[derive(Clone, Copy, Debug)]
pub struct ProbabilityForm {
    /// ℓ̃.
    pub value: f64,
    /// d²ℓ̃/dr².
    pub curvature: f64,
}

/// ψ and its slope.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// ψ(z).
    pub value: f64,
    /// ψ′(z).
    pub slope: f64,
}

impl From<Jet> for Link {
    fn from(jet: Jet) -> Self {
        Self { value: jet.value, slope: jet.slope }
    }
}

/// ψ of a loss, linear with this slope.
pub(crate) fn linear_link(slope: f64, bias: Bias) -> Link {
    Link { value: slope * bias.z, slope }
}
