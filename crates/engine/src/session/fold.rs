//! The state of a session as the fold of its events, by the same code live and from a ledger.

use std::sync::Arc;

use super::ask::{AskState, AskStatus};
use super::event::{Response, SessionEvent, SessionTime};
use super::ids::{AnswerId, AskId, RowId};
use super::{Annotator, AnswerEntry, EntryKind, LearningCurvePoint, SamplingTable, Session, SessionModel};

impl Session {
    /// Applies a new event to the state and appends it to the events to be recorded.
    pub(super) fn emit(&mut self, event: SessionEvent, tick: u64, events: &mut Vec<SessionEvent>) {
        self.fold(&event, tick);
        events.push(event);
    }

    /// Applies a recorded event; events must come in order. Active leases restart at this tick.
    ///
    /// # Panics
    /// If an event's numbers are not consecutive; [`Session::can_follow`] checks this beforehand.
    pub fn fold(&mut self, event: &SessionEvent, tick: u64) {
        match event {
            SessionEvent::Asked { id, content, hidden, fingerprint, odds, guess, annotator, .. } => {
                let row = self.rows_by_id.get(id).copied();
                let pool = &self.pool;
                let is_same =
                    |row: &RowId| pool.has_content(*row, *content, *fingerprint) && pool.has_hidden(*row, *hidden);
                let unchanged = row.filter(is_same);
                match (row, unchanged) {
                    (None, _) => self.missing.push(Arc::clone(id)),
                    (Some(row), None) => {
                        self.changed.push(Arc::clone(id));
                        self.changed_rows.push(row);
                    }
                    _ => {}
                }
                let ask = self.asks.push(AskState {
                    row: unchanged,
                    id: Arc::clone(id),
                    draw: *odds,
                    prediction: guess.clone(),
                    holders: vec![],
                    annotators: vec![],
                    status: AskStatus::Pending,
                });
                self.pending += 1;
                self.lease(ask, annotator, tick, false);
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
                self.curve.push(LearningCurvePoint { labels: *labels, value: *value, low: *low, high: *high });
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
    pub fn can_follow(&self, event: &SessionEvent) -> bool {
        let (asks, entries) = (self.asks.len() as u64, self.entries.len() as u64);
        match event {
            SessionEvent::Asked { ask, .. } => *ask == self.asks.next_id(),
            SessionEvent::Assigned { ask, .. } => self.asks.contains(*ask),
            SessionEvent::Answered { answer, ask, .. } => *answer == self.entries.next_id() && self.asks.contains(*ask),
            SessionEvent::Withdrawn { number, answer, .. } => {
                *number == self.entries.next_id() && self.entries.contains(*answer)
            }
            SessionEvent::Grown { asks: before } => *before <= asks,
            SessionEvent::Fitted { asks: drawn, acts: recorded, .. } => *drawn <= asks && *recorded <= entries,
            SessionEvent::Measured { .. } | SessionEvent::Started { .. } => true,
        }
    }

    /// Prepares for draws after all recorded events have been applied. Drawn items are not drawn again, and the others
    /// are drawn as in the cold start until a model is adopted.
    pub fn begin(&mut self) {
        self.table = SamplingTable::uniform(self.pool.rows.len());
        self.remove_drawn();
        self.model = SessionModel::untrained(&self.pool, &*self.task);
        self.version += 1;
        self.prepare_cold_start();
    }

    /// Records that the session starts or resumes; later draws use no earlier model.
    pub fn resume(&mut self, now: SessionTime, events: &mut Vec<SessionEvent>) {
        let (items, imported) = (self.pool.rows.len() as u64, self.pool.imported.len() as u64);
        self.emit(SessionEvent::Started { items, imported, at: now.clock }, now.tick, events);
    }

    /// Removes items that were drawn or have a prior label from the table.
    pub(super) fn remove_drawn(&mut self) {
        let imported = self.pool.imported.iter().map(|(row, _)| *row);
        let asked = self.asks.iter().filter_map(|ask| ask.row).chain(self.changed_rows.iter().copied());
        let unavailable = asked.chain(imported);
        let table = std::mem::replace(&mut self.table, SamplingTable::uniform(0));
        self.table = table.without(unavailable);
    }

    /// Returns the index of an annotator, who is added if new.
    pub(super) fn find_or_add_annotator(&mut self, name: &Arc<str>) -> usize {
        if let Some(annotator) = self.annotators_by_name.get(name) {
            return *annotator;
        }
        let annotator = self.annotators.len();
        self.annotators.push(Annotator { name: Arc::clone(name), held: vec![], answers: vec![], labels: 0 });
        self.annotators_by_name.insert(Arc::clone(name), annotator);
        annotator
    }

    /// Leases an ask that is not indexed to an annotator.
    fn lease(&mut self, id: AskId, to: &Arc<str>, tick: u64, first: bool) {
        let annotator = self.find_or_add_annotator(to);
        let until = tick + self.settings.lease_ms;
        let overlap = self.settings.overlap;
        let ask = &mut self.asks[id];
        ask.annotator_mut(annotator);
        if ask.row.is_some() && !ask.is_held_by(annotator) {
            // Expired leases are not in the ledger; they follow from reassignments.
            let beyond = (ask.done() + ask.holders.len() + 1).saturating_sub(overlap).min(ask.holders.len());
            let ended: Vec<(usize, u64)> = ask.holders.drain(..beyond).collect();
            ask.holders.push((annotator, until));
            for (holder, deadline) in ended {
                self.deadlines.remove(&(deadline, id, holder));
                self.annotators[holder].held.retain(|held| *held != id);
            }
            self.deadlines.insert((until, id, annotator));
            let held = &mut self.annotators[annotator].held;
            held.insert(if first { 0 } else { held.len() }, id);
        }
        self.update_status(id);
    }

    /// Ends an annotator's lease of an ask.
    pub(super) fn end_lease(&mut self, id: AskId, annotator: usize) {
        self.unindex(id);
        self.remove_holder(id, annotator);
        self.update_status(id);
    }

    /// Removes the holder of an ask that is not indexed.
    fn remove_holder(&mut self, id: AskId, annotator: usize) {
        let ask = &mut self.asks[id];
        if let Some(index) = ask.holders.iter().position(|(holder, _)| *holder == annotator) {
            let (_, deadline) = ask.holders.remove(index);
            self.deadlines.remove(&(deadline, id, annotator));
            self.annotators[annotator].held.retain(|held| *held != id);
        }
    }

    fn record_answer(&mut self, answer: AnswerId, ask: AskId, response: Response, by: &Arc<str>, key: &Arc<str>) {
        let annotator = self.find_or_add_annotator(by);
        self.unindex(ask);
        self.remove_holder(ask, annotator);
        let state = self.asks[ask].annotator_mut(annotator);
        if let Some((before, old)) = state.answer.replace((answer, response)) {
            self.entries[before].is_active = false;
            self.annotators[annotator].labels -= usize::from(matches!(old, Response::Label(_)));
        }
        state.skips += u32::from(response == Response::Skip);
        self.annotators[annotator].labels += usize::from(matches!(response, Response::Label(_)));
        self.annotators[annotator].answers.push(answer);
        self.entries.push(AnswerEntry { ask, annotator, kind: EntryKind::Answer(response), is_active: true });
        self.keys.insert(Arc::clone(key), answer);
        self.update_status(ask);
    }

    fn record_withdrawal(&mut self, number: AnswerId, of: AnswerId, by: &Arc<str>, key: &Arc<str>) {
        let annotator = self.find_or_add_annotator(by);
        let entry = &mut self.entries[of];
        let (ask, was_active) = (entry.ask, std::mem::take(&mut entry.is_active));
        let was_label = matches!(entry.kind, EntryKind::Answer(Response::Label(_)));
        self.unindex(ask);
        if was_active {
            self.annotators[annotator].labels -= usize::from(was_label);
            let state = self.asks[ask].annotator_mut(annotator);
            if state.answer.is_some_and(|(active, _)| active == of) {
                state.answer = None;
            }
        }
        self.entries.push(AnswerEntry { ask, annotator, kind: EntryKind::Withdrawal { of }, is_active: true });
        self.keys.insert(Arc::clone(key), number);
        self.update_status(ask);
    }

    /// Removes an ask from the indexes, as must be done before it changes.
    pub(super) fn unindex(&mut self, id: AskId) {
        let ask = &self.asks[id];
        self.queues.remove(id, ask, self.settings.overlap);
        self.agreements.remove(ask);
    }

    /// Adds an ask to the indexes.
    pub(super) fn index(&mut self, id: AskId) {
        let ask = &self.asks[id];
        self.queues.add(id, ask, self.settings.overlap);
        self.agreements.add(ask);
    }

    /// Updates the counts after an ask has changed, and adds it to the indexes again.
    fn update_status(&mut self, id: AskId) {
        let numbers = self.is_numbers();
        let ask = &mut self.asks[id];
        let (before, now) = (ask.status, ask.compute_status(numbers));
        ask.status = now;
        self.index(id);
        if before == now {
            return;
        }
        self.version += u64::from([before, now].iter().any(|status| matches!(status, AskStatus::Labeled(_))));
        match before {
            AskStatus::Labeled(label) => {
                if !matches!(now, AskStatus::Labeled(_)) {
                    self.labeled.retain(|labeled| *labeled != id);
                }
                *self.by_label.entry(label.0.to_bits()).or_default() -= 1;
            }
            AskStatus::Unsure => self.unsure -= 1,
            AskStatus::Pending => self.pending -= 1,
            AskStatus::Skipped => {}
        }
        match now {
            AskStatus::Labeled(label) => {
                if !matches!(before, AskStatus::Labeled(_)) {
                    self.labeled.push(id);
                }
                *self.by_label.entry(label.0.to_bits()).or_default() += 1;
            }
            AskStatus::Unsure => self.unsure += 1,
            AskStatus::Pending => self.pending += 1,
            AskStatus::Skipped => {}
        }
    }
}
