//! A power of a rule: sharper for exponents above 1, softer below.

use std::sync::Arc;

use super::{KnownMax, Uncertainty, UncertaintyFacts, require_size};
use crate::expression::{Enclosure, Interval};
use crate::rate::Bound;
use crate::registry::{Entry, Named, Param, ParamError, ParamKind};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "power",
    summary: "a power of a rule",
    params: &[Param { name: "rule", kind: ParamKind::Rule }, Param { name: "exponent", kind: ParamKind::Number(None) }],
    make: |arguments| Ok(Arc::new(Power::new(arguments.rule(0).clone(), arguments.number(1))?)),
    samples: &[
        "power:rule=margin:mu=1,exponent=2",
        "power:rule=entropy:base=2,exponent=0.5",
        "power:rule=critical,exponent=0.5",
    ],
    source: "composition",
};

/// U = U₀^k.
#[derive(Clone, Debug)]
pub struct Power {
    rule: Named<dyn Uncertainty>,
    exponent: f64,
}

impl Power {
    /// Creates the rule; requires 0.001 ≤ exponent ≤ 1000.
    pub fn new(rule: Named<dyn Uncertainty>, exponent: f64) -> Result<Self, ParamError> {
        let sharp = (1e-3..=1e3).contains(&exponent);
        require_size("exponent", exponent, "0.001 <= exponent <= 1000", sharp)?;
        Ok(Self { rule, exponent })
    }
}

impl Uncertainty for Power {
    fn at(&self, v: f64) -> f64 {
        let u = self.rule.at(v);
        // A root of a rule that nearly underflows does not nearly underflow itself.
        if u < 1e-290 { self.log_at(v).exp() } else { u.powf(self.exponent) }
    }

    fn slope(&self, v: f64) -> f64 {
        let u = self.rule.at(v);
        // A rule that is nearly 0 has lost the digits of its rate.
        if u < 1e-290 { 0.0 } else { self.exponent * self.at(v) * (self.rule.slope(v) / u) }
    }

    fn log_at(&self, v: f64) -> f64 {
        self.exponent * self.rule.log_at(v)
    }

    fn known_max(&self) -> KnownMax {
        self.rule.known_max()
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        let rule = self.rule.enclose(over);
        let power = rule.constant_power(Interval::point(self.exponent));
        // The rules of differentiation give a root no slope at 0, but a constant has one.
        if rule.slope == Interval::point(0.0) { Enclosure::constant(power.value) } else { power }
    }

    fn facts(&self) -> UncertaintyFacts {
        let rule = self.rule.facts();
        let scaled = |bounds: &[Bound]| {
            let scale = |b: &Bound| {
                Bound::new(b.rate.times(self.exponent), format!("a power multiplies the rate: {}", b.because))
            };
            bounds.iter().map(scale).collect()
        };
        UncertaintyFacts {
            levels: None,
            max: rule.max.powf(self.exponent),
            // The power may round down, so the bound is widened, except that 1 stays 1.
            at_most: if rule.at_most == 1.0 { 1.0 } else { rule.at_most.powf(self.exponent) * (1.0 + 1e-14) },
            floor: rule.floor.powf(self.exponent),
            decay_at_most: scaled(&rule.decay_at_most),
            decay_at_least: scaled(&rule.decay_at_least),
            ..rule
        }
    }
}
