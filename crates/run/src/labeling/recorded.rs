//! A labeling session, read from its ledger and its data.

use std::sync::Arc;

use querist_data::Encoder;
use querist_engine::narrow::Renumbered;
use querist_engine::scorer::Scorer;
use querist_engine::session::{LabelingPool, Replay, ReplayPlan, ReplayReport, Session, SessionSettings, SessionTime};
use querist_engine::task::Task;
use querist_ledger::{Ledger, ModelFile};

use super::answers::{check_salvaged, events};
use super::imports::Imports;
use super::location::Moved;
use super::source::{self, SessionHeader};
use super::{pool, restore};
use crate::build;
use crate::error::{Result, bail};
use crate::model_file::{self, ModelHeader, ModelParameters};
use crate::monitor::Monitor;

/// A recorded session, ready to restore or replay.
pub struct RecordedSession {
    /// The items and the learner.
    pub pool: Arc<LabelingPool>,
    /// The full name of the loss.
    pub loss: String,
    /// The full name of the rule.
    pub rule: String,
    /// The settings of the session.
    pub settings: SessionSettings,
    header: SessionHeader,
    /// The name of the data.
    file: String,
    outputs: usize,
    encoder: Encoder,
}

impl RecordedSession {
    /// Reads the data again, from the location in the ledger or from where they were moved.
    pub fn read(ledger: &Ledger, header: &SessionHeader, moved: &Moved) -> Result<Self> {
        check_salvaged(ledger)?;
        let data = header.data.located(ledger, moved)?;
        if let Some(file) = data.file.as_ref().filter(|file| !file.exists()) {
            bail!(
                "{}: the file does not exist, but {} needs it\n  use --data FILE if the data were moved",
                file.display(),
                ledger.path().display()
            );
        }
        let items = data.read(&header.settings)?;
        let labels = source::labels(&items.encoder)?;
        let encoder = items.encoder.clone();
        let prior = Imports::read(ledger)?.prior_labels(&items);
        let (pool, rule) = pool::labeling_pool(header, items, prior)?;
        // Leases and overlap no longer matter: the recorded answers are final.
        let settings = SessionSettings { labels, overlap: 1, budget: None, lease_ms: 1, seed: header.settings.seed };
        let task = build::task(&header.settings, labels)?;
        let (loss, outputs) = (task.name().to_owned(), task.outputs());
        Ok(Self { pool, loss, rule, settings, header: header.clone(), file: data.name(), outputs, encoder })
    }

    /// Returns the task.
    pub fn task(&self) -> Result<Box<dyn Task>> {
        build::task(&self.header.settings, self.settings.labels)
    }

    /// Restores the session of a ledger, and notifies the monitor of the items that training skips.
    ///
    /// # Errors
    /// If every asked item has changed in the data, or is missing.
    pub fn restore(&self, ledger: &Ledger, monitor: &dyn Monitor) -> Result<Session> {
        let session = restore::restore(ledger, &self.pool, self.task()?, self.settings, SessionTime::default())?;
        for problem in session.data_problems() {
            monitor.on_notice(&problem);
        }
        let (missing, changed) = session.differences();
        let asked = ledger.count("asked") as usize;
        let (imports, changed_imports) = (self.pool.imported.len(), self.pool.changed_imports.len());
        let is_other_data = asked == missing.len() + changed.len();
        if is_other_data && (0 < asked || (0 < changed_imports && imports == 0)) {
            let items = asked + changed_imports;
            bail!(
                "{}: none of the {items} items of {} is in it as it was shown\n  use --data FILE with the data that were labeled",
                self.file,
                ledger.path().display()
            );
        }
        Ok(session)
    }

    /// Returns a session at its start.
    pub fn session(&self) -> Result<Session> {
        Ok(Session::new(Arc::clone(&self.pool), self.task()?, self.settings))
    }

    /// Replays the session of a ledger: the same draws by the same models, if nothing has changed.
    pub fn replay(&self, ledger: &Ledger, monitor: &dyn Monitor) -> Result<(ReplayReport, Session)> {
        let mut plan = ReplayPlan::default();
        for event in events(ledger) {
            plan.process(&event?);
        }
        // Events that do not follow mean a damaged ledger, which restoring it reports first.
        self.restore(ledger, monitor)?;
        let mut replay = Replay::new(self.session()?, plan);
        for event in events(ledger) {
            replay.process(&event?);
        }
        Ok(replay.end())
    }

    /// Returns a fitted model as a file.
    pub fn model(&self, scorer: Scorer) -> Result<ModelFile> {
        let (loss, rule, outputs) = (&self.loss, &self.rule, self.outputs);
        let header = ModelHeader { loss, rule, outputs, encoder: Some(&self.encoder) };
        let narrow = self.pool.renumbered.as_ref().map(Renumbered::narrow);
        model_file::model(&header, &ModelParameters::of(scorer, narrow))
    }
}
