//! Draws from pools of files, tables or streams of record batches: whole pools, or parts that other machines merge.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::PyArrowType;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use querist_data::error::{DataError, DataFault};
use querist_data::pool::{PoolEncoder, PoolFiles};
use querist_engine::pool::BLOCK;
use querist_engine::rule::Rule;
use querist_engine::select::{Chosen, Id, IdSet, RowIds, ScaleSample, SelectedRow, Selection};
use querist_ledger::ModelFile;
use querist_run::Model;
use querist_run::select::{
    BatchReader, Decider, Pass, Query, ScoreList, Taker, merge_parts, probability_width, probability_width_of_files,
};

use crate::error::{refused, sheltered, wrong_value};
use crate::model::beside;
use crate::rows::{PythonRows, View};
use crate::threads::in_pieces;

/// A model and the settings of a selection.
#[pyclass(frozen)]
pub(crate) struct Selector {
    model: Model,
    rule: Option<String>,
    /// The rule once its scale is known.
    settled: Option<Rule>,
    k: usize,
    seed: u64,
    id: Option<String>,
    features: Option<String>,
    exclude: IdSet,
    are_probabilities: bool,
}

/// A stream of record batches.
type Stream = PyArrowType<RecordBatchStreamReader>;

/// U of every row, and whether to query it.
type Decided<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>);

#[pymethods]
impl Selector {
    /// Creates a selector. `scale` is a merged sample, for a rule in units of the pool. With `width` there is no model, and
    /// `features` is a column of this number of probabilities.
    #[new]
    #[pyo3(signature = (model, k, seed, rule=None, id=None, features=None, exclude=vec![], width=None, scale=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
    fn new(
        model: Option<&[u8]>,
        k: usize,
        seed: u64,
        rule: Option<String>,
        id: Option<String>,
        features: Option<String>,
        exclude: Vec<String>,
        width: Option<usize>,
        scale: Option<&[u8]>,
    ) -> PyResult<Self> {
        sheltered(|| {
            let model = if let Some(width) = width {
                Model::of_probabilities(width).map_err(|fault| wrong_value("probabilities", in_python(&fault)))?
            } else {
                let file = ModelFile::from_bytes(model.unwrap_or_default());
                let file = file.map_err(|fault| wrong_value("model", fault_text(&fault)))?;
                Model::new(&file.header, &file.arrays).map_err(|error| wrong_value("model", error))?
            };
            let exclude = exclude.iter().map(String::as_str).collect();
            let mut selector =
                Self { model, rule, settled: None, k, seed, id, features, exclude, are_probabilities: width.is_some() };
            let mut settled = selector.query().rule().map_err(|fault| wrong_value("rule", fault.found))?;
            match (&mut settled, scale) {
                (Rule::Relative(rule), Some(bytes)) => {
                    let sample = ScaleSample::from_bytes(bytes).ok_or_else(|| refused("these bytes are no sample"))?;
                    sample.settle(rule);
                    selector.settled = Some(settled);
                }
                (Rule::Relative(_), None) => {}
                _ => selector.settled = Some(settled),
            }
            Ok(selector)
        })
    }

    /// Returns whether the rule needs a first pass over the pool to determine its scale.
    #[getter]
    fn needs_scale(&self) -> bool {
        self.settled.is_none()
    }

    /// Returns the rule's name.
    #[getter]
    fn rule(&self) -> PyResult<String> {
        Ok(self.query().rule().map_err(python_error)?.name())
    }

    /// Returns the number of scores per row.
    #[getter]
    fn outputs(&self) -> usize {
        self.model.scorer.outputs()
    }

    /// Returns the number of classes of the model, or 0 for regression.
    #[getter]
    fn classes(&self) -> usize {
        self.model.labels.classes()
    }

    /// Returns the name of the model's loss.
    #[getter]
    fn loss(&self) -> &str {
        &self.model.loss
    }

    /// Returns the columns to read. A column named `id` is used for ids if no other is named.
    fn columns(&self, given: Vec<String>) -> PyResult<Vec<String>> {
        Ok(self.recipe(given.iter().map(String::as_str))?.columns())
    }

    /// Draws from files on this many threads.
    #[pyo3(signature = (pool, threads=None))]
    fn files<'py>(&self, py: Python<'py>, pool: &str, threads: Option<usize>) -> PyResult<Bound<'py, PyTuple>> {
        sheltered(|| {
            let pool = PoolFiles::find(pool).map_err(refused)?;
            let threads = threads.or_else(|| std::thread::available_parallelism().ok().map(NonZero::get)).unwrap_or(1);
            let stop = AtomicBool::new(false);
            let is_running = |_| !stop.load(Ordering::Relaxed);
            let (chosen, _) =
                beside(py, &stop, || self.query().select(&pool, threads, &is_running))?.map_err(refused)?;
            tuple(py, chosen)
        })
    }

    /// Samples a part of the pool, for the scale of the rule.
    #[pyo3(signature = (stream, before=0))]
    fn sample<'py>(&self, py: Python<'py>, stream: Stream, before: u64) -> PyResult<Bound<'py, PyBytes>> {
        let taker = self.read(py, stream, before, self.query().sampler())?;
        Ok(PyBytes::new(py, &taker.inner.sample.to_bytes()))
    }

    /// Selects from a part of the pool.
    #[pyo3(signature = (stream, before=0))]
    fn part<'py>(&self, py: Python<'py>, stream: Stream, before: u64) -> PyResult<Bound<'py, PyBytes>> {
        let rule = self.ready()?;
        let taker = self.read(py, stream, before, self.query().chooser(rule))?;
        Ok(PyBytes::new(py, &taker.inner.into_selection().to_bytes()))
    }

    /// Returns the selection of an empty part.
    fn empty<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &Selection::new(self.seed, self.k).to_bytes())
    }

    /// Returns U of every row, and whether its random draw queries it.
    fn decide<'py>(&self, py: Python<'py>, stream: Stream) -> PyResult<Decided<'py>> {
        let decider = Decider::new(self.ready()?.clone(), self.outputs(), self.seed);
        let taker = self.read(py, stream, 0, decider)?;
        Ok((taker.u.into_pyarray(py), taker.asks.into_pyarray(py)))
    }

    /// Returns the scores of every row.
    fn scores<'py>(&self, py: Python<'py>, stream: Stream) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let taker = self.read(py, stream, 0, ScoreList::default())?;
        self.score_table(py, taker.0)
    }

    /// Returns the scores of every row of files, in their order.
    fn file_scores<'py>(&self, py: Python<'py>, pool: &str) -> PyResult<Bound<'py, PyArray2<f64>>> {
        sheltered(|| {
            let pool = PoolFiles::find(pool).map_err(refused)?;
            let mut recipe = self.query().recipe().map_err(|fault| wrong_value("features", in_python(&fault)))?;
            recipe.guess_id(std::iter::empty());
            let stop = AtomicBool::new(false);
            let on_rows = |_| !stop.load(Ordering::Relaxed);
            // A single thread reads the rows in order.
            let pass = Pass { recipe: &recipe, scorer: &self.model.scorer, threads: 1, on_rows: &on_rows };
            let found = beside(py, &stop, || pass.over(&pool, ScoreList::default))?.map_err(refused)?;
            self.score_table(py, found.into_iter().flat_map(|list| list.0).collect())
        })
    }

    /// Draws from rows in memory, whose ids are their indices.
    fn rows<'py>(&self, py: Python<'py>, x: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
        sheltered(|| {
            let table = PythonRows::take("pool", x)?;
            let view = table.view()?;
            if self.model.encoder.is_some() || view.dim != self.model.scorer.dim() {
                let found = format!("arrays have no columns; need a model of {} plain features", view.dim);
                return Err(wrong_value("model", found));
            }
            let mut rule = self.query().rule().map_err(python_error)?;
            if let Rule::Relative(rule) = &mut rule {
                let mut sampler = self.query().sampler();
                self.read_rows(py, &view, &mut sampler)?;
                sampler.inner.sample.settle(rule);
            }
            let mut chooser = self.query().chooser(&rule);
            self.read_rows(py, &view, &mut chooser)?;
            tuple(py, chooser.inner.into_selection().finish().map_err(refused)?)
        })
    }

    /// Merges parts of a selection.
    #[staticmethod]
    fn merge(py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<Bound<'_, PyBytes>> {
        sheltered(|| Ok(PyBytes::new(py, &merge_parts(&parts).map_err(refused)?.to_bytes())))
    }

    /// Merges parts of a sample.
    #[staticmethod]
    fn merge_samples(py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<Bound<'_, PyBytes>> {
        let mut all = ScaleSample::default();
        for part in parts {
            all.merge(ScaleSample::from_bytes(&part).ok_or_else(|| refused("these bytes are no sample"))?);
        }
        Ok(PyBytes::new(py, &all.to_bytes()))
    }

    /// Returns the result of a selection: the number of rows, ΣU, the threshold, ids, U, keys, probabilities,
    /// inclusions.
    #[staticmethod]
    fn finish(py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<Bound<'_, PyTuple>> {
        sheltered(|| tuple(py, merge_parts(&parts).map_err(refused)?.finish().map_err(refused)?))
    }
}

impl Selector {
    /// Returns scores as a table, a row for each row.
    fn score_table<'py>(&self, py: Python<'py>, scores: Vec<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = scores.len() / self.outputs();
        scores.into_pyarray(py).reshape([rows, self.outputs()])
    }

    fn query(&self) -> Query<'_> {
        Query {
            model: &self.model,
            rule: self.rule.as_deref(),
            k: self.k,
            seed: self.seed,
            id: self.id.as_deref(),
            features: self.features.as_deref(),
            exclude: Some(&self.exclude),
            are_probabilities: self.are_probabilities,
        }
    }

    fn recipe<'n>(&self, names: impl Iterator<Item = &'n str>) -> PyResult<PoolEncoder> {
        let mut recipe = self.query().recipe().map_err(|fault| wrong_value("features", in_python(&fault)))?;
        recipe.guess_id(names);
        Ok(recipe)
    }

    fn ready(&self) -> PyResult<&Rule> {
        self.settled.as_ref().ok_or_else(|| PyValueError::new_err("rule: its scale is not known yet"))
    }

    /// Scores every row in memory without the GIL, and checks for Ctrl-C between pieces.
    fn read_rows<T: Taker>(&self, py: Python<'_>, view: &View<'_>, taker: &mut T) -> PyResult<()> {
        let outputs = self.outputs();
        let mut buffer = vec![0.0; BLOCK * outputs];
        in_pieces(py, view.rows, (BLOCK, view.dim), |rows| {
            for first in rows.clone().step_by(BLOCK) {
                let scores = &mut buffer[..BLOCK.min(rows.end - first) * outputs];
                view.score(&self.model.scorer, outputs, first, scores)?;
                let row = first as u64;
                taker.take(&RowIds::Counted(row), scores, row).map_err(|(_, fault)| python_error(fault))?;
            }
            Ok(())
        })
    }

    /// Scores every row of a stream without the GIL, and checks for Ctrl-C between batches.
    fn read<T: Taker>(&self, py: Python<'_>, stream: Stream, before: u64, taker: T) -> PyResult<T> {
        sheltered(|| {
            let mut reader = stream.0;
            let schema = reader.schema();
            let recipe = self.recipe(schema.fields().iter().map(|field| field.name().as_str()))?;
            let pass = Pass { recipe: &recipe, scorer: &self.model.scorer, threads: 1, on_rows: &|_| true };
            let mut batches = BatchReader::new(&pass, schema, "the table", before, taker).map_err(refused)?;
            loop {
                let next = py.detach(|| {
                    let Some(batch) = reader.next() else { return Ok(false) };
                    let batch = batch.map_err(|error| DataFault::new(error.to_string(), "").of_file("the table"))?;
                    batches.take(&batch).map(|()| true)
                });
                if !next.map_err(|error: DataError| refused(error))? {
                    return Ok(batches.into_taker());
                }
                py.check_signals()?;
            }
        })
    }
}

/// Returns the number of probabilities in each row of a column of files, 1 for numbers.
#[pyfunction]
pub(crate) fn width_of_files(py: Python<'_>, pool: &str, column: &str) -> PyResult<usize> {
    sheltered(|| {
        let pool = PoolFiles::find(pool).map_err(refused)?;
        py.detach(|| probability_width_of_files(&pool, column)).map_err(refused)
    })
}

/// Returns the number of probabilities in each row of a column of a table, 1 for numbers.
#[pyfunction]
pub(crate) fn width_of_table(stream: Stream, column: &str) -> PyResult<usize> {
    sheltered(|| {
        let mut reader = stream.0;
        let schema = reader.schema();
        let field = schema.field_with_name(column);
        let field = field.map_err(|_| wrong_value("probabilities", format!("no column `{column}`")))?;
        let mut width = probability_width(field.data_type(), None);
        while width.is_none() {
            let Some(batch) = reader.next() else { break };
            let batch = batch.map_err(refused)?;
            width = batch.column_by_name(column).and_then(|array| probability_width(array.data_type(), Some(array)));
        }
        width.ok_or_else(|| wrong_value("probabilities", format!("no row has a value in the column `{column}`")))
    })
}

fn tuple(py: Python<'_>, chosen: Chosen) -> PyResult<Bound<'_, PyTuple>> {
    let drawn = &chosen.drawn;
    let whole = |drawn: &SelectedRow| match &drawn.id {
        Id::Number(number) => Some(*number),
        Id::Text(_) => None,
    };
    let ids = match drawn.iter().map(whole).collect::<Option<Vec<i64>>>() {
        Some(numbers) => numbers.into_pyarray(py).into_any(),
        None => drawn.iter().map(|drawn| drawn.id.to_string()).collect::<Vec<_>>().into_pyobject(py)?.into_any(),
    };
    let column = |of: fn(&SelectedRow) -> f64| drawn.iter().map(of).collect::<Vec<f64>>().into_pyarray(py);
    let columns = (
        column(|drawn| drawn.uncertainty),
        column(|drawn| drawn.key),
        column(|drawn| drawn.probability),
        column(|drawn| drawn.inclusion),
    );
    (chosen.rows, chosen.sum, chosen.threshold, ids, columns.0, columns.1, columns.2, columns.3).into_pyobject(py)
}

fn python_error(fault: DataFault) -> PyErr {
    refused(in_python(&fault))
}

/// Formats a fault without its hints, which are about flags of the command line.
fn in_python(fault: &DataFault) -> String {
    let expected = if fault.expected.is_empty() { String::new() } else { format!("; expected {}", fault.expected) };
    format!("{}{expected}", fault.found)
}

fn fault_text(fault: &querist_ledger::ModelFault) -> String {
    match fault {
        querist_ledger::ModelFault::NotAModel => "not a model file of querist".to_owned(),
        querist_ledger::ModelFault::Version { found } => format!("a model file of version {found}, which is not known"),
        querist_ledger::ModelFault::CutShort { has, of } => format!("cut short: has {has} of {of} bytes"),
        querist_ledger::ModelFault::Damaged { found } => format!("damaged: {found}"),
        querist_ledger::ModelFault::System(error) => error.to_string(),
        other => other.to_string(),
    }
}
