//! Replies with items and answers, built from the session.

use querist_engine::session::{
    AnswerSummary, AskId, Assignment, LabelValue, ModelPrediction, NoMore, PredictedLabel, Response, Session,
};

use crate::app_state::AppState;
use crate::wire::WireLabel;
use crate::wire::replies::{
    AssignedItem, FieldKind, HistoryEntry, NextReply, NoItemsReason, OwnAnswer, RemainingItems, UndoReply, UndoneAnswer,
};

pub(crate) mod status;

/// The maximum length of a preview, in characters.
const PREVIEW_CHARS: usize = 80;

/// Returns a number unless it is NaN or infinite, since JSON has no such numbers.
fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// A response as the fields of a reply.
struct ResponseFields {
    label: Option<WireLabel>,
    skip: bool,
    unsure: bool,
}

fn response_fields(state: &AppState, response: Response) -> ResponseFields {
    let label = match response {
        Response::Label(code) => state.catalog.label(code.0),
        _ => None,
    };
    ResponseFields { label, skip: response == Response::Skip, unsure: response == Response::Unsure }
}

/// Explains to the annotator why an item is asked. Losses without probabilities show only the predicted class.
fn why(state: &AppState, prediction: &ModelPrediction, has_probabilities: bool) -> String {
    if prediction.labels == 0 {
        return "Early pick (no model yet)".to_owned();
    }
    if state.catalog.labels.is_empty() {
        let value = prediction.likeliest.first().map_or(f64::NAN, |predicted| predicted.label.0);
        return format!("model: {value:.4}");
    }
    let named =
        |label: LabelValue| state.catalog.label(label.0).map_or_else(|| "null".to_owned(), |label| label.to_string());
    if !has_probabilities {
        let class = prediction.likeliest.first().map(|predicted| named(predicted.label));
        return format!("model: {}", class.unwrap_or_default());
    }
    let percent =
        |predicted: &PredictedLabel| format!("{} {:.0} %", named(predicted.label), 100.0 * predicted.probability);
    format!("model: {}", prediction.likeliest.iter().map(percent).collect::<Vec<_>>().join(", "))
}

/// Returns an item as an annotator sees it.
fn assigned_item(state: &AppState, session: &Session, ask: AskId, name: &str) -> Option<AssignedItem> {
    let item = session.item(ask)?;
    let mine = session.response_of(name, ask).map(|(answer, response)| {
        let ResponseFields { label, skip, unsure } = response_fields(state, response);
        OwnAnswer { label, skip, unsure, answer: answer.get() }
    });
    Some(AssignedItem {
        ask: ask.get(),
        item: item.id.to_string(),
        probability: item.probability.and_then(finite),
        why: why(state, item.prediction, session.has_probabilities()),
        fields: (state.catalog.fields)(item.row?),
        lease_seconds: session.settings().lease_ms / 1000,
        mine,
    })
}

/// Returns the items assigned to an annotator, and the counts of the remaining ones.
pub(crate) fn next(state: &AppState, session: &Session, assignment: &Assignment, name: &str) -> NextReply {
    NextReply {
        items: assignment.asks.iter().filter_map(|ask| assigned_item(state, session, *ask, name)).collect(),
        left: RemainingItems {
            unasked: assignment.unasked,
            leased: assignment.leased,
            next_free_seconds: assignment.next_free_ms.map(|wait| wait.div_ceil(1000)),
            for_others: assignment.for_others,
            answered: assignment.answered,
        },
        reason: assignment.no_more.map(|reason| match reason {
            NoMore::Finished => NoItemsReason::Finished,
            NoMore::YoursDone => NoItemsReason::YoursDone,
            NoMore::AllLeased => NoItemsReason::AllLeased,
            NoMore::Budget => NoItemsReason::Budget,
        }),
    }
}

/// Returns a withdrawn answer and its item.
pub(crate) fn undone(state: &AppState, session: &Session, undone: &AnswerSummary, name: &str) -> UndoReply {
    let (answer, ask) = (undone.answer, undone.ask);
    let ResponseFields { label, skip, unsure } = response_fields(state, undone.response);
    let item = session.item(ask).map(|item| item.id.to_string());
    UndoReply {
        undone: Some(UndoneAnswer { answer: answer.get(), ask: ask.get(), item, label, skip, unsure }),
        items: assigned_item(state, session, ask, name).into_iter().collect(),
    }
}

/// Returns the last `n` answers of an annotator, newest first.
pub(crate) fn history(state: &AppState, session: &Session, name: &str, n: usize) -> Vec<HistoryEntry> {
    let entries = session.history(name, n).into_iter().filter_map(|entry| {
        let item = session.item(entry.ask)?;
        let fields = item.row.map(|row| (state.catalog.fields)(row)).unwrap_or_default();
        let text = fields.iter().find(|field| field.kind == FieldKind::Text).or(fields.first());
        let preview = text.map(|field| field.value.chars().take(PREVIEW_CHARS).collect()).unwrap_or_default();
        let ResponseFields { label, skip, unsure } = response_fields(state, entry.response);
        let (answer, ask) = (entry.answer.get(), entry.ask.get());
        Some(HistoryEntry { answer, ask, item: item.id.to_string(), label, skip, unsure, preview })
    });
    entries.collect()
}
