//! Answers and their withdrawal.

use std::fmt::{self, Display};
use std::sync::Arc;

use super::event::{ModelPrediction, Response, SessionEvent, SessionTime};
use super::ids::{AnswerId, AskId, LabelValue, RowId};
use super::{EntryKind, Session};
use crate::task::Labels;

/// The outcome of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// Recorded under this number.
    Saved(AnswerId),
    /// Recorded under this number, although the lease had ended and others may have got the item.
    Late(AnswerId),
    /// Already recorded, under this number.
    Repeated(AnswerId),
}

/// A reason to reject an answer or an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// There is no such ask.
    UnknownAsk,
    /// The ask was never assigned to this annotator.
    NotAsked,
    /// There is no such label.
    UnknownLabel,
    /// The key was used before, for something else.
    KeyConflict,
    /// There is no such answer, or it was replaced or withdrawn.
    UnknownAnswer,
    /// The answer belongs to another annotator.
    NotYours,
    /// The data of the item have changed since it was shown.
    Changed,
}

impl Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownAsk => "there is no such ask",
            Self::NotAsked => "this item was not put to you",
            Self::UnknownLabel => "this is not one of the labels",
            Self::KeyConflict => "this key was already used for something else; use a new key for a new answer",
            Self::UnknownAnswer => "there is no such answer, or it was already replaced or undone",
            Self::NotYours => "this answer belongs to another annotator",
            Self::Changed => "the data of this item have changed since you saw it, so the answer was not saved",
        })
    }
}

impl std::error::Error for Rejection {}

/// An answer as shown to its annotator.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AnswerSummary {
    /// The number of the answer.
    pub answer: AnswerId,
    /// Its ask.
    pub ask: AskId,
    /// The response.
    pub response: Response,
}

/// The item of an ask.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AskedItem<'a> {
    /// Its row in the pool; `None` if the pool no longer has the item with the content that was shown.
    pub row: Option<RowId>,
    /// Its id.
    pub id: &'a Arc<str>,
    /// The probability of its draw; `None` if it has none.
    pub probability: Option<f64>,
    /// The prediction of the model that drew it.
    pub prediction: &'a ModelPrediction,
}

impl Session {
    /// Returns the number of the answer recorded under a key, if there is one.
    ///
    /// # Errors
    /// If the key was used for another ask, by another annotator, for another response, or for an undo.
    pub fn recorded(
        &self,
        name: &str,
        ask: AskId,
        key: &str,
        response: Response,
    ) -> Result<Option<AnswerId>, Rejection> {
        let Some(id) = self.keys.get(key).copied() else { return Ok(None) };
        let entry = &self.entries[id];
        let is_same = entry.ask == ask
            && entry.kind == EntryKind::Answer(response)
            && *self.annotators[entry.annotator].name == *name;
        if is_same { Ok(Some(id)) } else { Err(Rejection::KeyConflict) }
    }

    /// Records an annotator's answer to an ask that was assigned to them. The same key with the same content is the
    /// same answer; a new key replaces the old answer.
    ///
    /// # Errors
    /// If the answer is rejected.
    pub fn answer(
        &mut self,
        name: &Arc<str>,
        ask: AskId,
        key: &Arc<str>,
        response: Response,
        now: SessionTime,
        events: &mut Vec<SessionEvent>,
    ) -> Result<AnswerOutcome, Rejection> {
        self.expire(now.tick);
        if let Some(id) = self.recorded(name, ask, key, response)? {
            return Ok(AnswerOutcome::Repeated(id));
        }
        let found = self.asks.get(ask).ok_or(Rejection::UnknownAsk)?;
        let annotator = self.annotators_by_name.get(name).copied();
        let state = annotator.and_then(|annotator| found.annotator(annotator)).ok_or(Rejection::NotAsked)?;
        let is_in_time = state.answer.is_some() || found.is_held_by(state.annotator);
        if let Response::Label(label) = response
            && !self.is_label(label)
        {
            return Err(Rejection::UnknownLabel);
        }
        // Rows of a file without ids are identified by their content: an answer to a different row would end the
        // session.
        if found.row.is_none() && self.rows_by_id.contains_key(&found.id) {
            return Err(Rejection::Changed);
        }
        let answer = self.entries.next_id();
        let (annotator, key) = (Arc::clone(name), Arc::clone(key));
        self.emit(SessionEvent::Answered { answer, ask, response, annotator, key, at: now.clock }, now.tick, events);
        self.note_time(now.tick);
        Ok(if is_in_time { AnswerOutcome::Saved(answer) } else { AnswerOutcome::Late(answer) })
    }

    fn is_label(&self, LabelValue(label): LabelValue) -> bool {
        match self.settings.labels {
            Labels::Numbers => label.is_finite(),
            Labels::Binary => label == 1.0 || label == -1.0,
            Labels::Classes(classes) => label.fract() == 0.0 && (0.0..classes as f64).contains(&label),
        }
    }

    fn note_time(&mut self, tick: u64) {
        self.recent.push_back(tick);
        while self.recent.len() > 100_000 {
            self.recent.pop_front();
        }
    }

    /// Withdraws an annotator's answer, their last active one or the given one, and assigns them the item again, before
    /// all others. Returns `None` if there is nothing to withdraw.
    ///
    /// # Errors
    /// If there is no such active answer, it belongs to another annotator, or the key was used for something else.
    pub fn undo(
        &mut self,
        name: &Arc<str>,
        key: &Arc<str>,
        answer: Option<AnswerId>,
        now: SessionTime,
        events: &mut Vec<SessionEvent>,
    ) -> Result<Option<AnswerSummary>, Rejection> {
        self.expire(now.tick);
        let annotator = self.annotators_by_name.get(name).copied();
        // Check the owner first: repeating a key must not grant access.
        let entry = answer.and_then(|id| self.entries.get(id));
        if entry.is_some_and(|entry| Some(entry.annotator) != annotator) {
            return Err(Rejection::NotYours);
        }
        if let Some(id) = self.keys.get(key).copied() {
            let entry = &self.entries[id];
            return match entry.kind {
                EntryKind::Withdrawal { of }
                    if Some(entry.annotator) == annotator && answer.is_none_or(|answer| answer == of) =>
                {
                    Ok(self.summary(of))
                }
                _ => Err(Rejection::KeyConflict),
            };
        }
        let withdrawn = match answer {
            Some(id) if self.is_active_answer(id) => id,
            Some(_) => return Err(Rejection::UnknownAnswer),
            None => match annotator.and_then(|annotator| self.last_active(annotator)) {
                Some(id) => id,
                None => return Ok(None),
            },
        };
        let (number, ask) = (self.entries.next_id(), self.entries[withdrawn].ask);
        let (annotator, key) = (Arc::clone(name), Arc::clone(key));
        let event = SessionEvent::Withdrawn { number, answer: withdrawn, annotator, key, at: now.clock };
        self.emit(event, now.tick, events);
        let found = &self.asks[ask];
        if found.done() + found.holders.len() < self.settings.overlap && found.row.is_some() {
            let lease = SessionEvent::Assigned { ask, annotator: Arc::clone(name), first: true, at: now.clock };
            self.emit(lease, now.tick, events);
        }
        Ok(self.summary(withdrawn))
    }

    /// Returns an answer; `None` for a withdrawal.
    fn summary(&self, answer: AnswerId) -> Option<AnswerSummary> {
        let entry = self.entries.get(answer)?;
        match entry.kind {
            EntryKind::Answer(response) => Some(AnswerSummary { answer, ask: entry.ask, response }),
            EntryKind::Withdrawal { .. } => None,
        }
    }

    /// Returns whether there is an answer with this number that was neither replaced nor withdrawn.
    fn is_active_answer(&self, id: AnswerId) -> bool {
        let entry = self.entries.get(id);
        entry.is_some_and(|entry| entry.is_active && matches!(entry.kind, EntryKind::Answer(_)))
    }

    fn last_active(&mut self, annotator: usize) -> Option<AnswerId> {
        let answers = &mut self.annotators[annotator].answers;
        while let Some(last) = answers.last().copied() {
            if self.entries[last].is_active {
                return Some(last);
            }
            answers.pop();
        }
        None
    }

    /// Returns the last `n` active answers of an annotator, newest first.
    pub fn history(&self, name: &str, n: usize) -> Vec<AnswerSummary> {
        let Some(annotator) = self.annotators_by_name.get(name) else { return vec![] };
        let answers = self.annotators[*annotator].answers.iter().rev();
        let active = answers.filter(|id| self.entries[**id].is_active).filter_map(|id| self.summary(*id));
        active.take(n).collect()
    }

    /// Returns the active response of an annotator to an ask, with its number.
    pub fn response_of(&self, name: &str, ask: AskId) -> Option<(AnswerId, Response)> {
        self.asks.get(ask)?.annotator(*self.annotators_by_name.get(name)?)?.answer
    }

    /// Returns the item of an ask, if there is such an ask.
    pub fn item(&self, ask: AskId) -> Option<AskedItem<'_>> {
        self.asks.get(ask).map(|ask| AskedItem {
            row: ask.row,
            id: &ask.id,
            probability: ask.draw.probability(),
            prediction: &ask.prediction,
        })
    }
}
