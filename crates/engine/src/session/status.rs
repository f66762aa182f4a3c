//! The status of a session.

use std::sync::Arc;

use super::ids::LabelValue;
use super::{Agreement, LearningCurvePoint, Session};
use crate::pool::{Assessment, Draw};
use crate::stop::Advice;

/// The status of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionStatus<'a> {
    /// The names of annotators, with the number of their active labels.
    pub annotators: Vec<(Arc<str>, usize)>,
    /// The number of labeled items.
    pub answered: usize,
    /// The number of items that were skipped and are not leased.
    pub skipped: usize,
    /// The number of items that no annotator could label.
    pub unsure: usize,
    /// The number of items that are leased or need an annotator.
    pub pending: usize,
    /// Labels, with the number of items of each.
    pub by_label: Vec<(LabelValue, usize)>,
    /// The number of items in the pool, without those with imported labels.
    pub pool: usize,
    /// Recent answers per minute.
    pub rate: f64,
    /// Seconds until the budget or the pool is done, at that rate.
    pub seconds_left: Option<f64>,
    /// Estimates for the whole pool.
    pub assessment: Option<&'a Assessment>,
    /// Advice on whether to stop.
    pub advice: Option<&'a Advice>,
    /// The learning curve.
    pub curve: &'a [LearningCurvePoint],
    /// The agreement of annotators, if several were asked.
    pub agreement: Option<Agreement>,
    /// The number of labels the model was trained on.
    pub model_labels: u64,
    /// The kind of model: `linear`, `kernel` or `forest`.
    pub model_kind: &'static str,
    /// The method of drawing items once there is a model. With `Top` there are no estimates.
    pub draw: Draw,
    /// `true` if items are still drawn as in a cold start.
    pub is_cold: bool,
    /// `true` if the model has not used all labels yet.
    pub is_behind: bool,
}

/// The window over which rates are measured, in milliseconds.
const RATE_WINDOW_MS: u64 = 10 * 60 * 1000;

impl Session {
    /// Returns the status at this tick.
    pub fn status(&self, tick: u64) -> SessionStatus<'_> {
        let answered = self.labeled.len();
        let pool = self.pool.rows.len() - self.pool.imported.len();
        let goal = self.settings.budget.unwrap_or(pool).min(pool);
        let rate = self.rate(tick);
        let seconds_left = (0.0 < rate).then(|| 60.0 * goal.saturating_sub(answered) as f64 / rate);
        let by_label = self.by_label.iter().filter(|(_, count)| 0 < **count);
        SessionStatus {
            annotators: self
                .annotators
                .iter()
                .map(|annotator| (Arc::clone(&annotator.name), annotator.labels))
                .collect(),
            answered,
            skipped: self.asks.len() - answered - self.unsure - self.pending,
            unsure: self.unsure,
            pending: self.pending,
            by_label: by_label.map(|(bits, count)| (LabelValue(f64::from_bits(*bits)), *count)).collect(),
            pool,
            rate,
            seconds_left,
            assessment: self.model.assessment.as_ref(),
            advice: self.model.advice.as_ref(),
            curve: &self.curve,
            agreement: self.agreement(),
            model_labels: self.model.labels,
            model_kind: self.model.scorer.kind(),
            draw: self.pool.draw,
            is_cold: self.model.is_cold,
            is_behind: self.is_behind(),
        }
    }

    fn rate(&self, tick: u64) -> f64 {
        let from = tick.saturating_sub(RATE_WINDOW_MS);
        let first = self.recent.partition_point(|at| *at < from);
        let count = self.recent.len() - first;
        let Some(oldest) = self.recent.get(first).filter(|_| 2 <= count) else { return 0.0 };
        // From the oldest answer until now there are `count − 1` complete intervals and the start of another.
        60_000.0 * (count - 1) as f64 / tick.saturating_sub(*oldest).max(1) as f64
    }

    fn agreement(&self) -> Option<Agreement> {
        if self.settings.overlap < 2 || self.is_numbers() {
            return None;
        }
        self.agreements.total()
    }
}
