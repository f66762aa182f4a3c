//! Names and places of files around a ledger.

use std::fs;
use std::path::{Path, PathBuf};

use crate::atomic::{sync_file, sync_folder};
use crate::error::Fault;

/// A name beside a file: `run.ledger-wal`.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The full name of a file that is there.
pub(crate) fn existing(path: &Path) -> Result<PathBuf, Fault> {
    let path = path.canonicalize()?;
    match fs::metadata(&path)? {
        found if !found.is_file() => Err(Fault::NotAFile),
        found if found.len() == 0 => Err(Fault::NotALedger { found: "an empty file".to_owned() }),
        _ => Ok(path),
    }
}

/// The full name of a file to be made.
pub(crate) fn new_name(path: &Path) -> Result<PathBuf, Fault> {
    let name = path.file_name().ok_or(Fault::NotAFile)?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    Ok(folder.canonicalize()?.join(name))
}

/// `SQLite` would take a log that is left from a deleted file for the new file's own.
pub(crate) fn refuse_taken(path: &Path) -> Result<(), Fault> {
    if path.symlink_metadata().is_ok() {
        return Err(Fault::Exists);
    }
    let mut logs = ["-wal", "-journal"].into_iter().map(|ending| beside(path, ending));
    match logs.find(|log| fs::metadata(log).is_ok_and(|found| 0 < found.len())) {
        Some(log) => Err(Fault::Leftover(log)),
        None => Ok(()),
    }
}

pub(crate) fn remove_if_there(path: &Path) -> Result<(), Fault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Creates an empty file that only its owner can read; SQLite gives its journal the same permissions.
pub(crate) fn create_private(path: &Path) -> Result<(), Fault> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?;
    Ok(())
}

pub(crate) fn put_in_place(part: &Path, path: &Path) -> Result<(), Fault> {
    sync_file(part)?;
    fs::rename(part, path)?;
    Ok(sync_folder(path)?)
}

/// The URI that tells `SQLite` that nobody changes the file.
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
