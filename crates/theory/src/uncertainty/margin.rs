//! Smooth margin rule, Example 2.

use std::sync::Arc;

use super::{Uncertainty, UncertaintyFacts, even_slope, require_size, stretched};
use crate::expression::{Enclosure, Interval};
use crate::rate::{Bound, Rate};
use crate::registry::{Entry, Param, ParamError, ParamKind};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "margin",
    summary: "1/(1 + mu |v|)",
    params: &[Param { name: "mu", kind: ParamKind::Number(None) }],
    make: |arguments| Ok(Arc::new(Margin::new(arguments.number(0))?)),
    samples: &["margin:mu=0", "margin:mu=0.00000001", "margin:mu=0.5", "margin:mu=1", "margin:mu=3", "margin:mu=1000"],
    source: "Example 2; Raj and Bach 2022",
};

/// U = 1/(1 + μ|v|).
#[derive(Clone, Copy, Debug)]
pub struct Margin {
    mu: f64,
}

impl Margin {
    /// Creates the rule; requires μ ≥ 0.
    pub fn new(mu: f64) -> Result<Self, ParamError> {
        require_size("mu", mu, "mu >= 0", 0.0 <= mu)?;
        Ok(Self { mu })
    }
}

impl Uncertainty for Margin {
    #[inline]
    fn at(&self, v: f64) -> f64 {
        1.0 / (1.0 + stretched(self.mu, v))
    }

    fn slope(&self, v: f64) -> f64 {
        let u = self.at(v);
        even_slope(v, -self.mu * u * u)
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        let stretched = Enclosure::number(self.mu).multiplied(&Enclosure::variable(over).absolute());
        Enclosure::number(1.0).divided(&Enclosure::number(1.0).plus(&stretched))
    }

    fn facts(&self) -> UncertaintyFacts {
        let rate = if self.mu == 0.0 { Rate::zero() } else { Rate::hyperbolic(1.0, self.mu) };
        let rate = Bound::new(rate, "−U′/U = 1/(1/μ + a)");
        UncertaintyFacts::fading(1.0, rate, "1/(1 + μ|v|) is even, in (0, 1], and never rises in |v|")
    }
}
