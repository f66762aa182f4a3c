//! The unit of work of a thread: a row group, or a file of another format.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::batch::Batch;
use crate::columnar::ipc;
use crate::columnar::parquet::Parquet;
use crate::error::{DataError, DataFault};
use crate::format::{Format, Opener};
use crate::input::Input;
use crate::options::{ReadOptions, TableLocation};
use crate::stream::RowStream;

use super::{PoolEncoder, PoolFiles};

/// The number of rows read at a time from a file that is not columnar.
const BLOCK: usize = 8192;

/// A consumer of the rows of a pool, one per thread, file by file.
pub trait PoolVisitor {
    /// Prepares for batches of a file with this schema, and returns the columns to decode.
    fn begin(&mut self, name: &str, schema: &SchemaRef) -> Result<Vec<usize>, DataError>;

    /// Processes a batch of the columns that `begin` returned, or of all columns of the file. `before` rows precede
    /// it in the file; `position` is that of the first row, for [`PoolFiles::describe_row`].
    fn batch(&mut self, batch: &RecordBatch, before: u64, position: u64) -> Result<(), DataError>;

    /// Processes rows of a file that is not columnar.
    fn rows(&mut self, name: &str, rows: &Batch, before: u64, position: u64) -> Result<(), DataError>;
}

/// Rows that are read sequentially: a row group of a file, or all of the file.
pub struct Unit {
    file: usize,
    /// A row group with the number of rows before it; `None` for all of the file.
    group: Option<(usize, u64)>,
}

impl PoolFiles {
    /// Returns the units of the pool, in the order of its rows.
    pub fn units(&self) -> Result<Vec<Unit>, DataError> {
        let mut units = vec![];
        for (file, path) in self.files().iter().enumerate() {
            let opener = Opener::new(&Input::File(path.clone()), None, 1, &TableLocation::default())?;
            if opener.format() != Format::PARQUET {
                units.push(Unit { file, group: None });
                continue;
            }
            let mut before = 0;
            for (group, rows) in Parquet::open(path, opener.file())?.group_rows().into_iter().enumerate() {
                units.push(Unit { file, group: Some((group, before)) });
                before += rows;
            }
        }
        Ok(units)
    }

    /// Returns the number of rows, if the files have it.
    pub fn rows(&self) -> Result<Option<u64>, DataError> {
        let mut sum = 0;
        for path in self.files() {
            let opener = Opener::new(&Input::File(path.clone()), None, 1, &TableLocation::default())?;
            if opener.format() != Format::PARQUET {
                return Ok(None);
            }
            sum += Parquet::open(path, opener.file())?.group_rows().iter().sum::<u64>();
        }
        Ok(Some(sum))
    }
}

impl Unit {
    /// Reads the rows of the unit with an encoder.
    pub fn read(&self, pool: &PoolFiles, recipe: &PoolEncoder, reader: &mut impl PoolVisitor) -> Result<(), DataError> {
        let path = &pool.files()[self.file];
        let input = Input::File(path.clone());
        let (position, encoder) = (|row| PoolFiles::position(self.file, row), &recipe.encoder);
        if let Some((group, before)) = self.group {
            let name = format!("{}, row group {}", input.name(), group + 1);
            return self.read_group(&Parquet::open(path, &input.name())?, &name, (group, before), reader);
        }
        let opener = Opener::new(&input, None, encoder.hash_bits, &encoder.table)?;
        if opener.format() == Format::ARROW {
            let mut batches = ipc::batches(Box::new(opener.bytes()?), opener.file())?;
            reader.begin(opener.file(), &batches.schema().clone())?;
            let mut row = 0;
            while let Some(batch) = batches.next_batch()? {
                reader.batch(&batch, row, position(row))?;
                row += batch.num_rows() as u64;
            }
            return Ok(());
        }
        let options = ReadOptions { unlabeled: true, ..ReadOptions::default() };
        let mut stream = RowStream::with(encoder.clone(), &input, &options)?;
        if let Some(id) = encoder.id.as_ref().filter(|_| !stream.reads_ids()) {
            return Err(DataFault::new(format!("no column `{id}`"), "a column of ids").of_file(opener.file()));
        }
        let (mut batch, mut row) = (Batch::default(), 0);
        loop {
            let read = stream.next(BLOCK, &mut batch)?;
            if 0 < read {
                reader.rows(opener.file(), &batch, row, position(row))?;
            }
            row += read as u64;
            if read < BLOCK {
                return Ok(());
            }
        }
    }

    fn read_group(
        &self,
        file: &Parquet,
        name: &str,
        (group, before): (usize, u64),
        reader: &mut impl PoolVisitor,
    ) -> Result<(), DataError> {
        let columns = reader.begin(name, file.schema())?;
        let unread = |error: String| DataFault::new(format!("cannot be read: {error}"), "").of_file(name);
        let mut rows = file.group(group, &columns).map_err(unread)?;
        let mut row = before;
        while let Some(batch) = rows.next().map_err(unread)? {
            reader.batch(&batch, row, PoolFiles::position(self.file, row))?;
            row += batch.num_rows() as u64;
        }
        Ok(())
    }
}
