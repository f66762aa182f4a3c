//! The events of a session, as they are recorded: its state is the fold of these.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::exact;

/// A moment, by two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds of a monotonic clock, by which leases end.
    pub tick: u64,
    /// Milliseconds since 1970, which are recorded.
    pub clock: u64,
}

/// What an annotator says about an item.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// Its label.
    Label(#[serde(with = "exact")] f64),
    /// Not now: it comes back last.
    Skip,
    /// Cannot be said.
    Unsure,
}

/// How an item was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Odds {
    /// Its U.
    #[serde(with = "exact")]
    pub uncertainty: f64,
    /// ΣU over the items that were left.
    #[serde(with = "exact")]
    pub total: f64,
    /// How many items were left.
    pub left: usize,
    /// A lower bound of every U.
    #[serde(with = "exact")]
    pub least: f64,
}

impl Odds {
    /// The probability of the item among those left.
    pub fn probability(&self) -> f64 {
        self.uncertainty / self.total
    }
}

/// The current model's prediction for an item.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Guess {
    /// The likeliest labels, two at most; the predicted number, with probability 1, for numbers.
    pub likeliest: Vec<Prediction>,
    /// How many labels the model had; 0 if there was none.
    #[serde(rename = "labels")]
    pub answers: u64,
}

/// A label that a model predicts.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Prediction {
    /// The label.
    #[serde(with = "exact")]
    pub label: f64,
    /// Its probability.
    #[serde(with = "exact")]
    pub probability: f64,
}

/// An event of a session. The names of variants and fields are those of the ledger.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionEvent {
    /// An item was drawn, for an annotator.
    Asked {
        /// The number of the ask, from 1 without gaps.
        ask: u64,
        /// The item.
        id: Arc<str>,
        /// The digest of its displayed content; ledgers before version 3 have none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        content: Option<Digest>,
        /// The digest of its encoded features; ledgers before version 3 have none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        features: Option<Digest>,
        /// The digest of its cells that are learned from and not displayed, as the data have them; `None` if there are none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        hidden: Option<Digest>,
        /// 53 bits of FNV-1a of its cells, in ledgers before version 3.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        fingerprint: Option<u64>,
        /// The probability it was drawn with.
        #[serde(with = "exact")]
        probability: f64,
        /// The parts of that probability.
        odds: Odds,
        /// The model's prediction.
        guess: Guess,
        /// Who was asked.
        annotator: Arc<str>,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// An ask was assigned to another annotator, or again.
    Assigned {
        /// The ask.
        ask: u64,
        /// The annotator.
        annotator: Arc<str>,
        /// Before all other asks of the annotator.
        first: bool,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// An annotator answered.
    Answered {
        /// Counts answers and withdrawals, from 1 without gaps.
        answer: u64,
        /// The ask.
        ask: u64,
        /// The answer itself.
        response: Response,
        /// The annotator.
        annotator: Arc<str>,
        /// The sender's idempotency key, unique among answers and withdrawals.
        key: Arc<str>,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// An answer was withdrawn.
    Withdrawn {
        /// Counts answers and withdrawals.
        number: u64,
        /// The number of the answer.
        answer: u64,
        /// The annotator.
        annotator: Arc<str>,
        /// The sender's idempotency key.
        key: Arc<str>,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// The score of the model was estimated.
    Measured {
        /// How many labels it was estimated from.
        labels: u64,
        /// The score.
        #[serde(with = "exact")]
        value: f64,
        /// Lower end of its interval.
        #[serde(with = "exact")]
        low: f64,
        /// Upper end.
        #[serde(with = "exact")]
        high: f64,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// Items were added to the pool, so draws before this could not draw them.
    Grown {
        /// How many asks there were.
        asks: u64,
    },
    /// A model was adopted: later draws are by it.
    Fitted {
        /// How many asks there were when it was fitted.
        asks: u64,
        /// How many answers and withdrawals there were then.
        acts: u64,
        /// How many labels it was fitted to.
        labels: u64,
        /// 53 bits of FNV-1a of its parameters.
        digest: u64,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// The session started or resumed: until a model is fitted, items are drawn uniformly.
    Started {
        /// Items in the pool.
        items: u64,
        /// How many of them had a prior label.
        imported: u64,
        /// Milliseconds since 1970.
        at: u64,
    },
}
