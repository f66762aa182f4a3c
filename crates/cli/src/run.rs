//! Runs of the engine: what was typed becomes learners, data, a ledger; what happened becomes numbers to print.

pub(crate) mod settings;
pub(crate) mod files;
pub(crate) mod list;
pub(crate) mod step;
pub(crate) mod build;
pub(crate) mod feed;
pub(crate) mod event;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod history;
pub(crate) mod outcome;
pub(crate) mod live;
pub(crate) mod output;
pub(crate) mod overwrite;
pub(crate) mod progress;
pub(crate) mod interrupt;
