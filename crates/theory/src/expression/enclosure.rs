//! Functions and powers of intervals, rounded outward.

use super::Enclosure;
use super::directed::{product_down, product_up, root_down, root_up, steps_down, steps_up};
use super::interval::Interval;
use super::node::Function;
use super::number::{Number, SQUARING_LIMIT, repeated_product};

/// The assumed maximum error of a library function, in neighboring doubles; common libraries
/// stay within two.
const LIBRARY_STEPS: u32 = 4;

/// The assumed maximum error of the functions composed here of several library calls.
const COMPOSED_STEPS: u32 = 8;

/// The magnitude beyond which the phase of an argument is not computed; sines and cosines are
/// then bounded by one only.
const WAVE_LIMIT: f64 = 1e6;

/// The safety margin for the phase, in half periods; below the limit the rounding error is far
/// smaller.
const WAVE_MARGIN: f64 = 1e-9;

/// Returns global bounds of a nondecreasing `function`.
fn extremes(function: Function) -> (f64, f64) {
    match function {
        Function::Exponential | Function::Softplus => (0.0, f64::INFINITY),
        Function::ExponentialMinusOne => (-1.0, f64::INFINITY),
        Function::HyperbolicCosine => (1.0, f64::INFINITY),
        Function::HyperbolicTangent => (-1.0, 1.0),
        Function::Sigmoid => (0.0, 1.0),
        Function::ArcTangent => {
            let quarter = std::f64::consts::FRAC_PI_2.next_up();
            (-quarter, quarter)
        }
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// Returns the argument at which the library value of `function` is exact, NaN if there is none.
fn exact_argument(function: Function) -> f64 {
    match function {
        Function::Logarithm => 1.0,
        Function::Softplus => f64::NAN,
        _ => 0.0,
    }
}

fn steps(function: Function) -> u32 {
    match function {
        Function::Sigmoid | Function::Softplus => COMPOSED_STEPS,
        _ => LIBRARY_STEPS,
    }
}

/// Returns a lower bound of a nondecreasing `function` at `argument`.
fn rising_down(function: Function, argument: f64) -> f64 {
    let exact = exact_argument(function);
    let value = argument.apply(function);
    if argument == exact {
        return value;
    }
    let bound = steps_down(value, steps(function)).max(extremes(function).0);
    if argument > exact { bound.max(exact.apply(function)) } else { bound }
}

/// Returns an upper bound of a nondecreasing `function` at `argument`.
fn rising_up(function: Function, argument: f64) -> f64 {
    let exact = exact_argument(function);
    let value = argument.apply(function);
    if argument == exact {
        return value;
    }
    let bound = steps_up(value, steps(function)).min(extremes(function).1);
    if argument < exact { bound.min(exact.apply(function)) } else { bound }
}

/// Returns a lower bound of a positive integer power of a nonnegative number.
fn power_down(base: f64, exponent: f64) -> f64 {
    if exponent <= SQUARING_LIMIT {
        repeated_product(base, exponent, product_down)
    } else if base == 0.0 || base == 1.0 {
        base
    } else {
        steps_down(base.powf(exponent), LIBRARY_STEPS).max(0.0)
    }
}

/// Returns an upper bound of a positive integer power of a nonnegative number.
fn power_up(base: f64, exponent: f64) -> f64 {
    if exponent <= SQUARING_LIMIT {
        repeated_product(base, exponent, product_up)
    } else if base == 0.0 || base == 1.0 {
        base
    } else {
        steps_up(base.powf(exponent), LIBRARY_STEPS)
    }
}

impl Enclosure {
    /// The enclosure of a function about which nothing is known.
    pub const UNKNOWN: Enclosure =
        Enclosure { value: Interval::UNKNOWN, slope: Interval::UNKNOWN, curvature: Interval::UNKNOWN };

    /// Returns the enclosure of a constant function.
    pub(crate) fn number(value: f64) -> Self {
        Self::constant(Interval::point(value))
    }
}

impl Interval {
    /// Returns bounds for all natural logarithms.
    pub(crate) fn natural_logarithm(self) -> Self {
        self.image(Function::Logarithm)
    }

    fn rising(self, function: Function) -> Self {
        Self { low: rising_down(function, self.low), high: rising_up(function, self.high), ..self }
    }

    /// Returns bounds for all absolute values.
    pub(crate) fn absolute(self) -> Self {
        if self.low >= 0.0 {
            self
        } else if self.high <= 0.0 {
            -self
        } else {
            Self { low: 0.0, high: self.high.max(-self.low), ..self }
        }
    }

    /// Returns bounds for a sine or cosine whose crests lie `crest` half periods from zero.
    fn wave(self, function: Function, crest: f64) -> Self {
        let everything = Self { low: -1.0, high: 1.0, ..self };
        if self.low < -WAVE_LIMIT || self.high > WAVE_LIMIT {
            return everything;
        }
        let half_periods = |argument: f64| argument / std::f64::consts::PI - crest;
        let first = (half_periods(self.low) - WAVE_MARGIN).ceil();
        let last = (half_periods(self.high) + WAVE_MARGIN).floor();
        if last > first {
            return everything;
        }
        let (at_low, at_high) = (self.low.apply(function), self.high.apply(function));
        let exact = |argument: f64| if argument == 0.0 { 0 } else { LIBRARY_STEPS };
        let low = steps_down(at_low, exact(self.low)).min(steps_down(at_high, exact(self.high)));
        let high = steps_up(at_low, exact(self.low)).max(steps_up(at_high, exact(self.high)));
        // A single extremum inside is a crest if even, a trough if odd.
        let turning = (first == last).then_some(first % 2.0 == 0.0);
        Self {
            low: if turning == Some(false) { -1.0 } else { low.max(-1.0) },
            high: if turning == Some(true) { 1.0 } else { high.min(1.0) },
            ..self
        }
    }

    fn root(self) -> Self {
        self.restricted(0.0, true).map_or(Self::UNKNOWN, |inside| Self {
            low: root_down(inside.low),
            high: root_up(inside.high),
            ..inside
        })
    }

    /// Returns bounds for all values of `function` over the interval.
    pub(crate) fn image(self, function: Function) -> Self {
        let above = |edge: f64| self.restricted(edge, false).map_or(Self::UNKNOWN, |inside| inside.rising(function));
        match function {
            Function::Negate => -self,
            Function::Absolute => self.absolute(),
            Function::Sign => Self { low: self.low.apply(function), high: self.high.apply(function), ..self },
            Function::Logarithm => above(0.0),
            Function::LogarithmOnePlus => above(-1.0),
            Function::SquareRoot => self.root(),
            Function::HyperbolicCosine => self.absolute().rising(function),
            Function::Sine => self.wave(function, 0.5),
            Function::Cosine => self.wave(function, 0.0),
            _ => self.rising(function),
        }
    }

    /// Returns bounds for all powers with an integer exponent.
    pub(super) fn whole_power(self, exponent: f64) -> Self {
        if exponent == 0.0 {
            return Self::point(1.0).defined_if(self.defined);
        }
        if exponent < 0.0 {
            return Self::point(1.0) / self.whole_power(-exponent);
        }
        let base = if exponent % 2.0 == 0.0 { self.absolute() } else { self };
        let low = if base.low >= 0.0 { power_down(base.low, exponent) } else { -power_up(-base.low, exponent) };
        let high = if base.high >= 0.0 { power_up(base.high, exponent) } else { -power_down(-base.high, exponent) };
        Self { low, high, ..self }
    }

    /// Returns bounds for all powers of the nonnegative numbers in the interval.
    pub(super) fn real_power(self, exponent: Self) -> Self {
        let Some(base) = self.restricted(0.0, exponent.low > 0.0) else {
            return Self::UNKNOWN;
        };
        let defined = base.defined && exponent.defined;
        if base.high == 0.0 {
            return Self::point(0.0).defined_if(defined);
        }
        let bounds = (base.image(Function::Logarithm) * exponent).image(Function::Exponential);
        Self { defined, ..bounds }
    }
}
