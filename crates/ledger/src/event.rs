//! What is recorded of a run.

use crate::error::Refusal;

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Consecutive items of a stream and the probability used for each, asked or not.
    Considered {
        /// The time of the first of them.
        first: u64,
        /// The probability of each.
        probabilities: Vec<f64>,
        /// Running sums of the learner at the end of the block, for it to interpret.
        totals: Vec<f64>,
    },
    /// A label was asked for.
    Asked {
        /// When; the name of the ask, which no other ask has.
        time: u64,
        /// The item's name.
        id: String,
        /// The probability it was asked with, where there is one.
        probability: Option<f64>,
        /// How many draws it took, where it was drawn.
        tries: Option<u64>,
        /// The encoded row, opaque here.
        features: Vec<u8>,
        /// Numbers of the learner, for it to interpret.
        extra: Vec<f64>,
    },
    /// An ask was answered. An ask may have several answers; the ledger keeps them all.
    Answered {
        /// The time of the ask.
        ask: u64,
        /// The label.
        label: f64,
        /// How many items had been considered when it was applied.
        at: u64,
        /// Who answered, where that is known.
        by: Option<String>,
    },
    /// An item was drawn for somebody to label.
    Drawn {
        /// The number of the ask.
        ask: u64,
        /// The item's name.
        id: String,
        /// The probability it was drawn with.
        probability: f64,
        /// Numbers of the session, for it to interpret.
        numbers: Vec<f64>,
        /// Who was asked.
        by: String,
        /// When, in milliseconds since 1970.
        at: u64,
    },
    /// Somebody did something in a labelling session.
    Acted {
        /// What.
        kind: Kind,
        /// The number of an answer or withdrawal; of the last one a model learned from; 0 for the rest.
        number: u64,
        /// The ask it is about; the answer, for a withdrawal; asks so far, where the pool grew and where a model was
        /// learned; labels, for a score; items in the pool, at a start.
        about: u64,
        /// The label.
        label: Option<f64>,
        /// Numbers of the session, for it to interpret.
        numbers: Vec<f64>,
        /// The name the sender gave this.
        key: String,
        /// Who.
        by: String,
        /// When, in milliseconds since 1970.
        at: u64,
    },
}

/// What people do in a labelling session, besides what they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A label.
    Label,
    /// Not now.
    Skip,
    /// Cannot be said.
    Unsure,
    /// An answer is withdrawn.
    Undo,
    /// An ask is handed to somebody.
    Lease,
    /// An ask is handed to somebody, before all others they have.
    First,
    /// The score of the model was estimated.
    Measure,
    /// The pool has more items than before.
    Grow,
    /// A model was taken over.
    Learn,
    /// The session began, or was gone on with.
    Begin,
}

/// Kinds by their names in the table.
const KINDS: [(&str, Kind); 10] = [
    ("label", Kind::Label),
    ("skip", Kind::Skip),
    ("unsure", Kind::Unsure),
    ("undo", Kind::Undo),
    ("lease", Kind::Lease),
    ("first", Kind::First),
    ("measure", Kind::Measure),
    ("grow", Kind::Grow),
    ("learn", Kind::Learn),
    ("begin", Kind::Begin),
];

impl Kind {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }
}

/// How much has been recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Items considered, over all blocks.
    pub considered: u64,
    /// Labels asked for.
    pub asked: u64,
    /// Answers, also where an ask has several; in a labelling session whatever people did.
    pub answered: u64,
}

/// `SQLite` holds signed numbers.
const LARGEST: u64 = i64::MAX as u64;
/// `SQLite` holds rows of up to 10⁹ bytes.
const LONGEST: usize = 900_000_000;

impl Event {
    /// Why this event cannot be recorded, whatever is in the ledger.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.not_a_number().or_else(|| self.too_large()).or_else(|| self.too_long())
    }

    fn not_a_number(&self) -> Option<Refusal> {
        let fields: [(&'static str, &[f64]); 2] = match self {
            Self::Considered { probabilities, totals, .. } => [("probabilities", probabilities), ("totals", totals)],
            Self::Asked { probability, extra, .. } => [("probability", probability.as_slice()), ("extra", extra)],
            Self::Answered { label, .. } => [("label", std::slice::from_ref(label)), ("", &[])],
            Self::Drawn { probability, numbers, .. } => {
                [("probability", std::slice::from_ref(probability)), ("numbers", numbers)]
            }
            Self::Acted { label, numbers, .. } => [("label", label.as_slice()), ("numbers", numbers)],
        };
        let bad = fields.into_iter().find(|(_, values)| values.iter().any(|value| value.is_nan()));
        bad.map(|(field, _)| Refusal::NotANumber { field })
    }

    fn too_large(&self) -> Option<Refusal> {
        let fields = match self {
            Self::Considered { first, .. } => [("first", *first), ("", 0)],
            Self::Asked { time, tries, .. } => [("time", *time), ("tries", tries.unwrap_or(0))],
            Self::Answered { ask, at, .. } => [("ask", *ask), ("at", *at)],
            Self::Drawn { ask, at, .. } => [("ask", *ask), ("at", *at)],
            Self::Acted { number, about, at, .. } => [("number", *number.max(about)), ("at", *at)],
        };
        let bad = fields.into_iter().find(|(_, value)| LARGEST < *value);
        bad.map(|(field, value)| Refusal::TooLarge { field, value })
    }

    fn too_long(&self) -> Option<Refusal> {
        let bytes = self.bytes();
        (LONGEST < bytes).then_some(Refusal::TooLong { bytes })
    }

    /// About how much room it takes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Considered { probabilities, totals, .. } => 8 * (probabilities.len() + totals.len()) + 30,
            Self::Asked { id, features, extra, .. } => id.len() + features.len() + 8 * extra.len() + 60,
            Self::Answered { by, .. } => by.as_ref().map_or(0, String::len) + 40,
            Self::Drawn { id, numbers, by, .. } => id.len() + 8 * numbers.len() + by.len() + 50,
            Self::Acted { numbers, key, by, .. } => 8 * numbers.len() + key.len() + by.len() + 60,
        }
    }
}

impl Counts {
    pub(crate) fn add(&mut self, event: &Event) {
        match event {
            Event::Considered { probabilities, .. } => self.considered += probabilities.len() as u64,
            Event::Asked { .. } | Event::Drawn { .. } => self.asked += 1,
            Event::Answered { .. } | Event::Acted { .. } => self.answered += 1,
        }
    }
}
