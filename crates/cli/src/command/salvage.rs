//! `querist salvage`: the provably intact events of a damaged ledger, in a new one.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use querist_ledger::salvage;
use querist_run::text::counted;

use crate::Output;

/// Recover the provably intact events of a damaged ledger into a new one, and list what is missing
#[derive(Args)]
pub(crate) struct SalvageArgs {
    /// The damaged ledger, which is not changed
    ledger: PathBuf,
    /// The ledger to create
    file: PathBuf,
}

pub(super) fn run(arguments: &SalvageArgs) -> Result<Output> {
    let found = salvage(&arguments.ledger, &arguments.file)?;
    let mut lines = vec![format!(
        "{} and {} recovered to {}",
        counted(found.events, "event"),
        counted(found.contents, "content"),
        arguments.file.display()
    )];
    lines.extend(found.missing.iter().map(|(first, last)| {
        if first == last { format!("  missing: event {first}") } else { format!("  missing: events {first} to {last}") }
    }));
    lines.extend(found.problems.iter().map(|problem| format!("  {problem}")));
    let is_complete = found.missing.is_empty() && found.problems.is_empty();
    Ok(Output { text: lines.join("\n"), code: u8::from(!is_complete), missing: None })
}
