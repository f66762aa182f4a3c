//! The product of two rules: both must select the item.

use std::sync::Arc;

use super::{KnownMax, Uncertainty, UncertaintyFacts};
use crate::expression::directed::product_up;
use crate::expression::{Enclosure, Interval};
use crate::rate::Bound;
use crate::registry::{Because, Entry, Named, Param, ParamKind};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "product",
    summary: "the product of two rules",
    params: &[Param { name: "rule", kind: ParamKind::Rule }, Param { name: "by", kind: ParamKind::Rule }],
    make: |arguments| Ok(Arc::new(Product { one: arguments.rule(0).clone(), other: arguments.rule(1).clone() })),
    samples: &[
        "product:rule=entropy:base=2,by=margin:mu=0.5",
        "product:rule=margin:mu=0.25,by=margin:mu=0.25",
        "product:rule=threshold:gamma=1.5,by=exponential:mu=0.5",
    ],
    source: "composition",
};

/// U = U₁·U₂.
#[derive(Clone, Debug)]
pub struct Product {
    one: Named<dyn Uncertainty>,
    other: Named<dyn Uncertainty>,
}

impl Product {
    /// Creates the product of two rules.
    pub fn new(one: Named<dyn Uncertainty>, other: Named<dyn Uncertainty>) -> Self {
        Self { one, other }
    }
}

impl Uncertainty for Product {
    fn at(&self, v: f64) -> f64 {
        self.one.at(v) * self.other.at(v)
    }

    fn slope(&self, v: f64) -> f64 {
        self.one.slope(v) * self.other.at(v) + self.one.at(v) * self.other.slope(v)
    }

    fn log_at(&self, v: f64) -> f64 {
        self.one.log_at(v) + self.other.log_at(v)
    }

    fn known_max(&self) -> KnownMax {
        let factors = [&self.one, &self.other];
        let is_exact =
            |rule: &&Named<dyn Uncertainty>| matches!(rule.known_max(), KnownMax::Attained | KnownMax::UpperBound);
        // As in `facts`: two falling factors both have their maximum at 0.
        if factors.iter().all(|rule| rule.facts().falling.is_some()) {
            KnownMax::Attained
        } else if factors.iter().all(is_exact) {
            KnownMax::UpperBound
        } else {
            KnownMax::SearchedBound
        }
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        self.one.enclose(over).multiplied(&self.other.enclose(over))
    }

    fn facts(&self) -> UncertaintyFacts {
        let (one, other) = (self.one.facts(), self.other.facts());
        let falling = both(one.falling.as_ref(), other.falling.as_ref());
        // If both fall, both have their maximum at 0; otherwise the product of the maxima is only a bound.
        let max = if falling.is_some() { self.at(0.0) } else { one.max * other.max };
        UncertaintyFacts {
            kinks: union(&one.kinks, &other.kinks),
            jumps: union(&one.jumps, &other.jumps),
            max,
            at_most: product_up(one.at_most, other.at_most),
            nonnegative: both(one.nonnegative.as_ref(), other.nonnegative.as_ref()),
            bounded: both(one.bounded.as_ref(), other.bounded.as_ref()),
            positive: both(one.positive.as_ref(), other.positive.as_ref()),
            positive_near_zero: both(one.positive_near_zero.as_ref(), other.positive_near_zero.as_ref()),
            falling,
            levels: None,
            floor: one.floor * other.floor,
            support: [one.support, other.support].into_iter().flatten().reduce(f64::min),
            zero_at: one.zero_at.or(other.zero_at),
            decay_at_most: sums(&one.decay_at_most, &other.decay_at_most),
            decay_at_least: sums(&one.decay_at_least, &other.decay_at_least),
        }
    }
}

fn both(one: Option<&Because>, other: Option<&Because>) -> Option<Because> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("of each factor: {one}; {other}").into()),
        _ => None,
    }
}

fn union(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut all = [one, other].concat();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// The maximum number of bounds of a product; products of products would otherwise accumulate them.
const MAX_BOUNDS: usize = 4;

fn sums(one: &[Bound], other: &[Bound]) -> Vec<Bound> {
    let mut all: Vec<Bound> = Vec::new();
    for (a, b) in one.iter().flat_map(|a| other.iter().map(move |b| (a, b))) {
        let rate = a.rate.plus(&b.rate);
        if all.len() < MAX_BOUNDS && all.iter().all(|known| known.rate != rate) {
            all.push(Bound::new(rate, format!("rates of factors add: {}; {}", a.because, b.because)));
        }
    }
    all
}
