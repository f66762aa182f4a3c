//! Errors of a ledger: the file, the fault, and how to proceed.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::loss::{EventLoss, LossCause};

/// A failed operation on a ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerError {
    /// The file.
    pub file: PathBuf,
    /// The reason.
    pub fault: LedgerFault,
}

/// The reason why an operation on a ledger failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LedgerFault {
    /// The file does not exist.
    Missing,
    /// The path already exists.
    Exists,
    /// The path is a folder, or something else that is not a regular file.
    NotAFile,
    /// The write-ahead log of a deleted file has the path that the new ledger's log would have.
    Leftover(PathBuf),
    /// The path is reserved for a journal, lock or key of this ledger.
    Reserved(PathBuf),
    /// Another process is writing to it.
    Locked {
        /// The id of that process, if known.
        by: Option<u32>,
    },
    /// The file has several names (hard links), and `SQLite` would keep a journal for each.
    Linked {
        /// The number of hard links.
        names: u64,
    },
    /// It is another kind of file.
    NotALedger {
        /// A description of the file.
        found: String,
    },
    /// It was written in another version of the format.
    Version {
        /// Its version.
        found: i64,
        /// The newest supported version.
        known: i64,
    },
    /// It is damaged.
    Corrupt {
        /// The evidence of damage.
        found: String,
    },
    /// It is damaged so much that nothing can be recovered.
    Unrecoverable {
        /// The evidence of damage.
        found: String,
    },
    /// Acknowledged events are missing, or may be missing.
    Lost(EventLoss),
    /// A file of the open ledger was deleted or replaced.
    Replaced {
        /// The file.
        file: PathBuf,
        /// A new ledger with every acknowledged event, if one could be written.
        copy: Option<PathBuf>,
    },
    /// The disk is full.
    Full,
    /// The file or its folder is read-only.
    ReadOnly,
    /// The write-ahead log holds the last events and cannot be read here.
    Unfinished,
    /// The ledger was opened for reading.
    OpenedForReading,
    /// An event is larger than a row can be; no event of the append was recorded.
    TooLong {
        /// The index of the event in the append, from 0.
        index: usize,
        /// Its size in bytes.
        bytes: usize,
    },
    /// An earlier write failed, so the state on disk is unknown.
    Poisoned {
        /// The error of that write.
        because: String,
    },
    /// The operating system or `SQLite` reported another error.
    System {
        /// The error message.
        because: String,
    },
}

impl LedgerFault {
    pub(crate) fn of(self, file: &Path) -> LedgerError {
        LedgerError { file: file.to_owned(), fault: self }
    }

    pub(crate) fn corrupt(found: impl Into<String>) -> Self {
        Self::Corrupt { found: found.into() }
    }
}

impl From<rusqlite::Error> for LedgerFault {
    fn from(error: rusqlite::Error) -> Self {
        // Any error that SQLite itself did not report means that a value has a type that no row of a ledger has.
        let rusqlite::Error::SqliteFailure(code, _) = &error else { return Self::corrupt(error.to_string()) };
        match code.code {
            ErrorCode::NotADatabase => Self::NotALedger { found: "not an SQLite file".to_owned() },
            ErrorCode::DatabaseCorrupt => Self::corrupt(error.to_string()),
            ErrorCode::DiskFull => Self::Full,
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Self::ReadOnly,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Locked { by: None },
            // A missing table or column: the schema is damaged.
            ErrorCode::Unknown => Self::corrupt(error.to_string()),
            _ => Self::System { because: format!("{error} (SQLite code {})", code.extended_code) },
        }
    }
}

impl From<std::io::Error> for LedgerFault {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::NotFound => Self::Missing,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::System { because: error.to_string() },
        }
    }
}

impl Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.fault)
    }
}

/// Returns the file name of a path, for display.
fn name(path: &Path) -> std::path::Display<'_> {
    path.file_name().map_or(path, Path::new).display()
}

impl Display for LedgerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "the file does not exist\n  check the name, or start a new run"),
            Self::Exists => write!(f, "already exists\n  resume it, or choose another name for a new run"),
            Self::NotAFile => write!(f, "is not a file\n  use the name of a ledger"),
            Self::Leftover(path) => write!(
                f,
                "the log of a deleted file remains: {}\n  move it away, or restore the file it belongs to",
                path.display()
            ),
            Self::Reserved(ledger) => {
                write!(f, "the name belongs to the ledger {}\n  choose another name", ledger.display())
            }
            Self::Locked { by: Some(process) } => {
                write!(
                    f,
                    "process {process} is writing to it\n  wait until it ends, or stop it; you can still read the \
                     ledger"
                )
            }
            Self::Locked { by: None } => {
                write!(
                    f,
                    "another process is writing to it\n  wait until it ends, or stop it; you can still read the \
                     ledger"
                )
            }
            Self::Linked { names } => write!(
                f,
                "has {names} names (hard links), so two processes could write to it at once\n  \
                 copy it (`cp FILE COPY`) and use the copy, or remove the other names"
            ),
            Self::NotALedger { found } => write!(f, "not a Querist ledger: {found}\n  check the name"),
            Self::Version { found, known } if known < found => {
                write!(
                    f,
                    "a ledger of version {found}, but this program reads version {known}\n  install a newer \
                     version of Querist"
                )
            }
            Self::Version { found, known } => {
                write!(f, "a ledger of version {found}, but this program reads only version {known}")
            }
            Self::Corrupt { found } => write!(
                f,
                "damaged: {found}\n  continue from a backup, or recover the intact events: querist salvage LEDGER FILE"
            ),
            Self::Unrecoverable { found } => {
                write!(f, "nothing can be recovered: {found}\n  continue from a backup")
            }
            Self::Lost(loss) if loss.cause == LossCause::OldJournal => {
                write!(f, "{loss}\n  move the journal to another folder, then try again")
            }
            Self::Lost(loss) => {
                write!(f, "{loss}\n  restore a backup with its journal, or continue without them with --accept-loss")
            }
            Self::Replaced { file, copy: Some(copy) } => write!(
                f,
                "{} was deleted, moved or replaced while it was open; all events were copied to {}\n  \
                 stop this process, then continue with the copy as the ledger",
                name(file),
                name(copy)
            ),
            Self::Replaced { file, copy: None } => write!(
                f,
                "{} was deleted, moved or replaced while it was open, and no copy could be written\n  \
                 before you stop this process, move the file back or copy its open files (on Linux from /proc/PID/fd)",
                name(file)
            ),
            Self::Full => write!(
                f,
                "the disk is full\n  acknowledged events are saved; free some space, then resume with the same \
                 ledger"
            ),
            Self::ReadOnly => write!(f, "the file or its folder is read-only\n  change its permissions, or copy it"),
            Self::Unfinished => write!(
                f,
                "its last events are in the -wal file beside it, which SQLite cannot read in a read-only folder\n  \
                 copy both files to a writable folder, and read the copy"
            ),
            Self::OpenedForReading => write!(f, "opened for reading only, so nothing can be written"),
            Self::TooLong { index, bytes } => {
                write!(
                    f,
                    "event {index} of an append has {bytes} bytes, which is too large\n  write it as several \
                     events"
                )
            }
            Self::Poisoned { because } => write!(
                f,
                "accepts no more events, because a write failed: {because}\n  acknowledged events are saved; open \
                 the ledger again to continue"
            ),
            Self::System { because } => {
                write!(
                    f,
                    "{because}\n  the disk may be full, over a quota or failing; acknowledged events are \
                     saved"
                )
            }
        }
    }
}

impl std::error::Error for LedgerError {}
