//! The JSON of replies: items, history and the status.

use std::sync::Arc;

use querist_engine::estimate::{ClassScores, Estimate};
use querist_engine::rule::Scale;
use querist_engine::session::{Guess, Handed, NoMore, Prediction, Response, Session};
use querist_engine::task::Labels;
use serde_json::{Map, Value, json};

use crate::app_state::AppState;

/// The title, labels and fields that the page displays.
pub struct Catalog {
    /// The title of the labeling task.
    pub title: String,
    /// The classes with their codes, in the order of their keys; empty for numeric labels.
    pub labels: Vec<(String, f64)>,
    /// Returns the fields of the item in a row.
    pub fields: Box<dyn Fn(usize) -> Vec<DisplayedField> + Send + Sync>,
    /// Returns what is proved about the loss and the rule in use, at the scale of the current model.
    pub certificate: MakeCertificate,
}

/// A function that creates a certificate for the scale of a rule in units of the pool; `None` before the first model.
pub type MakeCertificate = Box<dyn Fn(Option<Scale>) -> Value + Send + Sync>;

/// A displayed field of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct DisplayedField {
    /// Its name.
    pub name: String,
    /// `text`, `number`, `category` or `image`.
    pub kind: &'static str,
    /// Its value.
    pub value: String,
}

impl Catalog {
    /// Returns the label with this code.
    pub(crate) fn label(&self, code: f64) -> Value {
        match self.labels.iter().find(|(_, known)| *known == code) {
            Some((name, _)) => name.as_str().into(),
            None => number(code),
        }
    }

    /// Returns the code of a label from a request, or `None` if there is no such label.
    pub(crate) fn code(&self, label: &Value) -> Option<f64> {
        if self.labels.is_empty() {
            return label.as_f64().or_else(|| label.as_str()?.trim().parse().ok()).filter(|number| number.is_finite());
        }
        let name = label.as_str()?;
        self.labels.iter().find(|(known, _)| known == name).map(|(_, code)| *code)
    }
}

/// Converts a number to JSON; NaN and infinities become null.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// Explains to the annotator why an item is asked. Losses without probabilities show only the predicted class.
fn why(state: &AppState, guess: &Guess, has_probabilities: bool) -> String {
    if guess.answers == 0 {
        return "Random pick (no model yet)".to_owned();
    }
    let named = |label: f64| match state.catalog.label(label) {
        Value::String(name) => name,
        other => other.to_string(),
    };
    if state.catalog.labels.is_empty() {
        let value = guess.likeliest.first().map_or(f64::NAN, |predicted| predicted.label);
        return format!("model: {value:.4}");
    }
    if !has_probabilities {
        return format!(
            "model: {}",
            guess.likeliest.first().map(|predicted| named(predicted.label)).unwrap_or_default()
        );
    }
    let percent = |predicted: &Prediction| format!("{} {:.0} %", named(predicted.label), 100.0 * predicted.probability);
    format!("model: {}", guess.likeliest.iter().map(percent).collect::<Vec<_>>().join(", "))
}

/// Returns an item as an annotator sees it.
pub(crate) fn item(state: &AppState, session: &Session, ask: u64, name: &str) -> Option<Value> {
    let (row, id, probability, guess) = session.item(ask)?;
    let fields: Vec<Value> = (state.catalog.fields)(row?)
        .into_iter()
        .map(|field| json!({"name": field.name, "kind": field.kind, "value": field.value}))
        .collect();
    let mine = session.said_by(name, ask).map(|(answer, given)| {
        let mut response = said(state, given);
        response.insert("answer".to_owned(), answer.into());
        response
    });
    Some(json!({
        "ask": ask,
        "item": &**id,
        "probability": number(probability),
        "why": why(state, guess, session.has_probabilities()),
        "fields": fields,
        "lease_seconds": session.settings().lease / 1000,
        "mine": mine,
    }))
}

/// Returns a response as fields: the label, and whether it was skipped or unsure.
pub(crate) fn said(state: &AppState, given: Response) -> Map<String, Value> {
    let label = match given {
        Response::Label(code) => state.catalog.label(code),
        _ => Value::Null,
    };
    let fields =
        [("label", label), ("skip", (given == Response::Skip).into()), ("unsure", (given == Response::Unsure).into())];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the items assigned to an annotator, and the counts of the remaining ones.
pub(crate) fn handed(state: &AppState, session: &Session, handed: &Handed, name: &str) -> Value {
    let items: Vec<Value> = handed.asks.iter().filter_map(|ask| item(state, session, *ask, name)).collect();
    let reason = handed.no_more.map(|reason| match reason {
        NoMore::Finished => "finished",
        NoMore::YoursDone => "yours-done",
        NoMore::AllLeased => "all-leased",
        NoMore::Budget => "budget",
    });
    json!({
        "items": items,
        "left": {
            "unasked": handed.unasked,
            "leased": handed.leased,
            "next_free_seconds": handed.next_free.map(|wait| wait.div_ceil(1000)),
            "for_others": handed.for_others,
            "answered": handed.answered,
        },
        "reason": reason,
    })
}

/// Returns the last `n` answers of an annotator, newest first.
pub(crate) fn history(state: &AppState, session: &Session, name: &str, n: usize) -> Value {
    let entries = session.history(name, n).into_iter().filter_map(|entry| {
        let (row, id, _, _) = session.item(entry.ask)?;
        let fields = row.map(|row| (state.catalog.fields)(row)).unwrap_or_default();
        let text = fields.iter().find(|field| field.kind == "text").or(fields.first());
        let preview: String = text.map(|field| field.value.chars().take(80).collect()).unwrap_or_default();
        let mut shown = Map::new();
        shown.insert("answer".to_owned(), entry.answer.into());
        shown.insert("ask".to_owned(), entry.ask.into());
        shown.insert("item".to_owned(), id.as_ref().into());
        shown.extend(said(state, entry.given));
        shown.insert("preview".to_owned(), preview.into());
        Some(Value::Object(shown))
    });
    entries.collect()
}

/// Returns an estimate with its fixed-sample interval.
fn estimated(estimate: &Estimate) -> Value {
    json!({"value": number(estimate.value), "low": number(estimate.low), "high": number(estimate.high)})
}

/// Returns precision, recall and F1 of each class; null if no answer determines it.
fn scores_of_classes(catalog: &Catalog, scores: &[ClassScores]) -> Vec<Value> {
    let named = catalog.labels.iter().zip(scores);
    let class = |(name, scores): (&(String, f64), &ClassScores)| {
        let shown = |score: &Option<Estimate>| score.as_ref().map(estimated);
        json!({"class": name.0, "precision": shown(&scores.precision), "recall": shown(&scores.recall), "f1": shown(&scores.f1)})
    };
    named.map(class).collect()
}

/// The maximum number of annotators in the event stream.
const MAX_STREAMED_ANNOTATORS: usize = 30;

/// Returns the status for event streams. It lists only the first annotators, since each change is sent to everyone.
pub(crate) fn live_status(state: &Arc<AppState>) -> Value {
    let mut status = status(state);
    if let Some(Value::Array(annotators)) = status.get_mut("annotators") {
        annotators.truncate(MAX_STREAMED_ANNOTATORS);
    }
    status
}

/// Returns the status of the session.
pub(crate) fn status(state: &Arc<AppState>) -> Value {
    let problem = state.store.problem();
    state.store.read(|session, now| {
        let status = session.status(now.tick);
        let settings = session.settings();
        let catalog = &state.catalog;
        let task = match settings.labels {
            Labels::Binary => "binary",
            Labels::Classes(_) => "classes",
            Labels::Numbers => "number",
        };
        let count = |code: f64| status.by_label.iter().find(|(label, _)| *label == code).map_or(0, |(_, count)| *count);
        let by_class: Map<String, Value> =
            catalog.labels.iter().map(|(name, code)| (name.clone(), count(*code).into())).collect();
        let assessment = status.assessment;
        let estimate = assessment.map(|assessment| {
            let score = &assessment.score;
            json!({
                "accuracy": number(score.value), "low": number(score.low), "high": number(score.high),
                "anytime_low": score.anytime.map(|ends| number(ends.0)),
                "anytime_high": score.anytime.map(|ends| number(ends.1)),
                "effective_n": number(score.effective_n),
                "warning": score.warning.map(|warning| warning.to_string()),
                "mean_loss": assessment.loss.as_ref().map(estimated),
                "classes": scores_of_classes(catalog, &assessment.classes),
            })
        });
        let twin = assessment.and_then(|assessment| {
            let twin = assessment.twin.as_ref()?;
            Some(json!({"accuracy": number(twin.value), "low": number(twin.low), "high": number(twin.high),
                        "labels": assessment.twin_labels}))
        });
        let stop = match status.advice {
            Some(advice) => json!({"advice": if advice.stop { "stop" } else { "go on" }, "why": advice.why}),
            None => json!({"advice": "go on", "why": "there are too few labels for advice"}),
        };
        json!({
            "title": catalog.title,
            "run": state.access.run(),
            "task": task,
            "labels": catalog.labels.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            "annotators": status.people.iter().map(|(name, answered)| json!({"name": &**name, "answered": answered}))
                .collect::<Vec<_>>(),
            "annotator_count": status.people.len(),
            "answers": status.people.iter().map(|(_, answered)| answered).sum::<usize>(),
            "answered": status.answered,
            "skipped": status.skipped,
            "unsure": status.unsure,
            "pending": status.pending,
            "by_class": by_class,
            "pool": status.pool,
            "budget": settings.budget,
            "overlap": settings.overlap,
            "rate_per_minute": number(status.rate),
            "seconds_left": status.seconds_left.map(number),
            "estimate": estimate,
            "twin": twin,
            "curve": thinned(status.curve.len()).into_iter().map(|index| {
                let point = &status.curve[index];
                json!({"labels": point.labels, "value": number(point.value), "low": number(point.low),
                       "high": number(point.high)})
            }).collect::<Vec<_>>(),
            "stop": stop,
            "agreement": status.agreement.map(|agreement| json!({
                "items": agreement.items, "share": number(agreement.share), "kappa": number(agreement.kappa)})),
            "model": {"answers": status.learned, "fitting": status.is_behind, "cold": status.is_cold},
            "data_problems": data_problems(state, session),
            "store": {"writable": problem.is_none(), "problem": problem.as_ref().map(|problem| problem.message.as_str())},
        })
    })
}

/// Describes the items that are skipped and the images that have changed, with one sentence for each reason.
pub(crate) fn data_problems(state: &AppState, session: &Session) -> Vec<String> {
    session.data_problems().into_iter().chain(state.images.problems()).collect()
}

/// The approximate maximum number of points in a curve.
const POINTS: usize = 200;

/// Returns the indexes of the points that are shown. Except for the last one, they stay the same when a point is added,
/// until the step doubles. So patches of a curve are small.
fn thinned(points: usize) -> Vec<usize> {
    let step = points.div_ceil(POINTS).next_power_of_two();
    (0..points).filter(|index| index.is_multiple_of(step) || index + 1 == points).collect()
}
