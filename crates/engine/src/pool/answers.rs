//! The answers of a pool and the fit to them.

use std::fmt::{self, Display};
use std::str::FromStr;

use super::Drawn;
use super::model_fit::ModelFit;
use super::precision::ShareEvidence;
use crate::estimate::{self, DrawProbability, Estimator};
use crate::name::{self, NameError};
use crate::rows::Row;
use crate::task::{Labels, Task};

/// The weights of answers in a fit, for three objectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Weight 1: the loss on the queried rows.
    AsAsked,
    /// Weight U(θ; x)/p: the equivalent loss on the pool, with U at the last parameters.
    Equivalent,
    /// Weight 1/p: the loss itself on the pool.
    Original,
}

impl Objective {
    /// All objectives.
    pub const ALL: [Self; 3] = [Objective::AsAsked, Objective::Equivalent, Objective::Original];
}

impl Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Objective::AsAsked => "as-asked",
            Objective::Equivalent => "equivalent",
            Objective::Original => "original",
        })
    }
}

impl FromStr for Objective {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        name::find("objective", text, &Self::ALL)
    }
}

/// The answers and the fit of a learner that fits.
#[derive(Debug)]
pub(super) struct PoolAnswers {
    pub(super) models: ModelFit,
    objective: Objective,
    pub(super) draws: Vec<Drawn>,
    /// The loss of the previous model on each draw: 1 for a wrong decision and 0 for a correct one, or the loss for
    /// numbers.
    pub(super) losses: Vec<f64>,
    /// The weight of each answer in the last fit.
    pub(super) weights: Vec<f64>,
    /// The number of seed labels.
    pub(super) seed_labels: usize,
    /// The number of answers of each class.
    counts: Vec<u64>,
    pub(super) labels: Labels,
}

impl PoolAnswers {
    pub(super) fn new(models: ModelFit, objective: Objective, labels: Labels) -> Self {
        let counts = vec![0; labels.classes()];
        Self { models, objective, draws: vec![], losses: vec![], weights: vec![], seed_labels: 0, counts, labels }
    }

    /// Returns the class with the fewest answers, the first of equals.
    pub(super) fn rarest(&self) -> usize {
        (1..self.counts.len())
            .fold(0, |least, class| if self.counts[class] < self.counts[least] { class } else { least })
    }

    /// Adds a seed label: it is learned from, but excluded from estimates.
    pub(super) fn add_seed_label(&mut self, item: u64, x: Row<'_>, label: f64) {
        self.seed_labels += 1;
        self.add_label(item, x, label);
    }

    fn add_label(&mut self, item: u64, x: Row<'_>, label: f64) {
        self.models.add(item, x, label);
        if !self.counts.is_empty() {
            self.counts[self.labels.class(label)] += 1;
        }
    }

    /// Adds an answer to a draw.
    pub(super) fn add(&mut self, x: Row<'_>, drawn: Drawn, label: f64, loss: f64) {
        self.add_label(drawn.row as u64, x, label);
        self.draws.push(drawn);
        self.losses.push(loss);
    }

    /// Returns the probability of each draw among the rows that were left; `None` if one is unknown.
    pub(super) fn probabilities(&self, rows: usize) -> Option<Vec<DrawProbability>> {
        self.draws
            .iter()
            .enumerate()
            .map(|(index, drawn)| drawn.draw_probability(rows.saturating_sub(index).max(1)))
            .collect()
    }

    /// Returns the evidence about the share of errors, from the decisions of each answer's previous model.
    pub(super) fn evidence_of_errors(&self, rows: usize) -> Option<ShareEvidence> {
        let wrong: Vec<bool> = self.losses.iter().map(|loss| 0.0 < *loss).collect();
        let (share, even_draws) = Estimator::new(rows).share_and_even_draws(&wrong, &self.probabilities(rows)?).ok()?;
        Some(ShareEvidence { share, even_draws })
    }

    /// Fits all answers. `uncertainty` is U of an answer's features at the previous parameters. `rows` is the number of
    /// rows that could be asked at the start.
    pub(super) fn fit(&mut self, rows: usize, task: &dyn Task, uncertainty: impl Fn(Row<'_>) -> f64) {
        let mut weights = vec![1.0; self.seed_labels];
        weights.extend(match self.probabilities(rows) {
            Some(probabilities) if self.objective != Objective::AsAsked => {
                estimate::leveled_weights(rows, &probabilities)
            }
            _ => vec![1.0; self.draws.len()],
        });
        if self.objective == Objective::Equivalent {
            for (index, weight) in weights.iter_mut().enumerate() {
                *weight *= uncertainty(self.models.rows().row(index));
            }
        }
        self.models.fit(&weights, task);
        self.weights = weights;
    }
}
