//! The next rows to label: one pass for U, then draws without replacement in proportion to it.

use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use querist_engine::coin::Coin;
use querist_engine::pool::{BLOCK, Weights, settle};
use querist_engine::rule::{self, Rule};
use querist_engine::select::{NotAnUncertainty, fill};

use crate::error::{sheltered, wrong_value};
use crate::model::{labels_of, scorer};
use crate::rows::Table;
use crate::threads::{in_pieces, threads};

/// What is drawn, and how.
#[derive(FromPyObject)]
pub(crate) struct Wanted {
    rule: String,
    loss: String,
    classes: usize,
    n: usize,
    /// In proportion to U, or the most uncertain.
    at_random: bool,
    seed: u64,
    call: u64,
    /// The class with the fewest labels.
    rarest: usize,
    /// Rows that are not to be drawn.
    exclude: Vec<usize>,
}

/// Rows, the probability of each given the draws before (none for the most uncertain), and how many were drawn uniformly because
/// U was 0 at every row that was left.
type Found<'py> = (Bound<'py, PyArray1<i64>>, Option<Bound<'py, PyArray1<f64>>>, usize);

impl Wanted {
    fn rule(&self) -> PyResult<Rule> {
        let labels = labels_of(self.classes);
        let name = rule::in_pool(&self.rule, labels);
        let rule = rule::parse(&name, &self.loss, labels).map_err(|error| wrong_value("rule", error))?;
        if let Rule::ConditionalLoss(_) = rule {
            return Err(wrong_value("rule", "conditional-loss goes by the answers of a run; `querist.Stream` has it"));
        }
        Ok(rule)
    }

    fn found<'py>(&self, py: Python<'py>, mut weights: Weights, rows: usize) -> PyResult<Found<'py>> {
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

/// The next rows, by a linear model.
#[pyfunction]
pub(crate) fn query<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyTuple>,
    parameters: PyReadonlyArray1<'py, f64>,
    outputs: usize,
    wanted: Wanted,
) -> PyResult<Found<'py>> {
    sheltered(|| {
        let table = Table::take("X", x)?;
        let view = table.view()?;
        let scorer = scorer(&parameters.as_array().to_vec(), outputs, view.dim)?;
        let mut rule = wanted.rule()?;
        settle(&mut rule, view.rows, outputs, wanted.rarest, |row, out| view.score(&scorer, outputs, row, out))?;
        let mut weights = Weights::default();
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

/// The next rows, by what another estimator says: a column of scores, one for each class, or class probabilities.
#[pyfunction]
pub(crate) fn query_scores<'py>(
    py: Python<'py>,
    said: PyReadonlyArray2<'py, f64>,
    are_probabilities: bool,
    wanted: Wanted,
) -> PyResult<Found<'py>> {
    sheltered(|| {
        let said = said.as_array();
        let outputs = if wanted.classes == 2 { 1 } else { said.ncols() };
        let read = |row: usize, out: &mut [f64]| read_scores(&said, are_probabilities, row, out);
        let mut rule = wanted.rule()?;
        settle(&mut rule, said.nrows(), outputs, wanted.rarest, read)?;
        let mut weights = Weights::default();
        in_pieces(py, said.nrows(), (BLOCK, outputs), |rows| {
            weights.extend(rows.len(), |first, out| {
                let mut scores = vec![0.0; out.len() * outputs];
                for (row, scores) in scores.chunks_exact_mut(outputs).enumerate() {
                    read(first + row, scores)?;
                }
                fill(&rule, outputs, &scores, out).map_err(|odd| no_uncertainty(first, odd))
            })
        })?;
        wanted.found(py, weights, said.nrows())
    })
}

/// A row by whose U nothing can be drawn, in a block that begins at `first`.
fn no_uncertainty(first: usize, odd: NotAnUncertainty) -> PyErr {
    wrong_value("rule", NotAnUncertainty(first + odd.0))
}

/// How far the probabilities of a row may be from adding up to 1.
const SLACK: f64 = 1e-3;

/// The scores of one row: as they are, or the logit or logarithms of its probabilities.
fn read_scores(said: &ArrayView2<'_, f64>, are_probabilities: bool, row: usize, out: &mut [f64]) -> PyResult<()> {
    let said = said.row(row);
    let wrong = |what: &str| wrong_value("estimator", format!("{what} in row {row}"));
    if !are_probabilities {
        for (score, value) in out.iter_mut().zip(said) {
            *score = *value;
        }
        let bad = out.iter().any(|score| !score.is_finite());
        return if bad { Err(wrong("decision_function gives NaN or infinity")) } else { Ok(()) };
    }
    let sum: f64 = said.iter().sum();
    let near_one = 1.0 - SLACK..=1.0 + SLACK;
    if said.iter().any(|p| !(0.0..=1.0 + SLACK).contains(p)) || !near_one.contains(&sum) {
        return Err(wrong("predict_proba gives no probabilities"));
    }
    if let [score] = out {
        *score = said[1].ln() - said[0].ln();
        return Ok(());
    }
    for (score, p) in out.iter_mut().zip(said) {
        *score = p.ln();
    }
    Ok(())
}
