//! The durable record of a run.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::error::{Fault, LedgerError};
use crate::event::{Counts, Event};
use crate::lock::Lock;
use crate::place::{beside, existing, immutable, new_name, put_in_place, refuse_taken, remove_if_there};
use crate::replay::Events;
use crate::row::{self, Note, Writer};
use crate::schema::{self, Tally};

/// The log is brought into the file after so many bytes of events, or so many appends.
const CHECKPOINT_BYTES: usize = 8 << 20;
const CHECKPOINT_APPENDS: usize = 1000;

/// An append-only record of events in one `SQLite` file.
#[derive(Debug)]
pub struct Ledger {
    // Declared before the lock, so that it is closed before the lock is given up.
    connection: Connection,
    path: PathBuf,
    header: String,
    tally: Tally,
    /// Of the tables in the file.
    version: i64,
    access: Access,
    /// Kept after a failed write too, so that nobody goes on before this process has noticed.
    _lock: Option<Lock>,
}

#[derive(Debug)]
enum Access {
    Read,
    Write {
        /// Since the last checkpoint.
        bytes: usize,
        appends: usize,
    },
    /// A write failed.
    Poisoned {
        because: String,
    },
}

impl Ledger {
    /// Makes a ledger; the header is JSON text that describes the run. It appears under its name complete or not at all.
    pub fn create(path: impl AsRef<Path>, header: &str) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        create(path, header).map_err(|fault| fault.of(path))
    }

    /// Opens a ledger to go on with it. No other process can until this one is dropped.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        let open = || {
            let full = existing(path)?;
            let lock = Lock::take(&full)?;
            open(full, lock)
        };
        open().map_err(|fault| fault.of(path))
    }

    /// Opens a ledger to read what is in it at this moment, also while another process writes to it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        existing(path).and_then(read).map_err(|fault| fault.of(path))
    }

    /// The text given to `create`.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// The file, by its full name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How much is recorded.
    pub fn counts(&self) -> Counts {
        self.tally.counts
    }

    /// Appends events in one transaction: all of them are on disk when it returns, or none is recorded.
    ///
    /// An event that cannot be recorded ([`Fault::Refused`]) leaves the ledger as it was. After any other error no more
    /// can be appended, since what is on disk is not known; open the ledger again.
    pub fn append(&mut self, events: &[Event]) -> Result<(), LedgerError> {
        self.write(|ledger| {
            if events.is_empty() {
                return Ok(());
            }
            let mut tally = ledger.tally;
            transact(&mut ledger.connection, |transaction| insert(transaction, events, &mut tally))?;
            ledger.tally = tally;
            Ok(())
        })?;
        self.checkpoint_if_due(events.iter().map(Event::bytes).sum());
        Ok(())
    }

    /// Writes down a text under a key. An older note with that key stays in the file, but is not seen any more.
    pub fn set_note(&mut self, key: &str, value: &str) -> Result<(), LedgerError> {
        self.write(|ledger| {
            let tally = Tally { sequence: ledger.tally.sequence + 1, noted: ledger.tally.noted + 1, ..ledger.tally };
            let note = Note { sequence: tally.sequence, key: key.to_owned(), value: value.to_owned() };
            transact(&mut ledger.connection, |transaction| {
                row::put_note(transaction, &note)?;
                schema::put_tally(transaction, tally)
            })?;
            ledger.tally = tally;
            Ok(())
        })?;
        self.checkpoint_if_due(key.len() + value.len());
        Ok(())
    }

    /// The text last written under a key; `None` if there is none.
    pub fn note(&self, key: &str) -> Result<Option<String>, LedgerError> {
        self.find_note(key).map_err(|fault| fault.of(&self.path))
    }

    /// The events in the order appended, in bounded memory.
    pub fn events(&self) -> Events<'_> {
        Events::new(self)
    }

    /// What was drawn and done in a labelling session, in its order and in one pass: millions of events a second.
    pub fn labelling(&self, mut take: impl FnMut(Event) -> Result<(), String>) -> Result<(), LedgerError> {
        let mut counts = Counts::default();
        let mut read = || {
            if self.version == 1 {
                return Ok(());
            }
            row::labelling(&self.connection, self.tally.sequence, |event| {
                counts.add(&event);
                take(event).map_err(Fault::corrupt)
            })?;
            let Counts { asked, answered, .. } = self.tally.counts;
            if (counts.asked, counts.answered) != (asked, answered) {
                let found = format!("{:?} were acknowledged, {counts:?} are there", self.tally.counts);
                return Err(Fault::corrupt(found));
            }
            Ok(())
        };
        read().map_err(|fault: Fault| fault.of(&self.path))
    }

    /// Writes a copy, also while events are appended; it holds a prefix of them. Refuses a name that is taken.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<(), LedgerError> {
        let to = to.as_ref();
        self.copy(to).map_err(|fault| fault.of(to))
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn version(&self) -> i64 {
        self.version
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// Runs something that writes, if writing is possible, and poisons the ledger if it fails.
    fn write(&mut self, act: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), LedgerError> {
        let fault = match &self.access {
            Access::Read => Fault::OpenedForReading,
            Access::Poisoned { because } => Fault::Poisoned { because: because.clone() },
            Access::Write { .. } => match act(self) {
                Ok(()) => return Ok(()),
                Err(fault) => {
                    self.poison(&fault);
                    fault
                }
            },
        };
        Err(fault.of(&self.path))
    }

    fn poison(&mut self, fault: &Fault) {
        if matches!(fault, Fault::Refused { .. }) {
            return;
        }
        let text = fault.to_string();
        let because = text.lines().next().unwrap_or_default().to_owned();
        self.access = Access::Poisoned { because };
    }

    /// What was appended is in the log and safe there; if it cannot be brought into the file, nothing more is taken.
    fn checkpoint_if_due(&mut self, written: usize) {
        let Access::Write { bytes, appends, .. } = &mut self.access else { return };
        *bytes += written;
        *appends += 1;
        if *bytes < CHECKPOINT_BYTES && *appends < CHECKPOINT_APPENDS {
            return;
        }
        (*bytes, *appends) = (0, 0);
        let done = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = done {
            self.poison(&error.into());
        }
    }

    /// Reads all notes, few as they are, since a garbled key would hide one.
    fn find_note(&self, key: &str) -> Result<Option<String>, Fault> {
        let notes = row::notes(&self.connection, 0, self.tally.sequence)?;
        if notes.len() as u64 != self.tally.noted {
            return Err(Fault::corrupt(format!("{} notes were made, {} are there", self.tally.noted, notes.len())));
        }
        Ok(notes.into_iter().rfind(|note| note.key == key).map(|note| note.value))
    }

    fn copy(&self, to: &Path) -> Result<(), Fault> {
        let to = new_name(to)?;
        let _lock = Lock::take(&to)?;
        refuse_taken(&to)?;
        let part = beside(&to, "-new");
        remove_if_there(&part)?;
        let name = part.to_str().ok_or_else(|| Fault::System { because: "a name that is not Unicode".to_owned() })?;
        // It counts as writing, although this file is only read.
        self.connection.pragma_update(None, "query_only", false)?;
        self.connection.execute("VACUUM INTO ?1", [name])?;
        self.connection.pragma_update(None, "query_only", matches!(self.access, Access::Read))?;
        put_in_place(&part, &to)
    }
}

/// Runs something in a transaction that is committed if it succeeds and undone if it does not.
fn transact(connection: &mut Connection, act: impl FnOnce(&Transaction<'_>) -> Result<(), Fault>) -> Result<(), Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match act(&transaction) {
        Ok(()) => Ok(transaction.commit()?),
        // The ledger goes on after a refusal, so the undoing must have worked.
        Err(refused @ Fault::Refused { .. }) => transaction.rollback().map_err(Fault::from).and(Err(refused)),
        Err(fault) => Err(fault),
    }
}

fn insert(connection: &Connection, events: &[Event], tally: &mut Tally) -> Result<(), Fault> {
    let mut writer = Writer::new(connection)?;
    for (index, event) in events.iter().enumerate() {
        if let Some(why) = event.refusal() {
            return Err(Fault::Refused { index, why });
        }
        tally.sequence += 1;
        tally.counts.add(event);
        writer.put(tally.sequence, event).map_err(|error| match row::refusal(&error, event) {
            Some(why) => Fault::Refused { index, why },
            None => error.into(),
        })?;
    }
    schema::put_tally(connection, *tally)
}

fn create(path: &Path, header: &str) -> Result<Ledger, Fault> {
    let path = new_name(path)?;
    let lock = Lock::take(&path)?;
    refuse_taken(&path)?;
    let part = beside(&path, "-new");
    // Nobody else has the lock, so whatever is there was left by a process that was killed.
    for ending in ["", "-journal", "-wal", "-shm"] {
        remove_if_there(&beside(&part, ending))?;
    }
    let mut connection = schema::connect(&part, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    schema::make(&mut connection, header)?;
    connection.close().map_err(|(_, error)| error)?;
    put_in_place(&part, &path)?;
    open(path, lock)
}

fn open(path: PathBuf, mut lock: Lock) -> Result<Ledger, Fault> {
    let mut connection = schema::connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let found = schema::identify(&connection)?;
    if connection.is_readonly("main")? {
        return Err(Fault::ReadOnly);
    }
    schema::prepare_to_write(&connection)?;
    schema::check(&connection)?;
    lock.hold_journal(&path)?;
    let (header, tally) = schema::load(&connection, found)?;
    schema::migrate(&mut connection, found)?;
    let access = Access::Write { bytes: 0, appends: 0 };
    Ok(Ledger { connection, path, header, tally, version: schema::VERSION, access, _lock: Some(lock) })
}

fn read(path: PathBuf) -> Result<Ledger, Fault> {
    let logged = fs::metadata(beside(&path, "-wal")).is_ok_and(|log| 0 < log.len());
    // Where there is no log, a connection that may write removes the empty one that SQLite makes for it. Where there is
    // one, the log is left to the process that goes on with the ledger.
    let flags = if logged { OpenFlags::SQLITE_OPEN_READ_ONLY } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
    let connect = |path: &Path, flags| {
        let connection = schema::connect(path, flags)?;
        connection.pragma_update(None, "query_only", true)?;
        let version = schema::identify(&connection)?;
        let (header, tally) = schema::load(&connection, version)?;
        Ok((connection, header, tally, version))
    };
    let (connection, header, tally, version) = match connect(&path, flags) {
        // SQLite wants to put its shared memory beside the file; a read-only folder that nobody writes to needs none.
        Err(Fault::System { .. } | Fault::ReadOnly) if !logged => {
            connect(&immutable(&path), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?
        }
        Err(Fault::System { .. } | Fault::ReadOnly) => return Err(Fault::Unfinished),
        other => other?,
    };
    Ok(Ledger { connection, path, header, tally, version, access: Access::Read, _lock: None })
}

#[cfg(test)]
mod tests {
    //! What only the connection shows: its settings, and a full disk as `SQLite` sees it, when no page may be added.

    use super::*;

    /// A kill leaves the system alive, so no test outside sees whether the disk was waited for.
    #[test]
    fn commits_wait_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.ledger");
        drop(Ledger::create(&path, "{}").unwrap());
        let ledger = Ledger::open(&path).unwrap();
        for (name, value) in [("synchronous", 2), ("fullfsync", 1), ("checkpoint_fullfsync", 1), ("foreign_keys", 1)] {
            let found: i64 = ledger.connection.pragma_query_value(None, name, |row| row.get(0)).unwrap();
            assert_eq!(found, value, "{name}");
        }
        let mode: String = ledger.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }

    #[test]
    fn a_full_disk_loses_nothing_and_stops_all_writing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.ledger");
        let mut ledger = Ledger::create(&path, "{}").unwrap();
        let block = |first| Event::Considered { first, probabilities: vec![0.5; 1000], totals: vec![] };
        ledger.append(&[block(0)]).unwrap();
        let pages: i64 = ledger.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        let limit =
            ledger.connection.pragma_update_and_check(None, "max_page_count", pages, |row| row.get::<_, i64>(0));
        assert_eq!(limit.unwrap(), pages);

        let error = ledger.append(&[block(1000), block(2000)]).unwrap_err();
        assert_eq!(error.fault, Fault::Full);
        assert!(error.to_string().contains("the disk is full\n  what was acknowledged is kept"), "{error}");
        let poisoned = Fault::Poisoned { because: "the disk is full".to_owned() };
        assert_eq!(ledger.append(&[]).unwrap_err().fault, poisoned);
        assert_eq!(ledger.set_note("finished", "no").unwrap_err().fault, poisoned);
        assert_eq!(ledger.counts().considered, 1000);
        assert_eq!(ledger.events().collect::<Result<Vec<_>, _>>().unwrap(), [block(0)]);
        assert_eq!(Ledger::open(&path).unwrap_err().fault, Fault::Locked { by: Some(std::process::id()) });
        drop(ledger);

        let mut ledger = Ledger::open(&path).unwrap();
        ledger.append(&[block(1000)]).unwrap();
        assert_eq!(ledger.events().collect::<Result<Vec<_>, _>>().unwrap(), [block(0), block(1000)]);
    }
}
