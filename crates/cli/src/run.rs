//! The command line of runs: shared arguments, printed results, progress.

pub(crate) mod settings;
pub(crate) mod start;
pub(crate) mod files;
pub(crate) mod list;
pub(crate) mod moved;
pub(crate) mod results;
pub(crate) mod model;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod interrupt;
