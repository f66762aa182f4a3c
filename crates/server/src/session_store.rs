//! The session store: the session, its ledger, and its learner thread.
//!
//! Events of the session are passed to the ledger's writer under the session's lock, so the ledger has them in the same
//! order. The lock is not held during the sync to disk.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use querist_engine::session::{BackgroundFitter, LabelingPool, Session, SessionEvent, SessionSettings, SessionTime};
use querist_engine::task::Task;
use querist_ledger::{Ledger, LedgerError, LedgerFault, Record, RecordError, Writer};
use querist_run::labeling::restore::restore;
use tokio::sync::oneshot;

use crate::clock::ServerClock;

/// A function that creates the task, which interprets labels and scores.
pub type MakeTask = Box<dyn Fn() -> Box<dyn Task> + Send + Sync>;

/// The session with its ledger, shared by all requests and the learner thread.
pub(crate) struct SessionStore {
    pool: Arc<LabelingPool>,
    task: MakeTask,
    settings: SessionSettings,
    pub(crate) clock: ServerClock,
    path: PathBuf,
    state: Mutex<StoreState>,
    /// Wakes the learner thread: there are new answers, or the server is closing.
    learner_wake: Condvar,
}

struct StoreState {
    session: Session,
    pool: Arc<LabelingPool>,
    /// `None` while the ledger is reopened, and after closing.
    writer: Option<Writer>,
    problem: Arc<Mutex<Option<StoreProblem>>>,
    /// Counts sessions: a model fitted for one is of no use to the next.
    epoch: u64,
    /// Counts the changes that are visible to users.
    change_count: u64,
    /// The time of the last attempt to reopen the ledger.
    last_retry_ms: u64,
    is_closing: bool,
}

/// The reason why the ledger cannot be written.
#[derive(Clone, Debug)]
pub(crate) struct StoreProblem {
    /// The disk is full, which may be temporary.
    pub(crate) is_full: bool,
    pub(crate) message: String,
}

/// The minimum time between attempts to write after a full disk, in milliseconds.
const RETRY_MS: u64 = 1000;

impl SessionStore {
    /// Resumes the session of a ledger and records that.
    pub(crate) fn open(
        ledger: Ledger,
        pool: Arc<LabelingPool>,
        task: MakeTask,
        settings: SessionSettings,
    ) -> Result<Self, LedgerError> {
        let clock = ServerClock::new();
        let path = ledger.path().to_owned();
        let session = restore(&ledger, &pool, task(), settings, clock.now())?;
        let mut state = StoreState {
            session,
            pool: Arc::clone(&pool),
            writer: Some(Writer::new(ledger)),
            problem: Arc::default(),
            epoch: 0,
            change_count: 1,
            last_retry_ms: 0,
            is_closing: false,
        };
        state.record_resume(clock.now());
        Ok(Self { pool, task, settings, clock, path, state: Mutex::new(state), learner_wake: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        // A poisoned lock is still usable: the ledger, not the session, is authoritative.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with the session and the current time.
    pub(crate) fn read<R>(&self, view: impl FnOnce(&Session, SessionTime) -> R) -> R {
        let now = self.clock.now();
        view(&self.lock().session, now)
    }

    /// Changes state of the session that is not recorded, such as leases.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut Session, SessionTime) -> R) -> R {
        let now = self.clock.now();
        change(&mut self.lock().session, now)
    }

    /// Changes the session and appends the resulting events to the ledger. Resolves when the events are on disk.
    ///
    /// # Errors
    /// If the events cannot be written, or an earlier write failed.
    pub(crate) async fn commit<R>(
        &self,
        change: impl FnOnce(&mut Session, SessionTime, &mut Vec<SessionEvent>) -> R,
    ) -> Result<R, StoreProblem> {
        let (result, done, problem) = {
            let mut state = self.lock();
            self.recover(&mut state);
            if let Some(problem) = state.problem() {
                return Err(problem);
            }
            let mut events = vec![];
            let result = change(&mut state.session, self.clock.now(), &mut events);
            let done = state.append(&events);
            if !events.is_empty() {
                state.change_count += 1;
            }
            if state.session.is_behind() {
                self.learner_wake.notify_all();
            }
            (result, done, Arc::clone(&state.problem))
        };
        match done.await {
            Ok(Ok(())) => Ok(result),
            Ok(Err(problem)) => Err(problem),
            Err(_) => Err(locked(&problem).clone().unwrap_or_else(stopped)),
        }
    }

    /// Returns the number of changes that are visible to users.
    pub(crate) fn change_count(&self) -> u64 {
        self.lock().change_count
    }

    pub(crate) fn problem(&self) -> Option<StoreProblem> {
        self.lock().problem()
    }

    /// Reopens the ledger after a full disk. It holds what was acknowledged, and the session resumes from there. Does
    /// nothing if there is no such problem or the last attempt was too recent.
    fn recover(&self, state: &mut StoreState) {
        let now = self.clock.now();
        let is_full = state.problem().is_some_and(|problem| problem.is_full);
        if !is_full || now.tick < state.last_retry_ms + RETRY_MS {
            return;
        }
        state.last_retry_ms = now.tick;
        // The old writer must release its lock first.
        drop(state.writer.take());
        let reopened = Ledger::open(&self.path).and_then(|ledger| {
            let session = restore(&ledger, &self.pool, (self.task)(), self.settings, now)?;
            Ok((ledger, session))
        });
        match reopened {
            Ok((ledger, session)) => {
                state.session = session;
                state.writer = Some(Writer::new(ledger));
                state.problem = Arc::default();
                state.epoch += 1;
                state.change_count += 1;
                state.record_resume(now);
                self.learner_wake.notify_all();
            }
            Err(error) => *locked(&state.problem) = Some(StoreProblem { is_full: true, ..StoreProblem::of(&error) }),
        }
    }

    /// Fits a model whenever there are new answers, until the server closes. Answers never wait for this.
    pub(crate) fn learn(&self) {
        let mut fitter = BackgroundFitter::new(Arc::clone(&self.pool));
        loop {
            let (job, position, epoch) = {
                let mut state = self.lock();
                while !state.session.is_behind() && !state.is_closing {
                    state = self.learner_wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                if state.is_closing {
                    return;
                }
                let (job, position) = state.session.fit_job();
                (job, position, state.epoch)
            };
            // If the learner panics, predictions stay old, but labels are still accepted.
            let Ok(model) = catch_unwind(AssertUnwindSafe(|| fitter.fit(&job))) else {
                fitter = BackgroundFitter::new(Arc::clone(&self.pool));
                thread::sleep(std::time::Duration::from_secs(5));
                continue;
            };
            let mut state = self.lock();
            if state.epoch == epoch {
                let mut events = vec![];
                state.session.adopt(model, position, self.clock.now(), &mut events);
                // Not waited for: if the events cannot be written, the next answer reports why.
                drop(state.append(&events));
                state.change_count += 1;
            }
        }
    }

    /// Stops learning and writing. All accepted events are on disk when this returns.
    ///
    /// # Errors
    /// If the server permanently stopped saving answers, or its files were deleted or replaced.
    pub(crate) fn close(&self) -> Result<(), StoreProblem> {
        let (writer, problem) = {
            let mut state = self.lock();
            state.is_closing = true;
            self.learner_wake.notify_all();
            (state.writer.take(), locked(&state.problem).clone())
        };
        let mut ledger = writer.and_then(Writer::close);
        match (problem, &mut ledger) {
            (Some(problem), _) if !problem.is_full => Err(problem),
            (None, Some(ledger)) => ledger.check_files().map_err(|error| StoreProblem::of(&error)),
            // A full disk is temporary: the same command resumes the session.
            _ => Ok(()),
        }
    }
}

impl StoreState {
    fn problem(&self) -> Option<StoreProblem> {
        let problem = locked(&self.problem).clone();
        problem.or_else(|| self.writer.is_none().then(stopped))
    }

    /// Records that the session resumes. Does not wait for the disk; the next answer reports a failure.
    fn record_resume(&mut self, now: SessionTime) {
        let mut events = vec![];
        self.session.resume(now, &mut events);
        drop(self.append(&events));
    }

    fn append(&self, events: &[SessionEvent]) -> oneshot::Receiver<Result<(), StoreProblem>> {
        let (sender, receiver) = oneshot::channel();
        let problem = Arc::clone(&self.problem);
        let records: Result<Vec<Record>, RecordError> = events.iter().map(|event| self.record(event)).collect();
        match (records, &self.writer) {
            (Ok(records), Some(writer)) => writer.append(records, move |done| {
                let done = done.map_err(|error| {
                    // The first error has the cause; later ones only state that a write failed.
                    locked(&problem).get_or_insert_with(|| StoreProblem::of(&error)).clone()
                });
                // The receiver may have been dropped.
                let _ = sender.send(done);
            }),
            (Err(error), _) => {
                // The session has the event but the ledger does not, so nothing more can be recorded.
                let problem = StoreProblem { is_full: false, message: format!("an event {error}") };
                let _ = sender.send(Err(locked(&self.problem).get_or_insert(problem).clone()));
            }
            (Ok(_), None) => {}
        }
        receiver
    }

    /// Converts an event to a record; for an ask, adds the displayed content of its item.
    fn record(&self, event: &SessionEvent) -> Result<Record, RecordError> {
        let record = Record::encode(event)?;
        let SessionEvent::Asked { ask, .. } = event else { return Ok(record) };
        let row = self.session.item(*ask).and_then(|item| item.row);
        Ok(row.map_or(record.clone(), |row| record.with_content((self.pool.content)(row))))
    }
}

impl StoreProblem {
    fn of(error: &LedgerError) -> Self {
        let text = error.fault.to_string();
        let message = match error.fault {
            // Keep the second line: the remedy differs from that of a disk error.
            LedgerFault::Replaced { .. } => text.replace("\n  ", "; "),
            _ => text.lines().next().unwrap_or_default().to_owned(),
        };
        Self { is_full: error.fault == LedgerFault::Full, message }
    }
}

fn stopped() -> StoreProblem {
    StoreProblem { is_full: false, message: "the server is stopping".to_owned() }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
