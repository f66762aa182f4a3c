//! Scores of record batches: numbers directly from their columns, everything else through encoded rows, with the same
//! bits.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use querist_data::pool::{BatchRows, PlainColumns, PoolLayout, PoolVisitor, VectorColumn, numbers};
use querist_data::{Batch, BatchIds, DataError, DataFault, DataPosition};
use querist_engine::scorer::{ColumnScores, Scorer};
use querist_engine::select::RowIds;

use super::pass::{Pass, Taker};

/// The number of rows in a block. Their sums stay in the L1 cache while the columns are read.
const BLOCK: usize = 512;

/// The state of one thread that scores a pool.
pub(super) struct Scoring<'a, T> {
    pass: &'a Pass<'a>,
    scorer: Scorer,
    taker: T,
    /// The name of the data in messages.
    name: String,
    layout: Option<PoolLayout>,
    columns: ColumnScores,
    scores: Vec<f64>,
    /// The scores of a whole batch.
    all: Vec<f64>,
    numbers: Vec<f32>,
    /// The slow path through encoded rows, filled when needed.
    batch_rows: BatchRows,
}

impl<'a, T: Taker> Scoring<'a, T> {
    pub(super) fn new(pass: &'a Pass<'a>, taker: T) -> Self {
        let mut scorer = pass.scorer.clone();
        scorer.widen(pass.recipe.dim());
        Self {
            pass,
            scorer,
            taker,
            name: String::new(),
            layout: None,
            columns: ColumnScores::default(),
            scores: vec![],
            all: vec![],
            numbers: vec![],
            batch_rows: BatchRows::default(),
        }
    }

    pub(super) fn into_taker(self) -> T {
        self.taker
    }

    /// Returns `None` if anything is unusual. The slow path then encodes the rows and reports the problem.
    fn quickly(
        &mut self,
        layout: &PoolLayout,
        batch: &RecordBatch,
        before: u64,
        position: u64,
    ) -> Option<Result<(), DataError>> {
        match layout.plain()? {
            PlainColumns::Numbers(columns) => self.score_numbers(columns, batch)?,
            PlainColumns::Vectors(vectors) => self.score_vectors(vectors, batch)?,
        }
        let mut room = vec![];
        let ids = match layout.id() {
            Some(column) => ids(batch.column(column), &mut room)?,
            None => RowIds::Counted(before + 1),
        };
        let scores = std::mem::take(&mut self.all);
        let taken = self.give(&ids, &scores, before, position);
        self.all = scores;
        Some(taken)
    }

    fn score_numbers(&mut self, columns: &[(usize, (f64, f64))], batch: &RecordBatch) -> Option<()> {
        // Other models need whole rows.
        let scorer = self.scorer.as_linear()?;
        self.all.clear();
        for start in (0..batch.num_rows()).step_by(BLOCK) {
            let rows = BLOCK.min(batch.num_rows() - start);
            self.columns.begin(scorer, rows);
            for (feature, (column, line)) in columns.iter().enumerate() {
                let values = numbers(batch.column(*column), start, rows, &mut self.numbers)?;
                if !self.columns.add(scorer, feature, values, *line) {
                    return None;
                }
            }
            self.columns.finish(scorer, &mut self.scores);
            self.all.extend_from_slice(&self.scores);
        }
        Some(())
    }

    fn score_vectors(&mut self, vectors: &VectorColumn, batch: &RecordBatch) -> Option<()> {
        let values = vectors.values(batch, &mut self.numbers)?;
        self.scorer.scores_of_dense(values, vectors.dim(), &mut self.all);
        Some(())
    }

    fn by_rows(&mut self, batch: &RecordBatch, before: u64, position: u64) -> Result<(), DataError> {
        let mut batch_rows = std::mem::take(&mut self.batch_rows);
        if let Some(rows) = batch_rows.read(self.pass.recipe, batch, before, &self.name)? {
            self.score_rows(rows, before, position)?;
        }
        self.batch_rows = batch_rows;
        Ok(())
    }

    fn score_rows(&mut self, rows: &Batch, before: u64, position: u64) -> Result<(), DataError> {
        let mut scores = std::mem::take(&mut self.all);
        self.scorer.scores_of_rows(&rows.rows, &mut scores);
        let taken = self.give(&as_ids(&rows.ids), &scores, before, position);
        self.all = scores;
        taken
    }

    fn give(&mut self, ids: &RowIds<'_>, scores: &[f64], before: u64, position: u64) -> Result<(), DataError> {
        let rows = (scores.len() / self.scorer.outputs()) as u64;
        self.taker.take(ids, scores, position).map_err(|(row, fault)| {
            let position = DataPosition { line: None, row: before + row as u64 + 1, column: None };
            DataError { file: self.name.clone(), position: Some(position), fault }
        })?;
        if (self.pass.on_rows)(rows) { Ok(()) } else { Err(DataFault::new("stopped", "").of_file(&self.name)) }
    }
}

impl<T: Taker> PoolVisitor for Scoring<'_, T> {
    fn begin(&mut self, name: &str, schema: &SchemaRef) -> Result<Vec<usize>, DataError> {
        name.clone_into(&mut self.name);
        self.batch_rows = BatchRows::default();
        let layout = PoolLayout::new(self.pass.recipe, name, schema)?;
        let decoded = layout.decoded().to_vec();
        self.layout = Some(layout);
        Ok(decoded)
    }

    fn batch(&mut self, batch: &RecordBatch, before: u64, position: u64) -> Result<(), DataError> {
        let Some(layout) = self.layout.take() else { return Ok(()) };
        let batch = layout.project(batch, &self.name)?;
        let done =
            self.quickly(&layout, &batch, before, position).unwrap_or_else(|| self.by_rows(&batch, before, position));
        self.layout = Some(layout);
        done
    }

    fn rows(&mut self, name: &str, rows: &Batch, before: u64, position: u64) -> Result<(), DataError> {
        name.clone_into(&mut self.name);
        self.score_rows(rows, before, position)
    }
}

/// Converts the ids of rows to those a selection takes.
fn as_ids(names: &BatchIds) -> RowIds<'_> {
    match names {
        BatchIds::Numbered { first } => RowIds::Counted(*first),
        BatchIds::Named(names) => RowIds::Texts(names.iter().map(String::as_str).collect()),
    }
}

/// Returns the ids of a column of integers or texts; `None` for other types, or if one is missing.
fn ids<'r>(array: &'r ArrayRef, room: &'r mut Vec<i64>) -> Option<RowIds<'r>> {
    if 0 < array.null_count() {
        return None;
    }
    let texts = |texts: Vec<&'r str>| texts.iter().all(|text| !text.is_empty()).then_some(RowIds::Texts(texts));
    macro_rules! widened {
        ($kind:ty) => {{
            room.extend(array.as_primitive::<$kind>().values().iter().map(|id| i64::from(*id)));
            Some(RowIds::Numbers(room))
        }};
    }
    match array.data_type() {
        DataType::Int64 => Some(RowIds::Numbers(array.as_primitive::<Int64Type>().values())),
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
