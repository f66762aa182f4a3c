//! A rule mixed with the constant 1, so that every item has at least the probability `floor`.

use std::sync::Arc;

use super::{KnownMax, Uncertainty, UncertaintyFacts, require_size};
use crate::coordinate::Probability;
use crate::expression::{Enclosure, Interval};
use crate::rate::{Bound, Rate};
use crate::registry::{Entry, Named, Param, ParamError, ParamKind};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "mix",
    summary: "floor + (1 - floor) x rule: every item keeps a chance",
    params: &[Param { name: "rule", kind: ParamKind::Rule }, Param { name: "floor", kind: ParamKind::Number(None) }],
    make: |arguments| Ok(Arc::new(Mix::new(arguments.rule(0).clone(), arguments.number(1))?)),
    samples: &[
        "mix:rule=entropy:base=2,floor=0.05",
        "mix:rule=threshold:gamma=1,floor=0.2",
        "mix:rule=margin:mu=1,floor=0.5",
        "mix:rule=critical,floor=0.9",
    ],
    source: "composition",
};

/// U = floor + (1 − floor)·U₀.
#[derive(Clone, Debug)]
pub struct Mix {
    rule: Named<dyn Uncertainty>,
    floor: f64,
}

impl Mix {
    /// Creates the rule; requires 0 < floor ≤ 1.
    pub fn new(rule: Named<dyn Uncertainty>, floor: f64) -> Result<Self, ParamError> {
        require_size("floor", floor, "0 < floor <= 1", 0.0 < floor && floor <= 1.0)?;
        Ok(Self { rule, floor })
    }
}

impl Uncertainty for Mix {
    fn at(&self, v: f64) -> f64 {
        self.floor + (1.0 - self.floor) * self.rule.at(v)
    }

    fn slope(&self, v: f64) -> f64 {
        (1.0 - self.floor) * self.rule.slope(v)
    }

    fn in_probability(&self, at: Probability) -> (f64, f64) {
        let (value, slope) = self.rule.in_probability(at);
        (self.floor + (1.0 - self.floor) * value, (1.0 - self.floor) * slope)
    }

    fn known_max(&self) -> KnownMax {
        self.rule.known_max()
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        let floor = Enclosure::number(self.floor);
        floor.plus(&Enclosure::number(1.0).minus(&floor).multiplied(&self.rule.enclose(over)))
    }

    fn facts(&self) -> UncertaintyFacts {
        let rule = self.rule.facts();
        let kept = || Some(format!("at least the floor {}", self.floor).into());
        let positive = rule.bounded.as_ref().and_then(|_| kept());
        UncertaintyFacts {
            max: self.floor + (1.0 - self.floor) * rule.max,
            at_most: if rule.at_most <= 1.0 { 1.0 } else { rule.at_most },
            positive_near_zero: positive.clone(),
            positive,
            levels: None,
            floor: if rule.bounded.is_some() { self.floor } else { 0.0 },
            support: None,
            zero_at: None,
            decay_at_most: rule
                .decay_at_most
                .iter()
                .map(|b| Bound::new(b.rate.clone(), format!("a floor only slows the fading: {}", b.because)))
                .collect(),
            decay_at_least: vec![Bound::new(Rate::zero(), "it falls, so its rate is not negative")]
                .into_iter()
                .filter(|_| rule.falling.is_some())
                .collect(),
            ..rule
        }
    }
}
