//! The model that was learned from the answers of a labeling session.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use querist_engine::session::BackgroundFitter;
use querist_ledger::Ledger;
use querist_run::labeling::location::Moved;
use querist_run::labeling::recorded::RecordedSession;
use querist_run::labeling::source::SessionHeader;
use querist_run::model_file;
use querist_run::text::counted;

use crate::run::progress::Terminal;

/// Fits a model to all answers of a ledger whose items are unchanged in the data, and writes it.
pub(super) fn write(ledger: &Ledger, header: &SessionHeader, moved: &Moved, path: &Path) -> Result<String> {
    let recorded = RecordedSession::read(ledger, header, moved)?;
    let (job, _) = recorded.restore(ledger, &Terminal::new(false))?.fit_job();
    let model = BackgroundFitter::new(Arc::clone(&recorded.pool)).fit(&job);
    model_file::write_model(path, &recorded.model(model.scorer)?)?;
    Ok(format!("a model of {} written to {}", counted(model.labels, "label"), path.display()))
}
