//! The equivalent loss: the loss that querying by a rule really optimizes.
//!
//! A **loss** is a function of one number; a **rule** is an even function of one number; *querying a loss by a rule
//! gives a loss*. This crate computes that loss, the equivalent loss of *Understanding Uncertainty Sampling via
//! Equivalent Loss*: its values, its link to the 0–1 risk, its convexity, and the bounds that follow.
//!
//! Everything is a pure function of its arguments in `f64`; there is no dependency, no IO, no randomness and no state.
//! Modules are listed in reading order.

pub mod registry;
pub mod coordinate;
pub mod loss;
pub mod uncertainty;
pub mod rate;
pub mod equivalent;
pub mod pair;
pub mod risk;
pub mod link;
pub mod convexity;
pub mod lipschitz;
pub mod certificate;
pub mod vector;
pub mod integrability;
pub mod bound;
pub mod momentum;
pub mod expression;
pub mod laws;
pub mod numeric;
