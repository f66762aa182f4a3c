//! The JSON of replies: items, history and the status.

use std::sync::Arc;

use querist_engine::estimate::{ClassScores, Estimate};
use querist_engine::rule::Scale;
use querist_engine::session::{
    AskId, Assignment, LabelValue, ModelPrediction, NoMore, PredictedLabel, Response, RowId, Session,
};
use querist_engine::task::Labels;
use serde_json::{Map, Value, json};

use crate::routes::House;

/// The title, labels and fields that the page displays.
pub struct Catalogue {
    /// The title of the labeling task.
    pub title: String,
    /// The classes with their codes, in the order of their keys; empty for numeric labels.
    pub labels: Vec<(String, f64)>,
    /// Returns the fields of the item in a row.
    pub fields: Box<dyn Fn(RowId) -> Vec<Field> + Send + Sync>,
    /// Returns what is proved about the loss and the rule in use, at the scale of the current model.
    pub certificate: Certify,
}

/// A function that creates a certificate for the scale of a rule in units of the pool; `None` before the first model.
pub type Certify = Box<dyn Fn(Option<Scale>) -> Value + Send + Sync>;

/// A displayed field of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// `text`, `number`, `category` or `image`.
    pub kind: &'static str,
    /// Its value.
    pub value: String,
}

impl Catalogue {
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
fn why(house: &House, prediction: &ModelPrediction, has_probabilities: bool) -> String {
    if prediction.labels == 0 {
        return "Random pick (no model yet)".to_owned();
    }
    let named = |label: LabelValue| match house.catalogue.label(label.0) {
        Value::String(name) => name,
        other => other.to_string(),
    };
    if house.catalogue.labels.is_empty() {
        let value = prediction.likeliest.first().map_or(f64::NAN, |predicted| predicted.label.0);
        return format!("model: {value:.4}");
    }
    if !has_probabilities {
        return format!(
            "model: {}",
            prediction.likeliest.first().map(|predicted| named(predicted.label)).unwrap_or_default()
        );
    }
    let percent =
        |predicted: &PredictedLabel| format!("{} {:.0} %", named(predicted.label), 100.0 * predicted.probability);
    format!("model: {}", prediction.likeliest.iter().map(percent).collect::<Vec<_>>().join(", "))
}

/// Returns an item as an annotator sees it.
pub(crate) fn item(house: &House, session: &Session, ask: AskId, name: &str) -> Option<Value> {
    let item = session.item(ask)?;
    let fields: Vec<Value> = (house.catalogue.fields)(item.row?)
        .into_iter()
        .map(|field| json!({"name": field.name, "kind": field.kind, "value": field.value}))
        .collect();
    let mine = session.response_of(name, ask).map(|(answer, response)| {
        let mut fields = said(house, response);
        fields.insert("answer".to_owned(), answer.get().into());
        fields
    });
    Some(json!({
        "ask": ask,
        "item": &**item.id,
        "probability": number(item.probability),
        "why": why(house, item.prediction, session.has_probabilities()),
        "fields": fields,
        "lease_seconds": session.settings().lease_ms / 1000,
        "mine": mine,
    }))
}

/// Returns a response as fields: the label, and whether it was skipped or unsure.
pub(crate) fn said(house: &House, response: Response) -> Map<String, Value> {
    let label = match response {
        Response::Label(label) => house.catalogue.label(label.0),
        _ => Value::Null,
    };
    let fields = [
        ("label", label),
        ("skip", (response == Response::Skip).into()),
        ("unsure", (response == Response::Unsure).into()),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the items assigned to an annotator, and the counts of the remaining ones.
pub(crate) fn assignment(house: &House, session: &Session, assignment: &Assignment, name: &str) -> Value {
    let items: Vec<Value> = assignment.asks.iter().filter_map(|ask| item(house, session, *ask, name)).collect();
    let reason = assignment.no_more.map(|reason| match reason {
        NoMore::Finished => "finished",
        NoMore::YoursDone => "yours-done",
        NoMore::AllLeased => "all-leased",
        NoMore::Budget => "budget",
    });
    json!({
        "items": items,
        "left": {
            "unasked": assignment.unasked,
            "leased": assignment.leased,
            "next_free_seconds": assignment.next_free_ms.map(|wait| wait.div_ceil(1000)),
            "for_others": assignment.for_others,
            "answered": assignment.answered,
        },
        "reason": reason,
    })
}

/// Returns the last `n` answers of an annotator, newest first.
pub(crate) fn history(house: &House, session: &Session, name: &str, n: usize) -> Value {
    let entries = session.history(name, n).into_iter().filter_map(|entry| {
        let item = session.item(entry.ask)?;
        let fields = item.row.map(|row| (house.catalogue.fields)(row)).unwrap_or_default();
        let text = fields.iter().find(|field| field.kind == "text").or(fields.first());
        let preview: String = text.map(|field| field.value.chars().take(80).collect()).unwrap_or_default();
        let mut shown = Map::new();
        shown.insert("answer".to_owned(), entry.answer.get().into());
        shown.insert("ask".to_owned(), entry.ask.get().into());
        shown.insert("item".to_owned(), item.id.as_ref().into());
        shown.extend(said(house, entry.response));
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
fn scores_of_classes(catalogue: &Catalogue, scores: &[ClassScores]) -> Vec<Value> {
    let named = catalogue.labels.iter().zip(scores);
    let class = |(name, scores): (&(String, f64), &ClassScores)| {
        let shown = |score: &Option<Estimate>| score.as_ref().map(estimated);
        json!({"class": name.0, "precision": shown(&scores.precision), "recall": shown(&scores.recall), "f1": shown(&scores.f1)})
    };
    named.map(class).collect()
}

/// The maximum number of annotators in the event stream.
const MAX_STREAMED_ANNOTATORS: usize = 30;

/// Returns the status for event streams. It lists only the first annotators, since each change is sent to everyone.
pub(crate) fn live_status(house: &Arc<House>) -> Value {
    let mut status = status(house);
    if let Some(Value::Array(annotators)) = status.get_mut("annotators") {
        annotators.truncate(MAX_STREAMED_ANNOTATORS);
    }
    status
}

/// Returns the status of the session.
pub(crate) fn status(house: &Arc<House>) -> Value {
    let problem = house.desk.problem();
    house.desk.look(|session, now| {
        let status = session.status(now.tick);
        let settings = session.settings();
        let catalogue = &house.catalogue;
        let task = match settings.labels {
            Labels::Binary => "binary",
            Labels::Classes(_) => "classes",
            Labels::Numbers => "number",
        };
        let count = |code: f64| status.by_label.iter().find(|(label, _)| label.0 == code).map_or(0, |(_, count)| *count);
        let by_class: Map<String, Value> =
            catalogue.labels.iter().map(|(name, code)| (name.clone(), count(*code).into())).collect();
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
                "classes": scores_of_classes(catalogue, &assessment.classes),
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
            "title": catalogue.title,
            "run": house.access.run(),
            "task": task,
            "labels": catalogue.labels.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            "annotators": status.annotators.iter().map(|(name, answered)| json!({"name": &**name, "answered": answered}))
                .collect::<Vec<_>>(),
            "annotator_count": status.annotators.len(),
            "answers": status.annotators.iter().map(|(_, answered)| answered).sum::<usize>(),
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
            "model": {"answers": status.model_labels, "fitting": status.is_behind, "cold": status.is_cold},
            "data_problems": data_problems(house, session),
            "store": {"writable": problem.is_none(), "problem": problem.as_ref().map(|problem| problem.words.as_str())},
        })
    })
}

/// Describes the items that are skipped and the images that have changed, with one sentence for each reason.
pub(crate) fn data_problems(house: &House, session: &Session) -> Vec<String> {
    session.data_problems().into_iter().chain(house.images.problems()).collect()
}

/// The approximate maximum number of points in a curve.
const POINTS: usize = 200;

/// Returns the indexes of the points that are shown. Except for the last one, they stay the same when a point is added,
/// until the step doubles. So patches of a curve are small.
fn thinned(points: usize) -> Vec<usize> {
    let step = points.div_ceil(POINTS).next_power_of_two();
    (0..points).filter(|index| index.is_multiple_of(step) || index + 1 == points).collect()
}
