//! Record batches in memory as a source of records.

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::arrow::{self, Words};
use super::guard::guarded;
use super::values::Values;
use super::{Chunk, ChunkDecoder, ColumnarSource, broken};
use crate::error::{DataError, DataFault};
use crate::source::{Column, ColumnKind, Source};

/// Returns the columns of a schema; those of an unreadable type have kind `Any`.
pub(crate) fn columns(schema: &Schema) -> Vec<Column> {
    let listed = schema.fields().iter().map(|field| arrow::listed(field));
    listed.map(|listed| Column { name: listed.name, kind: listed.kind.unwrap_or(ColumnKind::Any) }).collect()
}

/// Returns an error if one of these columns has a type that cannot be read.
pub(crate) fn check(schema: &Schema, wanted: &[usize]) -> Result<(), DataFault> {
    wanted.iter().try_for_each(|position| arrow::listed(schema.field(*position)).kind.map(drop))
}

/// Opens a batch as a source. `before` is the number of records that precede it; `name` is used in messages.
pub(crate) fn open(batch: RecordBatch, before: u64, name: &str) -> Result<Box<dyn Source + Send>, DataError> {
    let listed = batch.schema_ref().fields().iter().map(|field| arrow::listed(field)).collect();
    let single = SingleBatch { batch: Some(batch), name: name.to_owned(), before };
    let mut table = ColumnarSource::new(name, listed, Box::new(single))?;
    table.row = before;
    Ok(Box::new(table))
}

struct SingleBatch {
    batch: Option<RecordBatch>,
    name: String,
    before: u64,
}

impl ChunkDecoder for SingleBatch {
    fn next(&mut self, wanted: &[bool]) -> Result<Option<Chunk>, DataError> {
        let Some(batch) = self.batch.take() else { return Ok(None) };
        let cells = |(array, wanted): (_, &bool)| {
            if *wanted {
                guarded(|| arrow::values(array, &mut Words::None)).and_then(|values| values)
            } else {
                Ok(Values::Absent)
            }
        };
        let columns: Result<Vec<Values>, String> = batch.columns().iter().zip(wanted).map(cells).collect();
        let columns = columns.map_err(|error| broken(&self.name, Some(self.before), error))?;
        Ok(Some(Chunk { n_rows: batch.num_rows(), columns }))
    }
}
