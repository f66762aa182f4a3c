//! Constant rule: passive sampling of a fraction p of the stream.

use std::sync::Arc;

use super::{Uncertainty, UncertaintyFacts, require_size};
use crate::expression::{Enclosure, Interval};
use crate::rate::{Bound, Rate};
use crate::registry::{Entry, Param, ParamError, ParamKind};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "constant",
    summary: "p: asks at random",
    params: &[Param { name: "p", kind: ParamKind::Number(Some(1.0)) }],
    make: |arguments| Ok(Arc::new(Constant::new(arguments.number(0))?)),
    samples: &["constant", "constant:p=0.3", "constant:p=0.000001"],
    source: "passive learning",
};

/// U = p.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    p: f64,
}

impl Constant {
    /// Creates the rule; requires 0 < p ≤ 1.
    pub fn new(p: f64) -> Result<Self, ParamError> {
        require_size("p", p, "0 < p <= 1", 0.0 < p && p <= 1.0)?;
        Ok(Self { p })
    }
}

impl Uncertainty for Constant {
    #[inline]
    fn at(&self, v: f64) -> f64 {
        if v.is_nan() { v } else { self.p }
    }

    fn slope(&self, _v: f64) -> f64 {
        0.0
    }

    fn enclose(&self, _over: Interval) -> Enclosure {
        Enclosure::number(self.p)
    }

    fn facts(&self) -> UncertaintyFacts {
        let rate = Bound::new(Rate::zero(), "U is constant");
        UncertaintyFacts { floor: self.p, ..UncertaintyFacts::fading(self.p, rate, "U = p, with 0 < p ≤ 1") }
    }
}
