//! A builder of learners with the defaults of the command line.

use std::collections::HashSet;
use std::sync::Arc;

use querist_engine::pool::{ColdDraws, Draw, ModelCandidate, Objective, RefitPool, StartRows};
use querist_engine::session::{LabelingPool, Session, SessionSettings};
use querist_engine::step::StepSize;
use querist_engine::stop::{GAIN_BATCH, StopRule};
use querist_engine::stream::StreamLearner;
use querist_engine::task::Labels;
use querist_rows::{DenseRows, Rows};
use querist_run::build::{self, FitSettings, Resolved};
use querist_run::pool::stop::GAIN;
use querist_run::settings::LearnerSettings;

use crate::{Error, Result};

/// The duration of a lease on an item, in milliseconds.
const LEASE_MS: u64 = 300_000;

/// An item of a labeling session.
///
/// ```
/// let item = querist::Item { id: "7".into(), text: "great film".to_owned(), features: vec![1.0, 0.0] };
/// assert_eq!(&*item.id, "7");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// A unique id.
    pub id: Arc<str>,
    /// The text to display.
    pub text: String,
    /// The features to learn from.
    pub features: Vec<f32>,
}

/// A builder of stream learners, pool learners and labeling sessions.
///
/// ```
/// use querist::prelude::*;
///
/// let rows = Rows::Dense(DenseRows::from_values(1, vec![-1.0, -0.1, 0.2, 0.9]).expect("whole rows"));
/// let mut pool = LearnerBuilder::new(Labels::Binary).seed(1).pool(&rows)?;
/// let drawn = pool.ask(&rows).expect("four rows are left");
/// pool.answer(&[(rows.row(drawn.row), drawn, 1.0)])?;
/// assert_eq!(pool.answered(), 1);
/// # Ok::<(), querist::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LearnerBuilder {
    labels: Labels,
    settings: LearnerSettings,
}

impl LearnerBuilder {
    /// Creates a builder with the default loss and rule for this kind of labels.
    pub fn new(labels: Labels) -> Self {
        Self { labels, settings: LearnerSettings::default() }
    }

    /// Sets the loss, by its name in `querist list`.
    #[must_use]
    pub fn loss(mut self, name: &str) -> Self {
        self.settings.loss = Some(name.to_owned());
        self
    }

    /// Sets the query rule, by its name in `querist list`.
    #[must_use]
    pub fn rule(mut self, name: &str) -> Self {
        self.settings.rule = Some(name.to_owned());
        self
    }

    /// Sets the random seed. Equal seeds give equal runs.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Sets λ of the penalty λ/2·‖w‖². Without it, or with 0, pools choose λ from the answers and streams have none.
    #[must_use]
    pub fn l2(mut self, strength: f64) -> Self {
        self.settings.l2 = (strength != 0.0).then_some(strength);
        self
    }

    /// Sets the draws of a pool until a fit is possible. By default they cover the pool.
    #[must_use]
    pub fn cold_start(mut self, draws: ColdDraws) -> Self {
        self.settings.cold_start = Some(draws.into());
        self
    }

    /// Builds a learner for a stream of observations with this many features.
    ///
    /// # Errors
    /// If a name is unknown, or the rule cannot be used on a stream.
    pub fn stream(&self, features: usize) -> Result<StreamLearner> {
        self.settings.check()?;
        build::stream(&self.settings, &self.resolved(features))
    }

    /// Builds a learner for a pool of rows. It refits after each answer and never asks for a row twice.
    ///
    /// # Errors
    /// If a name is unknown, or the loss cannot be fitted.
    pub fn pool(&self, rows: &Rows) -> Result<RefitPool> {
        self.settings.check()?;
        self.refit_pool(rows.empty_like(), rows.len())
    }

    /// Builds a labeling session for items with equally many features, one annotator per item.
    ///
    /// # Errors
    /// If a name is unknown, the loss cannot be fitted, an id appears twice, or the items differ in their number of
    /// features.
    ///
    /// # Panics
    /// Never: the learner was built once before the function that builds it is stored.
    pub fn session(&self, items: Vec<Item>) -> Result<Session> {
        check_ids(&items)?;
        let rows = Rows::Dense(features(&items)?);
        let cold_draws = self.pool(&rows)?.cold_draws();
        let (builder, empty, count) = (self.clone(), rows.empty_like(), rows.len());
        let learner = Box::new(move || builder.refit_pool(empty.clone(), count).expect("it was built before"));
        let ids = items.iter().map(|item| Arc::clone(&item.id)).collect();
        let texts: Vec<String> = items.into_iter().map(|item| item.text).collect();
        let pool = LabelingPool {
            rows,
            renumbered: None,
            ids,
            content: Box::new(move |row| texts[row.0].clone()),
            fingerprints: vec![0; count],
            hidden: vec![],
            imported: vec![],
            changed_imports: vec![],
            draw: Draw::Scan,
            cold_draws,
            start: StartRows::default(),
            learner,
            stop: StopRule::Gain { batch: GAIN_BATCH, below: GAIN },
        };
        let settings = SessionSettings {
            labels: self.labels,
            overlap: 1,
            budget: None,
            lease_ms: LEASE_MS,
            seed: self.settings.seed,
        };
        Ok(Session::new(Arc::new(pool), build::task(&self.settings, self.labels)?, settings))
    }

    fn refit_pool(&self, empty: Rows, count: usize) -> Result<RefitPool> {
        let resolved = self.resolved(empty.dim());
        let models = vec![ModelCandidate::Linear];
        let fit = FitSettings { objective: Objective::AsAsked, empty, models };
        build::refit_pool(&self.settings, &resolved, Draw::Scan, fit, count)
    }

    fn resolved(&self, dim: usize) -> Resolved {
        Resolved { labels: self.labels, dim, step: StepSize::Auto, precision_class: None }
    }
}

fn check_ids(items: &[Item]) -> Result<()> {
    let mut seen = HashSet::new();
    match items.iter().find(|item| !seen.insert(&item.id)) {
        None => Ok(()),
        Some(item) => Err(Error::Invalid(format!("id `{}` appears twice; ids must be unique", item.id))),
    }
}

fn features(items: &[Item]) -> Result<DenseRows> {
    let dim = items.first().map_or(0, |item| item.features.len());
    if let Some(other) = items.iter().find(|item| item.features.len() != dim) {
        let (id, found) = (&other.id, other.features.len());
        return Err(Error::Invalid(format!("item `{id}` has {found} features; the first item has {dim}")));
    }
    let mut rows = DenseRows::new(dim);
    for item in items {
        rows.push(&item.features);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, features: &[f32]) -> Item {
        Item { id: id.into(), text: id.to_owned(), features: features.to_vec() }
    }

    #[test]
    fn a_session_rejects_repeated_ids_and_unequal_features() {
        let build =
            |items: Vec<Item>| LearnerBuilder::new(Labels::Binary).session(items).err().map(|error| error.to_string());
        assert_eq!(build(vec![item("a", &[1.0]), item("b", &[2.0])]), None);
        let repeated = build(vec![item("a", &[1.0]), item("a", &[2.0])]);
        assert_eq!(repeated.as_deref(), Some("id `a` appears twice; ids must be unique"));
        let unequal = build(vec![item("a", &[1.0]), item("b", &[2.0, 3.0])]);
        assert_eq!(unequal.as_deref(), Some("item `b` has 2 features; the first item has 1"));
    }

    #[test]
    fn a_penalty_of_zero_is_the_default() {
        assert!(LearnerBuilder::new(Labels::Binary).l2(0.0).stream(2).is_ok());
        assert!(LearnerBuilder::new(Labels::Binary).l2(-1.0).stream(2).is_err());
    }
}
