//! Intervals of real numbers whose four basic operations round outward.
//!
//! An interval is the set of finite real numbers between its bounds; an infinite bound means
//! that the set is unbounded on that side.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::directed::{product_down, product_up, quotient_down, quotient_up, sum_down, sum_up};

/// A set of real numbers between two bounds, and a flag that the enclosed function is certainly
/// defined throughout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower bound, possibly minus infinity.
    pub low: f64,
    /// The upper bound, possibly infinity.
    pub high: f64,
    /// `true` if the enclosed function certainly has a value everywhere: no logarithm of a
    /// negative number, no division by zero. In either case the bounds enclose the values that
    /// exist. Ignored if the interval is an argument.
    pub defined: bool,
}

impl Interval {
    /// All real numbers.
    pub const EVERYTHING: Interval = Interval::new(f64::NEG_INFINITY, f64::INFINITY);

    /// The bounds of [`Interval::EVERYTHING`] without a guarantee that any value exists; the
    /// result if nothing is known.
    pub const UNKNOWN: Interval = Interval { defined: false, ..Interval::EVERYTHING };

    /// Creates the interval from `low` to `high`.
    #[must_use]
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high, defined: true }
    }

    /// Creates an interval of one number.
    #[must_use]
    pub const fn point(value: f64) -> Self {
        Self::new(value, value)
    }

    /// Returns whether `value` lies between the bounds, inclusive.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Returns whether the bounds describe at least one real number.
    pub fn is_proper(&self) -> bool {
        self.low <= self.high && self.low < f64::INFINITY && self.high > f64::NEG_INFINITY
    }

    /// Returns the number in the interval nearest to `value`, or the midpoint if `value` is NaN.
    pub(crate) fn nearest_to(&self, value: f64) -> f64 {
        if value.is_nan() { f64::midpoint(self.low, self.high) } else { value.clamp(self.low, self.high) }
    }

    /// Returns the smallest interval around both, defined if both are.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high), defined: self.defined && other.defined }
    }

    /// Returns the same bounds, defined only if `condition` holds as well.
    pub(super) fn defined_if(self, condition: bool) -> Self {
        Self { defined: self.defined && condition, ..self }
    }

    /// Returns the part at or above `edge`, or `None` if it is empty.
    ///
    /// With `closed`, the function about to be applied has a value at the edge.
    pub(super) fn restricted(self, edge: f64, closed: bool) -> Option<Self> {
        let inside = |value: f64| value > edge || (closed && value == edge);
        inside(self.high).then(|| Self { low: self.low.max(edge), ..self.defined_if(inside(self.low)) })
    }
}

impl Neg for Interval {
    type Output = Self;

    fn neg(self) -> Self {
        Self { low: 0.0 - self.high, high: 0.0 - self.low, ..self }
    }
}

impl Add for Interval {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            low: sum_down(self.low, other.low),
            high: sum_up(self.high, other.high),
            defined: self.defined && other.defined,
        }
    }
}

impl Sub for Interval {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Interval {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let corner = |product: fn(f64, f64) -> f64| {
            [
                product(self.low, other.low),
                product(self.low, other.high),
                product(self.high, other.low),
                product(self.high, other.high),
            ]
        };
        Self {
            low: corner(product_down).into_iter().fold(f64::INFINITY, f64::min),
            high: corner(product_up).into_iter().fold(f64::NEG_INFINITY, f64::max),
            defined: self.defined && other.defined,
        }
    }
}

impl Div for Interval {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        if other.high <= 0.0 && other.low < 0.0 {
            return -self / -other;
        }
        if other.low < 0.0 || other.high == 0.0 {
            return Self::UNKNOWN;
        }
        // The bounds move away from zero as the divisor shrinks, so each is attained at the end of
        // the divisor that suits its sign.
        let low = if self.low >= 0.0 {
            quotient_down(self.low, other.high)
        } else if other.low == 0.0 {
            f64::NEG_INFINITY
        } else {
            quotient_down(self.low, other.low)
        };
        let high = if self.high <= 0.0 {
            quotient_up(self.high, other.high)
        } else if other.low == 0.0 {
            f64::INFINITY
        } else {
            quotient_up(self.high, other.low)
        };
        Self { low, high, defined: self.defined && other.defined && other.low > 0.0 }
    }
}
