//! Atomic file replacement.

use std::ffi::OsString;
use std::fmt::{self, Display};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file that could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub struct WriteError {
    /// The file.
    pub file: PathBuf,
    /// The step that failed, such as `cannot be replaced by the new one`.
    pub what: &'static str,
    /// The operating system's error.
    pub because: io::Error,
}

impl Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = match self.because.kind() {
            ErrorKind::NotFound => "\n  check the name of the folder",
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "\n  choose a folder that you can write \
                 to"
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => "\n  free some space",
            ErrorKind::IsADirectory => "\n  use the name of a file",
            _ => "",
        };
        write!(f, "{}: {}: {}{hint}", self.file.display(), self.what, self.because)
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.because)
    }
}

/// Writes a file atomically: at any moment, also after a power cut, it has either the old bytes or the new ones.
///
/// The bytes go to a temporary file beside it, which is then renamed. The permissions of an existing file are
/// preserved, and a symbolic link stays a link.
///
/// # Errors
/// After an error the old file is unchanged, unless only the last step failed. Then the new bytes are in place, but a
/// power cut could restore the old ones.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), WriteError> {
    let path = path.as_ref();
    let error = |what| move |because| WriteError { file: path.to_owned(), what, because };
    let target = match path.canonicalize() {
        Err(found) if found.kind() == ErrorKind::NotFound => Ok(path.to_owned()),
        other => other,
    };
    let target = target.map_err(error("cannot be resolved"))?;
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(fs::Metadata::is_dir) || target.file_name().is_none() {
        return Err(error("cannot be written")(ErrorKind::IsADirectory.into()));
    }
    // A rename would replace a device or a pipe with a regular file.
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return Err(error("is not a regular file, and was not changed")(ErrorKind::InvalidInput.into()));
    }
    let (mut file, temporary) = temporary(&target).map_err(error("cannot create a file beside it"))?;
    // Set before the bytes are written, so that users who may not read the old bytes can never read the new ones.
    let permitted = old.as_ref().map_or(Ok(()), |old| file.set_permissions(old.permissions()));
    let written = permitted.and_then(|()| file.write_all(bytes));
    let kept = written.and_then(|()| file.sync_all()).map_err(error("cannot be written; the old file is unchanged"));
    let done = kept.and_then(|()| {
        fs::rename(&temporary, &target).map_err(error("cannot be replaced by the new one; the old file is unchanged"))
    });
    if done.is_err() {
        // The error to report is the one above, not a failed removal.
        let _ = fs::remove_file(&temporary);
    }
    done?;
    sync_folder(&target).map_err(error("was written, but may not survive a power failure"))
}

/// Creates a temporary file beside another. Tries further names, because a killed process may have left files behind.
fn temporary(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut attempt = 0;
    loop {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}-{attempt}.part", std::process::id()));
        let temporary = path.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Syncs the bytes of a file to disk.
pub(crate) fn sync_file(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.sync_all()
}

/// Syncs the folder of a file to disk, so that a rename persists. Does nothing on systems other than Unix.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
