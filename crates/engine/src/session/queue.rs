//! Indexes of the asks that wait for annotators, so that the cost of an ask does not grow with the number of open asks.
//!
//! Everything here is a sum of contributions, each a function of one ask alone. A change of an ask removes its old
//! contribution and adds the new one ([`Queues::remove`], [`Queues::add`]). The first open ask that an annotator can have
//! is then the first element of a multiset that is missing from a sub-multiset: see [`CountTree`].

use super::ask::{AnnotatorState, AskState, AskStatus};
use super::count_tree::{CountTree, visit};
use super::event::Response;
use super::ids::AskId;

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

/// The queues of all asks, and the exclusions of each annotator.
#[derive(Debug, Default)]
pub(super) struct Queues {
    open: CountTree,
    skipped: CountTree,
    /// The deadlines of all leases.
    deadlines: CountTree,
    annotators: Vec<Excluded>,
}

/// The asks in the queues that one annotator cannot have.
#[derive(Debug, Default)]
struct Excluded {
    open: CountTree,
    skipped: CountTree,
    /// Deadlines of the leases of this annotator, and of leases on asks that this annotator has answered.
    deadlines: CountTree,
    /// Answered asks that still need another annotator.
    for_others: usize,
}

/// The leases and answers of others, as seen by one annotator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OthersActivity {
    /// Leases on asks that this annotator could have.
    pub(super) leased: usize,
    /// The earliest deadline of those.
    pub(super) first_deadline: Option<u64>,
    /// Asks that this annotator has answered and that still need another annotator.
    pub(super) for_others: usize,
}

impl Queues {
    /// Adds the contribution of an ask.
    pub(super) fn add(&mut self, id: AskId, ask: &AskState, overlap: usize) {
        self.contribute(id, ask, overlap, CountTree::add, |count| *count += 1);
    }

    /// Removes the contribution of an ask; call it before the ask changes.
    pub(super) fn remove(&mut self, id: AskId, ask: &AskState, overlap: usize) {
        self.contribute(id, ask, overlap, CountTree::remove, |count| *count -= 1);
    }

    fn contribute(
        &mut self,
        id: AskId,
        ask: &AskState,
        overlap: usize,
        tree: fn(&mut CountTree, u64),
        count: fn(&mut usize),
    ) {
        let (number, queue) = (id.get(), queue(ask, overlap));
        match queue {
            Some(Queue::Open) => tree(&mut self.open, number),
            Some(Queue::Skipped) => tree(&mut self.skipped, number),
            None => {}
        }
        for (_, deadline) in &ask.holders {
            tree(&mut self.deadlines, *deadline);
        }
        for state in &ask.annotators {
            visit();
            if self.annotators.len() <= state.annotator {
                self.annotators.resize_with(state.annotator + 1, Excluded::default);
            }
            let excluded = &mut self.annotators[state.annotator];
            match queue.filter(|queue| !can_have(ask, state, *queue)) {
                Some(Queue::Open) => tree(&mut excluded.open, number),
                Some(Queue::Skipped) => tree(&mut excluded.skipped, number),
                None => {}
            }
            let (done, mut others) = (state.is_done(), false);
            for (holder, deadline) in &ask.holders {
                others |= *holder != state.annotator;
                if done || *holder == state.annotator {
                    tree(&mut excluded.deadlines, *deadline);
                }
            }
            if done && (others || queue == Some(Queue::Open)) {
                count(&mut excluded.for_others);
            }
        }
    }

    /// Returns the first ask of a queue that an annotator can have.
    pub(super) fn first(&self, annotator: usize, queue: Queue) -> Option<AskId> {
        let excluded = self.annotators.get(annotator);
        let first = match queue {
            Queue::Open => self.open.first_beyond(excluded.map(|excluded| &excluded.open)),
            Queue::Skipped => self.skipped.first_beyond(excluded.map(|excluded| &excluded.skipped)),
        };
        first.map(AskId::new)
    }

    /// Returns the leases and answers of others, as seen by an annotator.
    pub(super) fn others_activity(&self, annotator: usize) -> OthersActivity {
        let excluded = self.annotators.get(annotator);
        OthersActivity {
            leased: self.deadlines.len() - excluded.map_or(0, |excluded| excluded.deadlines.len()),
            first_deadline: self.deadlines.first_beyond(excluded.map(|excluded| &excluded.deadlines)),
            for_others: excluded.map_or(0, |excluded| excluded.for_others),
        }
    }
}

/// Returns the queue that an ask is in, if any.
pub(super) fn queue(ask: &AskState, overlap: usize) -> Option<Queue> {
    if ask.row.is_none() || overlap <= ask.done() + ask.holders.len() {
        return None;
    }
    let skipped = ask.annotators.iter().any(|state| state.has_response(Response::Skip));
    Some(if skipped { Queue::Skipped } else { Queue::Open })
}

/// Returns whether someone who was already assigned an ask can get it from a queue.
fn can_have(ask: &AskState, state: &AnnotatorState, queue: Queue) -> bool {
    let again = queue == Queue::Skipped && ask.status == AskStatus::Skipped && state.skips < MOST_SKIPS;
    (state.answer.is_none() || again) && !ask.is_held_by(state.annotator)
}

#[cfg(test)]
mod tests;
