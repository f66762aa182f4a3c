//! `querist purge`: removes the stored contents of a ledger.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use querist_ledger::Ledger;
use querist_run::text::counted;

use crate::Output;

/// Remove the displayed contents from a ledger; its events remain and can still be verified
#[derive(Args)]
pub(crate) struct PurgeArgs {
    /// The ledger of a labeling session
    ledger: PathBuf,
}

pub(super) fn run(arguments: &PurgeArgs) -> Result<Output> {
    let removed = Ledger::open(&arguments.ledger)?.purge_contents()?;
    let file = arguments.ledger.display();
    Ok(Output::done(format!(
        "{} removed from {file}. Backups keep theirs; exports no longer have the texts.",
        counted(removed, "content")
    )))
}
