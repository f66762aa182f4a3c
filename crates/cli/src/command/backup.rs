//! `querist backup`: a verified copy of a ledger, also while a server writes to it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use querist_ledger::Ledger;
use querist_run::text::counted;

use crate::Output;

/// Copy a ledger to one file, also while a run or a server writes to it
#[derive(Args)]
pub(crate) struct BackupArgs {
    /// The ledger to copy
    ledger: PathBuf,
    /// The file to create
    file: PathBuf,
}

pub(super) fn run(arguments: &BackupArgs) -> Result<Output> {
    let ledger = Ledger::read(&arguments.ledger)?;
    ledger.backup(&arguments.file)?;
    let copy = Ledger::read(&arguments.file)?;
    let events = counted(copy.counts().values().sum(), "event");
    let text = format!("{events} copied to {} and verified", arguments.file.display());
    Ok(Output::done(text).with_loss(&ledger))
}
