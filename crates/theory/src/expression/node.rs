//! The tree of an expression, stored flat: every node comes after the nodes
//! it refers to, and the last node is the whole expression.
//!
//! The flat form lets every pass be one loop, so that no chain of ten
//! thousand additions can exhaust the stack.

use super::interval::Interval;

/// A constant, with bounds for the number that was meant.
///
/// The bounds are a single point where the double is exact, and wider for
/// `pi`, for `0.1` and for anything computed inexactly from constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Constant {
    pub(super) value: f64,
    pub(super) bounds: Interval,
}

impl Constant {
    /// The circle number; its double lies just below it.
    pub(super) const fn pi() -> Self {
        Self {
            value: std::f64::consts::PI,
            bounds: Interval::new(std::f64::consts::PI, std::f64::consts::PI.next_up()),
        }
    }

    /// The base of the natural logarithm; its double lies just below it.
    pub(super) const fn euler() -> Self {
        Self { value: std::f64::consts::E, bounds: Interval::new(std::f64::consts::E, std::f64::consts::E.next_up()) }
    }

    /// The value, provided that it is exact and a number.
    pub(super) fn exact_value(&self) -> Option<f64> {
        let exact = self.bounds.defined && self.bounds.low == self.bounds.high;
        exact.then_some(self.value)
    }
}

/// Functions of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Negate,
    Absolute,
    Sign,
    Exponential,
    ExponentialMinusOne,
    Logarithm,
    LogarithmOnePlus,
    SquareRoot,
    HyperbolicTangent,
    HyperbolicSine,
    HyperbolicCosine,
    Sigmoid,
    /// `log(1 + exp(x))`, which only the rewriting step introduces.
    Softplus,
    ArcTangent,
    Sine,
    Cosine,
}

/// Operations on two arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Minimum,
    Maximum,
}

/// One step of an expression; the numbers refer to earlier nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Node {
    Variable,
    Constant(Constant),
    Unary(Function, usize),
    Binary(Operation, usize, usize),
    /// A power whose exponent is a whole number.
    IntegerPower(usize, f64),
}

impl Node {
    /// The same node with its references renamed.
    pub(super) fn renamed(self, rename: impl Fn(usize) -> usize) -> Self {
        match self {
            Node::Variable | Node::Constant(_) => self,
            Node::Unary(function, inner) => Node::Unary(function, rename(inner)),
            Node::Binary(operation, left, right) => Node::Binary(operation, rename(left), rename(right)),
            Node::IntegerPower(base, exponent) => Node::IntegerPower(rename(base), exponent),
        }
    }

    /// The nodes referred to; a node with one argument names it twice, one
    /// without any gives nothing.
    pub(super) fn arguments(self) -> Option<(usize, usize)> {
        match self {
            Node::Variable | Node::Constant(_) => None,
            Node::Unary(_, inner) | Node::IntegerPower(inner, _) => Some((inner, inner)),
            Node::Binary(_, left, right) => Some((left, right)),
        }
    }
}

/// The nodes that `root` depends on, itself last, renumbered without gaps.
pub(super) fn compacted(nodes: &[Node], root: usize) -> Vec<Node> {
    let mut needed = vec![false; root + 1];
    needed[root] = true;
    for index in (0..=root).rev() {
        if let (true, Some((left, right))) = (needed[index], nodes[index].arguments()) {
            needed[left] = true;
            needed[right] = true;
        }
    }
    let mut places = vec![0; root + 1];
    let mut kept = Vec::new();
    for index in (0..=root).filter(|&index| needed[index]) {
        places[index] = kept.len();
        kept.push(nodes[index].renamed(|old| places[old]));
    }
    kept
}

/// What a name followed by a parenthesis stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Callable {
    One(Function),
    Two(Operation),
}

/// The functions a user may write, in the order error messages list them.
pub(super) const CALLABLES: [(&str, Callable); 17] = [
    ("abs", Callable::One(Function::Absolute)),
    ("exp", Callable::One(Function::Exponential)),
    ("log", Callable::One(Function::Logarithm)),
    ("ln", Callable::One(Function::Logarithm)),
    ("log1p", Callable::One(Function::LogarithmOnePlus)),
    ("expm1", Callable::One(Function::ExponentialMinusOne)),
    ("sqrt", Callable::One(Function::SquareRoot)),
    ("tanh", Callable::One(Function::HyperbolicTangent)),
    ("sinh", Callable::One(Function::HyperbolicSine)),
    ("cosh", Callable::One(Function::HyperbolicCosine)),
    ("sigmoid", Callable::One(Function::Sigmoid)),
    ("min", Callable::Two(Operation::Minimum)),
    ("max", Callable::Two(Operation::Maximum)),
    ("sign", Callable::One(Function::Sign)),
    ("atan", Callable::One(Function::ArcTangent)),
    ("sin", Callable::One(Function::Sine)),
    ("cos", Callable::One(Function::Cosine)),
];
