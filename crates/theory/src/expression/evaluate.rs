//! Single-pass evaluation of the nodes of an expression, for values and for jets.

use super::interval::Interval;
use super::jet::SecondOrder;
use super::node::{EnclosedConstant, Function, Node, Operation};
use super::number::Number;

/// The number of nodes up to which the results fit into a fixed array, which saves an
/// allocation for every point.
const SMALL: usize = 32;

/// Applies `step` to every node and the results of the nodes before it, and returns the last
/// result.
pub(super) fn run<T: Copy>(nodes: &[Node], blank: T, step: impl Fn(&Node, &[T]) -> T) -> T {
    if nodes.len() <= SMALL {
        fill(nodes, &mut [blank; SMALL], step)
    } else {
        fill(nodes, &mut vec![blank; nodes.len()], step)
    }
}

fn fill<T: Copy>(nodes: &[Node], results: &mut [T], step: impl Fn(&Node, &[T]) -> T) -> T {
    for (index, node) in nodes.iter().enumerate() {
        results[index] = step(node, &results[..index]);
    }
    results[nodes.len().saturating_sub(1)]
}

/// Computes the value of one node from the values of the nodes before it.
pub(super) fn value_step<N: Number>(node: &Node, variable: N, before: &[N]) -> N {
    match *node {
        Node::Variable => variable,
        Node::Constant(constant) => N::constant(&constant),
        Node::Unary(function, inner) => before[inner].apply(function),
        Node::IntegerPower(base, exponent) => before[base].integer_power(exponent),
        Node::Binary(operation, left, right) => {
            let (left, right) = (before[left], before[right]);
            match operation {
                Operation::Add => left + right,
                Operation::Subtract => left - right,
                Operation::Multiply => left * right,
                Operation::Divide => left / right,
                Operation::Power => left.power(right),
                Operation::Minimum => left.smaller(right),
                Operation::Maximum => left.larger(right),
            }
        }
    }
}

/// Returns the value of an expression.
pub(super) fn value<N: Number>(nodes: &[Node], variable: N) -> N {
    run(nodes, variable, |node, before| value_step(node, variable, before))
}

/// Returns the value of an expression with its first two derivatives.
pub(super) fn jet<N: Number>(nodes: &[Node], variable: N) -> SecondOrder<N> {
    let start = SecondOrder::variable(variable);
    run(nodes, start, |node, before: &[SecondOrder<N>]| match *node {
        Node::Variable => start,
        Node::Constant(constant) => SecondOrder::constant(N::constant(&constant)),
        Node::Unary(function, inner) => {
            let plain = before[inner].apply(function);
            match square_and_constant(nodes, function, inner) {
                Some((base, constant)) => N::sharpened_root(plain, &before[base], N::constant(&constant)),
                None => plain,
            }
        }
        Node::IntegerPower(base, exponent) => {
            let power = before[base].integer_power(exponent);
            match smoothed_argument(nodes, base) {
                Some(inner) if exponent >= 2.0 => {
                    SecondOrder { curvature: power.curvature.promised_as(before[inner].curvature), ..power }
                }
                _ => power,
            }
        }
        Node::Binary(Operation::Power, base, exponent) => match nodes[exponent] {
            Node::Constant(constant) => before[base].constant_power(N::constant(&constant)),
            _ => before[base].combine(Operation::Power, &before[exponent]),
        },
        Node::Binary(operation, left, right) => before[left].combine(operation, &before[right]),
    })
}

/// Returns the base x and the constant c of a root √(c + x²), whose terms cancel in the rules of differentiation.
fn square_and_constant(nodes: &[Node], function: Function, inner: usize) -> Option<(usize, EnclosedConstant)> {
    let Node::Binary(Operation::Add, left, right) = nodes[inner] else { return None };
    match (function, nodes[left], nodes[right]) {
        (Function::SquareRoot, Node::IntegerPower(base, 2.0), Node::Constant(constant))
        | (Function::SquareRoot, Node::Constant(constant), Node::IntegerPower(base, 2.0)) => Some((base, constant)),
        _ => None,
    }
}

/// Returns the argument of a node whose own kinks all lie where it is zero, such as `abs(x)` and
/// `max(0, x)`. Squaring the node makes them smooth enough for the curvature bounds to hold.
fn smoothed_argument(nodes: &[Node], index: usize) -> Option<usize> {
    use super::node::{Operation::Maximum, Operation::Minimum};
    let is_zero = |index: usize| match nodes[index] {
        Node::Constant(constant) => constant.exact_value() == Some(0.0),
        _ => false,
    };
    match nodes[index] {
        Node::Unary(Function::Absolute, inner) => Some(inner),
        Node::Binary(Maximum | Minimum, zero, inner) if is_zero(zero) => Some(inner),
        Node::Binary(Maximum | Minimum, inner, zero) if is_zero(zero) => Some(inner),
        _ => None,
    }
}

/// Bounds the values of an expression by its value at the center and the bounds of its slope;
/// sharper than the plain bounds over short intervals.
pub(super) fn centered_bounds(nodes: &[Node], over: Interval) -> SecondOrder<Interval> {
    let jet = jet(nodes, over);
    let middle = Interval::point(f64::midpoint(over.low, over.high));
    let centered = value(nodes, middle) + jet.slope * (over - middle);
    if centered.defined { SecondOrder { value: jet.value.within(centered.low, centered.high), ..jet } } else { jet }
}
