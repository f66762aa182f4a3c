//! Parquet, read row group by row group.

use std::fs::File;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;

use super::arrow::{self, Words};
use super::guard::guarded;
use super::values::Values;
use super::{Chunk, ChunkDecoder, ColumnarSource, broken, chunk_rows, delta, pages};
use crate::error::DataError;
use crate::format::{FormatEntry, FormatOpener};
use crate::source::Source;

pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "parquet",
    summary: "Apache Parquet; lists of numbers are vectors",
    endings: &["parquet", "pq"],
    choices: &[],
    magic: &[b"PAR1"],
    looks: |_| false,
    open: FormatOpener::Path(|path, context| open(path, context.file)),
};

/// Opens a Parquet file; `name` is used in messages.
pub fn open(path: &Path, name: &str) -> Result<Box<dyn Source + Send>, DataError> {
    let file = Parquet::open(path, name)?;
    let listed: Vec<_> = file.schema().fields().iter().map(|field| arrow::listed(field)).collect();
    let readable = listed.iter().map(|column| column.kind.is_ok()).collect();
    let words = listed.iter().map(|_| None).collect();
    let groups = RowGroups { file, name: name.to_owned(), readable, words, group: 0, open: None, row: 0 };
    Ok(Box::new(ColumnarSource::new(name, listed, Box::new(groups))?))
}

/// An open file with its footer.
pub(crate) struct Parquet {
    file: File,
    metadata: ArrowReaderMetadata,
}

impl Parquet {
    pub(crate) fn open(path: &Path, name: &str) -> Result<Self, DataError> {
        let file = File::open(path).map_err(|error| broken(name, None, format!("cannot be opened: {error}")))?;
        let load = || ArrowReaderMetadata::load(&file, ArrowReaderOptions::new());
        let metadata = guarded(load)
            .and_then(|loaded| loaded.map_err(|error| error.to_string()))
            .map_err(|error| broken(name, None, format!("cannot be read as a Parquet file: {error}")))?;
        check_counts(&metadata, name)?;
        Ok(Self { file, metadata })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// Returns the number of rows in each row group.
    pub(crate) fn group_rows(&self) -> Vec<u64> {
        self.metadata.metadata().row_groups().iter().map(|group| group.num_rows().cast_unsigned()).collect()
    }

    /// Starts decoding these columns, in increasing order, of a row group.
    pub(crate) fn group(&self, number: usize, columns: &[usize]) -> Result<RowGroupReader, String> {
        let metadata = self.metadata.metadata();
        let group = metadata.row_group(number);
        let schema = self.metadata.parquet_schema();
        let mask = ProjectionMask::roots(schema, columns.iter().copied());
        let leaves: Vec<_> = (0..group.num_columns()).filter(|leaf| mask.leaf_included(*leaf)).collect();
        guarded(|| {
            let mut n_values: u64 = 0;
            for leaf in leaves {
                let column = group.column(leaf);
                check_codec(column)?;
                if pages::check(&self.file, column)? {
                    delta::check(&self.file, column, usize::try_from(group.num_rows()).unwrap_or(0))?;
                }
                n_values = n_values.saturating_add(u64::try_from(group.column(leaf).num_values()).unwrap_or(0));
            }
            let n_rows = u64::try_from(group.num_rows()).unwrap_or(0);
            // Memory for a list of fixed length is allocated even if it is null and the file stores no value.
            for column in columns {
                if let DataType::FixedSizeList(_, dim) = self.metadata.schema().field(*column).data_type() {
                    let room = u64::try_from(*dim).unwrap_or(0).saturating_mul(n_rows);
                    n_values = n_values.saturating_add(room);
                }
            }
            let file = self.file.try_clone().map_err(|error| error.to_string())?;
            let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_row_groups(vec![number])
                .with_projection(mask)
                .with_batch_size(chunk_rows(n_rows, n_values))
                .build()
                .map_err(|error| error.to_string())?;
            Ok(RowGroupReader { reader, decoded: columns.to_vec(), left: n_rows })
        })
        .and_then(|group| group)
    }
}

/// Rejects unsupported codecs, with a list of the supported ones.
fn check_codec(column: &ColumnChunkMetaData) -> Result<(), String> {
    let (codec, name) = match column.compression() {
        Compression::BROTLI(_) => ("Brotli", column.column_path().string()),
        Compression::LZO => ("LZO", column.column_path().string()),
        _ => return Ok(()),
    };
    Err(format!("column `{name}` is compressed by {codec}; save it with zstd, snappy, gzip or lz4 instead"))
}

/// Rejects a footer whose row counts are inconsistent.
fn check_counts(metadata: &ArrowReaderMetadata, name: &str) -> Result<(), DataError> {
    let total = metadata.metadata().file_metadata().num_rows();
    let mut sum: i64 = 0;
    for (number, group) in metadata.metadata().row_groups().iter().enumerate() {
        let n_rows = group.num_rows();
        if n_rows < 0 {
            return Err(broken(name, None, format!("row group {} claims {n_rows} rows", number + 1)));
        }
        sum = sum.saturating_add(n_rows);
    }
    if sum != total {
        return Err(broken(name, None, format!("the footer claims {total} rows, its row groups {sum}")));
    }
    Ok(())
}

struct RowGroups {
    file: Parquet,
    name: String,
    readable: Vec<bool>,
    words: Vec<Words>,
    /// The current row group, or the next one.
    group: usize,
    open: Option<RowGroupReader>,
    /// The number of rows decoded.
    row: u64,
}

/// A row group that is being decoded.
pub(crate) struct RowGroupReader {
    reader: ParquetRecordBatchReader,
    /// The columns that are decoded, in order.
    decoded: Vec<usize>,
    /// The number of rows that remain.
    left: u64,
}

impl RowGroupReader {
    /// Decodes the next rows; `None` at the end. Fails if their total differs from the footer.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, String> {
        let batch = guarded(|| self.reader.next().transpose().map_err(|error| error.to_string()))??;
        let n_rows = batch.as_ref().map_or(0, RecordBatch::num_rows) as u64;
        match (&batch, self.left.checked_sub(n_rows)) {
            (None, Some(0)) => {}
            (None, left) => return Err(format!("{} of its rows are missing", left.unwrap_or(0))),
            (Some(_), None) => return Err("it has more rows than the footer claims".to_owned()),
            (Some(batch), Some(_)) if batch.num_columns() != self.decoded.len() => {
                return Err(format!("{} columns were decoded instead of {}", batch.num_columns(), self.decoded.len()));
            }
            (Some(_), Some(left)) => self.left = left,
        }
        Ok(batch)
    }
}

impl ChunkDecoder for RowGroups {
    fn n_rows(&self) -> Option<u64> {
        Some(self.file.group_rows().iter().sum())
    }

    fn next(&mut self, wanted: &[bool]) -> Result<Option<Chunk>, DataError> {
        loop {
            let mut group = match self.open.take() {
                Some(group) => group,
                None if self.group == self.file.group_rows().len() => return Ok(None),
                None => self.begin(wanted).map_err(|error| self.broken(&error))?,
            };
            match group.next().map_err(|error| self.broken(&error))? {
                None => self.group += 1,
                Some(batch) => {
                    let chunk = self.chunk(&batch, &group.decoded, wanted).map_err(|error| self.broken(&error))?;
                    self.row += batch.num_rows() as u64;
                    self.open = Some(group);
                    return Ok(Some(chunk));
                }
            }
        }
    }
}

impl RowGroups {
    fn broken(&self, error: &str) -> DataError {
        broken(&self.name, Some(self.row), format!("row group {} cannot be read: {error}", self.group + 1))
    }

    /// Starts decoding the current row group.
    fn begin(&self, wanted: &[bool]) -> Result<RowGroupReader, String> {
        let mut decoded: Vec<usize> = (0..self.readable.len()).filter(|column| wanted[*column]).collect();
        if decoded.is_empty() {
            // Rows are counted by decoding them, so at least one column is decoded.
            decoded.extend(self.readable.iter().position(|readable| *readable));
        }
        self.file.group(self.group, &decoded)
    }

    fn chunk(&mut self, batch: &RecordBatch, decoded: &[usize], wanted: &[bool]) -> Result<Chunk, String> {
        let mut columns = vec![Values::Absent; self.readable.len()];
        for (array, column) in batch.columns().iter().zip(decoded) {
            if wanted[*column] {
                let words = &mut self.words[*column];
                columns[*column] = guarded(|| arrow::values(array, words)).and_then(|values| values)?;
            }
        }
        Ok(Chunk { n_rows: batch.num_rows(), columns })
    }
}
