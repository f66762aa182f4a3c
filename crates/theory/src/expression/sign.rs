//! Positivity of an expression, by rules on its form alone.
//!
//! Intervals cannot distinguish a function that tends to 0 from one that reaches it; these rules can.

use super::evaluate::run;
use super::node::{Function, Node, Operation};

/// The known sign of a function wherever it is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Positive,
    NotNegative,
    Unknown,
}

/// Returns whether the rules show that the whole expression is positive wherever it is defined.
pub(super) fn is_positive(nodes: &[Node]) -> bool {
    let sign = run(nodes, Sign::Unknown, |node, before| match *node {
        Node::Variable => Sign::Unknown,
        Node::Constant(constant) if 0.0 < constant.bounds.low => Sign::Positive,
        Node::Constant(constant) if 0.0 <= constant.bounds.low => Sign::NotNegative,
        Node::Constant(_) => Sign::Unknown,
        Node::Unary(function, inner) => of_function(function, before[inner]),
        Node::IntegerPower(base, exponent) => match before[base] {
            Sign::Unknown if exponent % 2.0 == 0.0 => Sign::NotNegative,
            other => other,
        },
        Node::Binary(operation, left, right) => of_operation(operation, before[left], before[right]),
    });
    sign == Sign::Positive
}

fn of_function(function: Function, inner: Sign) -> Sign {
    match (function, inner) {
        (Function::Exponential | Function::Sigmoid | Function::Softplus | Function::HyperbolicCosine, _) => {
            Sign::Positive
        }
        (
            Function::Absolute
            | Function::SquareRoot
            | Function::HyperbolicTangent
            | Function::HyperbolicSine
            | Function::ArcTangent
            | Function::Sign
            | Function::ExponentialMinusOne
            | Function::LogarithmOnePlus,
            Sign::Positive,
        ) => Sign::Positive,
        (Function::Absolute | Function::SquareRoot, _) => Sign::NotNegative,
        _ => Sign::Unknown,
    }
}

fn of_operation(operation: Operation, left: Sign, right: Sign) -> Sign {
    use Sign::{NotNegative, Positive, Unknown};
    match (operation, left, right) {
        (Operation::Maximum, Positive, _) | (Operation::Maximum, _, Positive) => Positive,
        (Operation::Maximum, NotNegative, _) | (Operation::Maximum, _, NotNegative) => NotNegative,
        (Operation::Power, Positive, _) => Positive,
        (Operation::Subtract | Operation::Power, ..) | (_, Unknown, _) | (_, _, Unknown) => Unknown,
        (Operation::Add, Positive, _) | (Operation::Add, _, Positive) | (_, Positive, Positive) => Positive,
        _ => NotNegative,
    }
}
