//! Campaigns of `./check --long`. The damage campaign has a short form that every `./check` runs.

#![allow(clippy::print_stderr, reason = "a campaign reports its counts")]
#![allow(clippy::disallowed_methods, reason = "a campaign reports how long its commands took")]

mod commands;
#[path = "../common/mod.rs"]
mod common;
mod damage;
#[cfg(feature = "long")]
mod kills;
mod library;
mod specimen;
