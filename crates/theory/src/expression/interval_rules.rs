//! Interval arithmetic for the evaluation of expressions.

use super::interval::Interval;
use super::jet::SecondOrder;
use super::node::{EnclosedConstant, Function};
use super::number::{Number, Order};

/// Returns whether a function is certainly nonnegative immediately to the right of every point.
fn never_below(difference: &SecondOrder<Interval>) -> bool {
    let (slope, curvature) = (difference.slope, difference.curvature);
    let rises = slope.low > 0.0 || (slope.low >= 0.0 && curvature.low >= 0.0);
    difference.value.low > 0.0 || (difference.value.low >= 0.0 && rises)
}

impl Number for Interval {
    fn exact(value: f64) -> Self {
        Self::point(value)
    }

    fn constant(constant: &EnclosedConstant) -> Self {
        constant.bounds
    }

    fn apply(self, function: Function) -> Self {
        self.image(function)
    }

    fn integer_power(self, exponent: f64) -> Self {
        self.whole_power(exponent)
    }

    fn power(self, exponent: Self) -> Self {
        self.real_power(exponent)
    }

    fn smaller(self, other: Self) -> Self {
        -(-self).larger(-other)
    }

    fn larger(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.max(other.high), defined: self.defined && other.defined }
    }

    fn covering(self, other: Self) -> Self {
        self.hull(other)
    }

    fn times(self, other: Self) -> Self {
        self * other
    }

    fn within(self, low: f64, high: f64) -> Self {
        Self { low: self.low.max(low).min(high), high: self.high.min(high).max(low), ..self }
    }

    fn doubtful(self) -> Self {
        self.defined_if(false)
    }

    fn promised_as(self, other: Self) -> Self {
        Self { defined: other.defined, ..self }
    }

    fn unknown() -> Self {
        Self::UNKNOWN
    }

    fn may_vanish(self) -> bool {
        self.contains(0.0)
    }

    fn is_zero(self) -> bool {
        self.low == 0.0 && self.high == 0.0
    }

    fn may_be_vertical(self) -> bool {
        !self.defined
    }

    fn right_sign(inner: &SecondOrder<Self>) -> Self {
        let signs = inner.value.apply(Function::Sign);
        if !inner.value.may_vanish() {
            return signs;
        }
        // Immediately to the right of a zero, the sign may be one that the values over the interval
        // do not have.
        match Self::order(inner, &SecondOrder::constant(Self::point(0.0))) {
            Order::Larger => Self { high: 1.0, ..signs },
            Order::Smaller => Self { low: -1.0, ..signs },
            Order::Equal | Order::Either => Self { low: -1.0, high: 1.0, ..signs },
        }
    }

    fn order(left: &SecondOrder<Self>, right: &SecondOrder<Self>) -> Order {
        if never_below(&left.minus(right)) {
            Order::Larger
        } else if never_below(&right.minus(left)) {
            Order::Smaller
        } else {
            Order::Either
        }
    }

    fn chain(first: Self, second: Self, inner: &SecondOrder<Self>) -> (Self, Self) {
        let bend = second * inner.slope.integer_power(2.0);
        (first * inner.slope, bend + first * inner.curvature)
    }

    fn sharpened_root(plain: SecondOrder<Self>, x: &SecondOrder<Self>, c: Self) -> SecondOrder<Self> {
        if !(0.0 < c.low && plain.slope.defined) {
            return plain;
        }
        // x/√(c + x²) rises in x from −1 to 1; c/√(c + x²)³ is positive.
        let at = |end: f64| {
            let end = Self::point(end);
            if end.low.is_infinite() {
                end.apply(Function::Sign)
            } else {
                end / (c + end.integer_power(2.0)).apply(Function::SquareRoot)
            }
        };
        let first = Self::new(at(x.value.low).low.max(-1.0), at(x.value.high).high.min(1.0));
        let second = c / plain.value.integer_power(3.0);
        let (slope, curvature) = Self::chain(first, second, x);
        let both = |one: Self, other: Self| Self { low: one.low.max(other.low), high: one.high.min(other.high), ..one };
        SecondOrder { value: plain.value, slope: both(plain.slope, slope), curvature: both(plain.curvature, curvature) }
    }

    fn settled(jet: SecondOrder<Self>) -> SecondOrder<Self> {
        let slope = jet.slope.defined_if(jet.value.defined);
        SecondOrder { slope, curvature: jet.curvature.defined_if(slope.defined), ..jet }
    }
}
