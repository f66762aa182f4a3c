//! Values with their first two derivatives, and the rules that propagate them through every
//! operation.
//!
//! The rules are written once for doubles and for intervals. At a kink the
//! derivatives are those to the right.

use super::node::{Function, Operation};
use super::number::{Number, Order};

/// The value, slope and curvature of a function at a point, or bounds for
/// them over an interval.
#[derive(Debug, Clone, Copy)]
pub struct SecondOrder<N> {
    /// The value.
    pub value: N,
    /// The first derivative, to the right of a kink.
    pub slope: N,
    /// The second derivative, to the right of a kink.
    pub curvature: N,
}

/// The maximum magnitude of the second derivative of `tanh`, 4/(3 sqrt 3).
const TANH_BEND: f64 = 0.7699;
/// The maximum magnitude of the second derivative of the sigmoid, 1/(6 sqrt 3).
const SIGMOID_BEND: f64 = 0.0963;
/// The maximum magnitude of the second derivative of `atan`, 3 sqrt 3 / 8.
const ATAN_BEND: f64 = 0.6496;

#[expect(private_bounds, reason = "doubles and intervals are the only implementations of `Number`")]
impl<N: Number> SecondOrder<N> {
    /// Creates the jet of a constant function.
    pub(crate) fn constant(value: N) -> Self {
        Self { value, slope: N::exact(0.0), curvature: N::exact(0.0) }
    }

    /// Creates the jet of the variable itself.
    pub(crate) fn variable(value: N) -> Self {
        Self { slope: N::exact(1.0), ..Self::constant(value) }
    }

    /// Creates the jet of a function of which only the value is known.
    fn known_value(value: N) -> Self {
        Self { value, slope: N::unknown(), curvature: N::unknown() }
    }

    /// Returns the sum.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            value: self.value + other.value,
            slope: self.slope + other.slope,
            curvature: self.curvature + other.curvature,
        }
    }

    /// Returns the difference.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        Self {
            value: self.value - other.value,
            slope: self.slope - other.slope,
            curvature: self.curvature - other.curvature,
        }
    }

    /// Returns the product.
    pub(crate) fn multiplied(&self, other: &Self) -> Self {
        let value = self.value * other.value;
        // Two vertical slopes can make a product of any slope where one factor is zero, as the
        // roots of `s` and of `2*s` do.
        let vertical = self.slope.may_be_vertical() && other.slope.may_be_vertical();
        if vertical && (self.value.may_vanish() || other.value.may_vanish()) {
            return Self::known_value(value);
        }
        let cross = N::exact(2.0) * self.slope.times(other.slope);
        Self {
            value,
            slope: self.slope.times(other.value) + self.value.times(other.slope),
            curvature: self.curvature.times(other.value) + cross + self.value.times(other.curvature),
        }
    }

    /// Returns the quotient.
    pub(crate) fn divided(&self, other: &Self) -> Self {
        // From `self = value * other`, differentiated once and twice. This avoids the square of the
        // divisor, which overflows early.
        let value = self.value / other.value;
        let slope = (self.slope - value.times(other.slope)) / other.value;
        let cross = N::exact(2.0) * slope.times(other.slope);
        Self { value, slope, curvature: (self.curvature - cross - value.times(other.curvature)) / other.value }
    }

    fn composed(&self, value: N, first: N, second: N) -> Self {
        // If the argument is stationary only at a point and the outer slope is infinite, two
        // derivatives do not determine the limit.
        let pauses = self.slope.may_vanish() && !self.curvature.is_zero();
        if first.may_be_vertical() && pauses {
            return Self::known_value(value);
        }
        let (slope, curvature) = N::chain(first, second, self);
        Self { value, slope, curvature }
    }

    /// Returns the negative.
    pub(crate) fn negated(&self) -> Self {
        Self { value: -self.value, slope: -self.slope, curvature: -self.curvature }
    }

    /// Returns the absolute value.
    pub(crate) fn absolute(&self) -> Self {
        let opposite = self.negated();
        let chosen = match N::order(self, &Self::constant(N::exact(0.0))) {
            Order::Larger | Order::Equal => *self,
            Order::Smaller => opposite,
            Order::Either => self.joined(&opposite),
        };
        Self { value: self.value.apply(Function::Absolute), ..chosen }
    }

    /// Returns the larger of two.
    pub(crate) fn larger(&self, other: &Self) -> Self {
        let chosen = match N::order(self, other) {
            Order::Larger | Order::Equal => *self,
            Order::Smaller => *other,
            Order::Either => self.joined(other),
        };
        Self { value: self.value.larger(other.value), ..chosen }
    }

    /// Returns bounds for either of two functions that meet without a jump. The slope may jump
    /// between theirs, so the curvature need not exist.
    fn joined(&self, other: &Self) -> Self {
        Self {
            value: self.value.covering(other.value),
            slope: self.slope.covering(other.slope),
            curvature: self.curvature.covering(other.curvature).doubtful(),
        }
    }

    fn sign(&self) -> Self {
        let still = Self::constant(N::right_sign(self));
        if self.value.may_vanish() { Self { slope: still.slope.doubtful(), ..still } } else { still }
    }

    /// Returns the jet of `function` applied to this one.
    pub(crate) fn apply(&self, function: Function) -> Self {
        let jet = match function {
            Function::Negate => self.negated(),
            Function::Absolute => self.absolute(),
            Function::Sign => self.sign(),
            _ => {
                let value = self.value.apply(function);
                let (first, second) = derivatives(function, self.value, value);
                self.composed(value, first, second)
            }
        };
        N::settled(jet)
    }

    /// Returns the jet of an operation on this one and another.
    pub(super) fn combine(&self, operation: Operation, other: &Self) -> Self {
        let jet = match operation {
            Operation::Add => self.plus(other),
            Operation::Subtract => self.minus(other),
            Operation::Multiply => self.multiplied(other),
            Operation::Divide => self.divided(other),
            Operation::Power => self.power(other),
            Operation::Maximum => self.larger(other),
            Operation::Minimum => self.negated().larger(&other.negated()).negated(),
        };
        N::settled(jet)
    }

    /// Returns the jet of a power with an integer exponent.
    pub(crate) fn integer_power(&self, exponent: f64) -> Self {
        // A factor of zero takes precedence over a pole at zero.
        let term = |factor: f64, exponent: f64| {
            if factor == 0.0 { N::exact(0.0) } else { N::exact(factor) * self.value.integer_power(exponent) }
        };
        N::settled(self.composed(
            self.value.integer_power(exponent),
            term(exponent, exponent - 1.0),
            term(exponent * (exponent - 1.0), exponent - 2.0),
        ))
    }

    /// Returns the jet of a power with a constant exponent that is not an integer.
    pub(crate) fn constant_power(&self, exponent: N) -> Self {
        let less_one = exponent - N::exact(1.0);
        let less_two = exponent - N::exact(2.0);
        N::settled(self.composed(
            self.value.power(exponent),
            exponent.times(self.value.power(less_one)),
            (exponent * less_one).times(self.value.power(less_two)),
        ))
    }

    /// Returns the jet of a power with a variable exponent, as `exp(exponent * log(base))`.
    fn power(&self, exponent: &Self) -> Self {
        let value = self.value.power(exponent.value);
        // At a base of zero the logarithm is infinite, and its product with the value is
        // undetermined.
        if self.value.may_vanish() {
            return Self::known_value(value);
        }
        exponent.multiplied(&self.apply(Function::Logarithm)).composed(value, value, value)
    }
}

/// Returns the first two derivatives of a smooth function at `argument`, where it has `value`.
fn derivatives<N: Number>(function: Function, argument: N, value: N) -> (N, N) {
    let number = N::exact;
    let bump = |half: N| (number(0.5) / half.apply(Function::HyperbolicCosine)).integer_power(2.0);
    match function {
        Function::Exponential => (value, value),
        Function::ExponentialMinusOne => {
            let growth = argument.apply(Function::Exponential);
            (growth, growth)
        }
        Function::Logarithm => reciprocal(argument),
        Function::LogarithmOnePlus => reciprocal(number(1.0) + argument),
        Function::SquareRoot => (number(0.5) / value, number(-0.25) / value.integer_power(3.0)),
        Function::HyperbolicTangent => {
            let first = number(4.0) * bump(argument);
            let second = number(-2.0) * value.times(first);
            (first, second.within(-TANH_BEND, TANH_BEND))
        }
        Function::HyperbolicSine => (argument.apply(Function::HyperbolicCosine), value),
        Function::HyperbolicCosine => (argument.apply(Function::HyperbolicSine), value),
        Function::Sigmoid => {
            let half = number(0.5) * argument;
            let first = bump(half);
            let second = -first.times(half.apply(Function::HyperbolicTangent));
            (first, second.within(-SIGMOID_BEND, SIGMOID_BEND))
        }
        Function::Softplus => {
            let half = number(0.5) * argument;
            (argument.apply(Function::Sigmoid), bump(half))
        }
        Function::ArcTangent => {
            let first = number(1.0) / (number(1.0) + argument.integer_power(2.0));
            let second = number(-2.0) * argument.times(first).times(first);
            (first, second.within(-ATAN_BEND, ATAN_BEND))
        }
        Function::Sine => (argument.apply(Function::Cosine), -value),
        Function::Cosine => (-argument.apply(Function::Sine), -value),
        // These three are not smooth or need no rule; the callers handle them.
        Function::Negate | Function::Absolute | Function::Sign => (number(0.0), number(0.0)),
    }
}

/// Returns the first two derivatives of the logarithm.
fn reciprocal<N: Number>(argument: N) -> (N, N) {
    let first = N::exact(1.0) / argument;
    (first, -first.integer_power(2.0))
}
