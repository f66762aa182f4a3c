//! npz: a zip archive of npy arrays of equal length, which are the columns of a table.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::guard::guarded;
use super::npy::Array;
use super::values::Values;
use super::{Chunk, ChunkDecoder, ColumnarSource, ListedColumn, broken, fault};
use crate::error::{DataError, DataFault};
use crate::format::{self, FormatOpener};
use crate::source::Source;

pub(crate) const ENTRY: format::FormatEntry = format::FormatEntry {
    name: "npz",
    summary: "named NumPy arrays, one per column",
    endings: &["npz"],
    choices: &[],
    magic: &[],
    looks: |_| false,
    open: FormatOpener::Path(|path, context| open(path, context.file)),
};

/// Opens an archive of arrays; `name` is used in messages.
pub fn open(path: &Path, name: &str) -> Result<Box<dyn Source + Send>, DataError> {
    let entries = guarded(|| directory(path))
        .and_then(|entries| entries)
        .map_err(|error| broken(name, None, format!("cannot be read as an npz archive: {error}")))?;
    let mut listed = Vec::new();
    let mut rows: Option<(&str, u64)> = None;
    for entry in &entries {
        let array = entry.open(path);
        if let Ok(array) = &array {
            match rows {
                Some((first, n_rows)) if n_rows != array.n_rows() => {
                    let found = format!("`{first}` has {n_rows} rows, `{}` has {}", entry.name, array.n_rows());
                    let hint = "save them in separate archives";
                    let fault = fault(found, "arrays of the same length", hint);
                    return Err(DataError { file: name.to_owned(), position: None, fault });
                }
                _ => rows = Some((&entry.name, array.n_rows())),
            }
        }
        let refused =
            |fault: DataFault| DataFault { found: format!("array `{}`: {}", entry.name, fault.found), ..fault };
        listed.push(ListedColumn { name: entry.name.clone(), kind: array.map(|array| array.kind()).map_err(refused) });
    }
    let readable = listed.iter().map(|column| column.kind.is_ok()).collect();
    let arrays =
        ArchiveArrays { path: path.to_owned(), name: name.to_owned(), entries, readable, open: Vec::new(), row: 0 };
    Ok(Box::new(ColumnarSource::new(name, listed, Box::new(arrays))?))
}

/// An array in the archive.
struct ArchiveEntry {
    name: String,
    /// The position of its bytes in the archive.
    start: u64,
    packed: u64,
    deflated: bool,
    size: u64,
    checksum: u32,
}

fn directory(path: &Path) -> Result<Vec<ArchiveEntry>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| error.to_string())?;
    if archive.has_duplicate_names() {
        return Err("two arrays have the same name".to_owned());
    }
    let mut entries = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|error| error.to_string())?;
        let name = entry.name().map_err(|error| error.to_string())?.into_owned();
        let Some(array) = name.strip_suffix(".npy") else {
            return Err(format!("`{}` is not an npy array", name.escape_debug()));
        };
        let deflated = match entry.compression() {
            _ if entry.encrypted() => return Err(format!("array `{array}` is encrypted")),
            CompressionMethod::Stored => false,
            CompressionMethod::DEFLATE => true,
            other => return Err(format!("array `{array}` is compressed by {other}; expected stored or deflated")),
        };
        let start = entry.data_start().ok_or_else(|| format!("array `{array}` has no bytes"))?;
        let (packed, size, checksum) = (entry.compressed_size(), entry.size(), entry.crc32());
        entries.push(ArchiveEntry { name: array.to_owned(), start, packed, deflated, size, checksum });
    }
    Ok(entries)
}

impl ArchiveEntry {
    fn open(&self, path: &Path) -> Result<Array, DataFault> {
        let open = || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(self.start))?;
            let packed = BufReader::new(file).take(self.packed);
            let inner: Box<dyn Read + Send> =
                if self.deflated { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) };
            Ok(ChecksumReader { inner, checksum: self.checksum, crc: Crc::new() })
        };
        let read = open().map_err(|error: io::Error| fault(format!("cannot be opened: {error}"), "", ""))?;
        Array::open(Box::new(read), Some(self.size))
    }
}

/// A reader that verifies a checksum at the end.
struct ChecksumReader {
    inner: Box<dyn Read + Send>,
    checksum: u32,
    crc: Crc,
}

impl Read for ChecksumReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(buffer)?;
        self.crc.update(&buffer[..len]);
        if len == 0 && !buffer.is_empty() && self.crc.sum() != self.checksum {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the bytes do not match the checksum of the archive",
            ));
        }
        Ok(len)
    }
}

struct ArchiveArrays {
    path: PathBuf,
    name: String,
    entries: Vec<ArchiveEntry>,
    readable: Vec<bool>,
    /// The arrays being read, with their columns.
    open: Vec<(usize, Array)>,
    row: u64,
}

impl ChunkDecoder for ArchiveArrays {
    fn n_rows(&self) -> Option<u64> {
        self.open.first().map(|(_, array)| array.n_rows())
    }

    fn next(&mut self, wanted: &[bool]) -> Result<Option<Chunk>, DataError> {
        if self.open.is_empty() {
            self.open = self.begin(wanted)?;
        }
        let mut columns: Vec<_> = self.entries.iter().map(|_| Values::Absent).collect();
        let n_rows = self.open.iter().map(|(_, array)| array.block_rows()).min().unwrap_or(0);
        for (column, array) in &mut self.open {
            let entry = &self.entries[*column].name;
            let values = guarded(|| array.block(n_rows)).and_then(|values| values);
            let values =
                values.map_err(|found| broken(&self.name, Some(self.row), format!("array `{entry}`: {found}")))?;
            if wanted[*column] {
                columns[*column] = values;
            }
        }
        self.row += n_rows as u64;
        Ok((0 < n_rows).then_some(Chunk { n_rows, columns }))
    }
}

impl ArchiveArrays {
    fn begin(&self, wanted: &[bool]) -> Result<Vec<(usize, Array)>, DataError> {
        let readable = || self.readable.iter().enumerate().filter(|(_, readable)| **readable).map(|(column, _)| column);
        let mut columns: Vec<usize> = readable().filter(|column| wanted[*column]).collect();
        if columns.is_empty() {
            // Rows are counted by reading them, so at least one array is read.
            columns.extend(readable().next());
        }
        let open = |column: usize| match self.entries[column].open(&self.path) {
            Ok(array) => Ok((column, array)),
            Err(fault) => Err(DataError { file: self.name.clone(), position: None, fault }),
        };
        columns.into_iter().map(open).collect()
    }
}
