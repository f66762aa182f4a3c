//! Estimates of pool statistics from queried labels.

use std::path::PathBuf;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use querist_engine::estimate::{ClassScores, DrawProbability, Estimate, Estimator, Invalid, Range};
use querist_engine::session::SessionEvent;
use querist_ledger::Ledger;
use serde_json::Value;

use crate::error::{refused, sheltered, wrong_value};

/// The value, the interval, the anytime-valid interval, the confidence, the effective sample size, the draws and the
/// warning.
pub(crate) type EstimateParts = (f64, f64, f64, Option<(f64, f64)>, f64, f64, usize, Option<String>);

/// Estimates the pool's mean from the values of the drawn rows, or its share of `true` values.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn estimate(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    are_truths: bool,
    probabilities: PyReadonlyArray1<'_, f64>,
    floors: PyReadonlyArray1<'_, f64>,
    pool: usize,
    bounds: Option<(f64, f64)>,
    confidence: f64,
) -> PyResult<EstimateParts> {
    sheltered(|| {
        let values = values.as_array().to_vec();
        let draws = drawn(&probabilities, &floors);
        let estimator = Estimator::new(pool).with_confidence(confidence);
        let range = bounds.map_or(Range::Unbounded, |(low, high)| Range::Within(low, high));
        let found = py.detach(|| {
            if are_truths {
                let truths: Vec<bool> = values.iter().map(|value| *value != 0.0).collect();
                estimator.share(&truths, &draws)
            } else {
                estimator.mean(&values, &draws, range)
            }
        });
        found.map(|estimate| estimate_parts(&estimate)).map_err(argument_error)
    })
}

/// The predicted probability of each class at every row; row, class, probability and floor of each draw; the
/// confidence.
#[derive(FromPyObject)]
pub(crate) struct PoolJudgments<'py>(
    PyReadonlyArray2<'py, f64>,
    Vec<usize>,
    Vec<usize>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    f64,
);

/// Rows and classes of the draws, and their inclusion probabilities.
type Answers = (Vec<(usize, usize)>, Vec<DrawProbability>);

impl PoolJudgments<'_> {
    /// Returns the predictions row by row, the answers, and the estimator.
    fn parts(self) -> (Vec<f64>, Answers, Estimator) {
        let Self(predicted, rows, labels, probabilities, floors, confidence) = self;
        let estimator = Estimator::new(predicted.as_array().nrows()).with_confidence(confidence);
        let answers = rows.into_iter().zip(labels).collect();
        (predicted.as_array().iter().copied().collect(), (answers, drawn(&probabilities, &floors)), estimator)
    }
}

/// Estimates the pool's mean log loss.
#[pyfunction]
pub(crate) fn log_loss(py: Python<'_>, judged: PoolJudgments<'_>) -> PyResult<EstimateParts> {
    sheltered(|| {
        let (predicted, (answers, draws), estimator) = judged.parts();
        let losses: Vec<f64> = predicted.iter().map(|p| -p.ln()).collect();
        let found = py.detach(|| estimator.log_loss(&losses, &answers, &draws));
        found.map(|estimate| estimate_parts(&estimate)).map_err(argument_error)
    })
}

/// The estimates of precision, recall and F1.
pub(crate) type ClassParts = (Option<EstimateParts>, Option<EstimateParts>, Option<EstimateParts>);

/// Estimates the pool's accuracy, its mean log loss, and the scores of each class.
#[pyfunction]
pub(crate) fn pool_scores(
    py: Python<'_>,
    judged: PoolJudgments<'_>,
) -> PyResult<(EstimateParts, EstimateParts, Vec<ClassParts>)> {
    sheltered(|| {
        let (predicted, (answers, draws), estimator) = judged.parts();
        let found = py.detach(|| estimator.scores(&predicted, &answers, &draws)).map_err(argument_error)?;
        Ok((
            estimate_parts(&found.accuracy),
            estimate_parts(&found.log_loss),
            found.classes.iter().map(class_parts).collect(),
        ))
    })
}

fn drawn(probabilities: &PyReadonlyArray1<'_, f64>, floors: &PyReadonlyArray1<'_, f64>) -> Vec<DrawProbability> {
    let draws = probabilities.as_array().into_iter().zip(floors.as_array());
    draws.map(|(probability, floor)| DrawProbability::exact(*probability, *floor)).collect()
}

pub(crate) fn class_parts(ClassScores { precision, recall, f1 }: &ClassScores) -> ClassParts {
    (precision.as_ref().map(estimate_parts), recall.as_ref().map(estimate_parts), f1.as_ref().map(estimate_parts))
}

pub(crate) fn estimate_parts(estimate: &Estimate) -> EstimateParts {
    let Estimate { value, low, high, anytime, confidence, effective_n, draws, warning } = *estimate;
    (value, low, high, anytime, confidence, effective_n, draws, warning.map(|warning| warning.to_string()))
}

/// Creates the `ValueError` that names the wrong argument.
fn argument_error(invalid: Invalid) -> PyErr {
    let argument = match invalid {
        Invalid::NoDraws | Invalid::Lengths { .. } | Invalid::Value { .. } => "values",
        Invalid::TooMany { .. } => "pool",
        Invalid::Probability { .. } => "probabilities",
        Invalid::Range => "bounds",
        Invalid::LossMatrix { .. } => "predicted",
        Invalid::Answer { .. } => "rows",
    };
    wrong_value(argument, invalid)
}

/// The command of a run, its final result as JSON, the last estimate of a labeling session, and the events missing from
/// the ledger. The estimate is (value, low, high, labels).
type Recorded = (String, Option<String>, Option<(f64, f64, f64, u64)>, Option<String>);

/// Returns the last estimate that a run recorded in its ledger.
#[pyfunction]
pub(crate) fn recorded(py: Python<'_>, path: PathBuf) -> PyResult<Recorded> {
    sheltered(|| {
        py.detach(|| {
            let ledger = Ledger::read(&path).map_err(refused)?;
            let header: Value = serde_json::from_str(ledger.header()).map_err(refused)?;
            let command = header["command"].as_str().unwrap_or("").to_owned();
            let missing = ledger.missing_events();
            if command == "label" {
                let mut last = None;
                for record in ledger.records() {
                    let event = record.map_err(refused)?.decode().map_err(refused)?;
                    if let SessionEvent::Measured { labels, value, low, high, .. } = event {
                        last = Some((value, low, high, labels));
                    }
                }
                return Ok((command, None, last, missing));
            }
            Ok((command, ledger.note("finished").map(str::to_owned), None, missing))
        })
    })
}
