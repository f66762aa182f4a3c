//! Temporary files for readers that need a path.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

/// Writes a file into an otherwise empty folder of this thread.
///
/// # Panics
///
/// If the file system fails.
pub fn write(name: &str, content: &[u8]) -> PathBuf {
    thread_local! {
        static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
    }
    FOLDER.with_borrow_mut(|folder| {
        let folder = folder.get_or_insert_with(|| tempfile::tempdir().expect("a temporary folder"));
        for entry in fs::read_dir(folder.path()).expect("the temporary folder") {
            // Readers may leave files next to the one they read.
            fs::remove_file(entry.expect("an entry").path()).expect("a file that can be removed");
        }
        let path = folder.path().join(name);
        fs::write(&path, content).expect("a temporary file");
        path
    })
}
