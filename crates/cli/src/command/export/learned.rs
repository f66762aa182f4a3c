//! The model that was learned from the answers of a labeling session.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use querist_engine::session::Apprentice;
use querist_ledger::Ledger;

use crate::command::label::again::Again;
use crate::labelling::location::Moved;
use crate::labelling::source::Header;
use crate::run::outcome::{self, counted};

/// Fits a model to all answers of a ledger whose items are unchanged in the data, and writes it.
pub(super) fn write(ledger: &Ledger, header: &Header, moved: &Moved, path: &Path) -> Result<String> {
    let again = Again::read(ledger, header, moved)?;
    let (work, _) = again.restore(ledger)?.work();
    let learned = Apprentice::new(Arc::clone(&again.study)).learn(&work);
    outcome::write_model(path, &again.model(&learned.parameters)?)?;
    Ok(format!("a model of {} written to {}", counted(learned.labels, "label"), path.display()))
}
