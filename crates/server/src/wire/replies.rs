//! The replies to requests, except the status and the certificate.

use schemars::JsonSchema;
use serde::Serialize;

use super::WireLabel;

/// A displayed field of an item.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DisplayedField {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: FieldKind,
    /// Its value.
    pub value: String,
}

/// The kind of a displayed field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// One of several categories.
    Category,
    /// The address of an image.
    Image,
}

/// The reply to `POST /api/next`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NextReply {
    pub(crate) items: Vec<AssignedItem>,
    pub(crate) left: RemainingItems,
    /// Why there are fewer items than requested.
    pub(crate) reason: Option<NoItemsReason>,
}

/// An item as its annotator sees it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AssignedItem {
    pub(crate) ask: u64,
    pub(crate) item: String,
    /// The probability with which the item was drawn.
    pub(crate) probability: Option<f64>,
    pub(crate) why: String,
    pub(crate) fields: Vec<DisplayedField>,
    pub(crate) lease_seconds: u64,
    /// The annotator's current answer.
    pub(crate) mine: Option<OwnAnswer>,
}

/// An annotator's current answer to an item.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OwnAnswer {
    pub(crate) label: Option<WireLabel>,
    pub(crate) skip: bool,
    pub(crate) unsure: bool,
    pub(crate) answer: u64,
}

/// The counts of the remaining items.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RemainingItems {
    pub(crate) unasked: usize,
    pub(crate) leased: usize,
    /// The time until the next lease expires.
    pub(crate) next_free_seconds: Option<u64>,
    pub(crate) for_others: usize,
    pub(crate) answered: usize,
}

/// The reason why an annotator gets fewer items than requested.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoItemsReason {
    Finished,
    YoursDone,
    AllLeased,
    Budget,
}

/// The outcome of one answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Acknowledgement {
    pub(crate) ask: u64,
    pub(crate) key: String,
    pub(crate) status: AnswerStatus,
    /// The number of the answer, unless it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub(crate) answer: Option<u64>,
    /// The reason for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) why: Option<String>,
}

/// Whether an answer was saved.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnswerStatus {
    Saved,
    Repeated,
    Late,
    Refused,
}

/// The reply to `POST /api/undo`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UndoReply {
    pub(crate) undone: Option<UndoneAnswer>,
    pub(crate) items: Vec<AssignedItem>,
}

/// A withdrawn answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UndoneAnswer {
    pub(crate) answer: u64,
    pub(crate) ask: u64,
    pub(crate) item: Option<String>,
    pub(crate) label: Option<WireLabel>,
    pub(crate) skip: bool,
    pub(crate) unsure: bool,
}

/// The reply to `POST /api/heartbeat`: the asks that the annotator still holds, and the others.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HeartbeatReply {
    pub(crate) held: Vec<u64>,
    pub(crate) lost: Vec<u64>,
}

/// The reply to `POST /api/release`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReleaseReply {}

/// An answer in the reply to `GET /api/history`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HistoryEntry {
    pub(crate) answer: u64,
    pub(crate) ask: u64,
    pub(crate) item: String,
    pub(crate) label: Option<WireLabel>,
    pub(crate) skip: bool,
    pub(crate) unsure: bool,
    /// The start of the item's text.
    pub(crate) preview: String,
}

/// The reply to a request that failed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorReply {
    pub(crate) error: ErrorDetails,
}

/// A code for programs, a message and a hint for people.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorDetails {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: &'static str,
}
