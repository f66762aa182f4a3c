//! Functions of one variable `s` in user syntax, such as `log(1+exp(-s))` or `max(0, 1-s)^2`.
//!
//! Provides values, the first two derivatives, rigorous bounds for all three, kinks and parity.

mod build;
mod cover;
pub(crate) mod directed;
mod enclosure;
mod evaluate;
mod interval;
mod interval_rules;
mod jet;
mod kinks;
mod node;
mod number;
mod parity;
mod parse;
mod sign;
mod suggest;
mod token;

#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;

pub use interval::Interval;
pub use jet::SecondOrder;
pub use parity::Parity;

pub(crate) use node::Function;

pub(crate) use cover::holds_on;

use crate::coordinate::Jet;
use node::Node;

/// Outward-rounded bounds for the values and the first two derivatives of a function over an interval.
pub type Enclosure = SecondOrder<Interval>;

/// A function of one variable, parsed from text.
///
/// The grammar has numbers, the variable `s`, the constants `pi` and `e`, the operators
/// `+ - * / ^`, parentheses, and the functions `abs`, `exp`, `log` (natural,
/// also `ln`), `log1p`, `expm1`, `sqrt`, `tanh`, `sinh`, `cosh`, `sigmoid`,
/// `min`, `max`, `sign`, `atan`, `sin` and `cos`. Powers associate to the
/// right and bind tighter than a minus before them.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    source: String,
    nodes: Vec<Node>,
}

/// A syntax error in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpressionError {
    /// The position of the offending character in the original text, counted from one.
    /// It is just past the last character if the text ends too early.
    pub at: usize,
    /// The description of the error.
    pub message: String,
}

impl ExpressionError {
    fn new(at: usize, message: String) -> Self {
        Self { at, message }
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at character {}: {}", self.at, self.message)
    }
}

impl Error for ExpressionError {}

impl Expression {
    /// Parses an expression.
    ///
    /// Sub-expressions such as `log(1+exp(x))` are replaced by equivalent forms that stay
    /// accurate where the written form would overflow or cancel.
    ///
    /// # Errors
    ///
    /// Returns the position of the first error: a syntax error, an unknown name, more than 200
    /// levels of nesting, or more than 10,000 characters.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        Ok(Expression { nodes: parse::parse(text)?, source: text.trim().to_string() })
    }

    /// Returns the original text, without surrounding space.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the value at `s`: NaN outside the domain, infinite at a pole or on overflow.
    pub fn value(&self, s: f64) -> f64 {
        evaluate::value(&self.nodes, s)
    }

    /// Returns the value at `s` with the first two derivatives.
    ///
    /// At a kink the derivatives are those to the right. They are NaN where the rules of
    /// differentiation do not determine them.
    pub fn jet(&self, s: f64) -> Jet {
        let SecondOrder { slope, curvature, .. } = evaluate::jet(&self.nodes, s);
        Jet {
            // The rules for derivatives take the limit from the right, which at a jump of `sign`
            // differs from the value.
            value: self.value(s),
            slope,
            curvature,
        }
    }

    /// Returns the kinks, sorted and without duplicates.
    ///
    /// These are the sign changes of the arguments of `abs` and `sign`, and of the differences of
    /// the arguments of `min` and `max`.
    ///
    /// Arguments linear in `s` are solved directly. Others are searched from zero outward, to a
    /// magnitude of about `1.5e12`, with a fixed effort. Of infinitely many kinks, only about a
    /// thousand near zero are listed.
    pub fn kinks(&self) -> Vec<f64> {
        kinks::kinks(&self.nodes)
    }

    /// Returns bounds for all values over an interval.
    ///
    /// The result is [`Interval::UNKNOWN`] if nothing is known, as for a divisor of either sign or
    /// an argument without any real number. Its field `defined` is `true` if the function
    /// certainly has a finite value on all of `over`.
    pub fn range(&self, over: Interval) -> Interval {
        if over.is_proper() {
            evaluate::value(&self.nodes, Interval::new(over.low, over.high))
        } else {
            Interval::UNKNOWN
        }
    }

    /// Returns bounds for all first derivatives that [`Expression::jet`] returns over an interval,
    /// including those to the right of kinks.
    ///
    /// `defined` also guarantees that the function is continuous there, so it changes by at most
    /// the distance times the largest slope.
    pub fn slope_range(&self, over: Interval) -> Interval {
        self.enclose(over).slope
    }

    /// Returns bounds for all second derivatives that [`Expression::jet`] returns over an interval,
    /// including those to the right of kinks.
    ///
    /// `defined` also guarantees that the slope is continuous there, so it changes by at most the
    /// distance times the largest curvature. Across a kink there is no such guarantee.
    pub fn curvature_range(&self, over: Interval) -> Interval {
        self.enclose(over).curvature
    }

    /// Returns whether the function is even or odd, as far as rules on its form can show.
    pub fn parity(&self) -> Parity {
        parity::parity(&self.nodes)
    }

    /// Returns whether rules on the form show that the function is positive wherever it is defined.
    pub fn is_positive(&self) -> bool {
        sign::is_positive(&self.nodes)
    }

    /// Returns bounds for values, slopes and curvatures together.
    ///
    /// The guarantees are those of [`Expression::slope_range`] and [`Expression::curvature_range`].
    pub fn enclose(&self, over: Interval) -> Enclosure {
        if over.is_proper() {
            evaluate::jet(&self.nodes, Interval::new(over.low, over.high))
        } else {
            Enclosure::UNKNOWN
        }
    }
}
