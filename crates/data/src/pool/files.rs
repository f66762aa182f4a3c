//! The files of a pool: one file, all files of a folder, or those that match a pattern.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{DataError, DataFault};
use crate::format::{FORMATS, ending_of};

/// The number of bits of a position that hold the row; the others hold the file.
const ROW_BITS: u32 = 40;

/// Files with the same columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolFiles {
    name: String,
    files: Vec<PathBuf>,
}

impl PoolFiles {
    /// Finds the files of a pool: a file, all files in a folder, or a pattern such as `pool/part-*.parquet`. In folders,
    /// names that begin with `_` or `.` are skipped.
    pub fn find(text: &str) -> Result<Self, DataError> {
        let path = Path::new(text);
        let files = match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                let mut files = vec![];
                list(path, &mut files)?;
                if files.is_empty() {
                    return Err(DataFault::new("a folder without files", "files with rows").of_file(text));
                }
                files
            }
            Ok(_) => vec![path.to_owned()],
            Err(_) if text.contains(['*', '?', '[']) => matching(text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(DataFault::new("the file or folder does not exist", "").of_file(text));
            }
            Err(error) => return Err(DataFault::new(format!("cannot be opened: {error}"), "").of_file(text)),
        };
        Ok(Self { name: text.to_owned(), files })
    }

    /// Returns the name of the pool on the command line.
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// Returns the files, sorted by name.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Describes the file and the row at a position.
    pub fn describe_row(&self, position: u64) -> String {
        let file = self.files.get((position >> ROW_BITS) as usize).map(|file| file.display().to_string());
        format!("{}, row {}", file.unwrap_or_default(), (position & ((1 << ROW_BITS) - 1)) + 1)
    }

    /// Returns the position of a row in one of the files.
    pub(super) fn position(file: usize, row: u64) -> u64 {
        (file as u64) << ROW_BITS | row
    }
}

/// Folders that hold the log of a table format. Beside the current rows, such a table has files of removed and replaced rows.
const TABLE_LOGS: [(&str, &str); 2] = [("_delta_log", "a Delta table"), (".hoodie", "a Hudi table")];

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), DataError> {
    if let Some((log, table)) = TABLE_LOGS.iter().find(|(log, _)| folder.join(log).is_dir()) {
        let found = format!("{table} (it has `{log}`), whose files also hold rows that were removed or replaced");
        let hint = "write its current rows to files first; in Python, pass the table itself, such as \
                    deltalake.DeltaTable(path).to_pyarrow_table(), or a DataFrame to querist.spark.select";
        return Err(DataFault::new(found, "a folder of plain files").hint(hint).of_file(&folder.display().to_string()));
    }
    let unread = |error: std::io::Error| {
        DataFault::new(format!("cannot be listed: {error}"), "").of_file(&folder.display().to_string())
    };
    let mut entries = vec![];
    for entry in fs::read_dir(folder).map_err(unread)? {
        entries.push(entry.map_err(unread)?.path());
    }
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(['_', '.']) {
            continue;
        }
        if path.is_dir() {
            list(&path, files)?;
            continue;
        }
        let ending = ending_of(&path);
        if !FORMATS.iter().any(|format| format.endings.contains(&ending.as_str())) {
            let fault = DataFault::new("a file of unknown format in the folder of the pool", "only files with rows");
            let hint = format!("name the files with a pattern, such as '{}/*.parquet'", folder.display());
            return Err(fault.hint(hint).of_file(&path.display().to_string()));
        }
        files.push(path);
    }
    Ok(())
}

fn matching(pattern: &str) -> Result<Vec<PathBuf>, DataError> {
    let paths = glob::glob(pattern).map_err(|error| DataFault::new(error.to_string(), "a pattern").of_file(pattern))?;
    let mut files = vec![];
    for path in paths {
        let path = path.map_err(|error| DataFault::new(error.to_string(), "").of_file(pattern))?;
        if !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(DataFault::new("no file matches this pattern", "at least one").of_file(pattern));
    }
    Ok(files)
}
