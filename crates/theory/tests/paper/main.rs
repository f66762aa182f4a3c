//! The paper's statements, each checked by a test named after its LaTeX label: `prop:SGD_equiv` is `prop_sgd_equiv`.
//!
//! Each statement is checked in its own terms: losses as functions of parameters and labels, links as inequalities
//! between risks, bounds against runs of the algorithm, differential equations against their solutions.

mod support;
mod equivalent;
mod surrogate;
mod convexity;
mod bounds;
mod stream;
mod mixture;
mod classes;
mod momentum;
