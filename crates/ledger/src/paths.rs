//! Paths of the files beside a ledger.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::atomic::{sync_file, sync_folder};
use crate::error::LedgerFault;
use crate::schema::APPLICATION;

/// Returns a path with a suffix appended: `run.ledger-wal`.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Returns the full path of an existing file of at least two bytes. `SQLite` takes a file of one byte for an empty one,
/// and deletes the journal of an empty file when it opens it.
pub(crate) fn existing(path: &Path) -> Result<PathBuf, LedgerFault> {
    let path = path.canonicalize()?;
    match fs::metadata(&path)? {
        found if !found.is_file() => Err(LedgerFault::NotAFile),
        found if found.len() == 0 => Err(LedgerFault::NotALedger { found: "an empty file".to_owned() }),
        found if found.len() == 1 => Err(LedgerFault::NotALedger { found: "a file of one byte".to_owned() }),
        _ => Ok(path),
    }
}

/// Returns the full path of a file to be created, whose folder must exist.
pub(crate) fn new_name(path: &Path) -> Result<PathBuf, LedgerFault> {
    let name = path.file_name().ok_or(LedgerFault::NotAFile)?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    Ok(folder.canonicalize()?.join(name))
}

/// The suffixes of the files beside a ledger; `-key` belongs to the labeling server.
const COMPANIONS: [&str; 8] = ["-wal", "-shm", "-journal", "-mark", "-mark-new", "-lock", "-key", "-new"];

/// Returns the ledger that a path names, or whose journal, lock or key it names. The file need not exist; links are
/// followed. Do not call this for a ledger that the process has open: closing a second handle drops `SQLite`'s locks.
pub fn owning_ledger(path: impl AsRef<Path>) -> Option<PathBuf> {
    let path = target(path.as_ref())?;
    if is_ledger(&path) {
        return Some(path);
    }
    let name = path.as_os_str().to_str()?;
    COMPANIONS.iter().find_map(|ending| name.strip_suffix(ending).map(PathBuf::from).filter(|owner| is_ledger(owner)))
}

/// Returns whether a full path names a file that belongs to a ledger.
pub(crate) fn is_companion(path: &Path, ledger: &Path) -> bool {
    COMPANIONS.iter().any(|ending| beside(ledger, ending) == path)
}

/// Returns the full path that a write to a path would change.
fn target(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    // Dangling links are followed too.
    for _ in 0..40 {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let full = folder.canonicalize().ok()?.join(path.file_name()?);
        match fs::read_link(&full) {
            Ok(link) => path = full.with_file_name("").join(link),
            Err(_) => return Some(full),
        }
    }
    None
}

/// Returns whether a file has the header of a ledger.
fn is_ledger(path: &Path) -> bool {
    // Opening a pipe would block until its other end is opened.
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut header = [0; 72];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    // Bytes 68 to 71 are SQLite's application id.
    read.is_ok() && header.starts_with(b"SQLite format 3\0") && header[68..] == (APPLICATION as u32).to_be_bytes()
}

/// Rejects a path that exists, belongs to a ledger, or has a leftover log beside it. `SQLite` would treat the log of a
/// deleted file as the new file's own.
pub(crate) fn reject_existing(path: &Path) -> Result<(), LedgerFault> {
    if path.symlink_metadata().is_ok() {
        return Err(LedgerFault::Exists);
    }
    if let Some(ledger) = owning_ledger(path) {
        return Err(LedgerFault::Reserved(ledger));
    }
    let mut logs = ["-wal", "-journal"].into_iter().map(|ending| beside(path, ending));
    match logs.find(|log| fs::metadata(log).is_ok_and(|found| 0 < found.len())) {
        Some(log) => Err(LedgerFault::Leftover(log)),
        None => Ok(()),
    }
}

/// Removes a file, if it exists.
pub(crate) fn remove_if_exists(path: &Path) -> Result<(), LedgerFault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Creates an empty file that only its owner can read; `SQLite` gives its journal the same permissions.
pub(crate) fn create_private(path: &Path) -> Result<(), LedgerFault> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?;
    Ok(())
}

/// Syncs a file, renames it to its final path and syncs the folder.
pub(crate) fn rename_synced(part: &Path, path: &Path) -> Result<(), LedgerFault> {
    sync_file(part)?;
    fs::rename(part, path)?;
    Ok(sync_folder(path)?)
}

/// Returns the `SQLite` URI of a file that no process changes.
pub(crate) fn immutable(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    (uri + "?immutable=1").into()
}
