//! The next rows to label: one pass for U, then draws without replacement in proportion to it.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use querist_engine::coin::Coin;
use querist_engine::pool::{BLOCK, PredictionKind, RowWeights, WrongPrediction, settle};
use querist_engine::rule::{self, Rule};
use querist_engine::select::{NotAnUncertainty, check, fill};

use crate::error::{sheltered, wrong_value};
use crate::model::{labels_of, scorer};
use crate::pool::HeldTable;
use crate::rows::PythonRows;
use crate::threads::{in_pieces, threads};

/// The settings of a query.
#[derive(FromPyObject)]
pub(crate) struct QuerySettings {
    rule: String,
    loss: String,
    classes: usize,
    n: usize,
    /// Whether to draw in proportion to U, or to take the most uncertain rows.
    at_random: bool,
    seed: u64,
    call: u64,
    /// The class with the fewest labels.
    rarest: usize,
    /// Rows to exclude.
    exclude: Vec<usize>,
}

/// Rows, their probabilities given the previous draws (`None` for the most uncertain rows), and the number of uniform
/// draws. Draws are uniform if U is 0 at all remaining rows.
type Found<'py> = (Bound<'py, PyArray1<i64>>, Option<Bound<'py, PyArray1<f64>>>, usize);

impl QuerySettings {
    fn rule(&self) -> PyResult<Rule> {
        let labels = labels_of(self.classes);
        let name = rule::in_pool(&self.rule, labels);
        let rule = rule::parse(&name, &self.loss, labels).map_err(|error| wrong_value("rule", error))?;
        if let Rule::ConditionalLoss(_) = rule {
            return Err(wrong_value("rule", "conditional-loss goes by the answers of a run; `querist.Stream` has it"));
        }
        Ok(rule)
    }

    /// Returns the rule with its scale on the rows that are not excluded.
    fn settled_rule(
        &self,
        rows: usize,
        outputs: usize,
        score: impl FnMut(usize, &mut [f64]) -> PyResult<()>,
    ) -> PyResult<Rule> {
        let mut rule = self.rule()?;
        settle(&mut rule, (rows, &self.exclude), outputs, self.rarest, score)?;
        if !self.at_random {
            rule.prepare_for_top();
        }
        Ok(rule)
    }

    fn found<'py>(&self, py: Python<'py>, mut weights: RowWeights, rows: usize) -> PyResult<Found<'py>> {
        if let Some(row) = self.exclude.iter().find(|row| rows <= **row) {
            return Err(wrong_value("exclude", format!("there is no row {row} among {rows}")));
        }
        weights.retire(self.exclude.iter().copied());
        if !self.at_random {
            let threads = threads()?;
            let top = py.detach(|| threads.install(|| weights.top(self.n)));
            let rows: Vec<i64> = top.into_iter().map(|row| row as i64).collect();
            return Ok((rows.into_pyarray(py), None, 0));
        }
        let (mut rows, mut probabilities, mut n_uniform) = (vec![], vec![], 0);
        let coin = Coin::new(self.seed, "draw");
        for draw in 0..self.n {
            let drawn = weights
                .draw_or_uniform(coin.unit((self.call << 32) + draw as u64))
                .map_err(|none| wrong_value("n", format!("{} rows wanted, {draw} drawn: {none}", self.n)))?;
            rows.push(drawn.row as i64);
            probabilities.push(drawn.probability);
            n_uniform += usize::from(drawn.is_uniform);
            if draw % 1024 == 1023 {
                py.check_signals()?;
            }
        }
        Ok((rows.into_pyarray(py), Some(probabilities.into_pyarray(py)), n_uniform))
    }
}

/// Draws the next rows by a linear model.
#[pyfunction]
pub(crate) fn query<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyTuple>,
    parameters: PyReadonlyArray1<'py, f64>,
    outputs: usize,
    wanted: QuerySettings,
) -> PyResult<Found<'py>> {
    sheltered(|| {
        let table = PythonRows::take("X", x)?;
        let view = table.view()?;
        let scorer = scorer(&parameters.as_array().to_vec(), outputs, view.dim)?;
        let score = |row: usize, out: &mut [f64]| view.score(&scorer, outputs, row, out);
        let rule = wanted.settled_rule(view.rows, outputs, score)?;
        let mut weights = RowWeights::default();
        in_pieces(py, view.rows, (BLOCK, view.dim), |rows| {
            weights.extend(rows.len(), |first, out| {
                let mut scores = [0.0; BLOCK];
                let mut many = vec![];
                let scores = if outputs == 1 {
                    &mut scores[..out.len()]
                } else {
                    many.resize(out.len() * outputs, 0.0);
                    &mut many[..]
                };
                view.score(&scorer, outputs, first, scores)?;
                fill(&rule, outputs, scores, out).map_err(|odd| no_uncertainty(first, odd))
            })
        })?;
        wanted.found(py, weights, view.rows)
    })
}

/// Draws the next rows by the output of another estimator: a column of scores, one for each class, or class
/// probabilities. Errors name the argument.
#[pyfunction]
pub(crate) fn query_scores<'py>(
    py: Python<'py>,
    given: HeldTable<'py>,
    are_probabilities: bool,
    wanted: QuerySettings,
    argument: &str,
) -> PyResult<Found<'py>> {
    sheltered(|| {
        let kind = if are_probabilities { PredictionKind::Probabilities } else { PredictionKind::Scores };
        let predictions = given.predictions_of(kind, argument)?;
        let wrong = |found: WrongPrediction| wrong_row(&found, argument);
        let outputs = if wanted.classes == 2 { 1 } else { predictions.classes() };
        let read = |row: usize, out: &mut [f64]| predictions.scores(row, out).map_err(wrong);
        let rule = wanted.settled_rule(predictions.len(), outputs, read)?;
        let mut weights = RowWeights::default();
        in_pieces(py, predictions.len(), (BLOCK, outputs), |rows| {
            weights.extend(rows.len(), |first, out| {
                predictions.fill(&rule, first, out).map_err(wrong)?;
                check(out).map_err(|odd| no_uncertainty(first, odd))
            })
        })?;
        wanted.found(py, weights, predictions.len())
    })
}

/// Creates the error for a row whose predictions are wrong.
fn wrong_row(found: &WrongPrediction, argument: &str) -> PyErr {
    let what = match (found.kind, argument) {
        (PredictionKind::Probabilities, "estimator") => "predict_proba gives no probabilities",
        (PredictionKind::Probabilities, _) => "no probabilities",
        (PredictionKind::Scores, "estimator") => "decision_function gives NaN or infinity",
        (PredictionKind::Scores, _) => "NaN or infinity",
    };
    wrong_value(argument, format!("{what} in row {}", found.row))
}

/// Creates the error for a row with an invalid U, in a block that begins at `first`.
fn no_uncertainty(first: usize, odd: NotAnUncertainty) -> PyErr {
    wrong_value("rule", NotAnUncertainty(first + odd.0))
}
