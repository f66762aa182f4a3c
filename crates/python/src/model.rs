//! Linear models: fitting, scoring, and model files.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use numpy::ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use querist_engine::fit::{Problem, minimize, strength};
use querist_engine::linear::Linear;
use querist_engine::pool::BLOCK;
use querist_engine::scorer::Scorer;
use querist_engine::task::{self, Labels, Task};
use querist_ledger::{ModelFault, ModelFile};
use querist_rows::Rows;
use querist_run::Model;
use rayon::prelude::*;

use crate::error::{refused, sheltered, wrong_value};
use crate::rows::PythonRows;
use crate::threads::in_pieces;

/// Returns the kind of labels for a number of classes; 0 means regression.
pub(crate) fn labels_of(classes: usize) -> Labels {
    match classes {
        0 => Labels::Numbers,
        2 => Labels::Binary,
        classes => Labels::Classes(classes),
    }
}

/// Parses the named loss.
pub(crate) fn task_of(loss: &str, classes: usize) -> PyResult<Box<dyn Task>> {
    task::parse(loss, labels_of(classes)).map_err(|error| wrong_value("loss", error))
}

/// A task whose fit can be stopped from another thread, by unwinding the caller.
#[derive(Debug)]
struct Stoppable {
    task: Box<dyn Task>,
    stop: Arc<AtomicBool>,
}

struct StopSignal;

impl Stoppable {
    fn check_stop(&self) {
        if self.stop.load(Ordering::Relaxed) {
            resume_unwind(Box::new(StopSignal));
        }
    }
}

impl Task for Stoppable {
    fn name(&self) -> &str {
        self.task.name()
    }

    fn outputs(&self) -> usize {
        self.task.outputs()
    }

    fn loss(&self, scores: &[f64], label: f64) -> f64 {
        self.check_stop();
        self.task.loss(scores, label)
    }

    fn slope(&self, scores: &[f64], label: f64, out: &mut [f64]) {
        self.task.slope(scores, label, out);
    }

    fn curve(&self, scores: &[f64], label: f64, direction: &[f64], out: &mut [f64]) {
        self.check_stop();
        self.task.curve(scores, label, direction, out);
    }

    fn prepare_curve(&self, scores: &mut [f64], label: f64) {
        self.task.prepare_curve(scores, label);
    }

    fn curve_prepared(&self, prepared: &[f64], label: f64, direction: &[f64], out: &mut [f64]) {
        self.check_stop();
        self.task.curve_prepared(prepared, label, direction, out);
    }

    fn smooth(&self) -> Option<Box<dyn Task>> {
        None
    }

    fn decide(&self, scores: &[f64]) -> f64 {
        self.task.decide(scores)
    }

    fn probabilities(&self, scores: &[f64]) -> Option<Vec<f64>> {
        self.task.probabilities(scores)
    }

    fn is_logistic(&self) -> bool {
        self.task.is_logistic()
    }

    fn steepness(&self) -> Option<f64> {
        self.task.steepness()
    }

    fn is_classification(&self) -> bool {
        self.task.is_classification()
    }
}

/// A fit with owned data, so that Python can continue meanwhile.
struct OwnedFitProblem {
    task: Stoppable,
    model: Linear,
    rows: Rows,
    labels: Vec<f64>,
    weights: Vec<f64>,
    strength: Option<f64>,
    seed: u64,
}

impl OwnedFitProblem {
    /// Fits the model and returns θ with the intercepts first, and λ.
    fn solve(&self) -> (Vec<f64>, f64) {
        let problem = Problem {
            task: &self.task,
            model: self.model,
            rows: (&self.rows).into(),
            labels: &self.labels,
            weights: &self.weights,
            strength: 1.0,
        };
        let strength = self.strength.unwrap_or_else(|| strength(&problem, self.seed));
        (minimize(&Problem { strength, ..problem }).0, strength)
    }
}

/// Runs long work on another thread while this thread checks for Ctrl-C.
pub(crate) fn beside<T: Send>(py: Python<'_>, stop: &AtomicBool, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (send, done) = channel();
        // Only this thread reads the channel, but a closure that runs without the GIL must be `Send`.
        let done = Mutex::new(done);
        let wait = || done.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(Duration::from_millis(20));
        scope.spawn(move || {
            // The receiver may be gone.
            let _ = send.send(catch_unwind(AssertUnwindSafe(work)));
        });
        loop {
            match py.detach(wait) {
                Ok(Ok(found)) => return Ok(found),
                Ok(Err(panic)) => resume_unwind(panic),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = py.check_signals() {
                        stop.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(refused("the work ended without a result")),
            }
        }
    })
}

/// Validates rows for repeated learning and converts them to the feature type `f32`.
#[pyfunction]
pub(crate) fn kept<'py>(py: Python<'py>, x: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    sheltered(|| {
        let table = PythonRows::take("X", x)?;
        let view = table.view()?;
        match py.detach(|| view.own())? {
            Rows::Dense(rows) => {
                let matrix = rows.into_values().into_pyarray(py).reshape([view.rows, view.dim])?;
                ("matrix", matrix).into_pyobject(py)
            }
            Rows::Sparse(rows) => {
                let (mut ends, mut index, mut value) = (vec![0_i64], vec![], vec![]);
                for row in 0..rows.len() {
                    let x = rows.row(row);
                    index.extend(x.index.iter().map(|j| i64::from(*j)));
                    value.extend_from_slice(x.value);
                    ends.push(index.len() as i64);
                }
                let (ends, index, value) = (ends.into_pyarray(py), index.into_pyarray(py), value.into_pyarray(py));
                ("csr", ends, index, value, view.dim).into_pyobject(py)
            }
        }
    })
}

/// Fits a model and returns its weights feature by feature, then the intercepts, and λ.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyTuple>,
    y: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    loss: &str,
    classes: usize,
    intercept: bool,
    l2: Option<f64>,
    seed: u64,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64)> {
    sheltered(|| {
        let table = PythonRows::take("X", x)?;
        let view = table.view()?;
        let (labels, weights) = (y.as_array().to_vec(), weights.as_array().to_vec());
        if labels.len() != view.rows || weights.len() != view.rows {
            return Err(wrong_value("y", format!("{} labels for {} rows", labels.len(), view.rows)));
        }
        let task = task_of(loss, classes)?;
        let smooth = task.smooth().ok_or_else(|| {
            wrong_value("loss", format!("`{loss}` for more than two classes has kinks everywhere and cannot be fitted"))
        })?;
        let rows = py.detach(|| view.own())?;
        let stop = Arc::new(AtomicBool::new(false));
        let model = Linear { outputs: task.outputs(), intercept };
        let task = Stoppable { task: smooth, stop: Arc::clone(&stop) };
        let work = OwnedFitProblem { task, model, rows, labels, weights, strength: l2, seed };
        let (theta, strength) = beside(py, &stop, || work.solve())?;
        if theta.iter().any(|value| !value.is_finite()) {
            return Err(refused("the fit left the numbers: features are too large; scale them"));
        }
        let (first, rest) = theta.split_at(model.outputs);
        Ok(([rest, first].concat().into_pyarray(py), strength))
    })
}

/// Returns the scores of every row, `outputs` per row.
#[pyfunction]
pub(crate) fn scores<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyTuple>,
    parameters: PyReadonlyArray1<'py, f64>,
    outputs: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    sheltered(|| {
        let table = PythonRows::take("X", x)?;
        let view = table.view()?;
        let scorer = scorer(&parameters.as_array().to_vec(), outputs, view.dim)?;
        let mut found = vec![0.0; view.rows * outputs];
        let mut rest = found.as_mut_slice();
        in_pieces(py, view.rows, (BLOCK, view.dim), |rows| {
            let (piece, after) = std::mem::take(&mut rest).split_at_mut(rows.len() * outputs);
            rest = after;
            if rows.len() <= BLOCK {
                return view.score(&scorer, outputs, rows.start, piece);
            }
            let each =
                |(block, out): (usize, &mut [f64])| view.score(&scorer, outputs, rows.start + block * BLOCK, out);
            piece.par_chunks_mut(BLOCK * outputs).enumerate().map(each).collect::<Vec<_>>().into_iter().collect()
        })?;
        found.into_pyarray(py).reshape([view.rows, outputs])
    })
}

/// Returns the probability of each class for every row of scores, or `None` if the loss defines none.
#[pyfunction]
pub(crate) fn probabilities<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray2<'py, f64>,
    loss: &str,
    classes: usize,
) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
    sheltered(|| {
        let task = task_of(loss, classes)?;
        let scores = scores.as_array();
        if task.probabilities(&vec![0.0; task.outputs()]).is_none() {
            return Ok(None);
        }
        let each = |row: ArrayView1<'_, f64>| task.probabilities(&row.to_vec()).unwrap_or_default();
        let found: Vec<f64> = scores.rows().into_iter().flat_map(each).collect();
        found.into_pyarray(py).reshape([scores.nrows(), classes]).map(Some)
    })
}

/// Creates a scorer from Python's parameters.
pub(crate) fn scorer(parameters: &[f64], outputs: usize, dim: usize) -> PyResult<Scorer> {
    if outputs == 0 || parameters.len() != (dim + 1) * outputs {
        let features = parameters.len().checked_div(outputs).unwrap_or(0).saturating_sub(1);
        return Err(wrong_value("X", format!("has {dim} features, but the model was fitted with {features}")));
    }
    Ok(Scorer::new(outputs, parameters))
}

/// Named arrays.
type Arrays = Vec<(String, Vec<f64>)>;

/// Writes a model file.
#[pyfunction]
pub(crate) fn write_model(path: PathBuf, header: String, arrays: Arrays) -> PyResult<()> {
    sheltered(|| {
        ModelFile { header, arrays, ..ModelFile::default() }
            .write(&path)
            .map_err(|error| PyOSError::new_err(error.to_string()))
    })
}

/// Returns the bytes of a model file.
#[pyfunction]
pub(crate) fn model_bytes(py: Python<'_>, header: String, arrays: Arrays) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &ModelFile { header, arrays, ..ModelFile::default() }.to_bytes())
}

/// Reads a model file and checks that its parts fit together.
#[pyfunction]
pub(crate) fn read_model(path: PathBuf) -> PyResult<(String, Arrays)> {
    sheltered(|| match ModelFile::read(&path) {
        Ok(model) => match Model::new(&model.header, &model.arrays) {
            Ok(_) => Ok((model.header, model.arrays)),
            Err(found) => Err(refused(format!("{}: {found}", path.display()))),
        },
        Err(error) => match error.fault {
            ModelFault::System(cause) => Err(PyErr::from(cause)),
            _ => Err(refused(error)),
        },
    })
}
