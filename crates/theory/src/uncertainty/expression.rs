//! A user-defined rule, written as an expression of s.

use std::sync::Arc;

use super::{KnownMax, Uncertainty, UncertaintyFacts};
use crate::expression::{Enclosure, Expression, Interval, Parity, holds_on};
use crate::numeric::search::{maximum, probes};
use crate::registry::{Entry, Param, ParamError, ParamKind};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "expr",
    summary: "your own, for example expr:1/(1+s^2)",
    params: &[Param { name: "expression", kind: ParamKind::Expression }],
    make: |arguments| Ok(Arc::new(ExpressionRule::new(arguments.expression(0))?)),
    samples: &["expr:1/(1+s^2)", "expr:exp(-abs(s))", "expr:0.5+0.5*exp(-s^2)", "expr:max(0,1-abs(s)/2)"],
    source: "yours",
};

/// U(s) as an expression.
#[derive(Debug)]
pub struct ExpressionRule {
    expression: Expression,
    facts: UncertaintyFacts,
}

impl ExpressionRule {
    /// Parses an expression; it must be even, within [0, 1] and not NaN at every point tried.
    pub fn new(text: &str) -> Result<Self, ParamError> {
        let expression =
            Expression::parse(text).map_err(|error| ParamError { found: error.to_string(), need: String::new() })?;
        let kinks = expression.kinks();
        let points = probes(&kinks);
        // Small integers come first, so that an error names a simple point.
        let plain = (0..=10).map(f64::from);
        for s in plain.chain(points.iter().copied()) {
            try_at(&expression, s)?;
        }
        let (_, seen) = maximum(&|s| expression.value(s), &points).unwrap_or((0.0, f64::NAN));
        if seen == 0.0 {
            let found = "the expression is 0 at every s that was tried".to_owned();
            return Err(ParamError { found, need: "a rule that asks".to_owned() });
        }
        let facts = find_facts(&expression, kinks, seen);
        Ok(Self { expression, facts })
    }
}

/// Rejects the expression if it is not a probability at a point, or not even.
fn try_at(expression: &Expression, s: f64) -> Result<(), ParamError> {
    let reject = |found: String, need: &str| Err(ParamError { found, need: need.to_owned() });
    let u = expression.value(s);
    let mirrored = expression.value(-s);
    if u.is_nan() {
        return reject(format!("the expression is NaN at s = {s}"), "a number everywhere");
    }
    if !(0.0..=1.0).contains(&u) {
        return reject(format!("the expression is {u} at s = {s}"), "a probability, 0 <= U <= 1");
    }
    if 1e-12 * u.max(mirrored) < (u - mirrored).abs() {
        let found = format!("the expression is {u} at s = {s} but {mirrored} at s = {}", -s);
        return reject(found, "an even function, U(s) = U(-s); write abs(s) for s");
    }
    Ok(())
}

fn find_facts(expression: &Expression, kinks: Vec<f64>, seen: f64) -> UncertaintyFacts {
    let even = expression.parity() == Parity::Even;
    let half_line = Interval::new(0.0, f64::INFINITY);
    let on = |over: Interval, holds: &dyn Fn(Interval) -> bool| even && holds_on(over, holds);
    let range = |over: Interval, within: fn(Interval) -> bool| {
        on(over, &|panel| {
            let range = expression.range(panel);
            range.defined && within(range)
        })
    };
    let bounded = range(half_line, |u| 0.0 <= u.low && u.high <= 1.0);
    let nonnegative = range(half_line, |u| 0.0 <= u.low);
    let defined = on(half_line, &|panel| expression.range(panel).defined);
    let positive = (defined && expression.is_positive()) || range(half_line, |u| 0.0 < u.low);
    let near_zero = range(Interval::new(0.0, 1e-3), |u| 0.0 < u.low);
    let falling = on(half_line, &|panel| {
        let slope = expression.slope_range(panel);
        slope.defined && slope.high <= 0.0
    });
    let is_zero = |s: &f64| expression.range(Interval::point(*s)) == Interval::point(0.0);
    let zero_at = probes(&kinks).into_iter().filter(|s| 0.0 <= *s).find(is_zero);
    let shown = |holds: bool, what: &str| {
        holds.then(|| format!("{what}: bounded by interval arithmetic on [0, ∞), even by its form").into())
    };
    UncertaintyFacts {
        kinks,
        jumps: vec![],
        max: seen,
        at_most: 1.0,
        nonnegative: shown(nonnegative, "0 ≤ U"),
        bounded: shown(bounded, "0 ≤ U ≤ 1"),
        positive: positive.then(|| "U > 0: made of positive parts, or enclosed by interval arithmetic".into()),
        positive_near_zero: shown(near_zero, "U > 0 near 0"),
        falling: shown(falling, "U′ ≤ 0"),
        levels: None,
        floor: 0.0,
        support: None,
        zero_at,
        decay_at_most: vec![],
        decay_at_least: vec![],
    }
}

impl Uncertainty for ExpressionRule {
    fn at(&self, v: f64) -> f64 {
        self.expression.value(v)
    }

    fn slope(&self, v: f64) -> f64 {
        self.expression.jet(v).slope
    }

    fn known_max(&self) -> KnownMax {
        if self.facts.falling.is_some() { KnownMax::Attained } else { KnownMax::Searched }
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        self.expression.enclose(over)
    }

    fn facts(&self) -> UncertaintyFacts {
        self.facts.clone()
    }
}
