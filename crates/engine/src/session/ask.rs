//! Asks, and the annotators who were assigned them.

use std::sync::Arc;

use super::event::{Guess, Odds, Response};
use crate::stats::mean;

/// A draw of an item, assigned to one or more people.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// The item's row in the pool; `None` if the pool no longer has the item with the content that was shown.
    pub(super) row: Option<usize>,
    pub(super) id: Arc<str>,
    pub(super) odds: Odds,
    pub(super) guess: Guess,
    /// Current leases: person and deadline.
    pub(super) holders: Vec<(usize, u64)>,
    /// Everyone it was ever assigned to, with their active response.
    pub(super) parts: Vec<Part>,
    pub(super) standing: Standing,
}

/// The state of an ask for one person.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) person: usize,
    /// The active response, with its number.
    pub(super) said: Option<(u64, Response)>,
    /// The number of skips.
    pub(super) skips: u32,
}

/// The state of an ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Standing {
    /// There is no label yet.
    Pending,
    /// Labeled: with several labels, the most frequent one, the earliest of equals; for numbers their mean.
    Labelled(f64),
    /// No annotator could label it.
    Unsure,
    /// It was skipped and is not leased.
    Skipped,
}

impl Part {
    /// Returns whether this person has given a label or said that they cannot.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.said, Some((_, Response::Label(_) | Response::Unsure)))
    }
}

impl Ask {
    pub(super) fn part(&self, person: usize) -> Option<&Part> {
        self.parts.iter().find(|part| part.person == person)
    }

    /// Returns the state for a person, adding one if needed.
    pub(super) fn part_mut(&mut self, person: usize) -> &mut Part {
        let index = self.parts.iter().position(|part| part.person == person).unwrap_or(self.parts.len());
        if index == self.parts.len() {
            self.parts.push(Part { person, said: None, skips: 0 });
        }
        &mut self.parts[index]
    }

    pub(super) fn is_held_by(&self, person: usize) -> bool {
        self.holders.iter().any(|(holder, _)| *holder == person)
    }

    /// Returns the number of people who have given a label or said that they cannot.
    pub(super) fn done(&self) -> usize {
        self.parts.iter().filter(|part| part.is_done()).count()
    }

    /// Returns the labels, in the order they were given.
    pub(super) fn labels(&self) -> Vec<f64> {
        let mut labels: Vec<(u64, f64)> = self
            .parts
            .iter()
            .filter_map(|part| match part.said {
                Some((number, Response::Label(label))) => Some((number, label)),
                _ => None,
            })
            .collect();
        labels.sort_by_key(|(number, _)| *number);
        labels.into_iter().map(|(_, label)| label).collect()
    }

    /// Computes the current state from the active responses.
    pub(super) fn stands(&self, numbers: bool) -> Standing {
        // A single annotator is by far the most common case, and resuming folds millions of asks at once.
        if let ([Part { said: Some((_, Response::Label(label))), .. }], false) = (&self.parts[..], numbers) {
            return Standing::Labelled(*label);
        }
        let labels = self.labels();
        if !labels.is_empty() {
            return Standing::Labelled(consensus(&labels, numbers));
        }
        let has_response =
            |wanted: Response| self.parts.iter().any(|part| part.said.is_some_and(|(_, given)| given == wanted));
        if has_response(Response::Unsure) {
            Standing::Unsure
        } else if has_response(Response::Skip) && self.holders.is_empty() {
            Standing::Skipped
        } else {
            Standing::Pending
        }
    }
}

/// Returns the label of an item that several annotators labeled: the most frequent one, the earliest of equals; for
/// numbers their mean.
///
/// # Panics
/// If there are no labels.
pub fn consensus(labels: &[f64], numbers: bool) -> f64 {
    if numbers { mean(labels) } else { majority(labels) }
}

fn majority(labels: &[f64]) -> f64 {
    let votes = |label: f64| labels.iter().filter(|other| **other == label).count();
    labels.iter().copied().fold(labels[0], |best, label| if votes(best) < votes(label) { label } else { best })
}
