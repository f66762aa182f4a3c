//! Asks, and the annotators who were assigned them.

use std::sync::Arc;

use super::event::{DrawTerms, ModelPrediction, Response};
use super::ids::{AnswerId, LabelValue, RowId};

/// The state of an ask: a draw of an item, assigned to one or more annotators.
#[derive(Clone, Debug)]
pub(super) struct AskState {
    /// The item's row in the pool; `None` if the pool no longer has the item with the content that was shown.
    pub(super) row: Option<RowId>,
    pub(super) id: Arc<str>,
    pub(super) draw: DrawTerms,
    pub(super) prediction: ModelPrediction,
    /// Current leases: annotator and deadline.
    pub(super) holders: Vec<(usize, u64)>,
    /// All annotators it was ever assigned to, with their active response.
    pub(super) annotators: Vec<AnnotatorState>,
    pub(super) status: AskStatus,
}

/// The state of an ask for one annotator.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnnotatorState {
    /// The index of the annotator.
    pub(super) annotator: usize,
    /// The active answer.
    pub(super) answer: Option<(AnswerId, Response)>,
    /// The number of skips.
    pub(super) skips: u32,
}

/// The status of an ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AskStatus {
    /// There is no label yet.
    Pending,
    /// Labeled: with several labels, the most frequent one, the earliest of equals; for numbers their mean.
    Labeled(LabelValue),
    /// No annotator could label it.
    Unsure,
    /// It was skipped and is not leased.
    Skipped,
}

impl AnnotatorState {
    /// Returns whether this annotator has given a label or is unsure.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.answer, Some((_, Response::Label(_) | Response::Unsure)))
    }

    /// Returns whether the active answer is this response.
    pub(super) fn has_response(&self, response: Response) -> bool {
        self.answer.is_some_and(|(_, active)| active == response)
    }
}

impl AskState {
    /// Returns the state for an annotator, if the ask was ever assigned to them.
    pub(super) fn annotator(&self, annotator: usize) -> Option<&AnnotatorState> {
        self.annotators.iter().find(|state| state.annotator == annotator)
    }

    /// Returns the state for an annotator, adding one if needed.
    pub(super) fn annotator_mut(&mut self, annotator: usize) -> &mut AnnotatorState {
        let found = self.annotators.iter().position(|state| state.annotator == annotator);
        let index = found.unwrap_or(self.annotators.len());
        if index == self.annotators.len() {
            self.annotators.push(AnnotatorState { annotator, answer: None, skips: 0 });
        }
        &mut self.annotators[index]
    }

    pub(super) fn is_held_by(&self, annotator: usize) -> bool {
        self.holders.iter().any(|(holder, _)| *holder == annotator)
    }

    /// Returns the number of annotators who have given a label or are unsure.
    pub(super) fn done(&self) -> usize {
        self.annotators.iter().filter(|state| state.is_done()).count()
    }

    /// Returns the labels, in the order they were given.
    pub(super) fn labels(&self) -> Vec<LabelValue> {
        let mut labels: Vec<(AnswerId, LabelValue)> = self
            .annotators
            .iter()
            .filter_map(|state| match state.answer {
                Some((id, Response::Label(label))) => Some((id, label)),
                _ => None,
            })
            .collect();
        labels.sort_by_key(|(id, _)| *id);
        labels.into_iter().map(|(_, label)| label).collect()
    }

    /// Computes the status from the active responses and the leases.
    pub(super) fn compute_status(&self, numbers: bool) -> AskStatus {
        // A single annotator is by far the most common case, and resuming folds millions of asks at once.
        if let ([AnnotatorState { answer: Some((_, Response::Label(label))), .. }], false) =
            (&self.annotators[..], numbers)
        {
            return AskStatus::Labeled(*label);
        }
        let labels = self.labels();
        if !labels.is_empty() {
            return AskStatus::Labeled(consensus(&labels, numbers));
        }
        let has_response = |response: Response| self.annotators.iter().any(|state| state.has_response(response));
        if has_response(Response::Unsure) {
            AskStatus::Unsure
        } else if has_response(Response::Skip) && self.holders.is_empty() {
            AskStatus::Skipped
        } else {
            AskStatus::Pending
        }
    }
}

/// Returns the label of an item that several annotators labeled: the most frequent one, the earliest of equals; for
/// numbers their mean.
///
/// # Panics
/// If there are no labels.
pub fn consensus(labels: &[LabelValue], numbers: bool) -> LabelValue {
    if numbers { mean(labels) } else { majority(labels) }
}

fn mean(labels: &[LabelValue]) -> LabelValue {
    LabelValue(labels.iter().map(|label| label.0).sum::<f64>() / labels.len() as f64)
}

fn majority(labels: &[LabelValue]) -> LabelValue {
    let votes = |label: LabelValue| labels.iter().filter(|other| **other == label).count();
    labels.iter().copied().fold(labels[0], |best, label| if votes(best) < votes(label) { label } else { best })
}
