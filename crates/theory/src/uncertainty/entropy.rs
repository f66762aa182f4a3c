//! Entropy of the modeled label, Example 1.

use std::f64::consts::{E, LN_2};
use std::sync::Arc;

use super::{Uncertainty, UncertaintyFacts, even_slope, require_size};
use crate::coordinate::Probability;
use crate::expression::{Enclosure, Function, Interval};
use crate::numeric::stable::{binary_entropy, lambda, sigmoid};
use crate::rate::{Bound, Rate};
use crate::registry::{Entry, Param, ParamError, ParamKind};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "entropy",
    summary: "-q log q - (1-q) log(1-q) in nats, at most log 2; base=2 makes it at most 1",
    params: &[Param { name: "base", kind: ParamKind::Number(Some(E)) }],
    make: |arguments| Ok(Arc::new(Entropy::new(arguments.number(0))?)),
    samples: &["entropy", "entropy:base=2", "entropy:base=20"],
    source: "Example 1; Dagan and Engelson 1995",
};

/// U = −q log q − (1 − q) log(1 − q) with q = σ(v).
#[derive(Clone, Copy, Debug)]
pub struct Entropy {
    base: f64,
    scale: f64,
    max: f64,
}

impl Entropy {
    /// Creates the rule with logarithms to a base > 1.
    pub fn new(base: f64) -> Result<Self, ParamError> {
        require_size("base", base, "base > 1", 1.0 < base)?;
        // Exactly 1 for base e and exactly 1/log 2 for base 2.
        let scale = if base == E {
            1.0
        } else if base == 2.0 {
            1.0 / LN_2
        } else {
            1.0 / base.ln()
        };
        // If log 2/log base rounds to 1, the base determines on which side of 1 it is.
        let max = if base < 2.0 { (scale * LN_2).max(1.0_f64.next_up()) } else { (scale * LN_2).min(1.0) };
        Ok(Self { base, scale, max })
    }

    /// Returns bounds for 1/log base; the double nearest to e counts as e itself.
    pub(crate) fn enclosed_scale(&self) -> Interval {
        let one = Interval::point(1.0);
        if self.base == E { one } else { one / Interval::point(self.base).natural_logarithm() }
    }

    /// Returns the factor by which the entropy in nats is multiplied.
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

impl Uncertainty for Entropy {
    #[inline]
    fn at(&self, v: f64) -> f64 {
        let a = v.abs();
        let e = (-a).exp();
        // Both terms are positive. Past |v| = 745 the entropy underflows; a·e alone would be ∞·0 at infinity.
        if e == 0.0 { 0.0 } else { self.scale * (e.ln_1p() + a * (e / (1.0 + e))) }
    }

    fn slope(&self, v: f64) -> f64 {
        let a = v.abs();
        let wrong = sigmoid(-a);
        even_slope(v, if wrong == 0.0 { 0.0 } else { -self.scale * a * sigmoid(a) * wrong })
    }

    fn log_at(&self, v: f64) -> f64 {
        // U eᵃ = eᵃ log(1 + e⁻ᵃ) + aσ(a), where no term underflows.
        let a = v.abs();
        if a.is_infinite() {
            return f64::NEG_INFINITY;
        }
        let e = (-a).exp();
        self.scale.ln() + (lambda(e) + a / (1.0 + e)).ln() - a
    }

    fn in_probability(&self, at: Probability) -> (f64, f64) {
        (self.scale * binary_entropy(at.small()), -self.scale * at.margin())
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        let score = Enclosure::variable(over);
        let away = score.absolute().negated();
        let wrong = away.apply(Function::Sigmoid);
        let nats = away.apply(Function::Softplus).minus(&away.multiplied(&wrong));
        // U′ = −vσ(v)σ(−v); the rules of differentiation give only terms that cancel.
        let slope = -(over * score.apply(Function::Sigmoid).slope);
        Enclosure::constant(self.enclosed_scale()).multiplied(&Enclosure { slope, ..nats })
    }

    fn facts(&self) -> UncertaintyFacts {
        let concave = "U is concave in q and 0 at q = 0, so U/q falls: −U′/U ≤ σ(a)";
        let heavy = "U ≥ (1 + a)σ(−a), because (1 + x) log(1 + x) ≥ x at x = e⁻ᵃ: −U′/U ≤ a/(1 + a)";
        let light = "U ≤ (3 + a)σ(a)σ(−a), because (1 + x) log(1 + x) ≤ x + x²/2 at x = e⁻ᵃ: −U′/U ≥ a/(3 + a)";
        UncertaintyFacts {
            kinks: vec![],
            jumps: vec![],
            max: self.max,
            at_most: self.max,
            nonnegative: Some("the entropy of a coin, even in v".into()),
            bounded: Some("the entropy of a coin: even in v, from 0 to log 2 in nats".into()),
            positive: Some("a coin with 0 < q < 1 has positive entropy".into()),
            positive_near_zero: Some("a coin with 0 < q < 1 has positive entropy".into()),
            falling: Some("U′ = −v σ(v)σ(−v) has the sign of −v".into()),
            levels: None,
            floor: 0.0,
            support: None,
            zero_at: None,
            decay_at_most: vec![
                Bound::new(Rate::sigmoid(1.0, -1.0), concave),
                Bound::new(Rate::constant(1.0).plus(&Rate::hyperbolic(-1.0, 1.0)), heavy),
            ],
            // 3/(3 + a) with 1/3 rounded up, which only lowers the bound.
            decay_at_least: vec![Bound::new(
                Rate::constant(1.0).plus(&Rate::hyperbolic(-3.0, (1.0_f64 / 3.0).next_up())),
                light,
            )],
        }
    }
}
