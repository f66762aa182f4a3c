//! What is labelled, from a file or from a ledger: shared by the commands that label, export and report.

pub(crate) mod answers;
pub(crate) mod source;
