//! Indexes of the asks that wait for annotators, so that the cost of an ask does not grow with the number of open asks.
//!
//! Everything here is a sum of contributions, each a function of one ask alone. A change of an ask removes its old
//! contribution and adds the new one ([`Queues::remove`], [`Queues::add`]). The first open ask that a person can have
//! is then the first element of a multiset that is missing from a sub-multiset: see [`CountTree`].

use super::ask::{Ask, Part, Standing};
use super::count_tree::{CountTree, visit};
use super::event::Response;

/// The number of skips after which an annotator is not offered an ask again.
const MOST_SKIPS: u32 = 2;

/// A queue in which an ask waits for another annotator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// No annotator skipped it.
    Open,
    /// It was skipped, so it comes last.
    Skipped,
}

/// The queues of all asks, and the exclusions of each person.
#[derive(Debug, Default)]
pub(super) struct Queues {
    open: CountTree,
    skipped: CountTree,
    /// The deadlines of all leases.
    deadlines: CountTree,
    people: Vec<Excluded>,
}

/// The parts of the queues that one person cannot have.
#[derive(Debug, Default)]
struct Excluded {
    open: CountTree,
    skipped: CountTree,
    /// Deadlines of the leases of this person, and of leases on asks that this person has answered.
    deadlines: CountTree,
    /// Answered asks that still need someone else.
    for_others: usize,
}

/// The leases and answers of others, as seen by one person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Elsewhere {
    /// Leases on asks that this person could have.
    pub(super) leased: usize,
    /// The earliest deadline of those.
    pub(super) first_deadline: Option<u64>,
    /// Asks that this person has answered and that still need someone else.
    pub(super) for_others: usize,
}

impl Queues {
    /// Adds the contribution of an ask.
    pub(super) fn add(&mut self, number: u64, ask: &Ask, overlap: usize) {
        self.contribute(number, ask, overlap, CountTree::add, |count| *count += 1);
    }

    /// Removes the contribution of an ask; call it before the ask changes.
    pub(super) fn remove(&mut self, number: u64, ask: &Ask, overlap: usize) {
        self.contribute(number, ask, overlap, CountTree::remove, |count| *count -= 1);
    }

    fn contribute(
        &mut self,
        number: u64,
        ask: &Ask,
        overlap: usize,
        tree: fn(&mut CountTree, u64),
        count: fn(&mut usize),
    ) {
        let queue = queue(ask, overlap);
        match queue {
            Some(Queue::Open) => tree(&mut self.open, number),
            Some(Queue::Skipped) => tree(&mut self.skipped, number),
            None => {}
        }
        for (_, deadline) in &ask.holders {
            tree(&mut self.deadlines, *deadline);
        }
        for part in &ask.parts {
            visit();
            if self.people.len() <= part.person {
                self.people.resize_with(part.person + 1, Excluded::default);
            }
            let excluded = &mut self.people[part.person];
            match queue.filter(|queue| !can_have(ask, part, *queue)) {
                Some(Queue::Open) => tree(&mut excluded.open, number),
                Some(Queue::Skipped) => tree(&mut excluded.skipped, number),
                None => {}
            }
            let (done, mut others) = (part.is_done(), false);
            for (holder, deadline) in &ask.holders {
                others |= *holder != part.person;
                if done || *holder == part.person {
                    tree(&mut excluded.deadlines, *deadline);
                }
            }
            if done && (others || queue == Some(Queue::Open)) {
                count(&mut excluded.for_others);
            }
        }
    }

    /// Returns the first ask of a queue that a person can have.
    pub(super) fn first(&self, person: usize, queue: Queue) -> Option<u64> {
        let excluded = self.people.get(person);
        match queue {
            Queue::Open => self.open.first_beyond(excluded.map(|excluded| &excluded.open)),
            Queue::Skipped => self.skipped.first_beyond(excluded.map(|excluded| &excluded.skipped)),
        }
    }

    /// Returns the leases and answers of others, as seen by a person.
    pub(super) fn elsewhere(&self, person: usize) -> Elsewhere {
        let excluded = self.people.get(person);
        Elsewhere {
            leased: self.deadlines.len() - excluded.map_or(0, |excluded| excluded.deadlines.len()),
            first_deadline: self.deadlines.first_beyond(excluded.map(|excluded| &excluded.deadlines)),
            for_others: excluded.map_or(0, |excluded| excluded.for_others),
        }
    }
}

/// Returns the queue that an ask is in, if any.
pub(super) fn queue(ask: &Ask, overlap: usize) -> Option<Queue> {
    if ask.row.is_none() || overlap <= ask.done() + ask.holders.len() {
        return None;
    }
    let skipped = ask.parts.iter().any(|part| part.said.is_some_and(|(_, given)| given == Response::Skip));
    Some(if skipped { Queue::Skipped } else { Queue::Open })
}

/// Returns whether someone who was already assigned an ask can get it from a queue.
fn can_have(ask: &Ask, part: &Part, queue: Queue) -> bool {
    let again = queue == Queue::Skipped && ask.standing == Standing::Skipped && part.skips < MOST_SKIPS;
    (part.said.is_none() || again) && !ask.is_held_by(part.person)
}

#[cfg(test)]
mod tests;
