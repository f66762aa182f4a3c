//! A pool whose rows are scored by a model in Python.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use querist_engine::estimate::{ClassScores, Invalid};
use querist_engine::pool::{
    ColdMethod, DrawMethod, PredictionKind, PredictionValues, Predictions, ScoredDraw, ScoredPool, ScoredPoolError,
    ScoredPoolEstimate,
};
use querist_rows::Rows;
use querist_run::scored_pool::{NotRecorded, ScoredPoolRun, ScoredPoolRunSettings};

use crate::error::{refused, sheltered, wrong_value};
use crate::estimate::{ClassParts, EstimateParts, class_parts, estimate_parts};
use crate::rows::PythonRows;
use crate::threads::threads;

/// The settings of a pool: rows, rule, classes as JSON, cold start, precision, seed.
type Settings = (usize, String, Option<String>, String, Option<String>, u64);

/// A table of predictions: contiguous rows.
#[derive(FromPyObject)]
pub(crate) enum HeldTable<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

/// The name of the argument, and the table.
type Given<'py> = (String, HeldTable<'py>);

impl HeldTable<'_> {
    fn predictions(&self, name: &str) -> PyResult<Predictions<'_>> {
        let kind = if name == "probabilities" { PredictionKind::Probabilities } else { PredictionKind::Scores };
        self.predictions_of(kind, name)
    }

    /// Returns the predictions without a copy; `name` is that of the argument, for errors.
    pub(crate) fn predictions_of(&self, kind: PredictionKind, name: &str) -> PyResult<Predictions<'_>> {
        let not_contiguous = |_| wrong_value(name, "need contiguous rows");
        let (values, columns) = match self {
            Self::F32(array) => (PredictionValues::F32(array.as_slice().map_err(not_contiguous)?), array.shape()[1]),
            Self::F64(array) => (PredictionValues::F64(array.as_slice().map_err(not_contiguous)?), array.shape()[1]),
        };
        Ok(Predictions::new(values, columns, kind))
    }
}

/// A pool and its ledger, and the features for coverage.
#[pyclass(frozen)]
pub(crate) struct PoolState {
    run: Mutex<Option<ScoredPoolRun>>,
    features: Option<Rows>,
}

/// Rows, probabilities, floors, and the number of each method's draws: by the rule, uniform, by coverage, uniform because
/// U is 0.
type DrawnRows = (Vec<i64>, Vec<f64>, Vec<f64>, [usize; 4]);

/// Rows, probabilities, floors, and the class of each or −1.
type AllDraws = (Vec<i64>, Vec<f64>, Vec<f64>, Vec<i64>);

/// Accuracy, log loss, Brier score and the scores of each class.
type PoolEstimateParts = (EstimateParts, EstimateParts, EstimateParts, Vec<ClassParts>);

#[pymethods]
impl PoolState {
    #[new]
    fn new(
        py: Python<'_>,
        settings: Settings,
        ledger: Option<PathBuf>,
        features: Option<Bound<'_, PyTuple>>,
    ) -> PyResult<Self> {
        sheltered(|| {
            let (rows, rule, classes, cold, precision, seed) = settings;
            let classes = classes.map(|text| serde_json::from_str(&text)).transpose();
            let precision = precision.map(|text| text.parse()).transpose();
            let settings = ScoredPoolRunSettings {
                rows,
                rule,
                classes: classes.map_err(|error| wrong_value("classes", error))?,
                cold: match cold.as_str() {
                    "random" => ColdMethod::Random,
                    "coverage" => ColdMethod::Coverage,
                    _ => ColdMethod::None,
                },
                precision: precision.map_err(|error| wrong_value("precision", error))?,
                seed,
            };
            let features = match features {
                None => None,
                Some(table) => {
                    let table = PythonRows::take("features", &table)?;
                    let view = table.view()?;
                    Some(py.detach(|| view.own())?)
                }
            };
            let run = py.detach(|| ScoredPoolRun::open(&settings, ledger.as_deref())).map_err(not_recorded)?;
            Ok(Self { run: Mutex::new(Some(run)), features })
        })
    }

    /// Draws rows and records them.
    fn draw(&self, py: Python<'_>, given: Option<Given<'_>>, n: usize) -> PyResult<DrawnRows> {
        sheltered(|| {
            let predictions = given.as_ref().map(|(name, table)| table.predictions(name)).transpose()?;
            let name = given.as_ref().map_or("probabilities", |(name, _)| name);
            let threads = threads()?;
            let drawn = py.detach(|| {
                let mut held = self.held();
                let run = held.as_mut().ok_or_else(closed)?;
                let drawn = threads.install(|| run.draw(predictions.as_ref(), self.features.as_ref(), n));
                let count = drawn.map(<[ScoredDraw]>::len).map_err(|error| named(error, name))?;
                let first = run.pool().draws().len() - count;
                Ok::<_, PyErr>(drawn_rows(run.pool(), first))
            })?;
            Ok(drawn)
        })
    }

    /// Records the classes of rows.
    fn answer(&self, py: Python<'_>, rows: Vec<usize>, classes: Vec<usize>) -> PyResult<()> {
        sheltered(|| {
            let answers: Vec<(usize, usize)> = rows.into_iter().zip(classes).collect();
            py.detach(|| self.held().as_mut().ok_or_else(closed)?.answer(&answers).map_err(not_recorded))
        })
    }

    /// Estimates the performance of a model on the pool.
    fn estimate(&self, py: Python<'_>, given: Given<'_>, confidence: f64) -> PyResult<PoolEstimateParts> {
        sheltered(|| {
            let predictions = given.1.predictions(&given.0)?;
            let found = py.detach(|| {
                let held = self.held();
                let pool = held.as_ref().ok_or_else(closed)?.pool();
                pool.estimate(&predictions, confidence).map_err(|error| named(error.into(), &given.0))
            })?;
            let found = found.map_err(|invalid| no_estimate(&invalid))?;
            let ScoredPoolEstimate { accuracy, log_loss, brier, classes, .. } = &found;
            let parts = [accuracy, log_loss, brier].map(estimate_parts);
            let [accuracy, log_loss, brier] = parts;
            Ok((accuracy, log_loss, brier, classes.iter().map(|scores: &ClassScores| class_parts(scores)).collect()))
        })
    }

    /// Returns whether to stop, and the reason.
    fn advise(&self, py: Python<'_>, given: Option<Given<'_>>, stop: Option<&str>) -> PyResult<(bool, String)> {
        sheltered(|| {
            let predictions = given.as_ref().map(|(name, table)| table.predictions(name)).transpose()?;
            let name = given.as_ref().map_or("probabilities", |(name, _)| name);
            py.detach(|| {
                let held = self.held();
                let run = held.as_ref().ok_or_else(closed)?;
                let rule = run.stop_rule(stop).map_err(|error| wrong_value("stop", error))?;
                let found = match &predictions {
                    // Before the first answer there is no estimate, and the advice says so.
                    Some(predictions) if 0 < run.pool().n_usable() => {
                        let found = run.pool().estimate(predictions, 0.95);
                        found.map_err(|error| named(error.into(), name))?.ok()
                    }
                    _ => None,
                };
                let advice = run.pool().advise(&rule, found.as_ref());
                Ok((advice.stop, advice.why))
            })
        })
    }

    /// Returns the leveled weight of each draw, and U of each draw: at these predictions, or at those of its time.
    fn weights(&self, py: Python<'_>, given: Option<Given<'_>>) -> PyResult<(Vec<f64>, Vec<f64>)> {
        sheltered(|| {
            let predictions = given.as_ref().map(|(name, table)| table.predictions(name)).transpose()?;
            let name = given.as_ref().map_or("probabilities", |(name, _)| name);
            py.detach(|| {
                let held = self.held();
                let pool = held.as_ref().ok_or_else(closed)?.pool();
                let uncertainties = match &predictions {
                    Some(predictions) => {
                        let found = pool.uncertainties(predictions);
                        found.map_err(|error| named(error.into(), name))?
                    }
                    None => pool.draws().iter().map(|draw| draw.uncertainty).collect(),
                };
                Ok((pool.leveled_weights(), uncertainties))
            })
        })
    }

    /// Returns all draws: rows, probabilities, floors, and the class of each or −1.
    fn drawn(&self, py: Python<'_>) -> PyResult<AllDraws> {
        py.detach(|| {
            let held = self.held();
            let pool = held.as_ref().ok_or_else(closed)?.pool();
            let (rows, probabilities, floors, _) = drawn_rows(pool, 0);
            let classes = pool.answers().iter().map(|class| class.map_or(-1, |class| class as i64)).collect();
            Ok((rows, probabilities, floors, classes))
        })
    }

    /// Returns the number of rows that are left, the number of classes, whether the next draw is cold, and the rule.
    fn status(&self, py: Python<'_>) -> PyResult<(usize, Option<usize>, bool, String)> {
        py.detach(|| {
            let held = self.held();
            let pool = held.as_ref().ok_or_else(closed)?.pool();
            Ok((pool.left(), pool.classes(), pool.is_cold(), pool.rule_name()))
        })
    }

    /// Closes the ledger.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.held().take()));
    }
}

impl PoolState {
    fn held(&self) -> MutexGuard<'_, Option<ScoredPoolRun>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn drawn_rows(pool: &ScoredPool, first: usize) -> DrawnRows {
    let draws = &pool.draws()[first..];
    let probabilities = pool.probabilities();
    let count = |method| draws.iter().filter(|draw| draw.method == method).count();
    let methods = [DrawMethod::Rule, DrawMethod::Uniform, DrawMethod::Coverage, DrawMethod::Fallback];
    (
        draws.iter().map(|draw| draw.row as i64).collect(),
        draws.iter().map(|draw| draw.probability).collect(),
        probabilities[first..].iter().map(|draw| draw.floor).collect(),
        methods.map(count),
    )
}

fn closed() -> PyErr {
    refused("the pool is closed; open it again")
}

fn not_recorded(error: NotRecorded) -> PyErr {
    named(error, "probabilities")
}

/// Creates the exception that names the wrong argument, of which `predictions` is the name of that with predictions.
fn named(error: NotRecorded, predictions: &str) -> PyErr {
    let error = match error {
        NotRecorded::Draw(error) => error,
        other => return refused(other),
    };
    let argument = match &error {
        ScoredPoolError::NoRow(_) => return refused(&error),
        ScoredPoolError::TooFew { .. } => "n",
        ScoredPoolError::NoFeatures => "features",
        ScoredPoolError::Rule(_) => "rule",
        ScoredPoolError::Settings(_) => "precision",
        ScoredPoolError::NotDrawn { .. } | ScoredPoolError::Answered { .. } => "draw",
        ScoredPoolError::NoClass { .. } => "labels",
        _ => predictions,
    };
    wrong_value(argument, error)
}

fn no_estimate(invalid: &Invalid) -> PyErr {
    match invalid {
        Invalid::NoDraws => refused("no answer yet: nothing can be estimated"),
        other => refused(other),
    }
}
