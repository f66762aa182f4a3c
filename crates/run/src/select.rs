//! Selection of the next rows of a pool: one pass for the scale of the rule if it needs one, and one pass that draws.

mod askable;
mod excluded;
mod pass;
mod probabilities;
mod scored;
mod takers;
mod written;

use querist_data::pool::{PoolEncoder, PoolFiles};
use querist_data::{DataError, DataFault};
use querist_engine::rule::Rule;
use querist_engine::select::{Chooser, Chosen, IdSet, NoSelection, RowIds, ScaleSample, Selection};

pub use askable::AskableRows;
pub use excluded::read_ids;
pub use pass::{BatchReader, Pass, Taker};
pub use probabilities::{probability_width, probability_width_of_files};
pub use takers::{Decider, ScoreList, Unmergeable, merge_parts};
pub use written::{to_batch, to_parquet};

use crate::model::Model;

/// The settings of a selection.
pub struct Query<'a> {
    /// The model.
    pub model: &'a Model,
    /// The name of the rule; `None` for the model's own.
    pub rule: Option<&'a str>,
    /// The number of rows to draw.
    pub k: usize,
    /// The seed of the draws.
    pub seed: u64,
    /// The column of ids, if the model does not name it.
    pub id: Option<&'a str>,
    /// The column of vectors that holds all features, if the model does not name it.
    pub features: Option<&'a str>,
    /// The ids of rows that are not part of the pool, if there are any.
    pub exclude: Option<&'a IdSet>,
    /// Whether the features are the probabilities of another model, for [`Model::of_probabilities`].
    pub are_probabilities: bool,
}

impl<'a> Query<'a> {
    /// Returns the recipe for reading rows.
    pub fn recipe(&self) -> Result<PoolEncoder, DataFault> {
        match (&self.model.encoder, self.features) {
            (Some(encoder), features) => PoolEncoder::new(encoder, self.id, features),
            (None, Some(column)) if self.are_probabilities && self.model.scorer.dim() == 1 => {
                PoolEncoder::of_columns(&[column.to_owned()], self.id)
            }
            (None, Some(column)) => PoolEncoder::of_vectors(column, self.model.scorer.dim(), self.id),
            (None, None) if let Some(columns) = &self.model.features => {
                if columns.len() != self.model.scorer.dim() {
                    return Err(DataFault::new("the model's features and weights differ in number", ""));
                }
                PoolEncoder::of_columns(columns, self.id)
            }
            (None, None) => {
                let fault = DataFault::new("the model file has no encoder for rows", "a column of vectors");
                Err(fault.hint("name it with --features COLUMN"))
            }
        }
    }

    /// Returns the rule, before it knows the scale of the pool.
    pub fn rule(&self) -> Result<Rule, DataFault> {
        self.model.pool_rule(self.rule).map_err(|error| DataFault::new(error.to_string(), ""))
    }

    /// Returns a taker that draws rows, once the rule knows its scale.
    pub fn chooser(&self, rule: &Rule) -> AskableRows<'a, Chooser> {
        let outputs = self.model.scorer.outputs();
        self.askable(Chooser::new(rule.clone(), outputs, Selection::new(self.seed, self.k)))
    }

    /// Returns a taker that samples rows for the scale of a rule.
    pub fn sampler(&self) -> AskableRows<'a, Sampler> {
        self.askable(Sampler { outputs: self.model.scorer.outputs(), sample: ScaleSample::default() })
    }

    fn askable<T>(&self, inner: T) -> AskableRows<'a, T> {
        let outputs = self.model.scorer.outputs();
        AskableRows { inner, exclude: self.exclude, outputs, are_probabilities: self.are_probabilities, room: vec![] }
    }

    /// Draws from a pool of files. Calls back with the number of rows of each scored batch; `false` ends the
    /// selection with an error.
    pub fn select(
        &self,
        pool: &PoolFiles,
        threads: usize,
        on_rows: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<(Chosen, Rule), DataError> {
        let of_pool = |fault: DataFault| fault.of_file(&pool.name());
        let recipe = self.recipe().map_err(of_pool)?.with_ids_of(pool)?;
        let mut rule = self.rule().map_err(|fault| fault.of_file("the rule"))?;
        let pass = Pass { recipe: &recipe, scorer: &self.model.scorer, threads, on_rows };
        if let Rule::Relative(rule) = &mut rule {
            let mut samples = pass.over(pool, || self.sampler())?.into_iter().map(|sampler| sampler.inner.sample);
            let mut sample = samples.next().unwrap_or_default();
            samples.for_each(|other| sample.merge(other));
            // A pool without rows is rejected below.
            sample.settle(rule);
        }
        let parts = pass.over(pool, || self.chooser(&rule))?.into_iter().map(|chooser| chooser.inner.into_selection());
        let mut selection = Selection::new(self.seed, self.k);
        parts.for_each(|part| selection.merge(part));
        let has_excluded = self.exclude.is_some_and(|exclude| !exclude.is_empty());
        let chosen = selection.finish().map_err(|error| match error {
            NoSelection::Empty if has_excluded => {
                DataFault::new("no rows, except those that are excluded", "rows to draw").of_file(&pool.name())
            }
            error => refused(pool, &error),
        })?;
        Ok((chosen, rule))
    }
}

fn refused(pool: &PoolFiles, error: &NoSelection) -> DataError {
    match error {
        NoSelection::Twice { id, positions } => {
            let second = pool.describe_row(positions[1]);
            let found = format!("the id `{id}` appears also in {}", pool.describe_row(positions[0]));
            DataFault::new(found, "unique ids")
                .hint("remove one of them, or name another column with --id")
                .of_file(&second)
        }
        other => DataFault::new(other.to_string(), "").of_file(&pool.name()),
    }
}

/// A taker that samples rows for the scale of a rule.
pub struct Sampler {
    outputs: usize,
    /// The sampled rows.
    pub sample: ScaleSample,
}

impl Taker for Sampler {
    fn take(&mut self, ids: &RowIds<'_>, scores: &[f64], _position: u64) -> Result<(), (usize, DataFault)> {
        if let Some(odd) = scores.iter().position(|score| score.is_nan()) {
            return Err((odd / self.outputs, no_number()));
        }
        self.sample.offer(ids, scores, self.outputs);
        Ok(())
    }
}

impl Taker for Chooser {
    fn take(&mut self, ids: &RowIds<'_>, scores: &[f64], position: u64) -> Result<(), (usize, DataFault)> {
        Chooser::take(self, ids, scores, position).map_err(|odd| (odd.0, no_number()))
    }
}

fn no_number() -> DataFault {
    DataFault::new("its score is NaN under this model", "features of a size that was met in learning")
}
