//! Runs of learners: settings become learners, observations become recorded events, and events become learners again.
//!
//! This crate opens files and ledgers. It parses no arguments and prints nothing: a program passes settings as types,
//! and receives progress through callbacks ([`Monitor`]).
//!
//! ```
//! use querist_run::Unmonitored;
//! use querist_run::stream::{StreamRun, StreamRunSettings};
//!
//! // The paper's mixture of four Gaussians; `data` would name a file.
//! let settings = StreamRunSettings { observations: Some(1000), ..StreamRunSettings::default() };
//! let mut run = StreamRun::open(&settings, &Unmonitored)?;
//! let diverged = run.run(&Unmonitored)?;
//! assert!(diverged.is_none() && run.learner.totals().observed == 1000);
//! # Ok::<(), querist_run::Error>(())
//! ```

mod error;
mod monitor;
mod differing;
pub mod text;
pub mod settings;
pub mod files;
pub mod step;
pub mod written;
pub mod build;
pub mod feed;
pub mod event;
pub mod record;
pub mod replay;
pub mod overwrite;
pub mod model_file;
mod model_kinds;
pub mod stream;
pub mod live;
pub mod pool;
pub mod scored_pool;
pub mod precision;
pub mod start;
mod model;
pub mod select;
pub mod entrants;
pub mod pilot;
pub mod labeling;
pub mod history;
pub mod report;

pub use error::{Error, Result};
pub use model::{Model, UnusableModel};
pub use monitor::{Monitor, Unmonitored};
