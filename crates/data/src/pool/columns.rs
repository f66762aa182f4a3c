//! The columns of a pool in record batches. Numbers are read directly from their columns, everything else through rows.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::PoolEncoder;
use crate::batch::Batch;
use crate::columnar::{distinct, memory};
use crate::encoder::Coding;
use crate::error::{DataError, DataFault};
use crate::scaling::NumberTransform;
use crate::stream::RowStream;

/// The positions of an encoder's columns in the batches of a file.
pub struct PoolLayout {
    /// The columns of the file that are read.
    decoded: Vec<usize>,
    id: Option<usize>,
    plain: Option<PlainColumns>,
}

/// Columns that can be read as features without building rows.
pub enum PlainColumns {
    /// A number for each feature, in these columns of the batch, as (value − shift)·factor.
    Numbers(Vec<(usize, (f64, f64))>),
    /// All features in one column.
    Vectors(VectorColumn),
}

/// A column of vectors, scaled if the scaling is not the identity.
pub struct VectorColumn {
    column: usize,
    dim: usize,
    steps: Option<Vec<NumberTransform>>,
}

impl PoolLayout {
    /// Finds the columns of an encoder in a file with this schema; `name` is the file in messages.
    pub fn new(recipe: &PoolEncoder, name: &str, schema: &Schema) -> Result<Self, DataError> {
        let columns = memory::columns(schema);
        distinct(columns.iter().map(|column| column.name.as_str())).map_err(|fault| fault.of_file(name))?;
        let decoded = recipe.positions(&columns).map_err(|fault| fault.of_file(name))?;
        memory::check(schema, &decoded).map_err(|fault| fault.of_file(name))?;
        let position = |column: &str| {
            let position = columns.iter().position(|known| known.name == column);
            position.and_then(|position| decoded.binary_search(&position).ok())
        };
        let id = recipe.id().and_then(position);
        let plain = PlainColumns::of(recipe, position);
        Ok(Self { decoded, id, plain })
    }

    /// Returns the columns of the file that are read, in ascending order.
    pub fn decoded(&self) -> &[usize] {
        &self.decoded
    }

    /// Returns the column of a projected batch that holds ids.
    pub fn id(&self) -> Option<usize> {
        self.id
    }

    /// Returns the columns that can be read without building rows, if this holds for all features.
    pub fn plain(&self) -> Option<&PlainColumns> {
        self.plain.as_ref()
    }

    /// Projects a batch to the columns that are read, unless it was projected before.
    pub fn project<'b>(&self, batch: &'b RecordBatch, name: &str) -> Result<Cow<'b, RecordBatch>, DataError> {
        if batch.num_columns() == self.decoded.len() {
            return Ok(Cow::Borrowed(batch));
        }
        let projected = batch.project(&self.decoded);
        Ok(Cow::Owned(projected.map_err(|error| DataFault::new(error.to_string(), "").of_file(name))?))
    }
}

impl PlainColumns {
    fn of(recipe: &PoolEncoder, position: impl Fn(&str) -> Option<usize>) -> Option<Self> {
        let encoder = &recipe.encoder;
        if encoder.kernel.is_some() || !encoder.indicators.is_empty() {
            return None;
        }
        let steps = encoder.plan().into_steps();
        if let [field] = &encoder.fields[..]
            && let Coding::Vector(_) | Coding::Scaled(_) = field.coding
        {
            let scaled = steps.iter().any(|step| step.line() != NumberTransform::PLAIN.line());
            let (column, dim) = (position(&field.column)?, steps.len());
            return Some(Self::Vectors(VectorColumn { column, dim, steps: scaled.then_some(steps) }));
        }
        let mut numbers = vec![];
        for (field, step) in encoder.fields.iter().zip(steps) {
            match field.coding {
                Coding::Part => {}
                Coding::Number(scale) if scale.offset == 0.0 => {}
                _ => return None,
            }
            numbers.push((position(&field.column)?, step.line()));
        }
        (numbers.len() == encoder.fields.len()).then_some(Self::Numbers(numbers))
    }
}

impl VectorColumn {
    /// Returns the number of features of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the features of all rows in row-major order; `None` if a value is not finite or needs the slow path.
    pub fn values<'r>(&self, batch: &'r RecordBatch, room: &'r mut Vec<f32>) -> Option<&'r [f32]> {
        let (column, dim) = (batch.column(self.column), self.dim);
        let (values, start) = vectors(column, dim)?;
        let Some(steps) = &self.steps else {
            return numbers(values, start, column.len() * dim, room).filter(|values| is_finite(values));
        };
        let values = numbers(values, start, column.len() * dim, room)?;
        // NaN would become a mean here, and in a list it is a fault.
        if !is_finite(values) {
            return None;
        }
        let scaled = values.chunks_exact(dim).flat_map(|x| x.iter().zip(steps));
        *room = scaled.map(|(x, step)| step.apply(*x)).collect();
        Some(room.as_slice()).filter(|values| is_finite(values))
    }
}

fn is_finite(values: &[f32]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// A converter of record batches to rows.
#[derive(Default)]
pub struct BatchRows {
    stream: Option<RowStream>,
    rows: Batch,
}

impl BatchRows {
    /// Reads the rows of a projected batch; `before` rows precede it. Returns `None` if there are none.
    pub fn read(
        &mut self,
        recipe: &PoolEncoder,
        batch: &RecordBatch,
        before: u64,
        name: &str,
    ) -> Result<Option<&Batch>, DataError> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => RowStream::of_columns(&recipe.encoder, &memory::columns(batch.schema_ref()), name)?,
        };
        stream.feed(memory::open(batch.clone(), before, name)?, before);
        let read = stream.next(usize::MAX, &mut self.rows)?;
        self.stream = Some(stream);
        Ok((0 < read).then_some(&self.rows))
    }
}

/// Returns the numbers of a column as features, from an index on; `None` if some are missing or need the slow path.
pub fn numbers<'r>(array: &'r ArrayRef, start: usize, rows: usize, room: &'r mut Vec<f32>) -> Option<&'r [f32]> {
    if 0 < array.null_count() {
        return None;
    }
    macro_rules! narrowed {
        ($kind:ty, $narrow:expr) => {{
            room.clear();
            room.extend(primitive::<$kind>(array, start, rows).iter().map($narrow));
            Some(room)
        }};
    }
    match array.data_type() {
        DataType::Float32 => Some(primitive::<Float32Type>(array, start, rows)),
        DataType::Float64 => narrowed!(Float64Type, |x| *x as f32),
        DataType::Int8 => narrowed!(Int8Type, |x| f32::from(*x)),
        DataType::Int16 => narrowed!(Int16Type, |x| f32::from(*x)),
        DataType::Int32 => narrowed!(Int32Type, |x| f64::from(*x) as f32),
        // By way of `f64`, as in rows.
        DataType::Int64 => narrowed!(Int64Type, |x| *x as f64 as f32),
        DataType::UInt8 => narrowed!(UInt8Type, |x| f32::from(*x)),
        DataType::UInt16 => narrowed!(UInt16Type, |x| f32::from(*x)),
        DataType::UInt32 => narrowed!(UInt32Type, |x| f64::from(*x) as f32),
        _ => None,
    }
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef, start: usize, rows: usize) -> &[T::Native] {
    &array.as_primitive::<T>().values()[start..start + rows]
}

/// Returns the numbers of lists that all have this length, and the index of the first.
fn vectors(column: &ArrayRef, dim: usize) -> Option<(&ArrayRef, usize)> {
    if 0 < column.null_count() || dim == 0 {
        return None;
    }
    match column.data_type() {
        DataType::FixedSizeList(_, length) if usize::try_from(*length) == Ok(dim) => {
            Some((column.as_fixed_size_list().values(), 0))
        }
        DataType::List(_) => even::<i32>(column, dim),
        DataType::LargeList(_) => even::<i64>(column, dim),
        _ => None,
    }
    // Whole numbers in lists are rounded once, straight to `f32`: that is for rows.
    .filter(|(values, _)| matches!(values.data_type(), DataType::Float32 | DataType::Float64))
}

fn even<O: OffsetSizeTrait>(column: &ArrayRef, dim: usize) -> Option<(&ArrayRef, usize)> {
    let lists = column.as_list::<O>();
    let offsets = lists.value_offsets();
    let even = offsets.windows(2).all(|pair| pair[1].as_usize() - pair[0].as_usize() == dim);
    even.then_some((lists.values(), offsets.first()?.as_usize()))
}
