//! Many write at once and share one wait for the disk.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::{Fault, LedgerError};
use crate::ledger::Ledger;
use crate::record::Record;

/// Called when events are on disk, or could not be brought there.
type Done = Box<dyn FnOnce(Result<(), LedgerError>) + Send>;

/// At most this many events are committed together.
const MAX_GROUP: usize = 10_000;

/// The journal is brought into the file after this long without appends.
const IDLE: Duration = Duration::from_secs(1);

/// A thread that appends to a ledger. Whatever comes while the disk is busy goes into the next transaction together.
#[derive(Debug)]
pub struct Writer {
    /// `None` once the thread is to end.
    sender: Option<Sender<Order>>,
    thread: Option<JoinHandle<Ledger>>,
}

struct Order {
    records: Vec<Record>,
    done: Done,
}

impl Writer {
    /// Takes over a ledger.
    pub fn new(ledger: Ledger) -> Self {
        let (sender, receiver) = channel();
        let thread = thread::Builder::new().name("ledger".to_owned()).spawn(move || write(ledger, &receiver));
        Self { sender: Some(sender), thread: thread.ok() }
    }

    /// Appends events after all that were appended before; `done` is called on the writer's thread once these are on disk, or
    /// with the error that kept them from it. Without events, it is called once all those before are on disk.
    pub fn append(&self, records: Vec<Record>, done: impl FnOnce(Result<(), LedgerError>) + Send + 'static) {
        let order = Order { records, done: Box::new(done) };
        let sent = match &self.sender {
            Some(sender) => sender.send(order).map_err(|unsent| unsent.0),
            None => Err(order),
        };
        if let Err(order) = sent {
            let fault = Fault::Poisoned { because: "the thread that writes has ended".to_owned() };
            (order.done)(Err(LedgerError { file: std::path::PathBuf::new(), fault }));
        }
    }

    /// Waits until everything is on disk and gives the ledger back; `None` if the thread could not be started or has panicked.
    pub fn close(mut self) -> Option<Ledger> {
        self.sender = None;
        self.thread.take()?.join().ok()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // What a panic there had to say it has said.
            let _ = thread.join();
        }
    }
}

fn write(mut ledger: Ledger, orders: &Receiver<Order>) -> Ledger {
    let mut is_idle = true;
    loop {
        // While nothing comes, the journal is brought into the file, so that a copy of the file alone has it.
        let first =
            match if is_idle { orders.recv().map_err(RecvTimeoutError::from) } else { orders.recv_timeout(IDLE) } {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => {
                    // An error poisons the ledger, and the next append says so.
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
            && let Ok(order) = orders.try_recv()
        {
            count += order.records.len();
            group.push(order);
        }
        commit(&mut ledger, group);
    }
}

fn commit(ledger: &mut Ledger, group: Vec<Order>) {
    match ledger.append_all(group.iter().flat_map(|order| &order.records)) {
        Ok(()) => group.into_iter().for_each(|order| (order.done)(Ok(()))),
        // One event that is too long is no reason to reject the others.
        Err(LedgerError { fault: Fault::TooLong { .. }, .. }) if 1 < group.len() => {
            for order in group {
                let appended = ledger.append(&order.records);
                (order.done)(appended);
            }
        }
        Err(error) => group.into_iter().for_each(|order| (order.done)(Err(error.clone()))),
    }
}
