//! The lock that admits one writer at a time.
//!
//! A writer locks two files. The first is a lock file beside the ledger, which also excludes other processes while the
//! ledger is created. The second is the journal (`-wal`) that `SQLite` keeps open as long as the writer does; that lock
//! still holds if someone deletes the lock file. A file with several hard links would have a journal for each name, so
//! such a ledger is rejected.
//!
//! Only `SQLite` ever opens the ledger itself: closing another handle would drop `SQLite`'s own locks. `SQLite` has no
//! locks on the journal.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::LedgerFault;
use crate::paths::beside;

/// A writer's exclusive lock, held as long as the ledger is open for writing.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// The operating system releases the lock when this is closed, also when the process is killed.
    file: File,
    journal: Option<File>,
}

impl Lock {
    /// Acquires the lock of a ledger.
    ///
    /// # Errors
    /// [`LedgerFault::Locked`] with the holder's process id, if known; [`LedgerFault::Linked`] if the file has hard links.
    pub(crate) fn take(ledger: &Path) -> Result<Self, LedgerFault> {
        reject_links(ledger)?;
        let path = beside(ledger, "-lock");
        loop {
            let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            try_lock(&file, || holder(&path))?;
            // The last holder may have removed the file between our opening and locking it.
            if is_at(&file, &path) {
                // The process id only improves an error message, so a full disk is no reason to fail here.
                let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                return Ok(Self { path, file, journal: None });
            }
        }
    }

    /// Also locks the journal of a ledger. `SQLite` must have opened it, and must close it before this lock is dropped.
    pub(crate) fn hold_journal(&mut self, ledger: &Path) -> Result<(), LedgerFault> {
        // On other systems a lock would prevent `SQLite` itself from writing.
        if cfg!(unix) {
            let journal = OpenOptions::new().read(true).open(beside(ledger, "-wal"))?;
            try_lock(&journal, || None)?;
            self.journal = Some(journal);
        }
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A deleted lock file may have been recreated by the next writer, which then owns it.
        if cfg!(unix) && is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn try_lock(file: &File, holder: impl FnOnce() -> Option<u32>) -> Result<(), LedgerFault> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(LedgerFault::Locked { by: holder() }),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

fn holder(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Fails with [`LedgerFault::Linked`] if a ledger has more than one hard link.
#[cfg(unix)]
fn reject_links(ledger: &Path) -> Result<(), LedgerFault> {
    use std::os::unix::fs::MetadataExt;
    match fs::metadata(ledger) {
        Ok(found) if found.is_file() && 1 < found.nlink() => Err(LedgerFault::Linked { names: found.nlink() }),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn reject_links(_ledger: &Path) -> Result<(), LedgerFault> {
    Ok(())
}

/// Returns whether a path resolves to this open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}
