//! The final model of a run: its scores on test rows, and its file.

use std::path::Path;

use querist_data::{Batch, Encoder};
use querist_engine::index::Coefficients;
use querist_engine::learner::Learner;
use querist_engine::scorer::{Score, Scorer, Tally};
use querist_engine::task::Task;
use querist_ledger::ModelFile;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::overwrite::check_model;

/// Scores of θ̄ and θ on labeled rows, computed block by block.
pub struct TestScoring<'a> {
    task: &'a dyn Task,
    mean: (Scorer, Tally),
    last: (Scorer, Tally),
}

impl<'a> TestScoring<'a> {
    /// Makes scores of no rows yet.
    pub fn new(learner: &'a Learner, found: &Coefficients, dim: usize) -> Self {
        let task = learner.task();
        let scorer = |parameters: &[f64]| (Scorer::of(task.outputs(), found, parameters, dim), Tally::default());
        Self { task, mean: scorer(&found.mean), last: scorer(&found.theta) }
    }

    /// Adds the rows of a batch with these indices.
    pub fn add(&mut self, test: &Batch, rows: impl Iterator<Item = usize> + Clone) {
        let Self { task, mean, last } = self;
        mean.0.tally(*task, &test.rows, &test.labels, rows.clone(), &mut mean.1);
        last.0.tally(*task, &test.rows, &test.labels, rows, &mut last.1);
    }

    /// Returns the scores of θ̄ and of θ.
    pub fn scores(&self) -> (Score, Score) {
        (self.mean.1.score(self.task), self.last.1.score(self.task))
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
pub fn model(header: &ModelHeader<'_>, found: &Coefficients) -> Result<ModelFile> {
    let encoder = header.encoder.map(Encoder::to_json).map(|text| serde_json::from_str::<Value>(&text)).transpose()?;
    let header = json!({
        "loss": header.loss,
        "rule": header.rule,
        "outputs": header.outputs,
        "order": match &found.features {
            None => "weights feature by feature, then the intercept",
            Some(_) => "weights of the features in `index`, then the intercept; other features have weight 0",
        },
        "encoder": encoder,
    });
    let index = found.features.iter().map(|features| features.iter().map(|feature| f64::from(*feature)).collect());
    let mut arrays: Vec<(String, Vec<f64>)> = index.map(|index| ("index".to_owned(), index)).collect();
    arrays.extend([("theta".to_owned(), found.theta.clone()), ("mean".to_owned(), found.mean.clone())]);
    Ok(ModelFile { header: header.to_string(), arrays })
}

/// Writes the model.
pub fn write_model(path: &Path, model: &ModelFile) -> Result<()> {
    check_model(path)?;
    // The message already includes its cause.
    model.write(path).map_err(|error| Error::Invalid(format!("the model was not written: {error}")))
}
