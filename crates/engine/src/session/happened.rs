//! What happens in a session, as it is written down: its state is the fold of these.

use std::sync::Arc;

/// A moment, by two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds of a clock that only goes forward: leases end by it.
    pub tick: u64,
    /// Milliseconds since 1970: it is written down.
    pub clock: u64,
}

/// What somebody says of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given {
    /// Its label.
    Label(f64),
    /// Not now: it comes back last.
    Skip,
    /// Cannot be said.
    Unsure,
}

/// How an item was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// Its U.
    pub uncertainty: f64,
    /// ΣU over the items that were left.
    pub total: f64,
    /// How many those were.
    pub left: usize,
    /// No U was below this.
    pub least: f64,
}

impl Odds {
    /// The probability of the item among those left.
    pub fn probability(&self) -> f64 {
        self.uncertainty / self.total
    }
}

/// What the model of the moment made of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// Labels and their probabilities, the likeliest first, two at most; one number with probability 1 for numbers.
    pub likeliest: Vec<(f64, f64)>,
    /// How many answers the model had.
    pub answers: u64,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// An item was drawn, for somebody.
    Drawn {
        /// The number of the ask, from 1 without gaps.
        ask: u64,
        /// The item.
        id: Arc<str>,
        /// A digest of its content, of 53 bits.
        digest: u64,
        /// How.
        odds: Odds,
        /// What the model made of it.
        guess: Guess,
        /// Who was asked.
        by: Arc<str>,
        /// When.
        at: u64,
    },
    /// An ask was handed to somebody else, or again.
    Leased {
        /// The ask.
        ask: u64,
        /// To whom.
        by: Arc<str>,
        /// Before everything else they have.
        first: bool,
        /// When.
        at: u64,
    },
    /// Somebody said something of an item.
    Answered {
        /// Counts answers and withdrawals, from 1 without gaps.
        number: u64,
        /// The ask.
        ask: u64,
        /// What.
        given: Given,
        /// Who.
        by: Arc<str>,
        /// The name the sender gave this answer, which no other has.
        key: Arc<str>,
        /// When.
        at: u64,
    },
    /// An answer was withdrawn.
    Undone {
        /// Counts answers and withdrawals.
        number: u64,
        /// The number of the answer.
        of: u64,
        /// Who.
        by: Arc<str>,
        /// The name the sender gave this.
        key: Arc<str>,
        /// When.
        at: u64,
    },
    /// The score of the model was estimated.
    Measured {
        /// From so many labels.
        labels: u64,
        /// The score.
        value: f64,
        /// Lower end of its interval.
        low: f64,
        /// Upper end.
        high: f64,
        /// When.
        at: u64,
    },
    /// The pool has more items than before, so draws before this had not the chance of them.
    Grown {
        /// Asks before.
        asks: u64,
    },
    /// A model was taken over: draws from here on are by it.
    Learned {
        /// It was learned when so many items had been drawn.
        asks: u64,
        /// And so many answers and withdrawals had come.
        acts: u64,
        /// It learned from so many labels.
        labels: u64,
        /// A digest of its parameters, of 53 bits.
        digest: u64,
        /// When.
        at: u64,
    },
    /// The session began, or was gone on with: until something is learned, items are drawn at random.
    Begun {
        /// Items in the pool.
        items: u64,
        /// Those of them whose label was known beforehand.
        imported: u64,
        /// When.
        at: u64,
    },
}
