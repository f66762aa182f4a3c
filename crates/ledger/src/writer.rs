//! Group commit: concurrent writers share one sync to disk.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::{LedgerError, LedgerFault};
use crate::ledger::Ledger;
use crate::record::Record;

/// A callback for when events are on disk, or could not be written.
type Done = Box<dyn FnOnce(Result<(), LedgerError>) + Send>;

/// The number of events after which a group accepts no more appends.
const MAX_GROUP: usize = 10_000;

/// The time without appends after which the journal is checkpointed into the file.
const IDLE: Duration = Duration::from_secs(1);

/// A thread that appends to a ledger. Appends that arrive during a commit share the next transaction.
#[derive(Debug)]
pub struct Writer {
    /// `None` once the thread should end.
    sender: Option<Sender<AppendRequest>>,
    thread: Option<JoinHandle<Ledger>>,
}

struct AppendRequest {
    records: Vec<Record>,
    done: Done,
}

impl Writer {
    /// Takes ownership of a ledger and starts the thread.
    pub fn new(ledger: Ledger) -> Self {
        let (sender, receiver) = channel();
        let thread = thread::Builder::new().name("ledger".to_owned()).spawn(move || write(ledger, &receiver));
        Self { sender: Some(sender), thread: thread.ok() }
    }

    /// Appends events after all earlier appends. Calls `done` on the writer's thread once the events are on disk, or
    /// with the error that prevented it. Without events, `done` is called once all earlier appends are on disk. If the
    /// thread has ended, `done` is called with an error on this thread.
    pub fn append(&self, records: Vec<Record>, done: impl FnOnce(Result<(), LedgerError>) + Send + 'static) {
        let request = AppendRequest { records, done: Box::new(done) };
        let sent = match &self.sender {
            Some(sender) => sender.send(request).map_err(|unsent| unsent.0),
            None => Err(request),
        };
        if let Err(request) = sent {
            let fault = LedgerFault::Poisoned { because: "the thread that writes has ended".to_owned() };
            (request.done)(Err(LedgerError { file: std::path::PathBuf::new(), fault }));
        }
    }

    /// Waits until everything is on disk and returns the ledger, or `None` if the thread could not be started or
    /// panicked.
    pub fn close(mut self) -> Option<Ledger> {
        self.sender = None;
        self.thread.take()?.join().ok()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already reported when it occurred.
            let _ = thread.join();
        }
    }
}

fn write(mut ledger: Ledger, requests: &Receiver<AppendRequest>) -> Ledger {
    let mut is_idle = true;
    loop {
        // When idle, the journal is checkpointed into the file, so that a copy of the file alone is complete.
        let first =
            match if is_idle { requests.recv().map_err(RecvTimeoutError::from) } else { requests.recv_timeout(IDLE) } {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => {
                    // An error poisons the ledger, and the next append reports it.
                    let _ = ledger.checkpoint();
                    is_idle = true;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return ledger,
            };
        is_idle = false;
        let mut group = vec![first];
        let mut count = group[0].records.len();
        while count < MAX_GROUP
            && let Ok(request) = requests.try_recv()
        {
            count += request.records.len();
            group.push(request);
        }
        commit(&mut ledger, group);
    }
}

fn commit(ledger: &mut Ledger, group: Vec<AppendRequest>) {
    match ledger.append_all(group.iter().flat_map(|request| &request.records)) {
        Ok(()) => group.into_iter().for_each(|request| (request.done)(Ok(()))),
        // One event that is too large is no reason to reject the others.
        Err(LedgerError { fault: LedgerFault::TooLong { .. }, .. }) if 1 < group.len() => {
            for request in group {
                let appended = ledger.append(&request.records);
                (request.done)(appended);
            }
        }
        Err(error) => group.into_iter().for_each(|request| (request.done)(Err(error.clone()))),
    }
}
