//! Decisions about rows on their own: queried or not, by a random draw that is a function of seed and id.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use querist_engine::rule::Rule;
use querist_engine::select::{self, RowIds};
use querist_run::select::{Decider, Taker};

use crate::error::{sheltered, wrong_value};
use crate::model::labels_of;

/// Ids of rows: integers, or texts.
#[derive(FromPyObject)]
pub(crate) enum PythonIds<'py> {
    Numbers(PyReadonlyArray1<'py, i64>),
    Texts(Vec<String>),
}

/// Whether to query each row, and U.
type Decided<'py> = (Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<f64>>);

/// Decides about every row by its scores: a column, or one for each class.
#[pyfunction]
pub(crate) fn ask<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray2<'py, f64>,
    rule: &str,
    loss: &str,
    ids: PythonIds<'py>,
    seed: u64,
) -> PyResult<Decided<'py>> {
    sheltered(|| {
        let outputs = scores.as_array().ncols();
        let labels = labels_of(if outputs == 1 { 2 } else { outputs });
        let rule = select::rule(rule, loss, labels).map_err(|error| wrong_value("rule", error))?;
        if let Rule::Relative(rule) = &rule {
            let found = format!(
                "`{}` is in units of a pool, and a row on its own has none; use boundary:reach=NUMBER",
                rule.name()
            );
            return Err(wrong_value("rule", found));
        }
        let scores: Vec<f64> = scores.as_array().iter().copied().collect();
        let ids = match &ids {
            PythonIds::Numbers(ids) => RowIds::Numbers(ids.as_slice()?),
            PythonIds::Texts(ids) => RowIds::Texts(ids.iter().map(String::as_str).collect()),
        };
        let mut decider = Decider::new(rule, outputs, seed);
        py.detach(|| decider.take(&ids, &scores, 0)).map_err(|(row, fault)| {
            wrong_value("rule", format!("row {row}: {}; need {}", fault.found, fault.expected))
        })?;
        Ok((decider.asks.into_pyarray(py), decider.u.into_pyarray(py)))
    })
}
