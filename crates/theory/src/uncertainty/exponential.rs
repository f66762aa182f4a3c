//! Exponential rule (label eg:exponential).

use std::sync::Arc;

use super::{Uncertainty, UncertaintyFacts, even_slope, require_size, stretched};
use crate::expression::{Enclosure, Function, Interval};
use crate::rate::{Bound, Rate};
use crate::registry::{Entry, Param, ParamError, ParamKind};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "exponential",
    summary: "e^(-mu |v|)",
    params: &[Param { name: "mu", kind: ParamKind::Number(None) }],
    make: |arguments| Ok(Arc::new(ExponentialDecay::new(arguments.number(0))?)),
    samples: &["exponential:mu=0", "exponential:mu=0.1", "exponential:mu=0.5", "exponential:mu=1", "exponential:mu=10"],
    source: "label eg:exponential",
};

/// U = e^{−μ|v|}.
#[derive(Clone, Copy, Debug)]
pub struct ExponentialDecay {
    mu: f64,
}

impl ExponentialDecay {
    /// Creates the rule; requires μ ≥ 0.
    pub fn new(mu: f64) -> Result<Self, ParamError> {
        require_size("mu", mu, "mu >= 0", 0.0 <= mu)?;
        Ok(Self { mu })
    }
}

impl Uncertainty for ExponentialDecay {
    #[inline]
    fn at(&self, v: f64) -> f64 {
        (-stretched(self.mu, v)).exp()
    }

    fn slope(&self, v: f64) -> f64 {
        even_slope(v, -self.mu * self.at(v))
    }

    fn log_at(&self, v: f64) -> f64 {
        -stretched(self.mu, v)
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        let stretched = Enclosure::number(self.mu).multiplied(&Enclosure::variable(over).absolute());
        stretched.negated().apply(Function::Exponential)
    }

    fn facts(&self) -> UncertaintyFacts {
        let rate = Bound::new(Rate::constant(self.mu), "−U′/U = μ");
        UncertaintyFacts::fading(1.0, rate, "e^(−μ|v|) is even, in (0, 1], and never rises in |v|")
    }
}
