//! The model that a labelling session has come to.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use querist_engine::session::{Apprentice, Moment};
use querist_ledger::Ledger;

use crate::command::label::again::Again;
use crate::labelling::source::Header;
use crate::run::outcome;

/// Learns from all answers of a ledger, and writes the model.
pub(super) fn write(ledger: &Ledger, header: &Header, path: &Path) -> Result<String> {
    let again = Again::read(ledger, header)?;
    let session = querist_server::restore(ledger, &again.study, again.task()?, again.settings, Moment::default())?;
    let (work, _) = session.work();
    let learned = Apprentice::new(Arc::clone(&again.study)).learn(&work);
    outcome::write_model(path, &again.model(&learned.parameters)?)?;
    Ok(format!("a model of {} labels written to {}", learned.labels, path.display()))
}
