//! Which item next, for whom, and until when.

use std::sync::Arc;

use super::Session;
use super::event::{Guess, Moment, Odds, Prediction, SessionEvent};
use super::queue::{Elsewhere, Queue};
use crate::task::Labels;

/// What somebody has, and what there is besides.
#[derive(Clone, Debug, PartialEq)]
pub struct Handed {
    /// Asks, in the order to be seen.
    pub asks: Vec<u64>,
    /// Items never drawn, as far as the budget goes.
    pub unasked: usize,
    /// Asks that others have and this person could have.
    pub leased: usize,
    /// In how many milliseconds the first of those comes back, if it is not answered.
    pub next_free: Option<u64>,
    /// Asks that want somebody else's answer too.
    pub for_others: usize,
    /// Active labels of this person.
    pub answered: usize,
    /// Why there are no more, if there are fewer than wished.
    pub no_more: Option<NoMore>,
}

/// Why there is nothing more to label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMore {
    /// Everything is done.
    Finished,
    /// This person has answered all they can; some items want somebody else's answer.
    YoursDone,
    /// What is left is with others.
    AllLeased,
    /// The budget is spent.
    Budget,
}

impl Session {
    /// What a person should have, `n` asks at most: those they have, in the same order, then others. Their leases begin anew.
    pub fn next(&mut self, name: &Arc<str>, n: usize, now: Moment, happened: &mut Vec<SessionEvent>) -> Handed {
        self.expire(now.tick);
        let person = self.person(name);
        self.renew(person, now.tick);
        while self.people[person].held.len() < n {
            if let Some(ask) = self.queues.first(person, Queue::Open) {
                self.happen(
                    SessionEvent::Assigned { ask, annotator: Arc::clone(name), first: false, at: now.clock },
                    now.tick,
                    happened,
                );
            } else if self.may_draw() {
                if !self.draw(name, now, happened) {
                    break;
                }
            } else if let Some(ask) = self.queues.first(person, Queue::Skipped) {
                self.happen(
                    SessionEvent::Assigned { ask, annotator: Arc::clone(name), first: false, at: now.clock },
                    now.tick,
                    happened,
                );
            } else {
                break;
            }
        }
        self.handed(person, n, now.tick)
    }

    fn handed(&self, person: usize, n: usize, tick: u64) -> Handed {
        let asks: Vec<u64> = self.people[person].held.iter().take(n.max(1)).copied().collect();
        let Elsewhere { leased, first_deadline, for_others } = self.queues.elsewhere(person);
        let next_free = first_deadline.map(|deadline| deadline.saturating_sub(tick));
        // With one annotator an item, nothing waits for a second one.
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

    /// Items that may still be drawn.
    pub(super) fn unasked(&self) -> usize {
        let taken = self.labelled.len() + self.pending;
        let room = self.settings.budget.map_or(usize::MAX, |budget| budget.saturating_sub(taken));
        self.table.left().min(room)
    }

    fn may_draw(&self) -> bool {
        0 < self.unasked()
    }

    /// Draws an item for somebody; says whether there was one.
    fn draw(&mut self, name: &Arc<str>, now: Moment, happened: &mut Vec<SessionEvent>) -> bool {
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
        self.happen(event, now.tick, happened);
        true
    }

    /// The row that the next ask is of, and how it is drawn.
    pub(super) fn look_next(&mut self) -> Option<(usize, Odds)> {
        self.table.look(self.coin.unit(self.asks.len() as u64 + 1))
    }

    /// What the model makes of an item.
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

    /// Whether guesses have probabilities: the loss may define none.
    pub fn has_probabilities(&self) -> bool {
        self.task.probabilities(&vec![0.0; self.task.outputs()]).is_some()
    }

    /// Leases that have ended.
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

    /// Somebody is still there: their leases of these asks begin anew. Says which they have, and which they have lost.
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

    /// Somebody leaves: others may have these asks.
    pub fn release(&mut self, name: &str, asks: &[u64]) {
        let Some(person) = self.names.get(name).copied() else { return };
        for number in asks {
            if self.ask(*number).is_some_and(|ask| ask.is_held_by(person)) {
                self.end_lease(*number, person);
            }
        }
    }
}

/// The two labels with the highest scores and their probabilities, the decided one first.
fn two_likeliest(labels: Labels, scores: &[f64], probabilities: &[f64]) -> Vec<Prediction> {
    let predicted = |class: usize, probability: f64| Prediction { label: labels.label(class), probability };
    if let [score] = scores {
        // Ledgers hold 1 − p, so that a replay finds the same bits.
        let (class, p) = (usize::from(0.0 <= *score), probabilities[0].max(probabilities[1]));
        return vec![predicted(class, p), predicted(1 - class, 1.0 - p)];
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order.into_iter().take(2).map(|class| predicted(class, probabilities[class])).collect()
}
