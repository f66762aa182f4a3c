//! What labels that were asked for say of the whole pool.

use std::path::PathBuf;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use querist_engine::estimate::{ClassScores, Draw, Estimate, Estimator, Invalid, Range};
use querist_ledger::{Event, Kind, Ledger};
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

/// The pool's mean log loss, of a model that said these probabilities of every row's classes.
#[pyfunction]
pub(crate) fn log_loss(
    py: Python<'_>,
    said: PyReadonlyArray2<'_, f64>,
    rows: Vec<usize>,
    labels: Vec<usize>,
    probabilities: PyReadonlyArray1<'_, f64>,
    floors: PyReadonlyArray1<'_, f64>,
    confidence: f64,
) -> PyResult<Told> {
    sheltered(|| {
        let said = said.as_array();
        let estimator = Estimator::new(said.nrows()).with_confidence(confidence);
        let possible: Vec<f64> = said.iter().map(|p| -p.ln()).collect();
        let (answers, draws) = (answered(rows, labels), drawn(&probabilities, &floors));
        let found = py.detach(|| estimator.log_loss(&possible, &answers, &draws));
        found.map(|estimate| told(&estimate)).map_err(named)
    })
}

/// Precision, recall and F1.
type ToldOfClass = (Option<Told>, Option<Told>, Option<Told>);

/// The pool's accuracy, mean log loss, and scores of each class, of a model that said these probabilities of every row's classes.
#[pyfunction]
pub(crate) fn pool_scores(
    py: Python<'_>,
    said: PyReadonlyArray2<'_, f64>,
    rows: Vec<usize>,
    labels: Vec<usize>,
    probabilities: PyReadonlyArray1<'_, f64>,
    floors: PyReadonlyArray1<'_, f64>,
    confidence: f64,
) -> PyResult<(Told, Told, Vec<ToldOfClass>)> {
    sheltered(|| {
        let said = said.as_array();
        let estimator = Estimator::new(said.nrows()).with_confidence(confidence);
        let said: Vec<f64> = said.iter().copied().collect();
        let (answers, draws) = (answered(rows, labels), drawn(&probabilities, &floors));
        let found = py.detach(|| estimator.scores(&said, &answers, &draws)).map_err(named)?;
        let of_class = |ClassScores { precision, recall, f1 }: &ClassScores| {
            (precision.as_ref().map(told), recall.as_ref().map(told), f1.as_ref().map(told))
        };
        Ok((told(&found.accuracy), told(&found.log_loss), found.classes.iter().map(of_class).collect()))
    })
}

fn answered(rows: Vec<usize>, labels: Vec<usize>) -> Vec<(usize, usize)> {
    rows.into_iter().zip(labels).collect()
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

/// The command of a run, what it ended in as JSON, and the last estimate while people labelled: value, low, high, labels.
type Recorded = (String, Option<String>, Option<(f64, f64, f64, u64)>);

/// The last estimate a run recorded in its ledger.
#[pyfunction]
pub(crate) fn recorded(py: Python<'_>, path: PathBuf) -> PyResult<Recorded> {
    sheltered(|| {
        py.detach(|| {
            let ledger = Ledger::read(&path).map_err(refused)?;
            let header: Value = serde_json::from_str(ledger.header()).map_err(refused)?;
            let command = header["command"].as_str().unwrap_or("").to_owned();
            if command == "label" {
                let mut last = None;
                ledger
                    .labelling(|event| {
                        if let Event::Acted { kind: Kind::Measure, about, numbers, .. } = event
                            && let [value, low, high] = numbers[..]
                        {
                            last = Some((value, low, high, about));
                        }
                        Ok(())
                    })
                    .map_err(refused)?;
                return Ok((command, None, last));
            }
            Ok((command, ledger.note("finished").map_err(refused)?, None))
        })
    })
}
