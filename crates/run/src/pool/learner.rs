//! The learner of a pool's run, of either kind.

use querist_data::Batch;
use querist_engine::model_kind::ModelKind;
use querist_engine::pool::{
    AnswerError, Drawn, ModelCandidate, NoRow, Objective, PoolLearner, PoolSampler, RefitPool, Replacement, SgdPool,
};
use querist_ledger::Ledger;
use querist_rows::{Row, Rows};

use super::PoolRunSettings;
use crate::build::{self, FitSettings, Resolved};
use crate::error::{Context, Result, bail};

/// The learner of a pool's run.
#[derive(Debug)]
pub enum RunLearner {
    /// A learner that takes a gradient step for each answer.
    Sgd(Box<SgdPool>),
    /// A learner that fits all answers.
    Refit(Box<RefitPool>),
}

impl RunLearner {
    /// Returns the learner if it fits.
    pub fn as_refit(&self) -> Option<&RefitPool> {
        match self {
            RunLearner::Sgd(_) => None,
            RunLearner::Refit(pool) => Some(pool),
        }
    }

    fn as_learner(&self) -> &dyn PoolLearner {
        match self {
            RunLearner::Sgd(pool) => pool.as_ref(),
            RunLearner::Refit(pool) => pool.as_ref(),
        }
    }

    fn as_learner_mut(&mut self) -> &mut dyn PoolLearner {
        match self {
            RunLearner::Sgd(pool) => pool.as_mut(),
            RunLearner::Refit(pool) => pool.as_mut(),
        }
    }
}

impl From<SgdPool> for RunLearner {
    fn from(pool: SgdPool) -> Self {
        RunLearner::Sgd(Box::new(pool))
    }
}

impl From<RefitPool> for RunLearner {
    fn from(pool: RefitPool) -> Self {
        RunLearner::Refit(Box::new(pool))
    }
}

impl PoolLearner for RunLearner {
    fn sampler(&self) -> &PoolSampler {
        self.as_learner().sampler()
    }

    fn sampler_mut(&mut self) -> &mut PoolSampler {
        self.as_learner_mut().sampler_mut()
    }

    fn ask(&mut self, rows: &Rows) -> Result<Drawn, NoRow> {
        self.as_learner_mut().ask(rows)
    }

    fn answer(&mut self, answers: &[(Row<'_>, Drawn, f64)]) -> Result<(), AnswerError> {
        self.as_learner_mut().answer(answers)
    }
}

/// The note of the models among which the answers decide.
const MODELS: &str = "models";

/// Returns the note of a run's models. A linear model needs none.
pub(super) fn models_note(models: &[ModelCandidate]) -> Result<Option<(&'static str, String)>> {
    let is_linear = models == [ModelCandidate::Linear];
    Ok(if is_linear { None } else { Some((MODELS, serde_json::to_string(models)?)) })
}

/// Returns the models that a ledger notes.
pub fn noted_models(ledger: &Ledger) -> Result<Vec<ModelCandidate>> {
    let Some(note) = ledger.note(MODELS) else { return Ok(vec![ModelCandidate::Linear]) };
    serde_json::from_str(note).context("the ledger's models")
}

/// Makes the learner, and returns the models that it can fit.
pub(super) fn begin(
    settings: &PoolRunSettings,
    resolved: &Resolved,
    pool: &Batch,
) -> Result<(RunLearner, Vec<ModelCandidate>)> {
    let (rows, draw) = (pool.rows.len(), settings.draw);
    let mut models = vec![ModelCandidate::Linear];
    let mut learner: RunLearner = match settings.fit {
        Some(objective) => {
            let task = build::task(&settings.learner, resolved.labels)?;
            let kind = settings.files.model_kind();
            if objective == Objective::Equivalent && matches!(kind, ModelKind::Forest(_) | ModelKind::Auto) {
                bail!("--objective equivalent needs --model linear or kernel: a forest has no equivalent loss");
            }
            models = build::models(kind, &pool.rows, &*task, &settings.learner)?;
            let made = FitSettings { objective, empty: pool.rows.empty_like(), models: models.clone() };
            build::refit_pool(&settings.learner, resolved, draw, made, rows)?.into()
        }
        None => {
            let replacement = if settings.repeat { Replacement::With } else { Replacement::Without };
            build::sgd_pool(&settings.learner, resolved, draw, replacement, rows)?.into()
        }
    };
    if let Some(within) = settings.apart {
        learner.diversify(within)?;
    }
    Ok((learner, models))
}
