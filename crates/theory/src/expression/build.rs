//! Assembles the nodes of an expression, folds constants, and replaces a few patterns by forms
//! that neither overflow nor cancel.

use super::evaluate::value_step;
use super::node::{EnclosedConstant, Function, Node, Operation, compacted};
use super::number::Number;

/// Nodes under construction; equal nodes are stored once.
#[derive(Debug, Default)]
pub(super) struct Builder {
    nodes: Vec<Node>,
}

impl Builder {
    /// Returns the finished nodes of the expression with the given root.
    pub(super) fn finish(&self, root: usize) -> Vec<Node> {
        compacted(&self.nodes, root)
    }

    /// Adds the variable and returns its index.
    pub(super) fn variable(&mut self) -> usize {
        self.intern(Node::Variable)
    }

    /// Adds a constant and returns its index.
    pub(super) fn constant(&mut self, constant: EnclosedConstant) -> usize {
        self.intern(Node::Constant(constant))
    }

    /// Adds a function of one argument, possibly in a numerically better form.
    pub(super) fn unary(&mut self, function: Function, inner: usize) -> usize {
        if let Node::Constant(constant) = self.nodes[inner] {
            return self.folded(Node::Unary(function, 0), &[constant]);
        }
        match (function, self.nodes[inner]) {
            (Function::Negate, Node::Unary(Function::Negate, argument)) => argument,
            (Function::Logarithm, Node::Binary(Operation::Add, one, other)) if self.is_exactly(one, 1.0) => {
                self.unary(Function::LogarithmOnePlus, other)
            }
            (Function::Logarithm, Node::Binary(Operation::Add, other, one)) if self.is_exactly(one, 1.0) => {
                self.unary(Function::LogarithmOnePlus, other)
            }
            (Function::Logarithm, Node::Binary(Operation::Subtract, one, other)) if self.is_exactly(one, 1.0) => {
                let negated = self.unary(Function::Negate, other);
                self.unary(Function::LogarithmOnePlus, negated)
            }
            (Function::LogarithmOnePlus, Node::Unary(Function::Exponential, argument)) => {
                self.unary(Function::Softplus, argument)
            }
            (Function::SquareRoot, Node::IntegerPower(base, exponent)) if exponent % 2.0 == 0.0 => {
                self.root_of_even_power(base, exponent)
            }
            _ => self.intern(Node::Unary(function, inner)),
        }
    }

    /// Adds an operation on two arguments, possibly in a numerically better form.
    pub(super) fn binary(&mut self, operation: Operation, left: usize, right: usize) -> usize {
        let pair = (self.nodes[left], self.nodes[right]);
        if let (Node::Constant(first), Node::Constant(second)) = pair {
            // An integer exponent has its own rules, also for constants.
            if !(operation == Operation::Power && integer_exponent(&second).is_some()) {
                return self.folded(Node::Binary(operation, 0, 1), &[first, second]);
            }
        }
        match (operation, pair) {
            (Operation::Power, _) => self.power(left, right),
            (Operation::Multiply, _) if left == right => self.integer_power(left, 2.0),
            (Operation::Subtract, (Node::Unary(Function::Exponential, argument), _)) if self.is_exactly(right, 1.0) => {
                self.unary(Function::ExponentialMinusOne, argument)
            }
            (Operation::Divide, (_, Node::Binary(Operation::Add, first, second))) if self.is_exactly(left, 1.0) => {
                let logistic = self.logistic(first, second);
                logistic.unwrap_or_else(|| self.intern(Node::Binary(operation, left, right)))
            }
            _ => self.intern(Node::Binary(operation, left, right)),
        }
    }

    /// Rewrites `1 / (1 + exp(x))` as a sigmoid, from the two terms of the sum.
    fn logistic(&mut self, first: usize, second: usize) -> Option<usize> {
        let (one, other) = match self.nodes[first] {
            Node::Unary(..) => (second, first),
            _ => (first, second),
        };
        match self.nodes[other] {
            Node::Unary(Function::Exponential, argument) if self.is_exactly(one, 1.0) => {
                let negated = self.unary(Function::Negate, argument);
                Some(self.unary(Function::Sigmoid, negated))
            }
            _ => None,
        }
    }

    fn power(&mut self, base: usize, exponent: usize) -> usize {
        if let Node::Constant(constant) = self.nodes[exponent] {
            if let Some(whole) = integer_exponent(&constant) {
                return self.integer_power(base, whole);
            }
            if constant.exact_value() == Some(0.5) {
                return self.unary(Function::SquareRoot, base);
            }
        }
        if self.nodes[base] == Node::Constant(EnclosedConstant::euler()) {
            return self.unary(Function::Exponential, exponent);
        }
        self.intern(Node::Binary(Operation::Power, base, exponent))
    }

    fn integer_power(&mut self, base: usize, exponent: f64) -> usize {
        if exponent == 1.0 {
            return base;
        }
        if let Node::Constant(constant) = self.nodes[base] {
            return self.folded(Node::IntegerPower(0, exponent), &[constant]);
        }
        match self.nodes[base] {
            Node::Unary(Function::Absolute, inner) if exponent % 2.0 == 0.0 => {
                self.intern(Node::IntegerPower(inner, exponent))
            }
            _ => self.intern(Node::IntegerPower(base, exponent)),
        }
    }

    /// Rewrites the root of an even power, whose kink no chain rule would find.
    fn root_of_even_power(&mut self, base: usize, exponent: f64) -> usize {
        let half = exponent / 2.0;
        let base = if half % 2.0 == 0.0 { base } else { self.unary(Function::Absolute, base) };
        self.integer_power(base, half)
    }

    /// Folds a node whose arguments are all constants into one constant.
    fn folded(&mut self, node: Node, arguments: &[EnclosedConstant]) -> usize {
        let values: Vec<f64> = arguments.iter().map(Number::constant).collect();
        let bounds: Vec<_> = arguments.iter().map(Number::constant).collect();
        self.constant(EnclosedConstant {
            value: value_step(&node, f64::NAN, &values),
            bounds: value_step(&node, super::interval::Interval::UNKNOWN, &bounds),
        })
    }

    fn is_exactly(&self, index: usize, value: f64) -> bool {
        match self.nodes[index] {
            Node::Constant(constant) => constant.exact_value() == Some(value),
            _ => false,
        }
    }

    fn intern(&mut self, node: Node) -> usize {
        let known = self.nodes.iter().position(|earlier| *earlier == node);
        known.unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }
}

/// Returns the exponent if it is exactly an integer.
fn integer_exponent(constant: &EnclosedConstant) -> Option<f64> {
    constant.exact_value().filter(|value| value.is_finite() && value.fract() == 0.0)
}
