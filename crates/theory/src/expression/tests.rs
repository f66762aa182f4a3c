//! Tests of the expression module.

mod bounds;
mod containment;
mod derivatives;
mod errors;
mod fuzz;
mod sample;
mod tables;
mod values;

use super::Expression;

/// Parses an expression that the test knows to be well formed.
fn parsed(text: &str) -> Expression {
    match Expression::parse(text) {
        Ok(expression) => expression,
        Err(error) => panic!("`{text}`: {error}"),
    }
}
