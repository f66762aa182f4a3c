//! The events of a session, as recorded in its ledger; the state is their fold.

use std::fmt::{self, Display};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{AnswerId, AskId, LabelValue};
use crate::digest::Digest;
use crate::estimate::{Estimate, ReliabilityBin};
use crate::exact;

/// A time, by two clocks.
///
/// ```
/// use std::time::{Instant, SystemTime};
///
/// use querist_engine::session::SessionTime;
///
/// let started = Instant::now();
/// let clock = SystemTime::UNIX_EPOCH.elapsed()?.as_millis() as u64;
/// let now = SessionTime { tick: started.elapsed().as_millis() as u64, clock };
/// assert!(now.tick < now.clock);
/// # Ok::<(), std::time::SystemTimeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTime {
    /// Milliseconds of a monotonic clock, used for leases.
    pub tick: u64,
    /// Milliseconds since 1970, used for records.
    pub clock: u64,
}

/// An annotator's response to an item.
///
/// ```
/// use querist_engine::session::{LabelValue, Response};
///
/// let responses = [Response::Label(LabelValue(1.0)), Response::Skip, Response::Unsure];
/// let labels = responses.iter().filter(|response| matches!(response, Response::Label(_)));
/// assert_eq!(labels.count(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// A label.
    Label(LabelValue),
    /// Not now: the item comes back last.
    Skip,
    /// The annotator cannot tell.
    Unsure,
}

/// The terms of the probability of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct DrawTerms {
    /// U of the item.
    #[serde(with = "exact")]
    pub uncertainty: f64,
    /// ΣU over the items that were left; `None` if the item is the most uncertain one, whose draw has no probability.
    #[serde(with = "exact::option", skip_serializing_if = "Option::is_none", default)]
    pub total: Option<f64>,
    /// The number of items that were left.
    pub left: usize,
    /// A lower bound on every U.
    #[serde(with = "exact")]
    pub least: f64,
}

impl DrawTerms {
    /// Returns the probability of the item among those left; `None` if the draw has none.
    pub fn probability(&self) -> Option<f64> {
        self.total.map(|total| self.uncertainty / total)
    }

    /// Returns 1/mean of U over the items that were left; 1 if the draw has no probability.
    pub fn inverse_rate(&self) -> f64 {
        self.total.map_or(1.0, |total| self.left as f64 / total)
    }
}

/// The prediction of a model for an item.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ModelPrediction {
    /// The likeliest labels, two at most; the predicted number, with probability 1, for numbers.
    pub likeliest: Vec<PredictedLabel>,
    /// The number of labels the model was trained on; 0 if there was no model.
    pub labels: u64,
}

impl Display for ModelPrediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for PredictedLabel { label, probability } in &self.likeliest {
            write!(f, "{label} with probability {probability}, ")?;
        }
        write!(f, "from {} labels", self.labels)
    }
}

/// Items whose predictions have about the same probability.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct RecordedBin {
    /// The mean predicted probability of their likeliest class.
    #[serde(with = "exact")]
    pub confidence: f64,
    /// The estimated share for which that class is the true one.
    #[serde(with = "exact")]
    pub accuracy: f64,
    /// Lower end of its interval.
    #[serde(with = "exact")]
    pub low: f64,
    /// Upper end.
    #[serde(with = "exact")]
    pub high: f64,
}

impl From<&ReliabilityBin> for RecordedBin {
    fn from(bin: &ReliabilityBin) -> Self {
        let Estimate { value, low, high, .. } = bin.accuracy;
        Self { confidence: bin.confidence, accuracy: value, low, high }
    }
}

/// A label that a model predicts.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct PredictedLabel {
    /// The label.
    pub label: LabelValue,
    /// Its probability.
    #[serde(with = "exact")]
    pub probability: f64,
}

/// An event of a session. The names of variants and fields are those of the ledger.
///
/// ```
/// use querist_engine::session::{AnswerId, AskId, Response, SessionEvent};
///
/// let (answer, ask, response) = (AnswerId::new(1), AskId::new(1), Response::Unsure);
/// let (annotator, key) = ("Ada".into(), "answer-1".into());
/// let answered = SessionEvent::Answered { answer, ask, response, annotator, key, at: 1000 };
/// let events = [SessionEvent::Started { items: 4, imported: 0, at: 0 }, answered];
/// let answers = events.iter().filter(|event| matches!(event, SessionEvent::Answered { .. }));
/// assert_eq!(answers.count(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionEvent {
    /// An item was drawn, for an annotator.
    Asked {
        /// The number of the ask.
        ask: AskId,
        /// The item.
        id: Arc<str>,
        /// The digest of its displayed content; ledgers before version 3 have none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        content: Option<Digest>,
        /// The digest of its encoded features; ledgers before version 3 have none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        features: Option<Digest>,
        /// The digest of its cells that are learned from but not displayed, as in the data; `None` if there are none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        hidden: Option<Digest>,
        /// 53 bits of FNV-1a of its cells, in ledgers before version 3.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        fingerprint: Option<u64>,
        /// The probability of the draw; `None` if it has none.
        #[serde(with = "exact::option", skip_serializing_if = "Option::is_none", default)]
        probability: Option<f64>,
        /// The terms of that probability.
        odds: DrawTerms,
        /// The model's prediction.
        guess: ModelPrediction,
        /// The annotator.
        annotator: Arc<str>,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// An ask was assigned to another annotator, or again.
    Assigned {
        /// The ask.
        ask: AskId,
        /// The annotator.
        annotator: Arc<str>,
        /// `true` if it comes before all other asks of the annotator.
        first: bool,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// An annotator answered.
    Answered {
        /// The number of the answer.
        answer: AnswerId,
        /// The ask.
        ask: AskId,
        /// The response.
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
        /// The number of the withdrawal.
        number: AnswerId,
        /// The number of the withdrawn answer.
        answer: AnswerId,
        /// The annotator.
        annotator: Arc<str>,
        /// The sender's idempotency key.
        key: Arc<str>,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// The score of the model was estimated.
    Measured {
        /// The number of labels the estimate is based on.
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
        /// How often predictions of some probability are right; empty in ledgers before version 0.2.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        reliability: Vec<RecordedBin>,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// Items were added to the pool, so draws before this could not draw them.
    Grown {
        /// The number of asks at that time.
        asks: u64,
    },
    /// A model was adopted for later draws.
    Fitted {
        /// The number of asks when its training job was created.
        asks: u64,
        /// The number of answers and withdrawals at that time.
        acts: u64,
        /// The number of labels it was fitted to.
        labels: u64,
        /// 53 bits of FNV-1a of its parameters.
        digest: u64,
        /// Milliseconds since 1970.
        at: u64,
    },
    /// The session started or resumed: until a model is fitted, items are drawn uniformly.
    Started {
        /// The number of items in the pool.
        items: u64,
        /// The number of items with a prior label.
        imported: u64,
        /// Milliseconds since 1970.
        at: u64,
    },
}
