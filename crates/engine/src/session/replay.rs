//! Goes through a session once more: the same coins on the same models draw the same items, bit for bit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::sync::Arc;

use super::event::{Guess, Odds, SessionEvent};
use super::{Apprentice, Session, Study, Work};

/// What has to be known of a session before it is gone through: where models were learned, and since when the pool is
/// what it is now.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Items drawn and things said when a model was learned.
    marks: BTreeSet<(u64, u64)>,
    /// The pool of the last start: its items, and how many of them had a label.
    pool: Option<(u64, u64)>,
    /// Starts so far, and the first of those since which the pool is the same.
    starts: usize,
    same_since: usize,
}

impl Plan {
    /// One thing that happened, in its order.
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

    /// Whether the last start had this pool.
    fn is_of(&self, study: &Study) -> bool {
        self.pool == Some((study.rows.len() as u64, study.imported.len() as u64))
    }
}

/// What going through a session found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Draws that came out the same: the item, its U, the sum, the guess, to the bit.
    pub draws: u64,
    /// Models that came out the same.
    pub models: u64,
    /// Draws and models of another pool than the one at hand, or by a model of which nothing is written: not compared.
    pub not_compared: u64,
    /// How many came out otherwise.
    pub differing: u64,
    /// The first of those.
    pub differences: Vec<Difference>,
    /// Whether the last model knew all that was said; `None` where there was none to compare.
    pub is_up_to_date: Option<bool>,
}

/// Something that came out otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// A draw.
    Draw {
        /// The number of the ask.
        ask: u64,
        /// What is written: the item, and how it was drawn.
        recorded: (Arc<str>, Odds),
        /// What came out.
        again: Option<(Arc<str>, Odds)>,
        /// What the model made of the item, as written and again, where the draw itself is the same.
        guesses: Option<(Guess, Guess)>,
    },
    /// A model.
    Model {
        /// After so many answers and withdrawals.
        acts: u64,
        /// Labels it learned from, as written and again.
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

/// So many differences are told of in full.
const TOLD: usize = 10;

/// A session that is gone through once more.
pub struct Replay {
    session: Session,
    apprentice: Apprentice,
    plan: Plan,
    works: BTreeMap<(u64, u64), Work>,
    starts: usize,
    /// What was said when the last model that was compared was learned.
    last_acts: Option<u64>,
    found: Replayed,
}

impl Replay {
    /// From the start of a session, of which the plan has seen everything.
    pub fn new(session: Session, plan: Plan) -> Self {
        let apprentice = Apprentice::new(Arc::clone(&session.study));
        let (works, found) = (BTreeMap::new(), Replayed::default());
        Self { session, apprentice, plan, works, starts: 0, last_acts: None, found }
    }

    /// Whether what happens now was drawn from the pool at hand.
    fn is_comparable(&self) -> bool {
        self.plan.is_of(&self.session.study) && self.plan.same_since <= self.starts
    }

    /// One thing that happened, in its order; it must follow from those before, as [`Session::follows`] says.
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
        let place = (self.session.asks.len() as u64, self.session.acts.len() as u64);
        if self.plan.marks.contains(&place) && self.is_comparable() && !self.works.contains_key(&place) {
            self.works.insert(place, self.session.work().0);
        }
    }

    fn learn(&mut self, mark: (u64, u64), labels: u64, digest: u64) {
        let Some(work) = self.works.remove(&mark).filter(|_| self.is_comparable()) else {
            self.found.not_compared += 1;
            return;
        };
        // Models follow each other: what was there before this one is asked for no more.
        self.works.retain(|place, _| mark <= *place);
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
        // A ledger that says nothing of its models has draws by them all the same.
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

    /// Whether a model predicts what is recorded. Where the loss defines no probabilities, older ledgers have some all the same.
    fn is_same_guess(&self, recorded: &Guess, made: &Guess) -> bool {
        let label = |guess: &Guess| guess.likeliest.first().map(|predicted| predicted.label);
        if self.session.has_probabilities() {
            return recorded == made;
        }
        (label(recorded), recorded.answers) == (label(made), made.answers)
    }

    fn differ(&mut self, difference: Difference) {
        self.found.differing += 1;
        if self.found.differences.len() < TOLD {
            self.found.differences.push(difference);
        }
    }

    /// What was found, and the session as it stands.
    pub fn end(mut self) -> (Replayed, Session) {
        self.found.is_up_to_date = self.last_acts.map(|acts| acts == self.session.acts.len() as u64);
        (self.found, self.session)
    }
}

fn bits(odds: Odds) -> (u64, u64, usize, u64) {
    (odds.uncertainty.to_bits(), odds.total.to_bits(), odds.left, odds.least.to_bits())
}
