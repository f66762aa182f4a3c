//! Functions of one variable `s` as a user types them, such as
//! `log(1+exp(-s))` or `max(0, 1-s)^2`: their values, their first two
//! derivatives, rigorous bounds for all three, their kinks and their parity.

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

use node::Node;

/// Outward-rounded bounds for the values and the first two derivatives of a function over an interval.
pub type Enclosure = SecondOrder<Interval>;

/// A function of one variable, read from text.
///
/// Numbers, the variable `s`, the constants `pi` and `e`, the operators
/// `+ - * / ^`, parentheses, and the functions `abs`, `exp`, `log` (natural,
/// also `ln`), `log1p`, `expm1`, `sqrt`, `tanh`, `sinh`, `cosh`, `sigmoid`,
/// `min`, `max`, `sign`, `atan`, `sin` and `cos`. Powers associate to the
/// right and bind tighter than a minus before them.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    source: String,
    nodes: Vec<Node>,
}

/// A value with its first two derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jet {
    /// The value.
    pub value: f64,
    /// The first derivative, to the right of a kink.
    pub slope: f64,
    /// The second derivative, to the right of a kink.
    pub curvature: f64,
}

/// Why a text is not an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// The position of the offending character in the text as given, counted
    /// from one; just past the last character when the text ends too early.
    pub at: usize,
    /// What is wrong there.
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
    /// Reads an expression.
    ///
    /// Sub-expressions such as `log(1+exp(x))` are replaced by equal forms
    /// that stay accurate where the written form would overflow or cancel.
    ///
    /// # Errors
    ///
    /// Says where the text departs from the grammar, names something
    /// unknown, nests more than 200 deep or exceeds 10,000 characters.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        Ok(Expression { nodes: parse::parse(text)?, source: text.trim().to_string() })
    }

    /// The text as typed, without surrounding space.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The value at `s`: NaN outside the domain, infinite at a pole or where
    /// the value exceeds the largest double.
    pub fn value(&self, s: f64) -> f64 {
        evaluate::value(&self.nodes, s)
    }

    /// The value at `s` with the first two derivatives; at a kink the
    /// derivatives are those to the right, and NaN where the rules of
    /// differentiation do not tell them.
    pub fn jet(&self, s: f64) -> Jet {
        let SecondOrder { slope, curvature, .. } = evaluate::jet(&self.nodes, s);
        Jet {
            // The rules for derivatives take the limit from the right, which
            // at a jump of `sign` is not the value.
            value: self.value(s),
            slope,
            curvature,
        }
    }

    /// Where the arguments of `abs` and `sign`, and the differences of the
    /// arguments of `min` and `max`, change sign: sorted, each once.
    ///
    /// Arguments linear in `s` are solved directly. Others are searched from
    /// zero outward, to about `1.5e12` in size, with a fixed effort, so that of
    /// infinitely many only about a thousand near zero are listed.
    pub fn kinks(&self) -> Vec<f64> {
        kinks::kinks(&self.nodes)
    }

    /// Bounds for every value over an interval.
    ///
    /// The result is [`Interval::UNKNOWN`] when nothing is known, as for a
    /// divisor of either sign or an argument without any real number. Its
    /// field `defined` tells whether the function certainly has a finite
    /// value on all of `over`.
    pub fn range(&self, over: Interval) -> Interval {
        if over.is_proper() {
            evaluate::value(&self.nodes, Interval::new(over.low, over.high))
        } else {
            Interval::UNKNOWN
        }
    }

    /// Bounds for every first derivative over an interval that
    /// [`Expression::jet`] gives, those to the right of kinks included.
    ///
    /// `defined` promises besides that the function is continuous there, so
    /// that it changes by no more than the distance times the largest slope.
    pub fn slope_range(&self, over: Interval) -> Interval {
        self.enclose(over).slope
    }

    /// Bounds for every second derivative over an interval that
    /// [`Expression::jet`] gives, those to the right of kinks included.
    ///
    /// `defined` promises besides that the slope is continuous there, so
    /// that it changes by no more than the distance times the largest
    /// curvature; across a kink there is no such promise.
    pub fn curvature_range(&self, over: Interval) -> Interval {
        self.enclose(over).curvature
    }

    /// Whether the function is even or odd, as far as rules on its form
    /// tell.
    pub fn parity(&self) -> Parity {
        parity::parity(&self.nodes)
    }

    /// Whether the function is positive wherever it is defined, as far as
    /// rules on its form tell.
    pub fn is_positive(&self) -> bool {
        sign::is_positive(&self.nodes)
    }

    /// Bounds for values, slopes and curvatures together, with the promises of [`Expression::slope_range`] and
    /// [`Expression::curvature_range`].
    pub fn enclose(&self, over: Interval) -> Enclosure {
        if over.is_proper() {
            evaluate::jet(&self.nodes, Interval::new(over.low, over.high))
        } else {
            Enclosure::UNKNOWN
        }
    }
}
