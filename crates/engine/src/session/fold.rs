//! The state of a session as the fold of its events, by the same code live and from a ledger.

use std::sync::Arc;

use super::ask::{Ask, Standing};
use super::event::{Moment, Response, SessionEvent};
use super::{Act, Person, Reading, Session};

impl Session {
    /// Applies a new event to the state and appends it to the events to be recorded.
    pub(super) fn happen(&mut self, event: SessionEvent, tick: u64, events: &mut Vec<SessionEvent>) {
        self.fold(&event, tick);
        events.push(event);
    }

    /// Applies a recorded event; events must come in order. Active leases restart at this tick.
    ///
    /// # Panics
    /// If an event's numbers are not consecutive; [`Session::follows`] checks this beforehand.
    pub fn fold(&mut self, event: &SessionEvent, tick: u64) {
        match event {
            SessionEvent::Asked { id, content, hidden, fingerprint, odds, guess, annotator, .. } => {
                let row = self.places.get(id).copied();
                let study = &self.study;
                let is_same =
                    |row: &usize| study.has_content(*row, *content, *fingerprint) && study.has_hidden(*row, *hidden);
                let unchanged = row.filter(is_same);
                match (row, unchanged) {
                    (None, _) => self.missing.push(Arc::clone(id)),
                    (Some(row), None) => {
                        self.changed.push(Arc::clone(id));
                        self.changed_rows.push(row);
                    }
                    _ => {}
                }
                self.asks.push(Ask {
                    row: unchanged,
                    id: Arc::clone(id),
                    odds: *odds,
                    guess: guess.clone(),
                    holders: vec![],
                    parts: vec![],
                    standing: Standing::Pending,
                });
                self.pending += 1;
                self.lease(self.asks.len() as u64, annotator, tick, false);
            }
            SessionEvent::Assigned { ask, annotator, first, .. } => {
                self.unindex(*ask);
                self.lease(*ask, annotator, tick, *first);
            }
            SessionEvent::Answered { answer, ask, response, annotator, key, .. } => {
                self.record_answer(*answer, *ask, *response, annotator, key);
            }
            SessionEvent::Withdrawn { number, answer, annotator, key, .. } => {
                self.record_withdrawal(*number, *answer, annotator, key);
            }
            SessionEvent::Measured { labels, value, low, high, .. } => {
                self.curve.push(Reading { labels: *labels, value: *value, low: *low, high: *high });
            }
            SessionEvent::Grown { asks } => {
                self.before_growth = *asks;
                self.version += 1;
            }
            // Models are refitted from the answers, so these change nothing; `Replay` compares the draws with them.
            SessionEvent::Fitted { .. } | SessionEvent::Started { .. } => {}
        }
    }

    /// Returns whether an event is a valid successor: its numbers are the next ones.
    pub fn follows(&self, event: &SessionEvent) -> bool {
        let (asks, acts) = (self.asks.len() as u64, self.acts.len() as u64);
        match event {
            SessionEvent::Asked { ask, .. } => *ask == asks + 1,
            SessionEvent::Assigned { ask, .. } => (1..=asks).contains(ask),
            SessionEvent::Answered { answer, ask, .. } => *answer == acts + 1 && (1..=asks).contains(ask),
            SessionEvent::Withdrawn { number, answer, .. } => *number == acts + 1 && (1..=acts).contains(answer),
            SessionEvent::Measured { .. } => true,
            SessionEvent::Grown { asks: before } => *before <= asks,
            SessionEvent::Fitted { asks: drawn, acts: recorded, .. } => *drawn <= asks && *recorded <= acts,
            SessionEvent::Started { .. } => true,
        }
    }

    /// Prepares for draws after all recorded events have been applied. Drawn items are not drawn again, and the others
    /// are drawn uniformly until a model is adopted.
    pub fn begin(&mut self) {
        self.table = super::Table::uniform(self.study.rows.len());
        self.remove_drawn();
        self.model = super::Model::none(&self.study, &*self.task);
        self.version += 1;
    }

    /// Records that the session starts or resumes; later draws use no earlier model.
    pub fn resume(&mut self, now: Moment, events: &mut Vec<SessionEvent>) {
        let (items, imported) = (self.study.rows.len() as u64, self.study.imported.len() as u64);
        self.happen(SessionEvent::Started { items, imported, at: now.clock }, now.tick, events);
    }

    /// Removes items that were drawn or have a prior label from the table.
    pub(super) fn remove_drawn(&mut self) {
        let imported = self.study.imported.iter().map(|(row, _)| *row);
        let asked = self.asks.iter().filter_map(|ask| ask.row).chain(self.changed_rows.iter().copied());
        let unavailable = asked.chain(imported);
        let table = std::mem::replace(&mut self.table, super::Table::uniform(0));
        self.table = table.without(unavailable);
    }

    /// Returns the index of a person, who is added if new.
    pub(super) fn person(&mut self, name: &Arc<str>) -> usize {
        if let Some(person) = self.names.get(name) {
            return *person;
        }
        self.people.push(Person { name: Arc::clone(name), held: vec![], said: vec![], answered: 0 });
        self.names.insert(Arc::clone(name), self.people.len() - 1);
        self.people.len() - 1
    }

    /// Leases an ask that is not indexed to a person.
    fn lease(&mut self, number: u64, to: &Arc<str>, tick: u64, first: bool) {
        let person = self.person(to);
        let until = tick + self.settings.lease;
        let overlap = self.settings.overlap;
        let ask = &mut self.asks[number as usize - 1];
        ask.part_mut(person);
        if ask.row.is_some() && !ask.is_held_by(person) {
            // Expired leases are not in the ledger; they follow from reassignments.
            let beyond = (ask.done() + ask.holders.len() + 1).saturating_sub(overlap).min(ask.holders.len());
            let ended: Vec<(usize, u64)> = ask.holders.drain(..beyond).collect();
            ask.holders.push((person, until));
            for (holder, deadline) in ended {
                self.deadlines.remove(&(deadline, number, holder));
                self.people[holder].held.retain(|held| *held != number);
            }
            self.deadlines.insert((until, number, person));
            let held = &mut self.people[person].held;
            held.insert(if first { 0 } else { held.len() }, number);
        }
        self.settle(number);
    }

    /// Ends a person's lease of an ask.
    pub(super) fn end_lease(&mut self, number: u64, person: usize) {
        self.unindex(number);
        self.remove_holder(number, person);
        self.settle(number);
    }

    /// Removes the holder of an ask that is not indexed.
    fn remove_holder(&mut self, number: u64, person: usize) {
        let ask = &mut self.asks[number as usize - 1];
        if let Some(index) = ask.holders.iter().position(|(holder, _)| *holder == person) {
            let (_, deadline) = ask.holders.remove(index);
            self.deadlines.remove(&(deadline, number, person));
            self.people[person].held.retain(|held| *held != number);
        }
    }

    fn record_answer(&mut self, number: u64, ask: u64, given: Response, by: &Arc<str>, key: &Arc<str>) {
        let person = self.person(by);
        self.unindex(ask);
        self.remove_holder(ask, person);
        let part = self.asks[ask as usize - 1].part_mut(person);
        if let Some((before, old)) = part.said.replace((number, given)) {
            self.acts[before as usize - 1].stands = false;
            self.people[person].answered -= usize::from(matches!(old, Response::Label(_)));
        }
        part.skips += u32::from(given == Response::Skip);
        self.people[person].answered += usize::from(matches!(given, Response::Label(_)));
        self.people[person].said.push(number);
        self.acts.push(Act { ask, person, given: Some(given), of: 0, stands: true });
        self.keys.insert(Arc::clone(key), number);
        self.settle(ask);
    }

    fn record_withdrawal(&mut self, number: u64, of: u64, by: &Arc<str>, key: &Arc<str>) {
        let person = self.person(by);
        let act = &mut self.acts[of as usize - 1];
        let (ask, stood) = (act.ask, std::mem::take(&mut act.stands));
        let was_label = matches!(act.given, Some(Response::Label(_)));
        self.unindex(ask);
        if stood {
            self.people[person].answered -= usize::from(was_label);
            let part = self.asks[ask as usize - 1].part_mut(person);
            if part.said.is_some_and(|(said, _)| said == of) {
                part.said = None;
            }
        }
        self.acts.push(Act { ask, person, given: None, of, stands: true });
        self.keys.insert(Arc::clone(key), number);
        self.settle(ask);
    }

    /// Removes an ask from the indexes, as must be done before it changes.
    pub(super) fn unindex(&mut self, number: u64) {
        let ask = &self.asks[number as usize - 1];
        self.queues.remove(number, ask, self.settings.overlap);
        self.agreements.remove(ask);
    }

    /// Adds an ask to the indexes.
    pub(super) fn index(&mut self, number: u64) {
        let ask = &self.asks[number as usize - 1];
        self.queues.add(number, ask, self.settings.overlap);
        self.agreements.add(ask);
    }

    /// Updates the counts after an ask has changed, and adds it to the indexes again.
    fn settle(&mut self, number: u64) {
        let numbers = self.is_numbers();
        let ask = &mut self.asks[number as usize - 1];
        let (before, now) = (ask.standing, ask.stands(numbers));
        ask.standing = now;
        self.index(number);
        if before == now {
            return;
        }
        self.version += u64::from([before, now].iter().any(|standing| matches!(standing, Standing::Labelled(_))));
        match before {
            Standing::Labelled(label) => {
                if !matches!(now, Standing::Labelled(_)) {
                    self.labelled.retain(|labelled| *labelled != number);
                }
                *self.by_label.entry(label.to_bits()).or_default() -= 1;
            }
            Standing::Unsure => self.unsure -= 1,
            Standing::Pending => self.pending -= 1,
            Standing::Skipped => {}
        }
        match now {
            Standing::Labelled(label) => {
                if !matches!(before, Standing::Labelled(_)) {
                    self.labelled.push(number);
                }
                *self.by_label.entry(label.to_bits()).or_default() += 1;
            }
            Standing::Unsure => self.unsure += 1,
            Standing::Pending => self.pending += 1,
            Standing::Skipped => {}
        }
    }
}
