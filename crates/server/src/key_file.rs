//! The key file beside a ledger: the secret that signs cookies, and the revoked sessions.
//!
//! The file is 32 random bytes followed by lines of JSON, one record each. Records are only appended, so two commands
//! that write at the same time both take effect.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use querist_ledger::{WriteError, write_atomic};
use serde::{Deserialize, Serialize};

use crate::credentials::{RandomnessError, new_secret};

/// The length of the secret in bytes.
const SECRET_BYTES: usize = 32;

/// The key file of a ledger, with its content as last read.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    secret: [u8; SECRET_BYTES],
    records: Mutex<KeyRecords>,
}

/// An error of a key file: its path and the cause.
#[derive(Debug)]
pub struct KeyError {
    path: PathBuf,
    cause: KeyErrorCause,
}

/// The reason why a key file cannot be used.
#[derive(Debug)]
enum KeyErrorCause {
    /// The file cannot be read or written.
    Io(io::Error),
    /// The secret cannot replace the empty file.
    Replace(WriteError),
    /// The operating system has no random numbers for a secret.
    Randomness(RandomnessError),
    /// A record cannot be encoded.
    Encode(serde_json::Error),
    /// Other users can read the file.
    NotPrivate,
    /// The file has no complete secret.
    TooShort,
    /// The file has another secret than before.
    Replaced,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key file {}: ", self.path.display())?;
        match &self.cause {
            KeyErrorCause::Io(error) => write!(f, "{error}"),
            KeyErrorCause::Replace(error) => write!(f, "{error}"),
            KeyErrorCause::Randomness(error) => write!(f, "{error}"),
            KeyErrorCause::Encode(error) => write!(f, "{error}"),
            KeyErrorCause::NotPrivate => write!(f, "others can read it\n  remove it; everyone then signs in again"),
            KeyErrorCause::TooShort => {
                write!(f, "shorter than {SECRET_BYTES} bytes\n  remove it; everyone then signs in again")
            }
            KeyErrorCause::Replaced => write!(f, "it was replaced; restart the server to use the new one"),
        }
    }
}

impl std::error::Error for KeyError {}

/// One line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeyRecord {
    /// Annotators that have their own links.
    Annotators(BTreeSet<String>),
    /// Ends the sessions of one annotator, or of everyone.
    Revoke(Option<String>),
}

/// A summary of the records of a key file.
#[derive(Debug, Default, PartialEq)]
struct KeyRecords {
    length: usize,
    annotators: BTreeSet<String>,
    revoked_for_all: u64,
    revoked_by_name: BTreeMap<String, u64>,
}

impl KeyRecords {
    /// Parses the lines after the secret. An unreadable line may be a damaged revocation, so it revokes every session.
    fn parse(lines: &[u8]) -> Self {
        let mut records = Self { length: lines.len(), ..Self::default() };
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(KeyRecord::Annotators(names)) => records.annotators.extend(names),
                Ok(KeyRecord::Revoke(Some(name))) => *records.revoked_by_name.entry(name).or_default() += 1,
                Ok(KeyRecord::Revoke(None)) | Err(_) => records.revoked_for_all += 1,
            }
        }
        records
    }

    fn generation(&self, annotator: Option<&str>) -> u64 {
        let own = annotator.and_then(|name| self.revoked_by_name.get(name));
        self.revoked_for_all + own.copied().unwrap_or(0)
    }
}

impl KeyFile {
    /// Returns the path of the key file of a ledger.
    pub fn path_of(ledger: &Path) -> PathBuf {
        let mut name = OsString::from(ledger);
        name.push("-key");
        PathBuf::from(name)
    }

    /// Opens the key file of a ledger; creates one with a new secret if it does not exist.
    pub fn open_or_create(ledger: &Path) -> Result<Self, KeyError> {
        let path = Self::path_of(ledger);
        let error = |error: io::Error| KeyError { path: path.clone(), cause: KeyErrorCause::Io(error) };
        if !path.exists() {
            private_file().write(true).create_new(true).open(&path).map_err(error)?;
        }
        // The file is empty until the secret replaces it atomically; a server killed in between leaves it empty.
        if fs::metadata(&path).map_err(error)?.len() == 0 {
            let failed = |cause: KeyErrorCause| KeyError { path: path.clone(), cause };
            let secret = new_secret().map_err(|error| failed(KeyErrorCause::Randomness(error)))?;
            write_atomic(&path, &secret).map_err(|error| failed(KeyErrorCause::Replace(error)))?;
        }
        Self::open(ledger)
    }

    /// Opens the key file of a ledger.
    ///
    /// # Errors
    /// If the file cannot be read, is too short, or can be read by other users.
    pub fn open(ledger: &Path) -> Result<Self, KeyError> {
        let path = Self::path_of(ledger);
        let error = |error: io::Error| KeyError { path: path.clone(), cause: KeyErrorCause::Io(error) };
        if !is_private(&path).map_err(error)? {
            return Err(KeyError { path, cause: KeyErrorCause::NotPrivate });
        }
        let bytes = fs::read(&path).map_err(error)?;
        let Some((secret, lines)) = bytes.split_first_chunk::<SECRET_BYTES>() else {
            return Err(KeyError { path, cause: KeyErrorCause::TooShort });
        };
        Ok(Self { records: Mutex::new(KeyRecords::parse(lines)), secret: *secret, path })
    }

    /// Records the annotators that have their own links, so that `revoke` can reject other names.
    pub fn add_annotators(&self, names: &[String]) -> Result<(), KeyError> {
        let new: BTreeSet<String> =
            names.iter().filter(|name| !self.records().annotators.contains(*name)).cloned().collect();
        if new.is_empty() { Ok(()) } else { self.append(&KeyRecord::Annotators(new)) }
    }

    /// Returns the annotators that ever had their own links.
    pub fn annotators(&self) -> Vec<String> {
        self.records().annotators.iter().cloned().collect()
    }

    /// Revokes every session of an annotator, or of everyone. A running server applies it when it next reads the file.
    pub fn revoke(&self, annotator: Option<&str>) -> Result<(), KeyError> {
        self.append(&KeyRecord::Revoke(annotator.map(ToOwned::to_owned)))
    }

    /// Reads the file again and returns whether it changed. After an error the previous content stays in use.
    pub(crate) fn reload(&self) -> Result<bool, KeyError> {
        let error = |error: io::Error| self.error(KeyErrorCause::Io(error));
        let length = fs::metadata(&self.path).map_err(error)?.len();
        if length == (SECRET_BYTES + self.records().length) as u64 {
            return Ok(false);
        }
        let bytes = fs::read(&self.path).map_err(error)?;
        let Some(lines) = bytes.strip_prefix(&self.secret) else {
            return Err(self.error(KeyErrorCause::Replaced));
        };
        *self.records() = KeyRecords::parse(lines);
        Ok(true)
    }

    /// Returns the number of revocations of an annotator's sessions; sessions of an earlier generation are invalid.
    pub(crate) fn generation(&self, annotator: Option<&str>) -> u64 {
        self.records().generation(annotator)
    }

    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }

    fn error(&self, cause: KeyErrorCause) -> KeyError {
        KeyError { path: self.path.clone(), cause }
    }

    fn records(&self) -> MutexGuard<'_, KeyRecords> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a record with one write and syncs it to disk. The leading line break ends a truncated line, if there is
    /// one.
    fn append(&self, record: &KeyRecord) -> Result<(), KeyError> {
        let line = serde_json::to_string(record).map_err(|error| self.error(KeyErrorCause::Encode(error)))?;
        let written = OpenOptions::new().append(true).open(&self.path).and_then(|mut file: File| {
            file.write_all(format!("\n{line}\n").as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| self.error(KeyErrorCause::Io(error)))?;
        self.reload().map(|_| ())
    }
}

/// Returns options that create a file which only its owner can read.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns whether only the owner has permissions on a file or folder. Always `true` on systems without permission
/// bits.
pub fn is_private(path: &Path) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        /// The permission bits of the group and of others.
        const OTHERS: u32 = 0o077;
        Ok(metadata.permissions().mode() & OTHERS == 0)
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("run.ledger");
        (folder, ledger)
    }

    #[test]
    fn revocations_reach_other_readers_and_survive_a_reopen() {
        let (_folder, ledger) = folder();
        let server = KeyFile::open_or_create(&ledger).unwrap();
        server.add_annotators(&["Ada".to_owned(), "Ben".to_owned()]).unwrap();
        let command = KeyFile::open(&ledger).unwrap();
        assert_eq!(command.annotators(), ["Ada", "Ben"]);
        assert!(!server.reload().unwrap());
        command.revoke(Some("Ada")).unwrap();
        assert_eq!(server.generation(Some("Ada")), 0, "not read yet");
        assert!(server.reload().unwrap());
        let generations = |key: &KeyFile| [Some("Ada"), Some("Ben"), None].map(|name| key.generation(name));
        assert_eq!(generations(&server), [1, 0, 0]);
        command.revoke(None).unwrap();
        server.reload().unwrap();
        assert_eq!(generations(&server), [2, 1, 1]);
        let reopened = KeyFile::open_or_create(&ledger).unwrap();
        assert_eq!(generations(&reopened), [2, 1, 1]);
        assert_eq!(reopened.secret(), server.secret());
    }

    #[test]
    fn a_record_that_cannot_be_read_revokes_everyone() {
        let (_folder, ledger) = folder();
        let key = KeyFile::open_or_create(&ledger).unwrap();
        let mut file = OpenOptions::new().append(true).open(KeyFile::path_of(&ledger)).unwrap();
        file.write_all(b"\n{\"revoke\":\"Ad").unwrap();
        key.reload().unwrap();
        assert_eq!(key.generation(Some("Ben")), 1);
        key.revoke(Some("Ben")).unwrap();
        assert_eq!(key.generation(Some("Ben")), 2, "the record after a damaged one is read");
    }

    #[test]
    fn a_replaced_or_removed_file_changes_nothing() {
        let (_folder, ledger) = folder();
        let key = KeyFile::open_or_create(&ledger).unwrap();
        let path = KeyFile::path_of(&ledger);
        fs::write(&path, [1; 40]).unwrap();
        assert!(key.reload().unwrap_err().to_string().contains("restart the server"));
        fs::remove_file(&path).unwrap();
        assert!(key.reload().is_err());
        assert_eq!(key.generation(None), 0);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, ledger) = folder();
        KeyFile::open_or_create(&ledger).unwrap();
        let path = KeyFile::path_of(&ledger);
        assert!(is_private(&path).unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(KeyFile::open(&ledger).unwrap_err().to_string().contains("others can read it"));
    }
}
