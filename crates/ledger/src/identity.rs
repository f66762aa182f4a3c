//! Detection of deleted or replaced files of an open ledger.
//!
//! `SQLite` keeps writing to the files that it has open, even if their paths now name other files. Events written to a
//! deleted file are lost when the process ends, so they must not be acknowledged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::LedgerFault;
use crate::paths::beside;

/// The ledger and its journal, as they were when the process opened them.
#[derive(Debug)]
pub(crate) struct OpenFiles(Vec<(PathBuf, Identity)>);

/// The device and inode of a file.
#[cfg(unix)]
type Identity = (u64, u64);
/// Nothing, because other systems do not allow deleting or replacing an open file.
#[cfg(not(unix))]
type Identity = ();

impl OpenFiles {
    /// Records the files of a ledger; its journal must exist.
    pub(crate) fn of(ledger: &Path) -> Result<Self, LedgerFault> {
        let paths = ["", "-wal", "-shm"].map(|ending| beside(ledger, ending));
        let identified = paths.into_iter().map(|path| Ok((path.clone(), identity(&path)?)));
        identified.collect::<Result<_, LedgerFault>>().map(Self)
    }

    /// Checks that every path still names the same file, without opening one.
    ///
    /// # Errors
    /// [`LedgerFault::Replaced`] with the first path that does not.
    pub(crate) fn check(&self) -> Result<(), LedgerFault> {
        match self.0.iter().find(|(path, known)| identity(path).ok().as_ref() != Some(known)) {
            Some((path, _)) => Err(LedgerFault::Replaced { file: path.clone(), copy: None }),
            None => Ok(()),
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Result<Identity, LedgerFault> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Result<Identity, LedgerFault> {
    fs::metadata(path)?;
    Ok(())
}
