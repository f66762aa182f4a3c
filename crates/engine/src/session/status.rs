//! How a session is doing.

use std::sync::Arc;

use super::{Agreement, Reading, Session};
use crate::pool::Assessment;
use crate::stop::Advice;

/// How a session is doing.
#[derive(Clone, Debug)]
pub struct Status<'a> {
    /// People, and how many labels of theirs stand.
    pub people: Vec<(Arc<str>, usize)>,
    /// Items with a label.
    pub answered: usize,
    /// Items that were skipped and are with nobody.
    pub skipped: usize,
    /// Items of which nobody could say anything.
    pub unsure: usize,
    /// Items that are with somebody or wait for somebody.
    pub pending: usize,
    /// Labels, and how many items have each.
    pub by_label: Vec<(f64, usize)>,
    /// Items in the pool, imported labels not counted.
    pub pool: usize,
    /// Answers a minute, lately.
    pub rate: f64,
    /// Until the budget or the pool is done, at that rate.
    pub seconds_left: Option<f64>,
    /// What the labels say of the whole pool.
    pub assessment: Option<&'a Assessment>,
    /// Whether to go on.
    pub advice: Option<&'a Advice>,
    /// The learning curve.
    pub curve: &'a [Reading],
    /// How far people agree, where several were asked.
    pub agreement: Option<Agreement>,
    /// How many labels the model has.
    pub learned: u64,
    /// Items are still asked at random.
    pub is_cold: bool,
    /// The model does not know all labels yet.
    pub is_behind: bool,
}

/// Rates are of this long, in milliseconds.
const LATELY: u64 = 10 * 60 * 1000;

impl Session {
    /// How it is doing.
    pub fn status(&self, tick: u64) -> Status<'_> {
        let answered = self.labelled.len();
        let pool = self.study.rows.len() - self.study.imported.len();
        let goal = self.settings.budget.unwrap_or(pool).min(pool);
        let rate = self.rate(tick);
        let seconds_left = (0.0 < rate).then(|| 60.0 * goal.saturating_sub(answered) as f64 / rate);
        let by_label = self.by_label.iter().filter(|(_, count)| 0 < **count);
        Status {
            people: self.people.iter().map(|person| (Arc::clone(&person.name), person.answered)).collect(),
            answered,
            skipped: self.asks.len() - answered - self.unsure - self.pending,
            unsure: self.unsure,
            pending: self.pending,
            by_label: by_label.map(|(bits, count)| (f64::from_bits(*bits), *count)).collect(),
            pool,
            rate,
            seconds_left,
            assessment: self.model.assessment.as_ref(),
            advice: self.model.advice.as_ref(),
            curve: &self.curve,
            agreement: self.agreement(),
            learned: self.model.labels,
            is_cold: self.model.is_cold,
            is_behind: self.is_behind(),
        }
    }

    fn rate(&self, tick: u64) -> f64 {
        let from = tick.saturating_sub(LATELY);
        let first = self.recent.partition_point(|at| *at < from);
        let count = self.recent.len() - first;
        let Some(oldest) = self.recent.get(first).filter(|_| 2 <= count) else { return 0.0 };
        // From the first to now there are `count − 1` whole spaces and the beginning of another.
        60_000.0 * (count - 1) as f64 / tick.saturating_sub(*oldest).max(1) as f64
    }

    fn agreement(&self) -> Option<Agreement> {
        if self.settings.overlap < 2 || self.is_numbers() {
            return None;
        }
        self.agreements.total()
    }
}
