//! `querist revoke`: signs annotators out of the labeling page.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use querist_server::KeyFile;

use crate::Output;

/// Sign annotators out of the labeling page, also on a running server
#[derive(Args)]
pub(crate) struct RevokeArgs {
    /// The ledger of `querist label`
    ledger: PathBuf,
    /// Sign out only this annotator, one of those named with `label --annotators`
    #[arg(long, value_name = "NAME")]
    annotator: Option<String>,
}

pub(super) fn run(arguments: &RevokeArgs) -> Result<Output> {
    let ledger = &arguments.ledger;
    if !ledger.exists() {
        bail!("{}: the file does not exist", ledger.display());
    }
    let full = ledger.canonicalize().with_context(|| ledger.display().to_string())?;
    if !KeyFile::path_of(&full).exists() {
        bail!("{}: no sessions to revoke; `querist label` has not served this ledger", ledger.display());
    }
    let key = KeyFile::open(&full)?;
    if let Some(name) = &arguments.annotator {
        check(name, &key.annotators(), arguments)?;
    }
    key.revoke(arguments.annotator.as_deref())?;
    let who =
        arguments.annotator.as_deref().map_or_else(|| "Everyone".to_owned(), |name| name.escape_debug().to_string());
    Ok(Output::done(format!(
        "{who} must sign in again. A running server closes open pages within a second and prints new links.\n\
         API tokens stay valid until the server stops.\n"
    )))
}

/// Rejects a name without sessions: a typing error must not look like a revocation.
fn check(name: &str, annotators: &[String], arguments: &RevokeArgs) -> Result<()> {
    if annotators.iter().any(|known| known == name) {
        return Ok(());
    }
    if annotators.is_empty() {
        bail!(
            "--annotator {name}: this ledger was never served with --annotators, so its sessions have no annotator\n \
              to sign everyone out, run: querist revoke {}",
            arguments.ledger.display()
        );
    }
    bail!("--annotator {name}: unknown annotator; expected one of {}", annotators.join(", "))
}
