//! The trait of numbers for the evaluation, so that one set of rules serves both doubles and
//! intervals; and its implementation for doubles.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::jet::SecondOrder;
use super::node::{EnclosedConstant, Function};
use crate::numeric::stable::sigmoid;

/// The order of two functions immediately to the right of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Larger,
    Smaller,
    Equal,
    Either,
}

/// A double, or an interval around one.
pub(crate) trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Returns the number that `value` represents exactly.
    fn exact(value: f64) -> Self;
    /// Returns the number for a constant of the expression.
    fn constant(constant: &EnclosedConstant) -> Self;
    /// Returns the value of `function` at this number.
    fn apply(self, function: Function) -> Self;
    /// Returns a power with an integer exponent.
    fn integer_power(self, exponent: f64) -> Self;
    /// Returns a power of a nonnegative number.
    fn power(self, exponent: Self) -> Self;
    /// Returns the smaller of two.
    fn smaller(self, other: Self) -> Self;
    /// Returns the larger of two.
    fn larger(self, other: Self) -> Self;
    /// Returns a number that covers both; NaN for doubles that differ.
    fn covering(self, other: Self) -> Self;
    /// Returns the product, where zero times infinity is zero.
    fn times(self, other: Self) -> Self;
    /// Returns the number, clipped to bounds that are known to hold; doubles stay unchanged.
    fn within(self, low: f64, high: f64) -> Self;
    /// Returns the number without the guarantee that it exists; doubles carry no guarantee.
    fn doubtful(self) -> Self;
    /// Returns the number, guaranteed to exist if and only if `other` is.
    fn promised_as(self, other: Self) -> Self;
    /// Returns a number of which nothing is known.
    fn unknown() -> Self;
    /// Returns whether zero is possible.
    fn may_vanish(self) -> bool;
    /// Returns whether only zero is possible.
    fn is_zero(self) -> bool;
    /// Returns whether a slope may be infinite.
    fn may_be_vertical(self) -> bool;
    /// Returns the sign immediately to the right.
    fn right_sign(inner: &SecondOrder<Self>) -> Self;
    /// Compares two functions immediately to the right.
    fn order(left: &SecondOrder<Self>, right: &SecondOrder<Self>) -> Order;
    /// Returns slope and curvature of a composition, from the two derivatives of the outer
    /// function.
    fn chain(first: Self, second: Self, inner: &SecondOrder<Self>) -> (Self, Self);
    /// Returns the jet of √(c + x²), sharper than the one by the plain rules; doubles keep the latter.
    fn sharpened_root(plain: SecondOrder<Self>, x: &SecondOrder<Self>, c: Self) -> SecondOrder<Self>;
    /// Returns the jet with its derivatives undefined where the value is.
    fn settled(jet: SecondOrder<Self>) -> SecondOrder<Self>;
}

/// The largest integer exponent for which repeated squaring is used; beyond it the rounding
/// errors would add up, and the library power is more accurate.
pub(super) const SQUARING_LIMIT: f64 = 64.0;

/// Raises `base` to an integer power of at least one by repeated squaring.
///
/// The caller passes the product, so that rounded bounds follow exactly the same steps.
pub(super) fn repeated_product(base: f64, exponent: f64, product: fn(f64, f64) -> f64) -> f64 {
    let mut remaining = exponent as u32;
    let mut square = base;
    let mut result = None;
    while remaining > 0 {
        if remaining % 2 == 1 {
            result = Some(result.map_or(square, |partial| product(partial, square)));
        }
        square = product(square, square);
        remaining /= 2;
    }
    result.unwrap_or(1.0)
}

fn sign(value: f64) -> f64 {
    if value == 0.0 {
        0.0
    } else {
        // `signum` keeps NaN.
        value.signum()
    }
}

impl Number for f64 {
    fn exact(value: f64) -> Self {
        value
    }

    fn constant(constant: &EnclosedConstant) -> Self {
        constant.value
    }

    fn apply(self, function: Function) -> Self {
        match function {
            Function::Negate => -self,
            Function::Absolute => self.abs(),
            Function::Sign => sign(self),
            Function::Exponential => self.exp(),
            Function::ExponentialMinusOne => self.exp_m1(),
            Function::Logarithm => self.ln(),
            Function::LogarithmOnePlus => self.ln_1p(),
            // The root of a negative zero would be negative zero, and its vertical slope would have
            // the wrong sign.
            Function::SquareRoot => (self + 0.0).sqrt(),
            Function::HyperbolicTangent => self.tanh(),
            Function::HyperbolicSine => self.sinh(),
            Function::HyperbolicCosine => self.cosh(),
            Function::Sigmoid => sigmoid(self),
            Function::Softplus => self.max(0.0) + (-self.abs()).exp().ln_1p(),
            Function::ArcTangent => self.atan(),
            Function::Sine => self.sin(),
            Function::Cosine => self.cos(),
        }
    }

    fn integer_power(self, exponent: f64) -> Self {
        if self.is_nan() {
            f64::NAN
        } else if exponent.abs() > SQUARING_LIMIT {
            self.powf(exponent)
        } else if exponent < 0.0 {
            1.0 / self.integer_power(-exponent)
        } else {
            repeated_product(self, exponent, |left, right| left * right)
        }
    }

    fn power(self, exponent: Self) -> Self {
        if self < 0.0 || self.is_nan() || exponent.is_nan() { f64::NAN } else { self.abs().powf(exponent) }
    }

    fn smaller(self, other: Self) -> Self {
        -(-self).larger(-other)
    }

    fn larger(self, other: Self) -> Self {
        // `f64::max` would hide a NaN.
        if self.is_nan() || self > other { self } else { other }
    }

    fn covering(self, other: Self) -> Self {
        if self == other { self } else { f64::NAN }
    }

    fn times(self, other: Self) -> Self {
        // A factor that has underflowed to zero takes precedence over one that has overflowed.
        if (self == 0.0 && !other.is_nan()) || (other == 0.0 && !self.is_nan()) { 0.0 } else { self * other }
    }

    fn within(self, _low: f64, _high: f64) -> Self {
        self
    }

    fn doubtful(self) -> Self {
        self
    }

    fn promised_as(self, _other: Self) -> Self {
        self
    }

    fn unknown() -> Self {
        f64::NAN
    }

    fn may_vanish(self) -> bool {
        self == 0.0
    }

    fn is_zero(self) -> bool {
        self == 0.0
    }

    fn may_be_vertical(self) -> bool {
        self.is_infinite()
    }

    fn right_sign(inner: &SecondOrder<Self>) -> Self {
        if inner.value.is_nan() {
            return f64::NAN;
        }
        match Self::order(inner, &SecondOrder::constant(0.0)) {
            Order::Larger => 1.0,
            Order::Smaller => -1.0,
            Order::Equal | Order::Either => 0.0,
        }
    }

    fn order(left: &SecondOrder<Self>, right: &SecondOrder<Self>) -> Order {
        let pairs = [(left.value, right.value), (left.slope, right.slope), (left.curvature, right.curvature)];
        for (first, second) in pairs {
            if first > second {
                return Order::Larger;
            }
            if first < second {
                return Order::Smaller;
            }
            if first.is_nan() || second.is_nan() {
                return Order::Either;
            }
        }
        Order::Equal
    }

    fn chain(first: Self, second: Self, inner: &SecondOrder<Self>) -> (Self, Self) {
        let bend = second.times(inner.slope).times(inner.slope);
        (first.times(inner.slope), bend + first.times(inner.curvature))
    }

    fn sharpened_root(plain: SecondOrder<Self>, _x: &SecondOrder<Self>, _c: Self) -> SecondOrder<Self> {
        plain
    }

    fn settled(jet: SecondOrder<Self>) -> SecondOrder<Self> {
        if jet.value.is_nan() { SecondOrder { value: f64::NAN, slope: f64::NAN, curvature: f64::NAN } } else { jet }
    }
}
