//! Answers and their withdrawal.

use std::fmt::{self, Display};
use std::sync::Arc;

use super::event::{Guess, Moment, Response, SessionEvent};
use super::{Act, Session};
use crate::task::Labels;

/// The outcome of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Recorded under this number.
    Saved(u64),
    /// Recorded under this number, although the lease had ended and others may have got the item.
    Late(u64),
    /// Already recorded, under this number.
    Repeated(u64),
}

/// A reason to reject an answer or an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no such ask.
    UnknownAsk,
    /// The ask was never assigned to this person.
    NotAsked,
    /// There is no such label.
    UnknownLabel,
    /// The key was used before, for something else.
    KeyConflict,
    /// There is no such answer, or it was replaced or withdrawn.
    UnknownAnswer,
    /// The answer belongs to another person.
    NotYours,
    /// The data of the item have changed since it was shown.
    Changed,
}

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownAsk => "there is no such ask",
            Self::NotAsked => "this item was not put to you",
            Self::UnknownLabel => "this is not one of the labels",
            Self::KeyConflict => "this key was already used for something else; use a new key for a new answer",
            Self::UnknownAnswer => "there is no such answer, or it was already replaced or undone",
            Self::NotYours => "this answer is somebody else's",
            Self::Changed => "the data of this item have changed since you saw it, so the answer was not saved",
        })
    }
}

/// A withdrawn answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Undo {
    /// The number of the answer.
    pub answer: u64,
    /// The number of its ask.
    pub ask: u64,
    /// The response.
    pub given: Response,
}

/// An answer as shown to its annotator.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered {
    /// The number of the answer.
    pub answer: u64,
    /// The number of its ask.
    pub ask: u64,
    /// The response.
    pub given: Response,
}

impl Session {
    /// Returns the number of the answer recorded under a key, if there is one. Returns an error if the key was used for
    /// another ask, by another person, for another response, or for an undo.
    pub fn recorded(&self, name: &str, ask: u64, key: &str, given: Response) -> Result<Option<u64>, Refused> {
        let Some(number) = self.keys.get(key).copied() else { return Ok(None) };
        let act = &self.acts[number as usize - 1];
        let same = act.ask == ask && act.given == Some(given) && *self.people[act.person].name == *name;
        if same { Ok(Some(number)) } else { Err(Refused::KeyConflict) }
    }

    /// Records a person's answer to an ask that was assigned to them. The same key with the same content is the same
    /// answer; a new key replaces the old answer.
    pub fn answer(
        &mut self,
        name: &Arc<str>,
        ask: u64,
        key: &Arc<str>,
        given: Response,
        now: Moment,
        events: &mut Vec<SessionEvent>,
    ) -> Result<Outcome, Refused> {
        self.expire(now.tick);
        if let Some(number) = self.recorded(name, ask, key, given)? {
            return Ok(Outcome::Repeated(number));
        }
        let found = self.ask(ask).ok_or(Refused::UnknownAsk)?;
        let person = self.names.get(name).copied().filter(|person| found.part(*person).is_some());
        let person = person.ok_or(Refused::NotAsked)?;
        let again = found.part(person).is_some_and(|part| part.said.is_some());
        let in_time = found.is_held_by(person) || again;
        if let Response::Label(label) = given
            && !self.is_label(label)
        {
            return Err(Refused::UnknownLabel);
        }
        // Rows of a file without ids are identified by their content: an answer to a different row would end the
        // session.
        if found.row.is_none() && self.places.contains_key(&found.id) {
            return Err(Refused::Changed);
        }
        let number = self.acts.len() as u64 + 1;
        let (annotator, key) = (Arc::clone(name), Arc::clone(key));
        let event = SessionEvent::Answered { answer: number, ask, response: given, annotator, key, at: now.clock };
        self.happen(event, now.tick, events);
        self.note_time(now.tick);
        Ok(if in_time { Outcome::Saved(number) } else { Outcome::Late(number) })
    }

    fn is_label(&self, label: f64) -> bool {
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

    /// Withdraws a person's answer, their last active one or the given one, and assigns them the item again, before all
    /// others. Returns `None` if there is nothing to withdraw.
    pub fn undo(
        &mut self,
        name: &Arc<str>,
        key: &Arc<str>,
        answer: Option<u64>,
        now: Moment,
        events: &mut Vec<SessionEvent>,
    ) -> Result<Option<Undo>, Refused> {
        self.expire(now.tick);
        let person = self.names.get(name).copied();
        // Check the owner first: repeating a key must not grant access.
        if answer.is_some_and(|number| self.act(number).is_some_and(|act| Some(act.person) != person)) {
            return Err(Refused::NotYours);
        }
        if let Some(number) = self.keys.get(key).copied() {
            let act = &self.acts[number as usize - 1];
            let same = act.given.is_none() && Some(act.person) == person && answer.is_none_or(|of| of == act.of);
            return if same { Ok(self.undone(act.of)) } else { Err(Refused::KeyConflict) };
        }
        let of = match answer {
            Some(number) => self.active(number)?,
            None => match person.and_then(|person| self.last_active(person)) {
                Some(number) => number,
                None => return Ok(None),
            },
        };
        let (number, ask) = (self.acts.len() as u64 + 1, self.acts[of as usize - 1].ask);
        let (annotator, key) = (Arc::clone(name), Arc::clone(key));
        let event = SessionEvent::Withdrawn { number, answer: of, annotator, key, at: now.clock };
        self.happen(event, now.tick, events);
        let found = &self.asks[ask as usize - 1];
        if found.done() + found.holders.len() < self.settings.overlap && found.row.is_some() {
            let lease = SessionEvent::Assigned { ask, annotator: Arc::clone(name), first: true, at: now.clock };
            self.happen(lease, now.tick, events);
        }
        Ok(self.undone(of))
    }

    fn undone(&self, of: u64) -> Option<Undo> {
        let Act { ask, given, .. } = &self.acts[of as usize - 1];
        given.map(|given| Undo { answer: of, ask: *ask, given })
    }

    fn act(&self, number: u64) -> Option<&Act> {
        self.acts.get((number as usize).checked_sub(1)?)
    }

    /// Returns the number of an answer that has been neither replaced nor withdrawn.
    fn active(&self, number: u64) -> Result<u64, Refused> {
        let active = self.act(number).is_some_and(|act| act.given.is_some() && act.stands);
        if active { Ok(number) } else { Err(Refused::UnknownAnswer) }
    }

    fn last_active(&mut self, person: usize) -> Option<u64> {
        let said = &mut self.people[person].said;
        while let Some(last) = said.last().copied() {
            if self.acts[last as usize - 1].stands {
                return Some(last);
            }
            said.pop();
        }
        None
    }

    /// Returns the last `n` active answers of a person, newest first.
    pub fn history(&self, name: &str, n: usize) -> Vec<Remembered> {
        let Some(person) = self.names.get(name) else { return vec![] };
        let active = self.people[*person].said.iter().rev().filter_map(|number| {
            let act = &self.acts[*number as usize - 1];
            let given = act.given.filter(|_| act.stands)?;
            Some(Remembered { answer: *number, ask: act.ask, given })
        });
        active.take(n).collect()
    }

    /// Returns the active response of a person to an ask, with its number.
    pub fn said_by(&self, name: &str, ask: u64) -> Option<(u64, Response)> {
        self.ask(ask)?.part(*self.names.get(name)?)?.said
    }

    /// Returns the item of an ask: its row in the pool, its id, the probability of its draw, and the model's
    /// prediction.
    pub fn item(&self, ask: u64) -> Option<(Option<usize>, &Arc<str>, f64, &Guess)> {
        self.ask(ask).map(|ask| (ask.row, &ask.id, ask.odds.probability(), &ask.guess))
    }
}
