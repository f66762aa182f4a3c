//! Drawing from pools that are files, tables or streams of record batches: whole, or in parts that other machines merge.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::PyArrowType;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use querist_data::error::{DataError, Fault};
use querist_data::pool::{Pool, Recipe};
use querist_engine::pool::BLOCK;
use querist_engine::rule::Rule;
use querist_engine::select::{Chosen, Drawn, Id, Ids, ScaleSample, Selection};
use querist_ledger::ModelFile;
use querist_run::Model;
use querist_run::select::{Batches, Decider, Pass, Query, ScoreList, Taker, merge_parts};

use crate::error::{refused, sheltered, wrong_value};
use crate::model::beside;
use crate::rows::{Table, View};
use crate::threads::in_pieces;

/// A model and what is to be drawn by it.
#[pyclass(frozen)]
pub(crate) struct Selector {
    model: Model,
    rule: Option<String>,
    /// The rule where its scale is known.
    settled: Option<Rule>,
    k: usize,
    seed: u64,
    id: Option<String>,
    features: Option<String>,
}

/// What a stream of record batches is.
type Stream = PyArrowType<RecordBatchStreamReader>;

/// U of every row, and whether it is asked about.
type Decided<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>);

#[pymethods]
impl Selector {
    /// `scale` is a merged sample, for a rule in units of the pool.
    #[new]
    #[pyo3(signature = (model, k, seed, rule=None, id=None, features=None, scale=None))]
    fn new(
        model: &[u8],
        k: usize,
        seed: u64,
        rule: Option<String>,
        id: Option<String>,
        features: Option<String>,
        scale: Option<&[u8]>,
    ) -> PyResult<Self> {
        sheltered(|| {
            let file = ModelFile::from_bytes(model).map_err(|fault| wrong_value("model", fault_text(&fault)))?;
            let model = Model::new(&file.header, &file.arrays).map_err(|error| wrong_value("model", error))?;
            let mut selector = Self { model, rule, settled: None, k, seed, id, features };
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

    /// Whether the rule must see the pool once before it draws.
    #[getter]
    fn needs_scale(&self) -> bool {
        self.settled.is_none()
    }

    /// The rule's name.
    #[getter]
    fn rule(&self) -> PyResult<String> {
        Ok(self.query().rule().map_err(told)?.name())
    }

    /// How many scores a row has.
    #[getter]
    fn outputs(&self) -> usize {
        self.model.scorer.outputs()
    }

    /// How many classes the model tells apart; 0 for numbers.
    #[getter]
    fn classes(&self) -> usize {
        self.model.labels.classes()
    }

    /// The loss of the model.
    #[getter]
    fn loss(&self) -> &str {
        &self.model.loss
    }

    /// The columns that are read; a column `id` among the given ones is taken for ids where none is named.
    fn columns(&self, given: Vec<String>) -> PyResult<Vec<String>> {
        Ok(self.recipe(given.iter().map(String::as_str))?.columns())
    }

    /// Draws from files, on so many threads.
    #[pyo3(signature = (pool, threads=None))]
    fn files<'py>(&self, py: Python<'py>, pool: &str, threads: Option<usize>) -> PyResult<Bound<'py, PyTuple>> {
        sheltered(|| {
            let pool = Pool::find(pool).map_err(refused)?;
            let threads = threads.or_else(|| std::thread::available_parallelism().ok().map(NonZero::get)).unwrap_or(1);
            let stop = AtomicBool::new(false);
            let told = |_| !stop.load(Ordering::Relaxed);
            let (chosen, _) = beside(py, &stop, || self.query().select(&pool, threads, &told))?.map_err(refused)?;
            tuple(py, chosen)
        })
    }

    /// A sample of a part of the pool, for the scale of the rule.
    #[pyo3(signature = (stream, before=0))]
    fn sample<'py>(&self, py: Python<'py>, stream: Stream, before: u64) -> PyResult<Bound<'py, PyBytes>> {
        let taker = self.read(py, stream, before, self.query().sampler())?;
        Ok(PyBytes::new(py, &taker.sample.to_bytes()))
    }

    /// The selection from a part of the pool.
    #[pyo3(signature = (stream, before=0))]
    fn part<'py>(&self, py: Python<'py>, stream: Stream, before: u64) -> PyResult<Bound<'py, PyBytes>> {
        let rule = self.ready()?;
        let taker = self.read(py, stream, before, self.query().chooser(rule))?;
        Ok(PyBytes::new(py, &taker.into_selection().to_bytes()))
    }

    /// The selection from no rows.
    fn empty<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &Selection::new(self.seed, self.k).to_bytes())
    }

    /// Of every row U, and whether its coin asks about it.
    fn decide<'py>(&self, py: Python<'py>, stream: Stream) -> PyResult<Decided<'py>> {
        let decider = Decider::new(self.ready()?.clone(), self.outputs(), self.seed);
        let taker = self.read(py, stream, 0, decider)?;
        Ok((taker.u.into_pyarray(py), taker.asks.into_pyarray(py)))
    }

    /// The scores of every row.
    fn scores<'py>(&self, py: Python<'py>, stream: Stream) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let taker = self.read(py, stream, 0, ScoreList::default())?;
        let rows = taker.0.len() / self.outputs();
        taker.0.into_pyarray(py).reshape([rows, self.outputs()])
    }

    /// Draws from rows in memory; ids are their places.
    fn rows<'py>(&self, py: Python<'py>, x: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
        sheltered(|| {
            let table = Table::take("pool", x)?;
            let view = table.view()?;
            if self.model.encoder.is_some() || view.dim != self.model.scorer.dim() {
                let found = format!("arrays have no columns; need a model of {} plain features", view.dim);
                return Err(wrong_value("model", found));
            }
            let mut rule = self.query().rule().map_err(told)?;
            if let Rule::Relative(rule) = &mut rule {
                let mut sampler = self.query().sampler();
                self.read_rows(py, &view, &mut sampler)?;
                sampler.sample.settle(rule);
            }
            let mut chooser = self.query().chooser(&rule);
            self.read_rows(py, &view, &mut chooser)?;
            tuple(py, chooser.into_selection().finish().map_err(refused)?)
        })
    }

    /// Parts of a selection as one.
    #[staticmethod]
    fn merge(py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<Bound<'_, PyBytes>> {
        sheltered(|| Ok(PyBytes::new(py, &merge_parts(&parts).map_err(refused)?.to_bytes())))
    }

    /// Parts of a sample as one.
    #[staticmethod]
    fn merge_samples(py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<Bound<'_, PyBytes>> {
        let mut all = ScaleSample::default();
        for part in parts {
            all.merge(ScaleSample::from_bytes(&part).ok_or_else(|| refused("these bytes are no sample"))?);
        }
        Ok(PyBytes::new(py, &all.to_bytes()))
    }

    /// The rows drawn: how many rows there are, ΣU, the threshold, ids, U, keys, probabilities, inclusions.
    #[staticmethod]
    fn finish(py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<Bound<'_, PyTuple>> {
        sheltered(|| tuple(py, merge_parts(&parts).map_err(refused)?.finish().map_err(refused)?))
    }
}

impl Selector {
    fn query(&self) -> Query<'_> {
        Query {
            model: &self.model,
            rule: self.rule.as_deref(),
            k: self.k,
            seed: self.seed,
            id: self.id.as_deref(),
            features: self.features.as_deref(),
        }
    }

    fn recipe<'n>(&self, names: impl Iterator<Item = &'n str>) -> PyResult<Recipe> {
        let mut recipe = self.query().recipe().map_err(|fault| wrong_value("features", in_python(&fault)))?;
        recipe.guess_id(names);
        Ok(recipe)
    }

    fn ready(&self) -> PyResult<&Rule> {
        self.settled.as_ref().ok_or_else(|| PyValueError::new_err("rule: its scale is not known yet"))
    }

    /// Scores every row that is in memory, without Python's lock; Ctrl-C is looked for now and then.
    fn read_rows<T: Taker>(&self, py: Python<'_>, view: &View<'_>, taker: &mut T) -> PyResult<()> {
        let outputs = self.outputs();
        let mut room = vec![0.0; BLOCK * outputs];
        in_pieces(py, view.rows, (BLOCK, view.dim), |rows| {
            for first in rows.clone().step_by(BLOCK) {
                let scores = &mut room[..BLOCK.min(rows.end - first) * outputs];
                view.score(&self.model.scorer, outputs, first, scores)?;
                let place = first as u64;
                taker.take(&Ids::Counted(place), scores, place).map_err(|(_, fault)| told(fault))?;
            }
            Ok(())
        })
    }

    /// Scores every row of a stream, without Python's lock; Ctrl-C is looked for between batches.
    fn read<T: Taker>(&self, py: Python<'_>, stream: Stream, before: u64, taker: T) -> PyResult<T> {
        sheltered(|| {
            let mut reader = stream.0;
            let schema = reader.schema();
            let recipe = self.recipe(schema.fields().iter().map(|field| field.name().as_str()))?;
            let pass = Pass { recipe: &recipe, scorer: &self.model.scorer, threads: 1, told: &|_| true };
            let mut batches = Batches::new(&pass, schema, "the table", before, taker).map_err(refused)?;
            loop {
                let next = py.detach(|| {
                    let Some(batch) = reader.next() else { return Ok(false) };
                    let batch = batch.map_err(|error| Fault::new(error.to_string(), "").of_file("the table"))?;
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

fn tuple(py: Python<'_>, chosen: Chosen) -> PyResult<Bound<'_, PyTuple>> {
    let drawn = &chosen.drawn;
    let whole = |drawn: &Drawn| match &drawn.id {
        Id::Number(number) => Some(*number),
        Id::Text(_) => None,
    };
    let ids = match drawn.iter().map(whole).collect::<Option<Vec<i64>>>() {
        Some(numbers) => numbers.into_pyarray(py).into_any(),
        None => drawn.iter().map(|drawn| drawn.id.to_string()).collect::<Vec<_>>().into_pyobject(py)?.into_any(),
    };
    let column = |of: fn(&Drawn) -> f64| drawn.iter().map(of).collect::<Vec<f64>>().into_pyarray(py);
    let columns = (
        column(|drawn| drawn.uncertainty),
        column(|drawn| drawn.key),
        column(|drawn| drawn.probability),
        column(|drawn| drawn.inclusion),
    );
    (chosen.rows, chosen.sum, chosen.threshold, ids, columns.0, columns.1, columns.2, columns.3).into_pyobject(py)
}

fn told(fault: Fault) -> PyErr {
    refused(in_python(&fault))
}

/// Hints are about flags of the command line; here they are arguments.
fn in_python(fault: &Fault) -> String {
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
    }
}
