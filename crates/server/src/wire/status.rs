//! The status of the session, in replies and in the event stream.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The name of an annotator; null if the credential has none.
type NullableName = Option<String>;

/// The status of the session.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatusReply {
    pub(crate) title: String,
    /// Identifies the ledger.
    pub(crate) run: String,
    pub(crate) task: TaskKind,
    pub(crate) labels: Vec<String>,
    pub(crate) annotators: Vec<AnnotatorCount>,
    pub(crate) annotator_count: usize,
    pub(crate) answers: usize,
    pub(crate) answered: usize,
    pub(crate) skipped: usize,
    pub(crate) unsure: usize,
    pub(crate) pending: usize,
    /// The number of answers for each class, in the order of the labels.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub(crate) by_class: Map<String, Value>,
    pub(crate) pool: usize,
    pub(crate) budget: Option<usize>,
    pub(crate) overlap: usize,
    pub(crate) draw: DrawKind,
    pub(crate) rate_per_minute: Option<f64>,
    pub(crate) seconds_left: Option<f64>,
    pub(crate) estimate: Option<AccuracyEstimate>,
    pub(crate) twin: Option<TwinEstimate>,
    pub(crate) curve: Vec<CurvePointReply>,
    pub(crate) stop: StopAdvice,
    pub(crate) agreement: Option<AgreementReply>,
    pub(crate) model: ModelState,
    pub(crate) data_problems: Vec<String>,
    pub(crate) store: StoreHealth,
    /// The caller's name, if the credential has one. Absent in the event stream, which is the same for all annotators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) you: Option<NullableName>,
}

/// The kind of labels.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TaskKind {
    Binary,
    Classes,
    Number,
}

/// The method of drawing items: at random in proportion to U, or the most uncertain one. Without random draws there are
/// no estimates.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DrawKind {
    Scan,
    Top,
}

/// The number of answers of an annotator.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AnnotatorCount {
    pub(crate) name: String,
    pub(crate) answered: usize,
}

/// The estimated accuracy on all items, with a fixed-sample and an anytime-valid interval. For numbers, `accuracy` is the
/// mean squared error.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AccuracyEstimate {
    pub(crate) accuracy: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) anytime_low: Option<f64>,
    pub(crate) anytime_high: Option<f64>,
    /// The effective sample size.
    pub(crate) effective_n: Option<f64>,
    pub(crate) warning: Option<String>,
    /// R² on all items; null for classes.
    pub(crate) r_squared: Option<IntervalReply>,
    pub(crate) mean_loss: Option<IntervalReply>,
    /// The mean of losses that are clipped at a limit, which labels can bound even if the mean loss has no upper end.
    pub(crate) clipped_loss: Option<ClippedLossReply>,
    pub(crate) classes: Vec<ClassScoresReply>,
}

/// An estimate with its fixed-sample interval.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IntervalReply {
    pub(crate) value: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// The mean of losses that are clipped at a limit, with its fixed-sample interval.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClippedLossReply {
    pub(crate) limit: Option<f64>,
    pub(crate) value: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// Precision, recall and F1 of a class; null if no answer determines it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClassScoresReply {
    pub(crate) class: String,
    pub(crate) precision: Option<IntervalReply>,
    pub(crate) recall: Option<IntervalReply>,
    pub(crate) f1: Option<IntervalReply>,
}

/// The estimated accuracy under random sampling, and the number of labels that it rests on.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TwinEstimate {
    pub(crate) accuracy: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) labels: usize,
    /// The accuracy with as many random labels as there are answers, extrapolated from those.
    pub(crate) at_equal_labels: Option<IntervalReply>,
}

/// A point of the learning curve.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CurvePointReply {
    pub(crate) labels: u64,
    pub(crate) value: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// Whether more labels are worth it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StopAdvice {
    pub(crate) advice: StopDecision,
    pub(crate) why: String,
}

/// The advice to continue or to stop.
#[derive(Serialize, JsonSchema)]
pub(crate) enum StopDecision {
    #[serde(rename = "go on")]
    Continue,
    #[serde(rename = "stop")]
    Stop,
}

/// The agreement of annotators on items that several of them answered.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AgreementReply {
    pub(crate) items: usize,
    pub(crate) share: Option<f64>,
    pub(crate) kappa: Option<f64>,
}

/// The state of the model.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ModelState {
    /// The number of answers that the model was fitted to.
    pub(crate) answers: u64,
    /// The kind of model: `linear`, `kernel` or `forest`.
    pub(crate) kind: &'static str,
    /// Whether a fit is running or due.
    pub(crate) fitting: bool,
    /// Whether there is no model yet.
    pub(crate) cold: bool,
}

/// Whether answers can be saved.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoreHealth {
    pub(crate) writable: bool,
    pub(crate) problem: Option<String>,
}
