//! The tree of an expression, stored flat: every node comes after its arguments, and the last
//! node is the whole expression.
//!
//! The flat form makes every pass one loop, so that a chain of ten thousand additions cannot
//! overflow the stack.

use super::interval::Interval;

/// A constant, with bounds for the exact number it represents.
///
/// The bounds are a single point where the double is exact, and wider for
/// `pi`, for `0.1` and for anything computed inexactly from constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EnclosedConstant {
    pub(super) value: f64,
    pub(super) bounds: Interval,
}

impl EnclosedConstant {
    /// Returns π; its double lies just below it.
    pub(super) const fn pi() -> Self {
        Self {
            value: std::f64::consts::PI,
            bounds: Interval::new(std::f64::consts::PI, std::f64::consts::PI.next_up()),
        }
    }

    /// Returns the base of the natural logarithm; its double lies just below it.
    pub(super) const fn euler() -> Self {
        Self { value: std::f64::consts::E, bounds: Interval::new(std::f64::consts::E, std::f64::consts::E.next_up()) }
    }

    /// Returns the value if it is exact and defined.
    pub(super) fn exact_value(&self) -> Option<f64> {
        let exact = self.bounds.defined && self.bounds.low == self.bounds.high;
        exact.then_some(self.value)
    }
}

/// A function of one argument.
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

/// An operation on two arguments.
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

/// One step of an expression; the indices refer to earlier nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Node {
    Variable,
    Constant(EnclosedConstant),
    Unary(Function, usize),
    Binary(Operation, usize, usize),
    /// A power with an integer exponent.
    IntegerPower(usize, f64),
}

impl Node {
    /// Returns the node with its arguments renumbered.
    pub(super) fn renamed(self, rename: impl Fn(usize) -> usize) -> Self {
        match self {
            Node::Variable | Node::Constant(_) => self,
            Node::Unary(function, inner) => Node::Unary(function, rename(inner)),
            Node::Binary(operation, left, right) => Node::Binary(operation, rename(left), rename(right)),
            Node::IntegerPower(base, exponent) => Node::IntegerPower(rename(base), exponent),
        }
    }

    /// Returns the indices of the arguments; a single argument appears twice, and a node without
    /// arguments gives `None`.
    pub(super) fn arguments(self) -> Option<(usize, usize)> {
        match self {
            Node::Variable | Node::Constant(_) => None,
            Node::Unary(_, inner) | Node::IntegerPower(inner, _) => Some((inner, inner)),
            Node::Binary(_, left, right) => Some((left, right)),
        }
    }
}

/// Returns the nodes that `root` depends on, itself last, renumbered without gaps.
pub(super) fn compacted(nodes: &[Node], root: usize) -> Vec<Node> {
    let mut needed = vec![false; root + 1];
    needed[root] = true;
    for index in (0..=root).rev() {
        if let (true, Some((left, right))) = (needed[index], nodes[index].arguments()) {
            needed[left] = true;
            needed[right] = true;
        }
    }
    let mut new_indices = vec![0; root + 1];
    let mut kept = Vec::new();
    for index in (0..=root).filter(|&index| needed[index]) {
        new_indices[index] = kept.len();
        kept.push(nodes[index].renamed(|old| new_indices[old]));
    }
    kept
}

/// A function or operation that is called by name.
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
