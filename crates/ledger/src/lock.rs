//! One writer at a time: a lock file beside the ledger.
//!
//! The ledger itself is never opened but by `SQLite`: closing another handle of it would drop `SQLite`'s own locks.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::Fault;
use crate::place::beside;

/// Held as long as a ledger is open for writing.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// The system gives up the lock when this is closed, also when the process is killed.
    _file: File,
}

impl Lock {
    /// Takes the lock of a ledger, or says who has it.
    pub(crate) fn take(ledger: &Path) -> Result<Self, Fault> {
        let path = beside(ledger, "-lock");
        loop {
            let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(Fault::Locked { by: holder(&path) }),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            // The last holder may have removed the file between our opening and locking it.
            if stands_at(&file, &path) {
                // The number only makes a message better, so a full disk is no reason to stop here.
                let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn holder(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(unix)]
fn stands_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn stands_at(_file: &File, _path: &Path) -> bool {
    true
}
