//! Least confidence, Example 1.

use std::sync::Arc;

use super::{Uncertainty, UncertaintyFacts, even_slope, require_size};
use crate::coordinate::Probability;
use crate::expression::{Enclosure, Function, Interval};
use crate::numeric::stable::{log1p_exp, sigmoid};
use crate::rate::{Bound, Rate};
use crate::registry::{Entry, Param, ParamError, ParamKind};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "least-confidence",
    summary: "min(q, 1-q), at most 1/2; scale=2 makes it at most 1",
    params: &[Param { name: "scale", kind: ParamKind::Number(Some(1.0)) }],
    make: |arguments| Ok(Arc::new(LeastConfidence::new(arguments.number(0))?)),
    samples: &["least-confidence", "least-confidence:scale=2", "least-confidence:scale=0.01"],
    source: "Example 1; Culotta and McCallum 2005",
};

/// U = scale·min(q, 1 − q) with q = σ(v).
#[derive(Clone, Copy, Debug)]
pub struct LeastConfidence {
    scale: f64,
}

impl LeastConfidence {
    /// Creates the rule; requires `scale` > 0.
    pub fn new(scale: f64) -> Result<Self, ParamError> {
        require_size("scale", scale, "scale > 0", 0.0 < scale)?;
        Ok(Self { scale })
    }

    /// Returns the factor.
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

impl Uncertainty for LeastConfidence {
    #[inline]
    fn at(&self, v: f64) -> f64 {
        self.scale * sigmoid(-v.abs())
    }

    fn slope(&self, v: f64) -> f64 {
        even_slope(v, -self.scale * sigmoid(v) * sigmoid(-v))
    }

    fn log_at(&self, v: f64) -> f64 {
        self.scale.ln() - log1p_exp(v.abs())
    }

    fn in_probability(&self, at: Probability) -> (f64, f64) {
        let slope = if at.right < at.wrong { self.scale } else { -self.scale };
        (self.scale * at.small(), slope)
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        let wrong = Enclosure::variable(over).absolute().negated().apply(Function::Sigmoid);
        Enclosure::number(self.scale).multiplied(&wrong)
    }

    fn facts(&self) -> UncertaintyFacts {
        let rate = Bound::new(Rate::sigmoid(1.0, -1.0), "U = σ(−a) fades at the rate σ(a)");
        UncertaintyFacts::fading(0.5 * self.scale, rate, "σ(−|v|) is even, in (0, 1/2], and falls in |v|")
    }
}
