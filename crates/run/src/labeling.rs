//! Labeling sessions: their items, settings and records.

pub mod recorded;
pub mod answers;
pub mod changes;
pub mod contents;
pub mod displayed;
pub mod export;
mod images;
pub mod imports;
pub mod location;
pub mod open;
pub mod pool;
pub mod restore;
pub mod source;

pub use images::{Images, Served};
