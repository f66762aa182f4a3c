//! Runs of learners: settings become learners, observations become recorded events, and events become learners again.
//!
//! This crate opens files and ledgers. It parses no arguments and prints nothing: a program hands over settings as types,
//! and is called back with progress.

mod model;
pub mod select;

pub use model::Model;
