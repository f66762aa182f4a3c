//! The state of a pool learner that fits all its answers after each.

use super::Drawn;
use crate::estimate::{self, Draw};
use crate::fit::Refit;
use crate::rows::Row;
use crate::rule::Rule;
use crate::task::Labels;

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

/// A cold start, which draws uniformly until a fit is possible: for at least `least` labels, then until every class has
/// been seen or there are `most`.
#[derive(Clone, Debug)]
pub struct ColdStart {
    least: u64,
    most: u64,
    seen: Vec<bool>,
    labels: Labels,
    uniform: Rule,
}

impl ColdStart {
    /// Creates a cold start of at least 10 labels and two per class, and at most five times that.
    ///
    /// # Panics
    /// Never: the constant rule always parses.
    pub fn new(labels: Labels) -> Self {
        let classes = labels.classes();
        let least = 10.max(2 * classes as u64);
        let uniform = crate::rule::parse("constant", "logistic", Labels::Binary).expect("a rule of the theory");
        Self { least, most: 5 * least, seen: vec![false; classes], labels, uniform }
    }

    /// Records a label; returns whether the cold start is over.
    fn see(&mut self, label: f64, answered: u64) -> bool {
        if !self.seen.is_empty() {
            self.seen[self.labels.class(label)] = true;
        }
        self.least <= answered && self.seen.iter().all(|seen| *seen) || self.most <= answered
    }
}

/// The answers and the fit of a learner that fits.
#[derive(Debug)]
pub(super) struct Fitting {
    pub(super) refit: Refit,
    objective: Objective,
    cold: Option<ColdStart>,
    pub(super) draws: Vec<Drawn>,
    /// The loss of the previous model on each draw: 1 for a wrong decision and 0 for a correct one, or the loss for
    /// numbers.
    pub(super) losses: Vec<f64>,
    /// The weight of each answer in the last fit.
    pub(super) weights: Vec<f64>,
    /// The number of seed labels.
    pub(super) given: usize,
    /// The number of answers of each class.
    counts: Vec<u64>,
    pub(super) labels: Labels,
}

impl Fitting {
    pub(super) fn new(refit: Refit, objective: Objective, cold: ColdStart) -> Self {
        let (counts, labels) = (vec![0; cold.seen.len()], cold.labels);
        Self {
            refit,
            objective,
            cold: Some(cold),
            draws: vec![],
            losses: vec![],
            weights: vec![],
            given: 0,
            counts,
            labels,
        }
    }

    /// Returns the rule of the cold start, while that lasts.
    pub(super) fn cold_rule(&self) -> Option<&Rule> {
        self.cold.as_ref().map(|cold| &cold.uniform)
    }

    /// Returns the class with the fewest answers, the first of equals.
    pub(super) fn rarest(&self) -> usize {
        (1..self.counts.len())
            .fold(0, |least, class| if self.counts[class] < self.counts[least] { class } else { least })
    }

    /// Adds a seed label: it is learned from, but excluded from estimates.
    pub(super) fn give(&mut self, item: u64, x: Row<'_>, label: f64) {
        self.given += 1;
        self.take(item, x, label);
    }

    fn take(&mut self, item: u64, x: Row<'_>, label: f64) {
        self.refit.add(item, x, label);
        if !self.counts.is_empty() {
            self.counts[self.labels.class(label)] += 1;
        }
        if let Some(cold) = &mut self.cold
            && cold.see(label, self.refit.answers() as u64)
        {
            self.cold = None;
        }
    }

    /// Adds an answer to a draw.
    pub(super) fn answer(&mut self, x: Row<'_>, drawn: Drawn, label: f64, loss: f64) {
        self.take(drawn.row as u64, x, label);
        self.draws.push(drawn);
        self.losses.push(loss);
    }

    /// Returns the probability of each draw among the rows that were left; `None` if one is unknown.
    pub(super) fn chances(&self, rows: usize) -> Option<Vec<Draw>> {
        self.draws.iter().enumerate().map(|(index, drawn)| drawn.chance(rows.saturating_sub(index).max(1))).collect()
    }

    /// Fits all answers. `uncertainty` is U of an answer's features at the previous parameters. `rows` is the number of
    /// rows that could be asked at the start.
    pub(super) fn fit(&mut self, rows: usize, uncertainty: impl Fn(Row<'_>) -> f64) {
        let mut weights = vec![1.0; self.given];
        weights.extend(match self.chances(rows) {
            Some(chances) if self.objective != Objective::AsAsked => estimate::levelled(rows, &chances),
            _ => vec![1.0; self.draws.len()],
        });
        if self.objective == Objective::Equivalent {
            for (index, weight) in weights.iter_mut().enumerate() {
                *weight *= uncertainty(self.refit.rows().row(index));
            }
        }
        self.refit.fit(&weights);
        self.weights = weights;
    }
}
