//! What labels that were asked for say of the whole pool.

use std::path::PathBuf;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use querist_engine::estimate::{ClassScores, Draw, Estimate, Estimator, Invalid, Range};
use querist_engine::session::SessionEvent;
use querist_ledger::Ledger;
use serde_json::Value;

use crate::error::{refused, sheltered, wrong_value};

/// Value, interval, interval at all times, confidence, effective draws, draws, warning.
type Told = (f64, f64, f64, Option<(f64, f64)>, f64, f64, usize, Option<String>);

/// The pool's mean of values known for the drawn, or its share of truths.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they have their names in Python")]
pub(crate) fn estimate(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    are_truths: bool,
    probabilities: PyReadonlyArray1<'_, f64>,
    floors: PyReadonlyArray1<'_, f64>,
    pool: usize,
    bounds: Option<(f64, f64)>,
    confidence: f64,
) -> PyResult<Told> {
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
        found.map(|estimate| told(&estimate)).map_err(named)
    })
}

/// What a model said of each class of every row; of the draws row, class, probability and floor; the confidence.
#[derive(FromPyObject)]
pub(crate) struct Judged<'py>(
    PyReadonlyArray2<'py, f64>,
    Vec<usize>,
    Vec<usize>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    f64,
);

/// Rows and classes of draws, and their probabilities.
type Answers = (Vec<(usize, usize)>, Vec<Draw>);

impl Judged<'_> {
    /// What was said row by row, what was answered, and who estimates from it.
    fn parts(self) -> (Vec<f64>, Answers, Estimator) {
        let Self(said, rows, labels, probabilities, floors, confidence) = self;
        let estimator = Estimator::new(said.as_array().nrows()).with_confidence(confidence);
        let answers = rows.into_iter().zip(labels).collect();
        (said.as_array().iter().copied().collect(), (answers, drawn(&probabilities, &floors)), estimator)
    }
}

/// The pool's mean log loss.
#[pyfunction]
pub(crate) fn log_loss(py: Python<'_>, judged: Judged<'_>) -> PyResult<Told> {
    sheltered(|| {
        let (said, (answers, draws), estimator) = judged.parts();
        let possible: Vec<f64> = said.iter().map(|p| -p.ln()).collect();
        let found = py.detach(|| estimator.log_loss(&possible, &answers, &draws));
        found.map(|estimate| told(&estimate)).map_err(named)
    })
}

/// Precision, recall and F1.
type ToldOfClass = (Option<Told>, Option<Told>, Option<Told>);

/// The pool's accuracy, mean log loss, and scores of each class.
#[pyfunction]
pub(crate) fn pool_scores(py: Python<'_>, judged: Judged<'_>) -> PyResult<(Told, Told, Vec<ToldOfClass>)> {
    sheltered(|| {
        let (said, (answers, draws), estimator) = judged.parts();
        let found = py.detach(|| estimator.scores(&said, &answers, &draws)).map_err(named)?;
        let of_class = |ClassScores { precision, recall, f1 }: &ClassScores| {
            (precision.as_ref().map(told), recall.as_ref().map(told), f1.as_ref().map(told))
        };
        Ok((told(&found.accuracy), told(&found.log_loss), found.classes.iter().map(of_class).collect()))
    })
}

fn drawn(probabilities: &PyReadonlyArray1<'_, f64>, floors: &PyReadonlyArray1<'_, f64>) -> Vec<Draw> {
    let draws = probabilities.as_array().into_iter().zip(floors.as_array());
    draws.map(|(probability, floor)| Draw { probability: *probability, floor: *floor }).collect()
}

fn told(estimate: &Estimate) -> Told {
    let Estimate { value, low, high, anytime, confidence, effective_n, draws, warning } = *estimate;
    (value, low, high, anytime, confidence, effective_n, draws, warning.map(|warning| warning.to_string()))
}

/// The argument that is wrong.
fn named(invalid: Invalid) -> PyErr {
    let argument = match invalid {
        Invalid::NoDraws | Invalid::Lengths { .. } | Invalid::Value { .. } => "values",
        Invalid::TooMany { .. } => "pool",
        Invalid::Probability { .. } => "probabilities",
        Invalid::Range => "bounds",
        Invalid::Possible { .. } => "predicted",
        Invalid::Answer { .. } => "rows",
    };
    wrong_value(argument, invalid)
}

/// The command of a run, what it ended in as JSON, the last estimate of a labeling session (value, low, high, labels), and the
/// events that are missing from the ledger.
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
