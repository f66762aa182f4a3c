//! Hard threshold, Example 3: queries only on the closed band |v| ≤ γ.

use std::sync::Arc;

use super::{Uncertainty, UncertaintyFacts, require_size};
use crate::expression::{Enclosure, Interval};
use crate::registry::{Entry, Param, ParamError, ParamKind};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "threshold",
    summary: "1 where |v| <= gamma, else 0",
    params: &[Param { name: "gamma", kind: ParamKind::Number(None) }],
    make: |arguments| Ok(Arc::new(Threshold::new(arguments.number(0))?)),
    samples: &["threshold:gamma=0.001", "threshold:gamma=0.5", "threshold:gamma=1.5", "threshold:gamma=40"],
    source: "Example 3; Tifrea, Clarysse and Yang 2022",
};

/// U = 1{|v| ≤ γ}.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    gamma: f64,
}

impl Threshold {
    /// Creates the rule; requires γ > 0.
    pub fn new(gamma: f64) -> Result<Self, ParamError> {
        require_size("gamma", gamma, "gamma > 0", 0.0 < gamma)?;
        Ok(Self { gamma })
    }
}

impl Uncertainty for Threshold {
    #[inline]
    fn at(&self, v: f64) -> f64 {
        if v.abs() <= self.gamma { 1.0 } else { 0.0 }
    }

    fn slope(&self, _v: f64) -> f64 {
        0.0
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        let away = Enclosure::variable(over).absolute().value;
        if away.high < self.gamma {
            Enclosure::number(1.0)
        } else if self.gamma < away.low {
            Enclosure::number(0.0)
        } else {
            Enclosure { value: Interval::new(0.0, 1.0), ..Enclosure::UNKNOWN }
        }
    }

    fn facts(&self) -> UncertaintyFacts {
        UncertaintyFacts {
            kinks: vec![-self.gamma, self.gamma],
            jumps: vec![-self.gamma, self.gamma],
            max: 1.0,
            at_most: 1.0,
            nonnegative: Some("an even indicator".into()),
            bounded: Some("an even indicator".into()),
            positive: None,
            positive_near_zero: Some(format!("1 on [−{0}, {0}]", self.gamma).into()),
            falling: Some("1 inside the band, 0 outside".into()),
            levels: None,
            floor: 0.0,
            support: Some(self.gamma),
            zero_at: Some(2.0 * self.gamma),
            decay_at_most: vec![],
            decay_at_least: vec![],
        }
    }
}
