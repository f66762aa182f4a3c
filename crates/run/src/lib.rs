//! Runs of learners: settings become learners, observations become recorded events, and events become learners again.
//!
//! This crate opens files and ledgers. It parses no arguments and prints nothing: a program hands over settings as types,
//! and is called back with progress ([`Monitor`]).

mod error;
mod monitor;
pub mod text;
pub mod settings;
pub mod files;
pub mod step;
pub mod build;
pub mod feed;
pub mod event;
pub mod record;
pub mod replay;
pub mod overwrite;
pub mod model_file;
pub mod stream;
pub mod live;
pub mod pool;
mod model;
pub mod select;
pub mod labeling;
pub mod history;

pub use error::{Error, Result};
pub use model::Model;
pub use monitor::{Monitor, Unmonitored};
