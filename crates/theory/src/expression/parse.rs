//! Recursive-descent parser of expressions.
//!
//! From loosest to tightest: sums, products, a leading minus, powers. The exponent of a power is
//! parsed like a signed operand, so powers associate to the right and `2^-s` needs no parentheses.

use super::ExpressionError;
use super::build::Builder;
use super::node::{CALLABLES, Callable, EnclosedConstant, Function, Node, Operation};
use super::suggest::closest;
use super::token::{Token, TokenKind, quote, tokens};

/// The maximum nesting depth of parentheses, minus signs and exponents.
const MAX_DEPTH: usize = 200;

/// Parses `text` into the nodes of its expression.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, ExpressionError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0, builder: Builder::default() };
    let root = parser.sum()?;
    match parser.current().kind {
        TokenKind::End => Ok(parser.builder.finish(root)),
        _ => Err(parser.expected("an operator or the end")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    builder: Builder,
}

impl Parser {
    fn current(&self) -> &Token {
        // The end token is never passed, so the position stays valid.
        &self.tokens[self.next]
    }

    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    fn expected(&self, what: &str) -> ExpressionError {
        let token = self.current();
        ExpressionError::new(token.at, format!("expected {what}, found {}", token.quoted()))
    }

    /// Consumes one of the given symbols if it is next.
    fn accept(&mut self, symbols: &[char]) -> Option<char> {
        match self.current().kind {
            TokenKind::Symbol(symbol) if symbols.contains(&symbol) => {
                self.advance();
                Some(symbol)
            }
            _ => None,
        }
    }

    fn sum(&mut self) -> Result<usize, ExpressionError> {
        let mut total = self.product()?;
        while let Some(symbol) = self.accept(&['+', '-']) {
            let operation = if symbol == '+' { Operation::Add } else { Operation::Subtract };
            let term = self.product()?;
            total = self.builder.binary(operation, total, term);
        }
        Ok(total)
    }

    fn product(&mut self) -> Result<usize, ExpressionError> {
        let mut total = self.signed()?;
        while let Some(symbol) = self.accept(&['*', '/']) {
            let operation = if symbol == '*' { Operation::Multiply } else { Operation::Divide };
            let factor = self.signed()?;
            total = self.builder.binary(operation, total, factor);
        }
        Ok(total)
    }

    /// Parses a signed operand; every kind of nesting passes through here, so the depth is counted here.
    fn signed(&mut self) -> Result<usize, ExpressionError> {
        if self.depth > MAX_DEPTH {
            return Err(ExpressionError::new(self.current().at, format!("nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let result = if self.accept(&['-']).is_some() {
            let inner = self.signed()?;
            self.builder.unary(Function::Negate, inner)
        } else {
            self.power()?
        };
        self.depth -= 1;
        Ok(result)
    }

    fn power(&mut self) -> Result<usize, ExpressionError> {
        let base = self.primary()?;
        if self.accept(&['^']).is_none() {
            return Ok(base);
        }
        let exponent = self.signed()?;
        Ok(self.builder.binary(Operation::Power, base, exponent))
    }

    fn primary(&mut self) -> Result<usize, ExpressionError> {
        match self.current().kind {
            TokenKind::Number(constant) => {
                self.advance();
                Ok(self.builder.constant(constant))
            }
            TokenKind::Name => self.name(),
            TokenKind::Symbol('(') => {
                self.advance();
                let inner = self.sum()?;
                match self.accept(&[')']) {
                    Some(_) => Ok(inner),
                    None => Err(self.expected("an operator or `)`")),
                }
            }
            _ => Err(self.expected("a number, `s` or `(`")),
        }
    }

    fn name(&mut self) -> Result<usize, ExpressionError> {
        let Token { at, text, .. } = self.current().clone();
        self.advance();
        match text.as_str() {
            "s" => return Ok(self.builder.variable()),
            "pi" => return Ok(self.builder.constant(EnclosedConstant::pi())),
            "e" => return Ok(self.builder.constant(EnclosedConstant::euler())),
            _ => {}
        }
        let opened = self.current().kind == TokenKind::Symbol('(');
        let known = CALLABLES.iter().find(|(name, _)| *name == text);
        match known {
            Some(&(name, callable)) if opened => self.call(name, callable),
            Some(_) => Err(self.expected(&format!("`(` after {}", quote(&text)))),
            None if opened => Err(ExpressionError::new(at, unknown_function(&text))),
            None => Err(ExpressionError::new(at, unknown_name(&text))),
        }
    }

    /// Parses the arguments of a function, from the opening parenthesis on.
    fn call(&mut self, name: &str, callable: Callable) -> Result<usize, ExpressionError> {
        self.advance();
        let first = self.sum()?;
        match callable {
            Callable::One(function) => {
                self.pass(')', name, "one argument")?;
                Ok(self.builder.unary(function, first))
            }
            Callable::Two(operation) => {
                self.pass(',', name, "two arguments")?;
                let second = self.sum()?;
                self.pass(')', name, "two arguments")?;
                Ok(self.builder.binary(operation, first, second))
            }
        }
    }

    fn pass(&mut self, symbol: char, name: &str, takes: &str) -> Result<(), ExpressionError> {
        if self.accept(&[symbol]).is_some() {
            return Ok(());
        }
        let token = self.current();
        let found = token.quoted();
        // Only a misplaced comma or parenthesis indicates a wrong number of arguments.
        let message = match token.kind {
            TokenKind::Symbol(',' | ')') => {
                format!("`{name}` takes {takes}: expected `{symbol}`, found {found}")
            }
            _ => format!("expected an operator or `{symbol}`, found {found}"),
        };
        Err(ExpressionError::new(token.at, message))
    }
}

fn unknown_function(text: &str) -> String {
    let names: Vec<&str> = CALLABLES.iter().map(|(name, _)| *name).collect();
    let hint = closest(text, &names).map_or(String::new(), |name| format!(" did you mean `{name}`?"));
    format!("unknown function {};{hint} known: {}", quote(text), names.join(", "))
}

fn unknown_name(text: &str) -> String {
    format!("unknown name {}; the variable is `s`, the constants are `pi` and `e`", quote(text))
}
