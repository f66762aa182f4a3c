//! Which item next, for whom, and until when.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::happened::{Given, Guess, Happened, Moment, Odds};
use super::{Session, Standing};
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

/// Somebody is offered an ask they skipped once more.
const MOST_SKIPS: u32 = 2;

impl Session {
    /// What a person should have, `n` asks at most: those they have, in the same order, then others. Their leases begin anew.
    pub fn next(&mut self, name: &Arc<str>, n: usize, now: Moment, happened: &mut Vec<Happened>) -> Handed {
        self.expire(now.tick);
        let person = self.person(name);
        self.renew(person, now.tick);
        while self.people[person].held.len() < n {
            if let Some(ask) = self.waiting_for(person, false) {
                self.happen(
                    Happened::Leased { ask, by: Arc::clone(name), first: false, at: now.clock },
                    now.tick,
                    happened,
                );
            } else if self.may_draw() {
                if !self.draw(name, now, happened) {
                    break;
                }
            } else if let Some(ask) = self.waiting_for(person, true) {
                self.happen(
                    Happened::Leased { ask, by: Arc::clone(name), first: false, at: now.clock },
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
        let done = |ask: &u64| {
            let part = self.asks[*ask as usize - 1].part(person);
            part.is_some_and(|part| matches!(part.said, Some((_, Given::Label(_) | Given::Unsure))))
        };
        let elsewhere = || self.deadlines.iter().filter(|(_, _, holder)| *holder != person);
        let others = || elsewhere().filter(|(_, ask, _)| !done(ask));
        let next_free = others().next().map(|(deadline, _, _)| deadline.saturating_sub(tick));
        // With one person an item it is nobody else's, and there may be many.
        let for_others = match self.settings.overlap {
            1 => 0,
            _ => {
                let wanted = self.open.iter().chain(elsewhere().map(|(_, ask, _)| ask));
                wanted.filter(|ask| done(ask)).collect::<BTreeSet<_>>().len()
            }
        };
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
        Handed { asks, unasked: self.unasked(), leased: others().count(), next_free, for_others, no_more }
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

    /// The first ask that wants somebody more and can have this person.
    fn waiting_for(&self, person: usize, skipped: bool) -> Option<u64> {
        let waiting = if skipped { &self.skipped } else { &self.open };
        waiting.iter().copied().find(|number| {
            let ask = &self.asks[*number as usize - 1];
            let free = match ask.part(person) {
                None => true,
                Some(part) => match part.said {
                    None => true,
                    Some(_) => skipped && matches!(ask.standing, Standing::Skipped) && part.skips < MOST_SKIPS,
                },
            };
            free && !ask.is_held_by(person)
        })
    }

    /// Draws an item for somebody; says whether there was one.
    fn draw(&mut self, name: &Arc<str>, now: Moment, happened: &mut Vec<Happened>) -> bool {
        let ask = self.asks.len() as u64 + 1;
        let Some((row, odds)) = self.look_next() else { return false };
        self.table.remove(row);
        let (id, digest) = (Arc::clone(&self.study.ids[row]), self.study.digests[row]);
        let guess = self.guess(row);
        let by = Arc::clone(name);
        self.happen(Happened::Drawn { ask, id, digest, odds, guess, by, at: now.clock }, now.tick, happened);
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
        let likeliest = match self.settings.labels {
            Labels::Numbers => vec![(decided, 1.0)],
            Labels::Binary => {
                let p = 1.0 / (1.0 + (-scores[0].abs()).exp());
                vec![(decided, p), (-decided, 1.0 - p)]
            }
            Labels::Classes(_) => two_likeliest(&scores),
        };
        Guess { likeliest, answers }
    }

    /// Leases that have ended.
    pub fn expire(&mut self, tick: u64) {
        while let Some((deadline, ask, person)) = self.deadlines.first().copied().filter(|first| first.0 <= tick) {
            debug_assert!(deadline <= tick);
            self.take_back(ask, person);
            self.settle(ask);
        }
    }

    fn renew(&mut self, person: usize, tick: u64) {
        for number in self.people[person].held.clone() {
            self.prolong(number, person, tick);
        }
    }

    fn prolong(&mut self, number: u64, person: usize, tick: u64) {
        let until = tick + self.settings.lease;
        let holders = &mut self.asks[number as usize - 1].holders;
        if let Some((_, deadline)) = holders.iter_mut().find(|(holder, _)| *holder == person) {
            self.deadlines.remove(&(*deadline, number, person));
            *deadline = until;
            self.deadlines.insert((until, number, person));
        }
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
                self.take_back(*number, person);
                self.settle(*number);
            }
        }
    }
}

fn two_likeliest(scores: &[f64]) -> Vec<(f64, f64)> {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = scores.iter().map(|score| (score - most).exp()).sum();
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order.into_iter().take(2).map(|class| (class as f64, (scores[class] - most).exp() / total)).collect()
}
