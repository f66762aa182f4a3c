//! The paper's statements, each by a test named for its LaTeX label: `prop:SGD_equiv` is `prop_sgd_equiv`.
//!
//! A statement is tried the way it is said: losses as functions of parameters and labels, links as inequalities between
//! risks, bounds against runs of the algorithm, differential equations against their solutions.

mod support;
mod equivalent;
mod surrogate;
mod convexity;
mod bounds;
mod stream;
mod mixture;
mod classes;
mod momentum;
