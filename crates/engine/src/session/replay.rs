//! Replay of a session: the same random numbers and models must draw the same items, bit for bit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::sync::Arc;

use super::event::{Guess, Odds, SessionEvent};
use super::{Apprentice, Session, Study, Work};

/// Facts about a session that its replay needs in advance: when models were trained, and since when the pool has been
/// the current one.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The numbers of asks and of answers and withdrawals when a model was trained.
    marks: BTreeSet<(u64, u64)>,
    /// The pool of the last start: its items, and the number of them with a prior label.
    pool: Option<(u64, u64)>,
    /// The number of starts, and the first one since which the pool is the same.
    starts: usize,
    same_since: usize,
}

impl Plan {
    /// Processes the next recorded event.
    pub fn see(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Fitted { asks, acts, .. } => {
                self.marks.insert((*asks, *acts));
            }
            SessionEvent::Started { items, imported, .. } => {
                self.starts += 1;
                if self.pool.replace((*items, *imported)) != Some((*items, *imported)) {
                    self.same_since = self.starts;
                }
            }
            _ => {}
        }
    }

    /// Returns whether the last start had this pool.
    fn has_pool(&self, study: &Study) -> bool {
        self.pool == Some((study.rows.len() as u64, study.imported.len() as u64))
    }
}

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// The number of draws reproduced exactly: the item, its U, the sum and the prediction.
    pub draws: u64,
    /// The number of models reproduced exactly.
    pub models: u64,
    /// The number of draws and models not compared, because they are of another pool or by a model that was not
    /// recorded.
    pub not_compared: u64,
    /// The number of draws and models that differ.
    pub differing: u64,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// `true` if the last model had used all answers; `None` if there was none to compare.
    pub is_up_to_date: Option<bool>,
}

/// A difference between the record and the replay.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// A draw.
    Draw {
        /// The number of the ask.
        ask: u64,
        /// The recorded item and the terms of its probability.
        recorded: (Arc<str>, Odds),
        /// The item and terms in the replay.
        again: Option<(Arc<str>, Odds)>,
        /// The predictions, recorded and replayed, if the draw itself is the same.
        guesses: Option<(Guess, Guess)>,
    },
    /// A model.
    Model {
        /// The number of answers and withdrawals before it.
        acts: u64,
        /// The number of labels it was trained on, recorded and replayed.
        labels: (u64, u64),
    },
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drawn = |(id, odds): &(Arc<str>, Odds)| {
            format!("{} with probability {} among {}", id.escape_debug(), odds.probability(), odds.left)
        };
        match self {
            Self::Draw { ask, recorded, guesses: Some((was, is)), .. } => {
                write!(f, "ask {ask}, {}: the model made {was:?} of it, now {is:?}", recorded.0.escape_debug())
            }
            Self::Draw { ask, recorded, again, .. } => {
                let again = again.as_ref().map_or("nothing".to_owned(), drawn);
                write!(f, "ask {ask} was {}, now {again}", drawn(recorded))
            }
            Self::Model { acts, labels: (was, is) } if was == is => {
                write!(f, "the model of {was} labels after answer {acts} has other parameters now")
            }
            Self::Model { acts, labels: (was, is) } => {
                write!(f, "the model after answer {acts} learned from {was} labels, now from {is}")
            }
        }
    }
}

/// The number of differences that are reported in full.
const MAX_REPORTED: usize = 10;

/// A replay of a session.
pub struct Replay {
    session: Session,
    apprentice: Apprentice,
    plan: Plan,
    works: BTreeMap<(u64, u64), Work>,
    starts: usize,
    /// The number of answers and withdrawals when the last compared model was trained.
    last_acts: Option<u64>,
    found: Replayed,
}

impl Replay {
    /// Creates a replay of a session at its start; the plan must have processed all events.
    pub fn new(session: Session, plan: Plan) -> Self {
        let apprentice = Apprentice::new(Arc::clone(&session.study));
        let (works, found) = (BTreeMap::new(), Replayed::default());
        Self { session, apprentice, plan, works, starts: 0, last_acts: None, found }
    }

    /// Returns whether current events were drawn from the current pool.
    fn is_comparable(&self) -> bool {
        self.plan.has_pool(&self.session.study) && self.plan.same_since <= self.starts
    }

    /// Processes the next recorded event, which must be a valid successor as checked by [`Session::follows`].
    pub fn see(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Started { .. } => {
                self.starts += 1;
                self.session.begin();
            }
            SessionEvent::Fitted { asks, acts, labels, digest, .. } => self.learn((*asks, *acts), *labels, *digest),
            SessionEvent::Asked { ask, id, odds, guess, .. } => self.draw(*ask, id, *odds, guess),
            _ => {}
        }
        self.session.fold(event, 0);
        let mark = (self.session.asks.len() as u64, self.session.acts.len() as u64);
        if self.plan.marks.contains(&mark) && self.is_comparable() && !self.works.contains_key(&mark) {
            self.works.insert(mark, self.session.work().0);
        }
    }

    fn learn(&mut self, mark: (u64, u64), labels: u64, digest: u64) {
        let Some(work) = self.works.remove(&mark).filter(|_| self.is_comparable()) else {
            self.found.not_compared += 1;
            return;
        };
        // Models are recorded in order, so jobs before this one are no longer needed.
        self.works.retain(|other, _| mark <= *other);
        let learned = self.apprentice.learn(&work);
        if (learned.labels, self.session.study.parameter_digest(&learned)) == (labels, digest) {
            self.found.models += 1;
        } else {
            self.differ(Difference::Model { acts: mark.1, labels: (labels, learned.labels) });
        }
        self.session.take(learned, self.session.version);
        self.last_acts = Some(mark.1);
    }

    fn draw(&mut self, ask: u64, id: &Arc<str>, odds: Odds, guess: &Guess) {
        // A ledger without recorded models can still have draws by models.
        if !self.is_comparable() || (self.plan.marks.is_empty() && 0 < guess.answers) {
            self.found.not_compared += 1;
        } else {
            let again = self.session.look_next();
            let named = again.map(|(row, odds)| (Arc::clone(&self.session.study.ids[row]), odds));
            let same = named.as_ref().is_some_and(|(found, again)| found == id && bits(*again) == bits(odds));
            let made = again.map(|(row, _)| self.session.guess(row));
            if same && made.as_ref().is_some_and(|made| self.is_same_guess(guess, made)) {
                self.found.draws += 1;
            } else {
                let guesses = made.filter(|_| same).map(|made| (guess.clone(), made));
                self.differ(Difference::Draw { ask, recorded: (Arc::clone(id), odds), again: named, guesses });
            }
        }
        if let Some(row) = self.session.places.get(id) {
            self.session.table.remove(*row);
        }
    }

    /// Returns whether a model's prediction equals the recorded one. If the loss defines no probabilities, older
    /// ledgers have some anyway, which are ignored.
    fn is_same_guess(&self, recorded: &Guess, made: &Guess) -> bool {
        let label = |guess: &Guess| guess.likeliest.first().map(|predicted| predicted.label);
        if self.session.has_probabilities() {
            return recorded == made;
        }
        (label(recorded), recorded.answers) == (label(made), made.answers)
    }

    fn differ(&mut self, difference: Difference) {
        self.found.differing += 1;
        if self.found.differences.len() < MAX_REPORTED {
            self.found.differences.push(difference);
        }
    }

    /// Returns the result and the session in its final state.
    pub fn end(mut self) -> (Replayed, Session) {
        self.found.is_up_to_date = self.last_acts.map(|acts| acts == self.session.acts.len() as u64);
        (self.found, self.session)
    }
}

fn bits(odds: Odds) -> (u64, u64, usize, u64) {
    (odds.uncertainty.to_bits(), odds.total.to_bits(), odds.left, odds.least.to_bits())
}
