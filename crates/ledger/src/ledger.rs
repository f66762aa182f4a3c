//! The durable record of a run.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use crate::chain;
use crate::error::{LedgerError, LedgerFault};
use crate::identity::OpenFiles;
use crate::legacy;
use crate::lock::Lock;
use crate::loss::{EventLoss, LossCause, Surroundings, describe_salvage};
use crate::paths::{
    beside, create_private, existing, immutable, is_companion, new_name, reject_existing, remove_if_exists,
    rename_synced,
};
use crate::reader::{self, Counts, Records, Verified};
use crate::record::Record;
use crate::schema::{self, CloseState, Head, VERSION, signed};
use crate::watermark::{self, Watermark};

/// The journal is checkpointed into the file after this many bytes of events …
const CHECKPOINT_BYTES: usize = 8 << 20;
/// … or this many appends.
const CHECKPOINT_APPENDS: usize = 1000;
/// The maximum size of an event in bytes. SQLite stores rows of up to 10⁹ bytes.
const MAX_RECORD_BYTES: usize = 900_000_000;

/// An append-only record of events in one `SQLite` file, linked by a hash chain.
#[derive(Debug)]
pub struct Ledger {
    // Declared before the lock, so that it is closed before the lock is released.
    connection: Connection,
    path: PathBuf,
    header: String,
    head: Head,
    counts: Counts,
    notes: std::collections::BTreeMap<String, String>,
    /// The version of the tables in the file.
    version: i64,
    access: LedgerAccess,
    /// The file's head records that the ledger is open.
    is_marked_open: bool,
    /// The watermark; `None` before the first append.
    mark: Option<Watermark>,
    loss: Option<EventLoss>,
    /// The files that are open for writing.
    files: Option<OpenFiles>,
    has_checked_contents: Cell<bool>,
    /// Held after a failed write too, so that no other process continues before this one has handled the error.
    _lock: Option<Lock>,
}

#[derive(Debug)]
enum LedgerAccess {
    Read,
    Write {
        /// Bytes of events since the last checkpoint.
        bytes: usize,
        /// Appends since the last checkpoint.
        appends: usize,
    },
    /// A write failed, so no more are accepted.
    Poisoned {
        because: String,
    },
}

impl Ledger {
    /// Creates a ledger atomically. The header is JSON text that describes the run.
    pub fn create(path: impl AsRef<Path>, header: &str) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        create(path, header).map_err(|fault| fault.of(path))
    }

    /// Opens a ledger to continue it, and verifies all of it. No other process can open it until this one is dropped.
    ///
    /// A ledger of an older version is rewritten in the current one, in one transaction.
    ///
    /// # Errors
    /// [`LedgerFault::Lost`] if acknowledged events are missing; the files are then left as they are.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        open_existing(path.as_ref(), false)
    }

    /// Opens a ledger like [`Ledger::open`], but accepts missing acknowledged events and records the loss in the note
    /// `accepted-loss`.
    pub fn open_accepting_loss(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        open_existing(path.as_ref(), true)
    }

    /// Opens a ledger to read its current events, and verifies all of them. Another process may be writing to it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        existing(path).and_then(read).map_err(|fault| fault.of(path))
    }

    /// Returns the header that was passed to `create`.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Returns the full path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the known or suspected loss of acknowledged events, if any.
    pub fn loss(&self) -> Option<&EventLoss> {
        self.loss.as_ref()
    }

    /// Describes the missing events for a warning: those lost with the journal, or those that could not be salvaged.
    /// Returns `None` if the ledger is complete.
    pub fn missing_events(&self) -> Option<String> {
        let salvaged = || self.note(contents::SALVAGED).map(describe_salvage);
        self.loss.as_ref().map(ToString::to_string).or_else(salvaged)
    }

    /// Returns the number of events of each kind; notes are of kind `note`.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the number of events of one kind.
    pub fn count(&self, kind: &str) -> u64 {
        self.counts.get(kind).copied().unwrap_or(0)
    }

    /// Appends events in one transaction: all of them are on disk when it returns, or none is recorded. The contents of
    /// the records are stored in the same transaction.
    ///
    /// # Errors
    /// [`LedgerFault::TooLong`] if an event is too large; the ledger is then unchanged. After any other error the state on
    /// disk is unknown, so further appends fail; open the ledger again.
    pub fn append(&mut self, records: &[Record]) -> Result<(), LedgerError> {
        self.append_all(records.iter())
    }

    pub(crate) fn append_all<'a>(
        &mut self,
        records: impl Iterator<Item = &'a Record> + Clone,
    ) -> Result<(), LedgerError> {
        let mut bytes = 0;
        self.write(|ledger| {
            for (index, record) in records.clone().enumerate() {
                let size = record.size();
                if MAX_RECORD_BYTES < size {
                    return Err(LedgerFault::TooLong { index, bytes: size });
                }
                bytes += size;
            }
            ledger.mark_open()?;
            let mut head = ledger.head;
            transact(&mut ledger.connection, |transaction| {
                for record in records.clone() {
                    head = insert(transaction, head, record)?;
                }
                schema::put_head(transaction, head)
            })?;
            ledger.head = head;
            ledger.verify_files()?;
            if let Some(mark) = &mut ledger.mark {
                mark.write(head)?;
            }
            for record in records {
                *ledger.counts.entry(record.kind.clone()).or_default() += 1;
            }
            Ok(())
        })?;
        self.checkpoint_if_due(bytes);
        Ok(())
    }

    /// Appends a note: a text under a key. An older note with that key stays in the file, but is no longer returned.
    pub fn set_note(&mut self, key: &str, value: &str) -> Result<(), LedgerError> {
        let note = Record::note(key, value).map_err(|error| LedgerFault::corrupt(error.to_string()).of(&self.path))?;
        self.append(&[note])?;
        self.notes.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    /// Returns the text last written under a key.
    pub fn note(&self, key: &str) -> Option<&str> {
        self.notes.get(key).map(String::as_str)
    }

    /// Iterates over the events in the order appended, without the notes, in bounded memory. Each is verified again.
    pub fn records(&self) -> Records<'_> {
        Records::new(self)
    }

    /// Checkpoints the journal into the file, as far as concurrent readers permit. Does nothing if no event was
    /// appended since the last checkpoint.
    pub fn checkpoint(&mut self) -> Result<(), LedgerError> {
        match &mut self.access {
            LedgerAccess::Write { bytes: 0, appends: 0 } | LedgerAccess::Read | LedgerAccess::Poisoned { .. } => {
                return Ok(());
            }
            LedgerAccess::Write { bytes, appends } => (*bytes, *appends) = (0, 0),
        }
        self.write(|ledger| schema::checkpoint(&ledger.connection))
    }

    /// Records in the file itself that it is open, and creates the watermark, before the first event is acknowledged.
    fn mark_open(&mut self) -> Result<(), LedgerFault> {
        if self.mark.is_some() {
            return Ok(());
        }
        schema::keep_journal(&self.connection, true)?;
        self.mark = Some(Watermark::create(&self.path, chain::start(&self.header), self.head)?);
        if !self.is_marked_open {
            schema::put_state(&self.connection, CloseState::Open)?;
            self.is_marked_open = true;
        }
        schema::checkpoint(&self.connection)
    }

    /// Checks that the ledger and its journal are still the files that this process has open for writing.
    ///
    /// # Errors
    /// [`LedgerFault::Replaced`], with a copy of all events beside the ledger if one could be written. Further appends then
    /// fail.
    pub fn check_files(&mut self) -> Result<(), LedgerError> {
        self.write(Self::verify_files)
    }

    fn verify_files(&mut self) -> Result<(), LedgerFault> {
        let Some(Err(fault)) = self.files.as_ref().map(OpenFiles::check) else { return Ok(()) };
        let LedgerFault::Replaced { file, .. } = fault else { return Err(fault) };
        let copy = beside(&self.path, &format!("-rescued-{}", self.head.sequence));
        Err(LedgerFault::Replaced { file, copy: self.copy(&copy).ok().map(|()| copy) })
    }

    /// Records that the ledger is closed, and checkpoints the journal into the file unless a reader prevents it.
    fn close(&mut self) -> Result<(), LedgerFault> {
        if !matches!(self.access, LedgerAccess::Write { .. }) {
            return Ok(());
        }
        self.verify_files()?;
        if self.is_marked_open {
            schema::put_state(&self.connection, CloseState::Closed)?;
        }
        schema::checkpoint(&self.connection)?;
        schema::keep_journal(&self.connection, false)?;
        if let Some(mark) = self.mark.take() {
            mark.remove();
        }
        Ok(())
    }

    /// Writes a copy with a prefix of the events, also while others are appended. Fails if the path already exists.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<(), LedgerError> {
        let to = to.as_ref();
        self.copy(to).map_err(|fault| fault.of(to))
    }

    fn new(
        connection: Connection,
        path: PathBuf,
        verified: Verified,
        version: i64,
        access: LedgerAccess,
        lock: Option<Lock>,
    ) -> Self {
        let Verified { header, head, counts, notes } = verified;
        Self {
            connection,
            path,
            header,
            head,
            counts,
            notes,
            version,
            access,
            is_marked_open: false,
            mark: None,
            loss: None,
            files: None,
            has_checked_contents: Cell::new(false),
            _lock: lock,
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn version(&self) -> i64 {
        self.version
    }

    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// Runs a write operation if the ledger accepts writes, and poisons the ledger if it fails.
    fn write(&mut self, operation: impl FnOnce(&mut Self) -> Result<(), LedgerFault>) -> Result<(), LedgerError> {
        let fault = match &self.access {
            LedgerAccess::Read => LedgerFault::OpenedForReading,
            LedgerAccess::Poisoned { because } => LedgerFault::Poisoned { because: because.clone() },
            LedgerAccess::Write { .. } => match operation(self) {
                Ok(()) => return Ok(()),
                Err(fault) => {
                    self.poison(&fault);
                    fault
                }
            },
        };
        Err(fault.of(&self.path))
    }

    fn poison(&mut self, fault: &LedgerFault) {
        if matches!(fault, LedgerFault::TooLong { .. }) {
            return;
        }
        let text = fault.to_string();
        let because = text.lines().next().unwrap_or_default().to_owned();
        self.access = LedgerAccess::Poisoned { because };
    }

    /// Checkpoints the journal periodically. Appended events are already safe in the journal; if the checkpoint fails,
    /// no more are accepted.
    fn checkpoint_if_due(&mut self, written: usize) {
        let LedgerAccess::Write { bytes, appends, .. } = &mut self.access else { return };
        *bytes += written;
        *appends += 1;
        if *bytes < CHECKPOINT_BYTES && *appends < CHECKPOINT_APPENDS {
            return;
        }
        // An error poisons the ledger, and the next append reports it.
        let _ = self.checkpoint();
    }

    fn copy(&self, to: &Path) -> Result<(), LedgerFault> {
        if self.version == VERSION {
            self.check_contents()?;
        }
        let to = new_name(to)?;
        if is_companion(&to, &self.path) {
            return Err(LedgerFault::Reserved(self.path.clone()));
        }
        let _lock = Lock::take(&to)?;
        reject_existing(&to)?;
        let part = beside(&to, "-new");
        remove_if_exists(&part)?;
        create_private(&part)?;
        let name =
            part.to_str().ok_or_else(|| LedgerFault::System { because: "a name that is not Unicode".to_owned() })?;
        // SQLite treats this as a write, although it only reads this file.
        self.connection.pragma_update(None, "query_only", false)?;
        self.connection.execute("VACUUM INTO ?1", [name])?;
        self.connection.pragma_update(None, "query_only", matches!(self.access, LedgerAccess::Read))?;
        if self.version == VERSION {
            let copy = schema::connect(&part, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            schema::put_state(&copy, CloseState::Closed)?;
            schema::keep_journal(&copy, false)?;
            copy.close().map_err(|(_, error)| error)?;
        }
        rename_synced(&part, &to)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // If closing fails, the ledger is in the same state as after a kill.
        let _ = self.close();
    }
}

/// Runs a function in a transaction, which is committed on success and rolled back on failure.
fn transact(
    connection: &mut Connection,
    run: impl FnOnce(&Transaction<'_>) -> Result<(), LedgerFault>,
) -> Result<(), LedgerFault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    run(&transaction)?;
    Ok(transaction.commit()?)
}

/// Inserts an event after the head, with its content, and returns the new head.
pub(crate) fn insert(connection: &Connection, head: Head, record: &Record) -> Result<Head, LedgerFault> {
    let Record { kind, fields, data, content } = record;
    let sequence = head.sequence + 1;
    let chain = chain::next(&head.chain, sequence, kind, fields, data.as_deref());
    let mut statement = connection.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5)")?;
    statement.execute(params![signed(sequence), kind, fields, data, chain])?;
    content.iter().try_for_each(|body| contents::insert(connection, body))?;
    Ok(Head { sequence, chain })
}

fn create(path: &Path, header: &str) -> Result<Ledger, LedgerFault> {
    let path = new_name(path)?;
    let lock = Lock::take(&path)?;
    reject_existing(&path)?;
    let part = beside(&path, "-new");
    // No other process has the lock, so these were left by a process that was killed.
    for ending in ["", "-journal", "-wal", "-shm"] {
        remove_if_exists(&beside(&part, ending))?;
    }
    create_private(&part)?;
    let mut connection = schema::connect(&part, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    schema::make(&mut connection, header)?;
    connection.close().map_err(|(_, error)| error)?;
    rename_synced(&part, &path)?;
    open(path, lock, false)
}

fn open_existing(path: &Path, accepts_loss: bool) -> Result<Ledger, LedgerError> {
    let open = || {
        let full = existing(path)?;
        let lock = Lock::take(&full)?;
        open(full, lock, accepts_loss)
    };
    let mut ledger = open().map_err(|fault| fault.of(path))?;
    if let Some(EventLoss { recovered, missing, .. }) = ledger.loss.clone() {
        let missing = missing.map_or("null".to_owned(), |missing| missing.to_string());
        ledger.set_note("accepted-loss", &format!("{{\"after\":{recovered},\"missing\":{missing}}}"))?;
    }
    Ok(ledger)
}

fn open(path: PathBuf, mut lock: Lock, accepts_loss: bool) -> Result<Ledger, LedgerFault> {
    let around = Surroundings::of(&path)?;
    let mut connection = schema::connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    schema::keep_journal(&connection, around.has_journal())?;
    let found = schema::identify(&connection)?;
    if connection.is_readonly("main")? {
        return Err(LedgerFault::ReadOnly);
    }
    schema::prepare_to_write(&connection)?;
    schema::check_pages(&connection)?;
    lock.hold_journal(&path)?;
    let files = OpenFiles::of(&path)?;
    let state = schema::state(&connection, found)?;
    if found != VERSION {
        legacy::migrate(&mut connection, found)?;
    }
    let verified = reader::verify(&connection, VERSION)?;
    let mark = watermark::read(&path, chain::start(&verified.header));
    let loss = around.loss(&path, mark, verified.head, state);
    // Continuing with an old journal would overwrite later events.
    let is_rejected = |loss: &&EventLoss| !accepts_loss || loss.cause == LossCause::OldJournal;
    if let Some(loss) = loss.as_ref().filter(is_rejected) {
        return Err(LedgerFault::Lost(loss.clone()));
    }
    let access = LedgerAccess::Write { bytes: 0, appends: 0 };
    let mut ledger = Ledger::new(connection, path, verified, VERSION, access, Some(lock));
    ledger.files = Some(files);
    ledger.is_marked_open = state == CloseState::Open;
    ledger.loss = loss;
    Ok(ledger)
}

fn read(path: PathBuf) -> Result<Ledger, LedgerFault> {
    let journal = fs::metadata(beside(&path, "-wal"));
    let logged = journal.is_ok_and(|log| 0 < log.len());
    let around = Surroundings::of(&path)?;
    // Read before the ledger, which may grow in the meantime.
    let mark = fs::read(beside(&path, "-mark")).ok();
    // Without a journal, a read-write connection removes the empty one that SQLite creates for it. An existing journal
    // is left to the process that continues the ledger.
    let flags = if around.has_journal() { OpenFlags::SQLITE_OPEN_READ_ONLY } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
    let connect = |path: &Path, flags| {
        let connection = schema::connect(path, flags)?;
        connection.pragma_update(None, "query_only", true)?;
        schema::keep_journal(&connection, around.has_journal())?;
        let version = schema::identify(&connection)?;
        let state = schema::state(&connection, version)?;
        let verified = reader::verify(&connection, version)?;
        Ok((connection, verified, version, state))
    };
    let (connection, verified, version, state) = match connect(&path, flags) {
        // SQLite creates a shared-memory file beside the ledger; a read-only folder without writers does not need it.
        Err(LedgerFault::System { .. } | LedgerFault::ReadOnly) if !logged => {
            connect(&immutable(&path), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?
        }
        Err(LedgerFault::System { .. } | LedgerFault::ReadOnly) => return Err(LedgerFault::Unfinished),
        other => other?,
    };
    let mark = mark.and_then(|bytes| watermark::parse(&bytes, chain::start(&verified.header)));
    let loss = around.loss(&path, mark, verified.head, state);
    let mut ledger = Ledger::new(connection, path, verified, version, LedgerAccess::Read, None);
    ledger.loss = loss;
    Ok(ledger)
}

pub(crate) mod contents;
#[cfg(test)]
mod tests;
