//! Record batches become scores: numbers straight from their columns, everything else by way of rows, with the same bits.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use querist_engine::scorer::{ColumnScores, Scorer};
use querist_engine::select::Ids;

use crate::batch::Batch;
use crate::columnar::{distinct, memory};
use crate::encoder::Coding;
use crate::error::{DataError, Fault, Place};
use crate::scaling::Step;
use crate::stream::Stream;

use super::{Pass, Taker};

/// Rows of a block: their sums stay in the fastest cache while the columns go by.
const BLOCK: usize = 512;

/// One thread's work on a pool.
pub(super) struct Scoring<'a, T> {
    pass: &'a Pass<'a>,
    scorer: Scorer,
    taker: T,
    /// Messages call what is read so.
    name: String,
    table: Option<Table>,
    columns: ColumnScores,
    scores: Vec<f64>,
    /// The scores of a whole batch.
    all: Vec<f64>,
    numbers: Vec<f32>,
    /// By way of rows; made when it is needed.
    stream: Option<Stream>,
    batch: Batch,
}

/// Where in a batch the columns of the recipe are.
struct Table {
    /// The columns of the file that are read.
    decoded: Vec<usize>,
    id: Option<usize>,
    quick: Option<Quick>,
}

/// What is scored without making rows.
enum Quick {
    /// A number for each feature, in these columns of the batch, as (value − shift)·factor.
    Numbers(Vec<(usize, (f64, f64))>),
    /// All features in one column; they are scaled where that changes them.
    Vector { column: usize, dim: usize, steps: Option<Vec<Step>> },
}

impl<'a, T: Taker> Scoring<'a, T> {
    pub(super) fn new(pass: &'a Pass<'a>, taker: T) -> Self {
        let mut scorer = pass.scorer.clone();
        scorer.widen(pass.recipe.encoder.dim);
        Self {
            pass,
            scorer,
            taker,
            name: String::new(),
            table: None,
            columns: ColumnScores::default(),
            scores: vec![],
            all: vec![],
            numbers: vec![],
            stream: None,
            batch: Batch::default(),
        }
    }

    pub(super) fn pass(&self) -> &'a Pass<'a> {
        self.pass
    }

    pub(super) fn into_taker(self) -> T {
        self.taker
    }

    /// Prepares for batches of a file with this schema; says which of its columns are to be decoded.
    pub(super) fn begin(&mut self, name: &str, schema: &SchemaRef) -> Result<Vec<usize>, DataError> {
        name.clone_into(&mut self.name);
        self.stream = None;
        let columns = memory::columns(schema);
        distinct(columns.iter().map(|column| column.name.as_str())).map_err(|fault| fault.of_file(name))?;
        let encoder = &self.pass.recipe.encoder;
        let decoded = self.pass.recipe.places(&columns).map_err(|fault| fault.of_file(name))?;
        memory::check(schema, &decoded).map_err(|fault| fault.of_file(name))?;
        let place = |column: &str| {
            let place = columns.iter().position(|known| known.name == column);
            place.and_then(|place| decoded.binary_search(&place).ok())
        };
        let id = encoder.id.as_deref().and_then(place);
        let quick = self.quick(place);
        self.table = Some(Table { decoded: decoded.clone(), id, quick });
        Ok(decoded)
    }

    fn quick(&self, place: impl Fn(&str) -> Option<usize>) -> Option<Quick> {
        let encoder = &self.pass.recipe.encoder;
        let steps = encoder.plan().into_steps();
        if let [field] = &encoder.fields[..]
            && let Coding::Vector(_) | Coding::Scaled(_) = field.coding
        {
            let scaled = steps.iter().any(|step| step.line() != Step::PLAIN.line());
            let (column, dim) = (place(&field.column)?, steps.len());
            return Some(Quick::Vector { column, dim, steps: scaled.then_some(steps) });
        }
        let mut numbers = vec![];
        for (field, step) in encoder.fields.iter().zip(steps) {
            match field.coding {
                Coding::Part => {}
                Coding::Number(scale) if scale.offset == 0.0 => {}
                _ => return None,
            }
            numbers.push((place(&field.column)?, step.line()));
        }
        (numbers.len() == encoder.fields.len()).then_some(Quick::Numbers(numbers))
    }

    /// Scores the rows of a batch of the columns that `begin` named, or of all columns of the file.
    pub(super) fn batch(&mut self, batch: &RecordBatch, before: u64, place: u64) -> Result<(), DataError> {
        let Some(table) = self.table.take() else { return Ok(()) };
        let projected;
        let batch = if batch.num_columns() == table.decoded.len() {
            batch
        } else {
            let chosen = batch.project(&table.decoded);
            projected = chosen.map_err(|error| Fault::new(error.to_string(), "").of_file(&self.name))?;
            &projected
        };
        let done = self.quickly(&table, batch, before, place).unwrap_or_else(|| self.by_rows(batch, before, place));
        self.table = Some(table);
        done
    }

    /// `None` where anything is out of the ordinary; then rows are made, and say what it is.
    fn quickly(
        &mut self,
        table: &Table,
        batch: &RecordBatch,
        before: u64,
        place: u64,
    ) -> Option<Result<(), DataError>> {
        match table.quick.as_ref()? {
            Quick::Numbers(columns) => self.score_numbers(columns, batch)?,
            Quick::Vector { column, dim, steps } => {
                self.score_vectors(batch.column(*column), *dim, steps.as_deref())?;
            }
        }
        let mut room = vec![];
        let ids = match table.id {
            Some(column) => ids(batch.column(column), &mut room)?,
            None => Ids::Counted(before + 1),
        };
        let scores = std::mem::take(&mut self.all);
        let taken = self.give(&ids, &scores, before, place);
        self.all = scores;
        Some(taken)
    }

    fn score_numbers(&mut self, columns: &[(usize, (f64, f64))], batch: &RecordBatch) -> Option<()> {
        self.all.clear();
        for start in (0..batch.num_rows()).step_by(BLOCK) {
            let rows = BLOCK.min(batch.num_rows() - start);
            self.columns.begin(&self.scorer, rows);
            for (feature, (column, line)) in columns.iter().enumerate() {
                let values = numbers(batch.column(*column), start, rows, &mut self.numbers)?;
                if !self.columns.add(&self.scorer, feature, values, *line) {
                    return None;
                }
            }
            self.columns.finish(&self.scorer, &mut self.scores);
            self.all.extend_from_slice(&self.scores);
        }
        Some(())
    }

    fn score_vectors(&mut self, column: &ArrayRef, dim: usize, steps: Option<&[Step]>) -> Option<()> {
        let (values, start) = vectors(column, dim)?;
        let values = numbers(values, start, column.len() * dim, &mut self.numbers)?;
        let values = match steps {
            None => values,
            // NaN would become a mean here, and in a list it is a fault.
            Some(_) if !values.iter().all(|value| value.is_finite()) => return None,
            Some(steps) => {
                let scaled = values.chunks_exact(dim).flat_map(|x| x.iter().zip(steps));
                self.numbers = scaled.map(|(x, step)| step.apply(*x)).collect();
                &self.numbers
            }
        };
        if !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        self.scorer.scores_of_dense(values, dim, &mut self.all);
        Some(())
    }

    fn by_rows(&mut self, batch: &RecordBatch, before: u64, place: u64) -> Result<(), DataError> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let columns = memory::columns(batch.schema_ref());
                Stream::of_columns(&self.pass.recipe.encoder, &columns, &self.name)?
            }
        };
        stream.feed(memory::open(batch.clone(), before, &self.name)?, before);
        let mut rows = std::mem::take(&mut self.batch);
        let read = stream.next(usize::MAX, &mut rows)?;
        let name = self.name.clone();
        let taken = if read == 0 { Ok(()) } else { self.rows(&name, &rows, before, place) };
        self.batch = rows;
        self.stream = Some(stream);
        taken
    }

    /// Scores rows of features.
    pub(super) fn rows(&mut self, name: &str, rows: &Batch, before: u64, place: u64) -> Result<(), DataError> {
        name.clone_into(&mut self.name);
        let mut scores = std::mem::take(&mut self.all);
        self.scorer.scores_of_rows(&rows.rows, &mut scores);
        let taken = self.give(&rows.ids.as_ids(), &scores, before, place);
        self.all = scores;
        taken
    }

    fn give(&mut self, ids: &Ids<'_>, scores: &[f64], before: u64, place: u64) -> Result<(), DataError> {
        let rows = (scores.len() / self.scorer.outputs()) as u64;
        self.taker.take(ids, scores, place).map_err(|(row, fault)| {
            let place = Place { line: None, row: before + row as u64 + 1, column: None };
            DataError { file: self.name.clone(), place: Some(place), fault }
        })?;
        if (self.pass.told)(rows) { Ok(()) } else { Err(Fault::new("stopped", "").of_file(&self.name)) }
    }
}

/// Numbers of a column as features, from a place on; `None` where some are missing, or of a type that takes more care.
fn numbers<'r>(array: &'r ArrayRef, start: usize, rows: usize, room: &'r mut Vec<f32>) -> Option<&'r [f32]> {
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

/// The numbers of lists that all have this length, and where the first one begins.
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

/// The ids of a column of whole numbers or texts; `None` for others, and where one is missing.
fn ids<'r>(array: &'r ArrayRef, room: &'r mut Vec<i64>) -> Option<Ids<'r>> {
    if 0 < array.null_count() {
        return None;
    }
    let texts = |texts: Vec<&'r str>| texts.iter().all(|text| !text.is_empty()).then_some(Ids::Texts(texts));
    macro_rules! widened {
        ($kind:ty) => {{
            room.extend(array.as_primitive::<$kind>().values().iter().map(|id| i64::from(*id)));
            Some(Ids::Numbers(room))
        }};
    }
    match array.data_type() {
        DataType::Int64 => Some(Ids::Numbers(array.as_primitive::<Int64Type>().values())),
        DataType::Int32 => widened!(Int32Type),
        DataType::Int16 => widened!(Int16Type),
        DataType::UInt32 => widened!(UInt32Type),
        DataType::UInt16 => widened!(UInt16Type),
        DataType::Utf8 => texts(array.as_string::<i32>().iter().flatten().collect()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter().flatten().collect()),
        DataType::Utf8View => texts(array.as_string_view().iter().flatten().collect()),
        _ => None,
    }
}
