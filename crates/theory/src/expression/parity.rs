//! The parity of an expression, by rules on its form alone.

use super::evaluate::run;
use super::node::{Function, Node, Operation};

/// The symmetry of a function about zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parity {
    /// The function has the same value at `s` and at `-s`.
    Even,
    /// The function has opposite values at `s` and at `-s`.
    Odd,
    /// The rules are inconclusive; the function may still have a symmetry.
    Unknown,
}

/// Returns the parity of a whole expression.
pub(super) fn parity(nodes: &[Node]) -> Parity {
    run(nodes, Parity::Unknown, |node, before| match *node {
        Node::Variable => Parity::Odd,
        Node::Constant(_) => Parity::Even,
        Node::Unary(function, inner) => of_function(function, before[inner]),
        Node::IntegerPower(base, exponent) => match before[base] {
            Parity::Odd if exponent % 2.0 == 0.0 => Parity::Even,
            other => other,
        },
        Node::Binary(operation, left, right) => of_operation(operation, before[left], before[right]),
    })
}

fn of_function(function: Function, inner: Parity) -> Parity {
    match (function, inner) {
        (_, Parity::Even) => Parity::Even,
        (Function::Absolute | Function::HyperbolicCosine | Function::Cosine, Parity::Odd) => Parity::Even,
        (
            Function::Negate
            | Function::Sign
            | Function::HyperbolicTangent
            | Function::HyperbolicSine
            | Function::ArcTangent
            | Function::Sine,
            Parity::Odd,
        ) => Parity::Odd,
        _ => Parity::Unknown,
    }
}

fn of_operation(operation: Operation, left: Parity, right: Parity) -> Parity {
    match (operation, left, right) {
        (_, Parity::Unknown, _) | (_, _, Parity::Unknown) => Parity::Unknown,
        (_, Parity::Even, Parity::Even) => Parity::Even,
        (Operation::Add | Operation::Subtract, Parity::Odd, Parity::Odd) => Parity::Odd,
        (Operation::Multiply | Operation::Divide, ..) => {
            if left == right {
                Parity::Even
            } else {
                Parity::Odd
            }
        }
        _ => Parity::Unknown,
    }
}
