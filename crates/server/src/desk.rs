//! Where people's answers arrive: the session, the ledger behind it, and the learner beside it.
//!
//! What a session says happened is handed to the ledger's writer under the session's lock, so the ledger has it in the
//! same order; the lock is not held while the disk is waited for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use querist_engine::session::{Apprentice, Moment, Session, SessionEvent, Settings, Study};
use querist_engine::task::Task;
use querist_ledger::{Fault, Ledger, LedgerError, Record, RecordError, Writer};
use querist_run::labeling::restore::restore;
use tokio::sync::oneshot;

use crate::clock::Clock;

/// Makes a task, which says what labels and scores mean.
pub type MakeTask = Box<dyn Fn() -> Box<dyn Task> + Send + Sync>;

pub(crate) struct Desk {
    study: Arc<Study>,
    task: MakeTask,
    settings: Settings,
    pub(crate) clock: Clock,
    path: PathBuf,
    inner: Mutex<Inner>,
    /// Something to learn from has come, or all is over.
    news: Condvar,
}

struct Inner {
    session: Session,
    study: Arc<Study>,
    /// `None` while the ledger is opened again.
    writer: Option<Writer>,
    problem: Arc<Mutex<Option<Problem>>>,
    /// Counts sessions: what was learned for one is no use to the next.
    epoch: u64,
    /// Counts whatever people may want to see.
    seen: u64,
    tried: u64,
    over: bool,
}

/// Why nothing can be written.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// The disk is full, which may pass.
    pub(crate) full: bool,
    pub(crate) words: String,
}

/// After a full disk, writing is tried again no sooner than this, in milliseconds.
const PATIENCE: u64 = 1000;

impl Desk {
    /// Goes on with the session that a ledger holds.
    pub(crate) fn open(
        ledger: Ledger,
        study: Arc<Study>,
        task: MakeTask,
        settings: Settings,
    ) -> Result<Self, LedgerError> {
        let clock = Clock::new();
        let path = ledger.path().to_owned();
        let session = restore(&ledger, &study, task(), settings, clock.now())?;
        let mut inner = Inner {
            session,
            study: Arc::clone(&study),
            writer: Some(Writer::new(ledger)),
            problem: Arc::default(),
            epoch: 0,
            seen: 1,
            tried: 0,
            over: false,
        };
        inner.begin(clock.now());
        Ok(Self { study, task, settings, clock, path, inner: Mutex::new(inner), news: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while it was held came before anything was half done that counts: the ledger decides.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the session.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&Session, Moment) -> R) -> R {
        let now = self.clock.now();
        look(&self.lock().session, now)
    }

    /// Changes what is not written down: who is still there.
    pub(crate) fn touch<R>(&self, act: impl FnOnce(&mut Session, Moment) -> R) -> R {
        let now = self.clock.now();
        act(&mut self.lock().session, now)
    }

    /// Changes the session; resolves when what happened is on disk, or says why it is not.
    pub(crate) async fn write<R>(
        &self,
        act: impl FnOnce(&mut Session, Moment, &mut Vec<SessionEvent>) -> R,
    ) -> Result<R, Problem> {
        let (result, done, problem) = {
            let mut inner = self.lock();
            self.recover(&mut inner);
            if let Some(problem) = inner.problem() {
                return Err(problem);
            }
            let mut happened = vec![];
            let result = act(&mut inner.session, self.clock.now(), &mut happened);
            let done = inner.append(&happened);
            if !happened.is_empty() {
                inner.seen += 1;
            }
            if inner.session.is_behind() {
                self.news.notify_all();
            }
            (result, done, Arc::clone(&inner.problem))
        };
        match done.await {
            Ok(Ok(())) => Ok(result),
            Ok(Err(problem)) => Err(problem),
            Err(_) => Err(locked(&problem).clone().unwrap_or_else(ended)),
        }
    }

    /// Counts whatever people may want to see.
    pub(crate) fn seen(&self) -> u64 {
        self.lock().seen
    }

    pub(crate) fn problem(&self) -> Option<Problem> {
        self.lock().problem()
    }

    /// After a full disk the ledger is opened again: what it holds is what was acknowledged, and the session goes on from there.
    fn recover(&self, inner: &mut Inner) {
        let now = self.clock.now();
        let full = inner.problem().is_some_and(|problem| problem.full);
        if !full || now.tick < inner.tried + PATIENCE {
            return;
        }
        inner.tried = now.tick;
        // The old one gives up its lock first.
        drop(inner.writer.take());
        let reopened = Ledger::open(&self.path).and_then(|ledger| {
            let session = restore(&ledger, &self.study, (self.task)(), self.settings, now)?;
            Ok((ledger, session))
        });
        match reopened {
            Ok((ledger, session)) => {
                inner.session = session;
                inner.writer = Some(Writer::new(ledger));
                inner.problem = Arc::default();
                inner.epoch += 1;
                inner.seen += 1;
                inner.begin(now);
                self.news.notify_all();
            }
            Err(error) => *locked(&inner.problem) = Some(Problem { full: true, ..Problem::of(&error) }),
        }
    }

    /// Learns whenever there is something to learn from, until all is over. Answers never wait for this.
    pub(crate) fn learn(&self) {
        let mut apprentice = Apprentice::new(Arc::clone(&self.study));
        loop {
            let (work, mark, epoch) = {
                let mut inner = self.lock();
                while !inner.session.is_behind() && !inner.over {
                    inner = self.news.wait(inner).unwrap_or_else(PoisonError::into_inner);
                }
                if inner.over {
                    return;
                }
                let (work, mark) = inner.session.work();
                (work, mark, inner.epoch)
            };
            // A learner that fails means older guesses, not refused labels.
            let Ok(learned) = catch_unwind(AssertUnwindSafe(|| apprentice.learn(&work))) else {
                apprentice = Apprentice::new(Arc::clone(&self.study));
                thread::sleep(std::time::Duration::from_secs(5));
                continue;
            };
            let mut inner = self.lock();
            if inner.epoch == epoch {
                let mut happened = vec![];
                inner.session.adopt(learned, mark, self.clock.now(), &mut happened);
                // Nobody waits for a point of the curve; if it cannot be written, the next answer says why.
                drop(inner.append(&happened));
                inner.seen += 1;
            }
        }
    }

    /// Nothing more is learned or written; what was taken is on disk when this returns.
    ///
    /// # Errors
    /// If the server had to stop saving answers for good, or its files are not those it opened.
    pub(crate) fn close(&self) -> Result<(), Problem> {
        let (writer, problem) = {
            let mut inner = self.lock();
            inner.over = true;
            self.news.notify_all();
            (inner.writer.take(), locked(&inner.problem).clone())
        };
        let mut ledger = writer.and_then(Writer::close);
        match (problem, &mut ledger) {
            (Some(problem), _) if !problem.full => Err(problem),
            (None, Some(ledger)) => ledger.check_files().map_err(|error| Problem::of(&error)),
            // A full disk passes: the same command continues.
            _ => Ok(()),
        }
    }
}

impl Inner {
    fn problem(&self) -> Option<Problem> {
        let problem = locked(&self.problem).clone();
        problem.or_else(|| self.writer.is_none().then(ended))
    }

    /// Writes down that the session goes on; nobody waits for it, and whoever answers is told if it failed.
    fn begin(&mut self, now: Moment) {
        let mut happened = vec![];
        self.session.resume(now, &mut happened);
        drop(self.append(&happened));
    }

    fn append(&self, events: &[SessionEvent]) -> oneshot::Receiver<Result<(), Problem>> {
        let (sender, receiver) = oneshot::channel();
        let problem = Arc::clone(&self.problem);
        let records: Result<Vec<Record>, RecordError> = events.iter().map(|event| self.record(event)).collect();
        match (records, &self.writer) {
            (Ok(records), Some(writer)) => writer.append(records, move |done| {
                let done = done.map_err(|error| {
                    // The first error has the cause; those after it only say that there was one.
                    locked(&problem).get_or_insert_with(|| Problem::of(&error)).clone()
                });
                // The receiver may be gone.
                let _ = sender.send(done);
            }),
            (Err(error), _) => {
                // The session has the event and the ledger has not, so nothing more can be recorded.
                let problem = Problem { full: false, words: format!("an event {error}") };
                let _ = sender.send(Err(locked(&self.problem).get_or_insert(problem).clone()));
            }
            (Ok(_), None) => {}
        }
        receiver
    }

    /// Converts an event; an ask takes the displayed content of its item along.
    fn record(&self, event: &SessionEvent) -> Result<Record, RecordError> {
        let record = Record::encode(event)?;
        let SessionEvent::Asked { ask, .. } = event else { return Ok(record) };
        let row = self.session.item(*ask).and_then(|(row, ..)| row);
        Ok(row.map_or(record.clone(), |row| record.with_content((self.study.content)(row))))
    }
}

impl Problem {
    fn of(error: &LedgerError) -> Self {
        let words = error.fault.to_string();
        let words = match error.fault {
            // What to do is not the same as after an error of the disk.
            Fault::Replaced { .. } => words.replace("\n  ", "; "),
            _ => words.lines().next().unwrap_or_default().to_owned(),
        };
        Self { full: error.fault == Fault::Full, words }
    }
}

fn ended() -> Problem {
    Problem { full: false, words: "the server is ending".to_owned() }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
