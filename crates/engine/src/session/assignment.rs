//! The assignment of items to annotators, with leases.

use std::sync::Arc;

use super::Session;
use super::event::{DrawTerms, ModelPrediction, PredictedLabel, SessionEvent, SessionTime};
use super::ids::{AskId, LabelValue, RowId};
use super::queue::{OthersActivity, Queue};
use super::sampling_table::SamplingTable;
use crate::pool::Draw;
use crate::task::Labels;

/// The assignment of an annotator, and the state of the remaining work.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Assignment {
    /// The assigned asks, in the order to show them.
    pub asks: Vec<AskId>,
    /// The number of items that can still be drawn within the budget.
    pub unasked: usize,
    /// The number of leases of others on asks that this annotator could have.
    pub leased: usize,
    /// Milliseconds until the first of those leases ends.
    pub next_free_ms: Option<u64>,
    /// The number of asks that this annotator has answered and that need another annotator.
    pub for_others: usize,
    /// The number of active labels of this annotator.
    pub answered: usize,
    /// The reason for fewer asks than requested, if there are fewer.
    pub no_more: Option<NoMore>,
}

/// A reason why there is nothing more to label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMore {
    /// All items are done.
    Finished,
    /// This annotator has answered all they can; some items need another annotator.
    YoursDone,
    /// All remaining items are leased to others.
    AllLeased,
    /// The budget is spent.
    Budget,
}

impl Session {
    /// Assigns up to `n` asks to an annotator: those they hold, in the same order, then others. Renews their leases.
    pub fn next(&mut self, name: &Arc<str>, n: usize, now: SessionTime, events: &mut Vec<SessionEvent>) -> Assignment {
        self.expire(now.tick);
        let annotator = self.find_or_add_annotator(name);
        self.renew_leases(annotator, now.tick);
        while self.annotators[annotator].held.len() < n {
            if let Some(ask) = self.queues.first(annotator, Queue::Open) {
                self.assign(ask, name, now, events);
            } else if self.can_draw() {
                if !self.draw(name, now, events) {
                    break;
                }
            } else if let Some(ask) = self.queues.first(annotator, Queue::Skipped) {
                self.assign(ask, name, now, events);
            } else {
                break;
            }
        }
        self.assignment(annotator, n, now.tick)
    }

    fn assign(&mut self, ask: AskId, name: &Arc<str>, now: SessionTime, events: &mut Vec<SessionEvent>) {
        let event = SessionEvent::Assigned { ask, annotator: Arc::clone(name), first: false, at: now.clock };
        self.emit(event, now.tick, events);
    }

    fn assignment(&self, annotator: usize, n: usize, tick: u64) -> Assignment {
        let asks: Vec<AskId> = self.annotators[annotator].held.iter().take(n.max(1)).copied().collect();
        let OthersActivity { leased, first_deadline, for_others } = self.queues.others_activity(annotator);
        let next_free_ms = first_deadline.map(|deadline| deadline.saturating_sub(tick));
        // With one annotator per item, no item needs a second one.
        let for_others = if self.settings.overlap == 1 { 0 } else { for_others };
        let no_more = (asks.len() < n).then(|| {
            if next_free_ms.is_some() {
                NoMore::AllLeased
            } else if 0 < for_others {
                NoMore::YoursDone
            } else if 0 < self.table.left() && !self.can_draw() {
                NoMore::Budget
            } else {
                NoMore::Finished
            }
        });
        let answered = self.annotators[annotator].labels;
        Assignment { asks, unasked: self.unasked(), leased, next_free_ms, for_others, answered, no_more }
    }

    /// Returns the number of items that may still be drawn.
    pub(super) fn unasked(&self) -> usize {
        let used = self.labeled.len() + self.pending;
        let budget_left = self.settings.budget.map_or(usize::MAX, |budget| budget.saturating_sub(used));
        self.table.left().min(budget_left)
    }

    fn can_draw(&self) -> bool {
        0 < self.unasked()
    }

    /// Draws an item for an annotator; returns whether there was one.
    fn draw(&mut self, name: &Arc<str>, now: SessionTime, events: &mut Vec<SessionEvent>) -> bool {
        let ask = self.asks.next_id();
        let Some((row, odds)) = self.next_draw() else { return false };
        self.table.remove(row);
        let event = SessionEvent::Asked {
            ask,
            id: Arc::clone(&self.pool.ids[row.0]),
            content: Some(self.pool.content_digest(row)),
            features: Some(self.pool.feature_digest(row)),
            hidden: self.pool.hidden.get(row.0).copied(),
            fingerprint: None,
            probability: odds.probability(),
            odds,
            guess: self.predict(row),
            annotator: Arc::clone(name),
            at: now.clock,
        };
        self.emit(event, now.tick, events);
        true
    }

    /// Returns the row of the next ask, with the terms of its probability. Without a model, draws are random whatever the
    /// method of drawing.
    pub(super) fn next_draw(&mut self) -> Option<(RowId, DrawTerms)> {
        let coin = self.coin.unit(self.asks.next_id().get());
        let is_top = self.pool.draw == Draw::Top && !self.model.is_cold;
        let by_table = |table: &mut SamplingTable| if is_top { table.top() } else { table.row_at(coin) };
        self.draw_by_coverage(coin).or_else(|| by_table(&mut self.table))
    }

    /// Returns the prediction of the current model for an item.
    pub(super) fn predict(&self, row: RowId) -> ModelPrediction {
        let mut scores = vec![0.0; self.task.outputs()];
        self.model.scorer.scores(self.pool.rows.row(row.0), &mut scores);
        let labels = if self.model.is_cold { 0 } else { self.model.labels };
        let likeliest = match self.task.probabilities(&scores) {
            Some(probabilities) => two_likeliest(self.settings.labels, &scores, &probabilities),
            None => vec![PredictedLabel { label: LabelValue(self.task.decide(&scores)), probability: 1.0 }],
        };
        ModelPrediction { likeliest, labels }
    }

    /// Returns whether predictions have probabilities; some losses define none.
    pub fn has_probabilities(&self) -> bool {
        self.task.probabilities(&vec![0.0; self.task.outputs()]).is_some()
    }

    /// Ends all leases whose deadline has passed.
    pub fn expire(&mut self, tick: u64) {
        while let Some((deadline, ask, annotator)) = self.deadlines.first().copied().filter(|first| first.0 <= tick) {
            debug_assert!(deadline <= tick);
            self.end_lease(ask, annotator);
        }
    }

    fn renew_leases(&mut self, annotator: usize, tick: u64) {
        for ask in self.annotators[annotator].held.clone() {
            self.extend_lease(ask, annotator, tick);
        }
    }

    fn extend_lease(&mut self, ask: AskId, annotator: usize, tick: u64) {
        let until = tick + self.settings.lease_ms;
        self.unindex(ask);
        let holders = &mut self.asks[ask].holders;
        if let Some((_, deadline)) = holders.iter_mut().find(|(holder, _)| *holder == annotator) {
            self.deadlines.remove(&(*deadline, ask, annotator));
            *deadline = until;
            self.deadlines.insert((until, ask, annotator));
        }
        self.index(ask);
    }

    /// Renews an annotator's leases of these asks. Returns the asks they still hold, and those they have lost.
    pub fn heartbeat(&mut self, name: &str, asks: &[AskId], tick: u64) -> (Vec<AskId>, Vec<AskId>) {
        self.expire(tick);
        let annotator = self.annotators_by_name.get(name).copied();
        let (held, lost): (Vec<AskId>, Vec<AskId>) = asks.iter().partition(|ask| {
            annotator.is_some_and(|annotator| self.asks.get(**ask).is_some_and(|ask| ask.is_held_by(annotator)))
        });
        for ask in &held {
            self.extend_lease(*ask, annotator.unwrap_or_default(), tick);
        }
        (held, lost)
    }

    /// Ends an annotator's leases of these asks, so that others can have them.
    pub fn release(&mut self, name: &str, asks: &[AskId]) {
        let Some(annotator) = self.annotators_by_name.get(name).copied() else { return };
        for id in asks {
            if self.asks.get(*id).is_some_and(|ask| ask.is_held_by(annotator)) {
                self.end_lease(*id, annotator);
            }
        }
    }
}

/// Returns the two labels with the highest scores and their probabilities, the predicted one first.
fn two_likeliest(labels: Labels, scores: &[f64], probabilities: &[f64]) -> Vec<PredictedLabel> {
    let predicted =
        |class: usize, probability: f64| PredictedLabel { label: LabelValue(labels.label(class)), probability };
    if let [score] = scores {
        // Ledgers hold 1 − p, so that a replay reproduces the same bits.
        let (class, p) = (usize::from(0.0 <= *score), probabilities[0].max(probabilities[1]));
        return vec![predicted(class, p), predicted(1 - class, 1.0 - p)];
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order.into_iter().take(2).map(|class| predicted(class, probabilities[class])).collect()
}
