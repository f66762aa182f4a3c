//! Drawn rows as Parquet.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use querist_engine::select::{Id, SelectedRow};

/// Returns a table of the drawn rows, in their order. Ids that are all integers stay integers, so that the table joins
/// the pool.
pub fn to_batch(drawn: &[SelectedRow]) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let whole = |drawn: &SelectedRow| match &drawn.id {
        Id::Number(number) => Some(*number),
        Id::Text(_) => None,
    };
    let ids: ArrayRef = match drawn.iter().map(whole).collect::<Option<Vec<i64>>>() {
        Some(numbers) => Arc::new(Int64Array::from(numbers)),
        None => Arc::new(StringArray::from_iter_values(drawn.iter().map(|drawn| drawn.id.to_string()))),
    };
    let column =
        |of: fn(&SelectedRow) -> f64| Arc::new(Float64Array::from_iter_values(drawn.iter().map(of))) as ArrayRef;
    RecordBatch::try_from_iter([
        ("order", Arc::new(UInt64Array::from_iter_values(1..=drawn.len() as u64)) as ArrayRef),
        ("id", ids),
        ("uncertainty", column(|drawn| drawn.uncertainty)),
        ("key", column(|drawn| drawn.key)),
        ("probability", column(|drawn| drawn.probability)),
        ("inclusion", column(|drawn| drawn.inclusion)),
    ])
}

/// Returns the table of [`to_batch`] as the bytes of a Parquet file.
pub fn to_parquet(drawn: &[SelectedRow]) -> Result<Vec<u8>, ParquetError> {
    let batch = to_batch(drawn)?;
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None)?;
    writer.write(&batch)?;
    writer.into_inner()
}
