//! A sink that records its cells, and functions that open a file of any format.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use querist_data::columnar::{ipc, npy, npz, parquet};
use querist_data::error::{DataError, DataFault};
use querist_data::source::{BadRows, CellValue, Sink, Source};

/// A record: its cells with their columns, as text that preserves every digit.
pub(crate) type Record = Vec<(usize, String)>;

/// A sink that stores records; a cell whose text equals `refused` is a fault.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) records: Vec<Record>,
    pub(crate) refused: Option<String>,
    pub(crate) record: Record,
}

impl Sink for Notes {
    fn cell(&mut self, column: usize, cell: CellValue<'_>) -> Result<(), DataFault> {
        let text = format!("{cell:?}");
        if self.refused.as_ref() == Some(&text) {
            return Err(DataFault { found: text, expected: String::new(), hint: String::new() });
        }
        self.record.push((column, text));
        Ok(())
    }

    fn end(&mut self) -> Result<(), DataFault> {
        self.records.push(std::mem::take(&mut self.record));
        Ok(())
    }

    fn discard(&mut self) {
        self.record.clear();
    }
}

/// Opens a file by its extension.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Source + Send>, DataError> {
    let name = path.file_name().unwrap().to_string_lossy();
    let read = || Box::new(File::open(path).unwrap());
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("parquet") => parquet::open(path, &name),
        Some("arrow" | "arrows") => ipc::open(read(), &name),
        Some("npy") => npy::open(read(), Some(fs::metadata(path).unwrap().len()), &name),
        Some("npz") => npz::open(path, &name),
        other => panic!("no format is named {other:?}"),
    }
}

/// Reads all records of a source, with these limits in a cycle.
pub(crate) fn read(source: &mut dyn Source, limits: &[usize]) -> Result<Vec<Record>, DataError> {
    let mut notes = Notes::default();
    let mut limits = limits.iter().cycle();
    loop {
        let limit = *limits.next().unwrap();
        let before = notes.records.len();
        let given = source.read(limit, &mut notes, &mut BadRows::default())?;
        assert_eq!(given, notes.records.len() - before);
        assert!(given <= limit);
        if given < limit {
            // After the end, further reads return nothing.
            assert_eq!(source.read(1, &mut notes, &mut BadRows::default())?, 0);
            return Ok(notes.records);
        }
    }
}

pub(crate) fn open_and_read(path: &Path) -> Result<Vec<Record>, DataError> {
    read(&mut *open(path)?, &[1000])
}

/// Returns the path of a file that was generated once and is stored next to the tests.
pub(crate) fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/columnar").join(name)
}

/// Returns a path for a file that a test creates.
pub(crate) fn made(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}
