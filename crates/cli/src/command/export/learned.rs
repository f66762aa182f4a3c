//! The model that was learned from the answers of a labeling session.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use querist_engine::session::Apprentice;
use querist_ledger::Ledger;
use querist_run::labeling::location::Moved;
use querist_run::labeling::recorded::RecordedSession;
use querist_run::labeling::source::Header;
use querist_run::model_file;
use querist_run::text::counted;

use crate::run::progress::Terminal;

/// Fits a model to all answers of a ledger whose items are unchanged in the data, and writes it.
pub(super) fn write(ledger: &Ledger, header: &Header, moved: &Moved, path: &Path) -> Result<String> {
    let again = RecordedSession::read(ledger, header, moved)?;
    let (work, _) = again.restore(ledger, &Terminal::new(false))?.work();
    let learned = Apprentice::new(Arc::clone(&again.study)).learn(&work);
    model_file::write_model(path, &again.model(&learned.parameters)?)?;
    Ok(format!("a model of {} written to {}", counted(learned.labels, "label"), path.display()))
}
