//! What is labelled, from a file or from a ledger: shared by the commands that label, export and report.

pub(crate) mod answers;
pub(crate) mod changes;
pub(crate) mod contents;
pub(crate) mod displayed;
pub(crate) mod imports;
pub(crate) mod location;
pub(crate) mod source;
