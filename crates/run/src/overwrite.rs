//! Checks that outputs do not overwrite an input or the files of a ledger.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use querist_ledger::owning_ledger;

use crate::error::{Context, Result, bail};

/// Rejects an output that is a ledger, or a journal, lock or key next to one. Follows links.
///
/// Call this before the ledger is opened: a file that `SQLite` has open must not be opened a second time.
pub fn check_output(flag: &str, path: &Path) -> Result<()> {
    match owning_ledger(path) {
        Some(ledger) => bail!(
            "{flag} {}: the file belongs to the ledger {}, so it is not overwritten; use another name",
            path.display(),
            ledger.display()
        ),
        None => Ok(()),
    }
}

/// Rejects an output that is one of the inputs, even under another name.
pub fn check_inputs<'a>(flag: &str, path: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    match inputs.into_iter().find(|input| is_same_file(path, input)) {
        Some(input) => bail!(
            "{flag} {}: that is the data, {}, so it is not overwritten; use another name",
            path.display(),
            input.display()
        ),
        None => Ok(()),
    }
}

/// Rejects overwriting a file that is not a model.
pub fn check_model(model: &Path) -> Result<()> {
    // This check comes before opening: opening a pipe waits for its other end.
    let Ok(found) = fs::metadata(model) else { return Ok(()) };
    if !found.is_file() {
        bail!("--model {}: not a regular file; use another name", model.display());
    }
    let mut start = vec![];
    if let Ok(file) = File::open(model).map(|file| file.take(MODEL.len() as u64)) {
        // A file that cannot be read fails later, when it is written.
        let _ = { file }.read_to_end(&mut start);
    }
    if !start.is_empty() && !MODEL.starts_with(&start) {
        bail!("--model {}: the file is not a model, so it is not overwritten; use another name", model.display());
    }
    Ok(())
}

/// The first bytes of a model file.
const MODEL: &[u8] = b"querist model ";

/// Writes a file into a folder of outputs.
pub fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    check_output("--out", path)?;
    fs::write(path, bytes).with_context(|| format!("--out: cannot write {}", path.display()))
}

/// Returns whether two paths lead to the same existing file.
#[cfg(unix)]
fn is_same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
