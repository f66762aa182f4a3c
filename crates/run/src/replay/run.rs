//! The replay of a whole run from its ledger: the learner at its start, and every event after it.

use querist_data::Encoder;
use querist_engine::narrow::Narrow;
use querist_engine::pool::{Draw, Objective, PoolLearner as _, Replacement};
use querist_ledger::{Ledger, ModelFile};
use querist_rows::{DenseRows, Rows};
use serde_json::Value;

use super::Folded;
use crate::build::{self, FitSettings, Resolved};
use crate::error::{Context, Error, Result, bail};
use crate::event::{self, RunEvent};
use crate::model_file::{self, ModelHeader, ModelParameters};
use crate::pool::{self, RunLearner, seed_labels};
use crate::settings::LearnerSettings;

/// A run that was replayed from its ledger.
#[non_exhaustive]
pub struct ReplayedRun {
    /// The parameters of the model.
    pub parameters: ModelParameters,
    /// The full name of the loss.
    pub loss: String,
    /// The full name of the rule.
    pub rule: String,
    /// The number of scores of an observation.
    pub outputs: usize,
    /// The result of the fold.
    pub found: Folded,
}

impl ReplayedRun {
    /// Returns the final model of the run as a file.
    pub fn model(&self, ledger: &Ledger) -> Result<ModelFile> {
        self.model_of(ledger, &self.rule)
    }

    fn model_of(&self, ledger: &Ledger, rule: &str) -> Result<ModelFile> {
        let encoder = ledger.note("encoder").map(Encoder::from_json).transpose();
        let mut encoder = encoder.map_err(Error::Encoder)?;
        if let Some(encoder) = &mut encoder {
            encoder.widen(self.found.sums.dim);
        }
        let header = ModelHeader { loss: &self.loss, rule, outputs: self.outputs, encoder: encoder.as_ref() };
        model_file::model(&header, &self.parameters)
    }

    /// Returns whether the recorded run ended in this model; `None` if it has not ended.
    pub fn is_recorded_model(&self, ledger: &Ledger, model: &ModelFile) -> Result<Option<bool>> {
        let Some(recorded) = ledger.note("model").filter(|sum| !sum.is_empty()) else { return Ok(None) };
        if recorded == model.checksum() {
            return Ok(Some(true));
        }
        // Models of older runs use the former name of the rule `boundary`.
        let old_model = self.model_of(ledger, &self.rule.replacen("boundary", "margin", 1))?;
        Ok(Some(recorded == old_model.checksum()))
    }
}

/// Replays the run of a stream's or pool's ledger.
pub fn run(ledger: &Ledger, header: &Value) -> Result<ReplayedRun> {
    let settings: LearnerSettings =
        serde_json::from_value(header["settings"].clone()).context("the ledger's settings")?;
    let resolved = ledger.note("learner").context("the ledger ends before its first note: the run never began")?;
    let resolved: Resolved = serde_json::from_str(resolved).context("the ledger's learner")?;
    match header["command"].as_str() {
        Some("stream") => {
            let mut learner = build::stream(&settings, &resolved)?;
            let rule = build::rules(&settings, learner.learner().task(), resolved.labels)?.rule.name();
            let found = super::stream(ledger, &mut learner, |_, _, _| ())?;
            let parameters = ModelParameters::Linear(learner.coefficients());
            let learner = learner.learner();
            let outputs = learner.task().outputs();
            let loss = learner.task().name().to_owned();
            Ok(ReplayedRun { parameters, loss, rule, outputs, found })
        }
        Some("pool") => {
            let mut learner = pool_learner(ledger, header, &settings, &resolved)?;
            let rule = learner.rules().rule.name();
            let found = super::pool(ledger, &mut learner, |_, _| ())?;
            let parameters = pool::parameters(&learner, renumbered(ledger)?.as_ref());
            let learner = learner.learner();
            let outputs = learner.task().outputs();
            let loss = learner.task().name().to_owned();
            Ok(ReplayedRun { parameters, loss, rule, outputs, found })
        }
        _ => bail!("a ledger of an unknown command"),
    }
}

/// Returns the features of a pool that are renumbered, if they are.
fn renumbered(ledger: &Ledger) -> Result<Option<Narrow>> {
    let Some(note) = ledger.note("features") else { return Ok(None) };
    let features = serde_json::from_str(note).context("the ledger's features")?;
    Ok(Some(Narrow::from_features(features).context("the ledger's features do not rise")?))
}

/// Returns the learner of a pool's ledger at its start.
pub fn pool_learner(
    ledger: &Ledger,
    header: &Value,
    settings: &LearnerSettings,
    resolved: &Resolved,
) -> Result<RunLearner> {
    let draw = header["draw"].as_str().map_or(Ok(Draw::Reject), str::parse::<Draw>)?;
    let number = |key: &str| -> Result<usize> {
        let note = ledger.note(key).and_then(|text| text.parse().ok());
        note.with_context(|| format!("the ledger's number of {key}"))
    };
    let rows = number("rows")?;
    let apart = header["apart"].as_f64();
    if header["fit"] == "refit" {
        let objective = header["objective"].as_str().unwrap_or_default().parse::<Objective>()?;
        let given = seed_labels::from_note(ledger.note("given").unwrap_or_default())?;
        let asked = event::events(ledger).find_map(|event| match event {
            Ok(RunEvent::Asked { features, .. }) => Some(features),
            _ => None,
        });
        let first = given.first().map(|(_, _, features)| features.clone()).or(asked);
        // Without a row nothing was queried, and the kind of rows does not matter.
        let empty = match first.and_then(|features| Rows::from_bytes(&features, resolved.dim)) {
            Some(row) => row.empty_like(),
            None => Rows::Dense(DenseRows::new(resolved.dim)),
        };
        let fitted = FitSettings { objective, empty, models: pool::noted_models(ledger)? };
        let mut learner = build::refit_pool(settings, resolved, draw, fitted, rows)?;
        apart.map_or(Ok(()), |within| learner.diversify(within))?;
        for (row, label, features) in &given {
            let x = Rows::from_bytes(features, resolved.dim).context("the features of a given label are no row")?;
            learner.add_seed_label(*row, x.row(0), *label);
        }
        learner.set_askable(number("askable")?);
        return Ok(learner.into());
    }
    let again = header["repeat"].as_bool().unwrap_or(false);
    let replacement = if again { Replacement::With } else { Replacement::Without };
    let mut learner = build::sgd_pool(settings, resolved, draw, replacement, rows)?;
    apart.map_or(Ok(()), |within| learner.diversify(within))?;
    Ok(learner.into())
}
