//! The events of a ledger, in the order appended.

use std::collections::VecDeque;

use crate::error::{Fault, LedgerError};
use crate::event::{Counts, Event};
use crate::ledger::Ledger;
use crate::row;

/// Asks and answers are fetched so many at a time; blocks, which may be long, one by one.
const WINDOW: u64 = 64;

/// The events that were in a ledger when it was opened or last appended to.
///
/// Each row is checked; after the first that is damaged or missing comes an error, then nothing.
pub struct Events<'ledger> {
    ledger: &'ledger Ledger,
    /// The place of the event to come.
    next: u64,
    /// How far asks and answers have been fetched.
    fetched: u64,
    /// `None` in the places of notes.
    window: VecDeque<(u64, Option<Event>)>,
    counts: Counts,
    ended: bool,
}

impl<'ledger> Events<'ledger> {
    pub(crate) fn new(ledger: &'ledger Ledger) -> Self {
        let window = VecDeque::new();
        Self { ledger, next: 1, fetched: 0, window, counts: Counts::default(), ended: false }
    }

    fn event(&mut self) -> Result<Option<Event>, Fault> {
        let last = self.ledger.tally().sequence;
        while self.next <= last {
            if self.fetched < self.next {
                self.fetched = last.min(self.next + WINDOW - 1);
                self.window =
                    row::small_events(self.ledger.connection(), self.next, self.fetched, self.ledger.version())?.into();
            }
            let place = self.next;
            self.next += 1;
            let event = match self.window.pop_front_if(|(sequence, _)| *sequence == place) {
                Some((_, None)) => continue,
                Some((_, event)) => event,
                None => row::block_event(self.ledger.connection(), place)?,
            };
            let event = event.ok_or_else(|| Fault::corrupt(format!("event {place} is missing")))?;
            self.counts.add(&event);
            return Ok(Some(event));
        }
        self.compare_counts().map(|()| None)
    }

    /// Each row can be right and yet the whole be wrong.
    fn compare_counts(&self) -> Result<(), Fault> {
        if self.counts == self.ledger.counts() {
            return Ok(());
        }
        Err(Fault::corrupt(format!("{:?} were acknowledged, {:?} are there", self.ledger.counts(), self.counts)))
    }
}

impl Iterator for Events<'_> {
    type Item = Result<Event, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.event() {
            Ok(Some(event)) => Some(Ok(event)),
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(fault) => {
                self.ended = true;
                Some(Err(fault.of(self.ledger.path())))
            }
        }
    }
}
