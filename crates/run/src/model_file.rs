//! The final model of a run: its scores on test rows, and its file.

use std::path::Path;

use querist_data::{Batch, Encoder};
use querist_engine::index::Coefficients;
use querist_engine::learner::Learner;
use querist_engine::narrow::Narrow;
use querist_engine::scorer::{Score, Scorer, Tally};
use querist_engine::task::Task;
use querist_ledger::{ModelFile, ModelVersion};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::model_kinds;
use crate::overwrite::check_model;

/// The parameters of a finished model.
#[derive(Clone, Debug)]
pub enum ModelParameters {
    /// Those of a linear model, by the features of files.
    Linear(Coefficients),
    /// A model of another kind.
    Other(Scorer),
}

impl ModelParameters {
    /// Returns the parameters of a model that was fitted to rows whose features may be renumbered.
    pub fn of(scorer: Scorer, narrow: Option<&Narrow>) -> Self {
        let Some(linear) = scorer.as_linear() else { return Self::Other(scorer) };
        let numbers = linear.parameters();
        Self::Linear(match narrow {
            Some(narrow) => narrow.coefficients(scorer.outputs(), &numbers, &numbers),
            None => Coefficients::dense(numbers.clone(), numbers),
        })
    }

    /// Returns the parameters of a linear model.
    pub fn as_linear(&self) -> Option<&Coefficients> {
        if let Self::Linear(coefficients) = self { Some(coefficients) } else { None }
    }
}

/// Scores of θ̄ and θ on labeled rows, computed block by block.
pub struct TestScoring<'a> {
    task: &'a dyn Task,
    mean: (Scorer, Tally),
    /// `None` for a fitted model, which has no averaged parameters.
    last: Option<(Scorer, Tally)>,
}

impl<'a> TestScoring<'a> {
    /// Makes scores of no rows yet.
    pub fn new(learner: &'a Learner, found: &Coefficients, dim: usize) -> Self {
        let task = learner.task();
        let scorer = |parameters: &[f64]| (Scorer::of(task.outputs(), found, parameters, dim), Tally::default());
        Self { task, mean: scorer(&found.mean), last: Some(scorer(&found.theta)) }
    }

    /// Makes scores of a fitted model of no rows yet.
    pub fn of_fitted(task: &'a dyn Task, scorer: Scorer) -> Self {
        Self { task, mean: (scorer, Tally::default()), last: None }
    }

    /// Adds the rows of a batch with these indices.
    pub fn add(&mut self, test: &Batch, rows: impl Iterator<Item = usize> + Clone) {
        let Self { task, mean, last } = self;
        if let Some((scorer, tally)) = last {
            scorer.tally(*task, &test.rows, &test.labels, rows.clone(), tally);
        }
        mean.0.tally(*task, &test.rows, &test.labels, rows, &mut mean.1);
    }

    /// Returns the scores of θ̄ and of θ.
    pub fn scores(&self) -> (Score, Score) {
        let mean = self.mean.1.score(self.task);
        (mean, self.last.as_ref().map_or(mean, |(_, tally)| tally.score(self.task)))
    }
}

/// The header of a model file.
#[derive(Clone, Copy)]
pub struct ModelHeader<'a> {
    /// The name of the loss.
    pub loss: &'a str,
    /// The name of the rule that queried rows.
    pub rule: &'a str,
    /// The number of scores of an observation.
    pub outputs: usize,
    /// The encoder of rows.
    pub encoder: Option<&'a Encoder>,
}

/// Returns the model as a file.
pub fn model(header: &ModelHeader<'_>, found: &ModelParameters) -> Result<ModelFile> {
    let encoder = header.encoder.map(Encoder::to_json).map(|text| serde_json::from_str::<Value>(&text)).transpose()?;
    let mut described = json!({"loss": header.loss, "rule": header.rule, "outputs": header.outputs});
    let (version, arrays) = match found {
        ModelParameters::Linear(found) => {
            described["order"] = order(found).into();
            (ModelVersion::Linear, linear_arrays(found))
        }
        ModelParameters::Other(scorer) => {
            let arrays = model_kinds::describe(scorer, &mut described)?;
            (ModelVersion::OfKinds, arrays)
        }
    };
    described["encoder"] = encoder.into();
    Ok(ModelFile { version, header: described.to_string(), arrays })
}

fn order(found: &Coefficients) -> &'static str {
    match &found.features {
        None => "weights feature by feature, then the intercept",
        Some(_) => "weights of the features in `index`, then the intercept; other features have weight 0",
    }
}

fn linear_arrays(found: &Coefficients) -> Vec<(String, Vec<f64>)> {
    let index = found.features.iter().map(|features| features.iter().map(|feature| f64::from(*feature)).collect());
    let mut arrays: Vec<(String, Vec<f64>)> = index.map(|index| ("index".to_owned(), index)).collect();
    arrays.extend([("theta".to_owned(), found.theta.clone()), ("mean".to_owned(), found.mean.clone())]);
    arrays
}

/// Writes the model.
pub fn write_model(path: &Path, model: &ModelFile) -> Result<()> {
    check_model(path)?;
    // The message already includes its cause.
    model.write(path).map_err(|error| Error::Invalid(format!("the model was not written: {error}")))
}
