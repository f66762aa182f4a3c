//! The theory at arrays of points: U, losses, equivalent losses and links.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use querist_theory::coordinate::Label;
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::loss::{self, Loss, LossTask};
use querist_theory::{uncertainty as rules, vector};

use crate::error::{sheltered, wrong_value};

/// Named columns.
type Columns = Vec<(&'static str, Vec<f64>)>;

fn pair(loss: &str, rule: &str) -> PyResult<Queried> {
    loss::parse(loss).map_err(|error| wrong_value("loss", error))?;
    Queried::parse(loss, rule).map_err(|error| wrong_value("rule", error))
}

/// Returns the columns of `querist tabulate` at margins.
#[pyfunction]
pub(crate) fn tabulate_margins(
    py: Python<'_>,
    loss: &str,
    rule: &str,
    s: PyReadonlyArray1<'_, f64>,
) -> PyResult<Columns> {
    sheltered(|| {
        let (pair, s) = (pair(loss, rule)?, s.as_array().to_vec());
        Ok(py.detach(|| {
            let column = |of: &dyn Fn(f64) -> f64| s.iter().map(|s| of(*s)).collect::<Vec<f64>>();
            let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
            vec![
                ("s", s.clone()),
                ("uncertainty", column(&|s| pair.rule().at(s))),
                ("loss", column(&|s| pair.loss().value(s))),
                ("loss_slope", column(&|s| pair.loss().slope(s))),
                ("equivalent", column(&|s| pair.value(s))),
                ("equivalent_above_infimum", column(&|s| or_nan(pair.above_infimum(s)))),
                ("equivalent_slope", column(&|s| pair.slope(s))),
                ("equivalent_curvature", column(&|s| or_nan(pair.curvature_at(s)))),
            ]
        }))
    })
}

/// Returns the columns of `querist tabulate` at modeled probabilities of y = +1, for one label.
#[pyfunction]
pub(crate) fn tabulate_probabilities(
    py: Python<'_>,
    loss: &str,
    rule: &str,
    q: PyReadonlyArray1<'_, f64>,
    is_plus: bool,
) -> PyResult<Columns> {
    sheltered(|| {
        let (pair, q) = (pair(loss, rule)?, q.as_array().to_vec());
        is_classification(&pair, "q")?;
        let label = if is_plus { Label::Plus } else { Label::Minus };
        Ok(py.detach(|| {
            let mut columns: Columns =
                ["q", "uncertainty", "loss", "loss_slope", "equivalent", "equivalent_slope", "equivalent_curvature"]
                    .map(|name| (name, vec![]))
                    .into();
            for q in q {
                let at = pair.at_probability(q, label);
                let curvature = at.equivalent_curvature.unwrap_or(f64::NAN);
                let values = [q, at.uncertainty, at.loss, at.loss_slope, at.equivalent, at.equivalent_slope, curvature];
                columns.iter_mut().zip(values).for_each(|(column, value)| column.1.push(value));
            }
            columns
        }))
    })
}

/// Returns the link ψ at label biases, with its enclosure and slope; or its inverse at excess risks.
#[pyfunction]
pub(crate) fn tabulate_link(
    py: Python<'_>,
    loss: &str,
    rule: &str,
    points: PyReadonlyArray1<'_, f64>,
    is_inverse: bool,
) -> PyResult<Columns> {
    sheltered(|| {
        let (pair, points) = (pair(loss, rule)?, points.as_array().to_vec());
        is_classification(&pair, if is_inverse { "psi" } else { "z" })?;
        let found = py.detach(|| {
            let link = Link::new(&pair)?;
            if is_inverse {
                let z = points.iter().map(|psi| link.inverse(*psi)).collect();
                return Some(vec![("psi", points), ("z", z)]);
            }
            let mut columns: Columns =
                ["z", "psi", "psi_low", "psi_high", "psi_slope"].map(|name| (name, vec![])).into();
            for z in points {
                let (psi, within) = link.enclosed_value(z);
                let values = [z, psi.unwrap_or(f64::NAN), within.low, within.high, link.slope(z)];
                columns.iter_mut().zip(values).for_each(|(column, value)| column.1.push(value));
            }
            Some(columns)
        });
        found.ok_or_else(|| wrong_value("loss", "this pair has no link"))
    })
}

fn is_classification(pair: &Queried, argument: &str) -> PyResult<()> {
    if pair.loss_facts().task == LossTask::Regression {
        let what = format!("`{}` is a regression loss: it has no probability and no link; use s", pair.loss().name);
        return Err(wrong_value(argument, what));
    }
    Ok(())
}

/// Returns the equivalent loss at margins, or its derivative of this order: the slope U·ℓ′ or the curvature. At a kink, the
/// curvature is one of the two sides. NaN gives NaN.
#[pyfunction]
pub(crate) fn equivalent<'py>(
    py: Python<'py>,
    loss: &str,
    rule: &str,
    s: PyReadonlyArray1<'_, f64>,
    order: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    sheltered(|| {
        let (pair, s) = (pair(loss, rule)?, s.as_array().to_vec());
        let at = |s: f64| match order {
            _ if s.is_nan() => s,
            0 => pair.value(s),
            1 => pair.slope(s),
            _ => pair.curvature(s),
        };
        Ok(py.detach(|| s.into_iter().map(at).collect::<Vec<f64>>()).into_pyarray(py))
    })
}

/// Returns U at margins.
#[pyfunction]
pub(crate) fn uncertainties(
    py: Python<'_>,
    rule: &str,
    loss: &str,
    s: PyReadonlyArray1<'_, f64>,
) -> PyResult<Vec<f64>> {
    sheltered(|| {
        let loss = loss::parse(loss).map_err(|error| wrong_value("loss", error))?;
        let rule = rules::parse(rule, &loss).map_err(|error| wrong_value("rule", error))?;
        let s = s.as_array().to_vec();
        Ok(py.detach(|| s.into_iter().map(|s| rule.at(s)).collect()))
    })
}

/// Returns U at rows of class probabilities.
#[pyfunction]
pub(crate) fn class_uncertainties(
    py: Python<'_>,
    rule: &str,
    probabilities: PyReadonlyArray2<'_, f64>,
) -> PyResult<Vec<f64>> {
    sheltered(|| {
        let rule = vector::parse(rule).map_err(|error| wrong_value("rule", error))?;
        let table = probabilities.as_array().to_owned();
        Ok(py.detach(|| table.rows().into_iter().map(|row| rule.at(&row.to_vec())).collect()))
    })
}
