//! `querist verify`: runs every check of a ledger and lists counts and damage.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use querist_ledger::Inspection;
use querist_run::text::grouped;
use serde_json::json;

use crate::Output;

/// Verify a ledger: the hash chain, the head, every stored content, the journal
#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// The ledger to verify
    ledger: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &VerifyArgs) -> Result<Output> {
    let found = Inspection::of(&arguments.ledger)?;
    let file = arguments.ledger.display();
    let text = if arguments.json {
        json!({
            "version": found.version,
            "events": found.events,
            "counts": found.counts,
            "contents": found.contents,
            "problems": found.problems,
        })
        .to_string()
    } else {
        let mut lines = vec![format!("{file}: {}", if found.problems.is_empty() { "intact" } else { "damaged" })];
        lines.push(format!("  version   {}", found.version));
        lines.push(format!("  events    {}", grouped(found.events)));
        lines.extend(found.counts.iter().map(|(kind, count)| format!("    {kind:<11} {}", grouped(*count))));
        lines.push(format!("  contents  {}", grouped(found.contents)));
        lines.extend(found.problems.iter().map(|problem| format!("  problem: {problem}")));
        lines.join("\n")
    };
    let missing = (!found.problems.is_empty()).then(|| {
        format!("{file} is damaged\n  continue from a backup, or recover the intact events with `querist salvage`")
    });
    Ok(Output { text, code: u8::from(missing.is_some()), missing })
}
