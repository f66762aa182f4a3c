//! The assignment of items to annotators, with leases.

use std::sync::Arc;

use super::Session;
use super::event::{Guess, Moment, Odds, Prediction, SessionEvent};
use super::queue::{Elsewhere, Queue};
use crate::task::Labels;

/// The assignment of an annotator, and the state of the remaining work.
#[derive(Clone, Debug, PartialEq)]
pub struct Handed {
    /// The assigned asks, in the order to show them.
    pub asks: Vec<u64>,
    /// The number of items that can still be drawn within the budget.
    pub unasked: usize,
    /// The number of leases of others on asks that this annotator could have.
    pub leased: usize,
    /// Milliseconds until the first of those leases ends.
    pub next_free: Option<u64>,
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
    pub fn next(&mut self, name: &Arc<str>, n: usize, now: Moment, events: &mut Vec<SessionEvent>) -> Handed {
        self.expire(now.tick);
        let person = self.person(name);
        self.renew(person, now.tick);
        while self.people[person].held.len() < n {
            if let Some(ask) = self.queues.first(person, Queue::Open) {
                self.happen(
                    SessionEvent::Assigned { ask, annotator: Arc::clone(name), first: false, at: now.clock },
                    now.tick,
                    events,
                );
            } else if self.may_draw() {
                if !self.draw(name, now, events) {
                    break;
                }
            } else if let Some(ask) = self.queues.first(person, Queue::Skipped) {
                self.happen(
                    SessionEvent::Assigned { ask, annotator: Arc::clone(name), first: false, at: now.clock },
                    now.tick,
                    events,
                );
            } else {
                break;
            }
        }
        self.assignment(person, n, now.tick)
    }

    fn assignment(&self, person: usize, n: usize, tick: u64) -> Handed {
        let asks: Vec<u64> = self.people[person].held.iter().take(n.max(1)).copied().collect();
        let Elsewhere { leased, first_deadline, for_others } = self.queues.elsewhere(person);
        let next_free = first_deadline.map(|deadline| deadline.saturating_sub(tick));
        // With one annotator per item, no item needs a second one.
        let for_others = if self.settings.overlap == 1 { 0 } else { for_others };
        let no_more = (asks.len() < n).then(|| {
            if next_free.is_some() {
                NoMore::AllLeased
            } else if 0 < for_others {
                NoMore::YoursDone
            } else if 0 < self.table.left() && !self.may_draw() {
                NoMore::Budget
            } else {
                NoMore::Finished
            }
        });
        let answered = self.people[person].answered;
        Handed { asks, unasked: self.unasked(), leased, next_free, for_others, answered, no_more }
    }

    /// Returns the number of items that may still be drawn.
    pub(super) fn unasked(&self) -> usize {
        let taken = self.labelled.len() + self.pending;
        let room = self.settings.budget.map_or(usize::MAX, |budget| budget.saturating_sub(taken));
        self.table.left().min(room)
    }

    fn may_draw(&self) -> bool {
        0 < self.unasked()
    }

    /// Draws an item for an annotator; returns whether there was one.
    fn draw(&mut self, name: &Arc<str>, now: Moment, events: &mut Vec<SessionEvent>) -> bool {
        let ask = self.asks.len() as u64 + 1;
        let Some((row, odds)) = self.look_next() else { return false };
        self.table.remove(row);
        let event = SessionEvent::Asked {
            ask,
            id: Arc::clone(&self.study.ids[row]),
            content: Some(self.study.content_digest(row)),
            features: Some(self.study.feature_digest(row)),
            hidden: self.study.hidden.get(row).copied(),
            fingerprint: None,
            probability: odds.probability(),
            odds,
            guess: self.guess(row),
            annotator: Arc::clone(name),
            at: now.clock,
        };
        self.happen(event, now.tick, events);
        true
    }

    /// Returns the row of the next ask, with the probabilities of its draw.
    pub(super) fn look_next(&mut self) -> Option<(usize, Odds)> {
        self.table.look(self.coin.unit(self.asks.len() as u64 + 1))
    }

    /// Returns the prediction of the current model for an item.
    pub(super) fn guess(&self, row: usize) -> Guess {
        let mut scores = vec![0.0; self.task.outputs()];
        self.model.scorer.scores(self.study.rows.row(row), &mut scores);
        let answers = if self.model.is_cold { 0 } else { self.model.labels };
        let decided = self.task.decide(&scores);
        let likeliest = match self.task.probabilities(&scores) {
            Some(probabilities) => two_likeliest(self.settings.labels, &scores, &probabilities),
            None => vec![Prediction { label: decided, probability: 1.0 }],
        };
        Guess { likeliest, answers }
    }

    /// Returns whether predictions have probabilities; some losses define none.
    pub fn has_probabilities(&self) -> bool {
        self.task.probabilities(&vec![0.0; self.task.outputs()]).is_some()
    }

    /// Ends all leases whose deadline has passed.
    pub fn expire(&mut self, tick: u64) {
        while let Some((deadline, ask, person)) = self.deadlines.first().copied().filter(|first| first.0 <= tick) {
            debug_assert!(deadline <= tick);
            self.end_lease(ask, person);
        }
    }

    fn renew(&mut self, person: usize, tick: u64) {
        for number in self.people[person].held.clone() {
            self.prolong(number, person, tick);
        }
    }

    fn prolong(&mut self, number: u64, person: usize, tick: u64) {
        let until = tick + self.settings.lease;
        self.unindex(number);
        let holders = &mut self.asks[number as usize - 1].holders;
        if let Some((_, deadline)) = holders.iter_mut().find(|(holder, _)| *holder == person) {
            self.deadlines.remove(&(*deadline, number, person));
            *deadline = until;
            self.deadlines.insert((until, number, person));
        }
        self.index(number);
    }

    /// Renews an annotator's leases of these asks. Returns the asks they still hold, and those they have lost.
    pub fn heartbeat(&mut self, name: &str, asks: &[u64], tick: u64) -> (Vec<u64>, Vec<u64>) {
        self.expire(tick);
        let person = self.names.get(name).copied();
        let (held, lost): (Vec<u64>, Vec<u64>) = asks.iter().partition(|number| {
            person.is_some_and(|person| self.ask(**number).is_some_and(|ask| ask.is_held_by(person)))
        });
        for number in &held {
            self.prolong(*number, person.unwrap_or_default(), tick);
        }
        (held, lost)
    }

    /// Ends an annotator's leases of these asks, so that others can have them.
    pub fn release(&mut self, name: &str, asks: &[u64]) {
        let Some(person) = self.names.get(name).copied() else { return };
        for number in asks {
            if self.ask(*number).is_some_and(|ask| ask.is_held_by(person)) {
                self.end_lease(*number, person);
            }
        }
    }
}

/// Returns the two labels with the highest scores and their probabilities, the predicted one first.
fn two_likeliest(labels: Labels, scores: &[f64], probabilities: &[f64]) -> Vec<Prediction> {
    let predicted = |class: usize, probability: f64| Prediction { label: labels.label(class), probability };
    if let [score] = scores {
        // Ledgers hold 1 − p, so that a replay reproduces the same bits.
        let (class, p) = (usize::from(0.0 <= *score), probabilities[0].max(probabilities[1]));
        return vec![predicted(class, p), predicted(1 - class, 1.0 - p)];
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order.into_iter().take(2).map(|class| predicted(class, probabilities[class])).collect()
}
