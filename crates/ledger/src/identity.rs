//! Notices when the files of an open ledger are deleted or replaced.
//!
//! `SQLite` keeps writing to the files that it has open, whatever their names lead to. Events written to a deleted file are gone
//! when the process ends, so they must not be acknowledged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Fault;
use crate::place::beside;

/// The ledger and its journal, as they were when the process opened them.
#[derive(Debug)]
pub(crate) struct OpenFiles(Vec<(PathBuf, Identity)>);

/// Device and inode.
#[cfg(unix)]
type Identity = (u64, u64);
/// Elsewhere a file that is open cannot be deleted or replaced.
#[cfg(not(unix))]
type Identity = ();

impl OpenFiles {
    /// Records the files of a ledger; its journal must exist.
    pub(crate) fn of(ledger: &Path) -> Result<Self, Fault> {
        let paths = ["", "-wal", "-shm"].map(|ending| beside(ledger, ending));
        let identified = paths.into_iter().map(|path| Ok((path.clone(), identity(&path)?)));
        identified.collect::<Result<_, Fault>>().map(Self)
    }

    /// Checks that every name still leads to the same file. No file is opened.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        match self.0.iter().find(|(path, known)| identity(path).ok().as_ref() != Some(known)) {
            Some((path, _)) => Err(Fault::Replaced { file: path.clone(), copy: None }),
            None => Ok(()),
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Result<Identity, Fault> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Result<Identity, Fault> {
    fs::metadata(path)?;
    Ok(())
}
