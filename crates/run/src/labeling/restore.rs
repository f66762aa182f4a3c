//! The restoration of a session from the events of its ledger.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use querist_engine::session::{LabelingPool, Session, SessionEvent, SessionSettings, SessionTime};
use querist_engine::task::Task;
use querist_ledger::{Ledger, LedgerError, LedgerFault};

/// Restores the session of a ledger.
pub fn restore(
    ledger: &Ledger,
    pool: &Arc<LabelingPool>,
    task: Box<dyn Task>,
    settings: SessionSettings,
    now: SessionTime,
) -> Result<Session, LedgerError> {
    let mut session = Session::new(Arc::clone(pool), task, settings);
    session.reserve(ledger.count("asked") as usize, ledger.count("answered") as usize);
    // One thread reads and decodes while another folds, which halves the time with a million answers.
    let (sender, receiver) = sync_channel::<Vec<SessionEvent>>(64);
    let (read, folded) = thread::scope(|scope| {
        let session = &mut session;
        let folding = scope.spawn(move || fold(session, &receiver, now.tick));
        let read = read(ledger, &sender);
        drop(sender);
        (read, folding.join().unwrap_or_else(|_| Err("its events cannot be folded".to_owned())))
    });
    folded.map_err(|found| corrupt(ledger, found))?;
    read?;
    session.begin();
    Ok(session)
}

/// The number of events sent between the threads at a time.
const BATCH: usize = 1000;

fn read(ledger: &Ledger, sender: &SyncSender<Vec<SessionEvent>>) -> Result<(), LedgerError> {
    let mut batch = Vec::with_capacity(BATCH);
    for record in ledger.records() {
        batch.push(record?.decode().map_err(|error| corrupt(ledger, error.to_string()))?);
        // The receiver ends early only with an error of its own, which takes precedence.
        if batch.len() == BATCH && sender.send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH))).is_err() {
            return Ok(());
        }
    }
    let _ = sender.send(batch);
    Ok(())
}

fn fold(session: &mut Session, batches: &Receiver<Vec<SessionEvent>>, tick: u64) -> Result<(), String> {
    for event in batches.iter().flatten() {
        if !session.can_follow(&event) {
            return Err(format!("{event:?} does not follow from the events before it"));
        }
        session.fold(&event, tick);
    }
    Ok(())
}

fn corrupt(ledger: &Ledger, found: String) -> LedgerError {
    LedgerError { file: ledger.path().to_owned(), fault: LedgerFault::Corrupt { found } }
}
