//! An ask, and who had part in it.

use std::sync::Arc;

use super::event::{Guess, Odds, Response};

/// One draw of an item, put to one person or several.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// The item's row in the pool; `None` if the pool no longer has the item with the content that was shown.
    pub(super) row: Option<usize>,
    pub(super) id: Arc<str>,
    pub(super) odds: Odds,
    pub(super) guess: Guess,
    /// Who has it now, and until when.
    pub(super) holders: Vec<(usize, u64)>,
    /// Everybody who ever had it, and what stands of what they said.
    pub(super) parts: Vec<Part>,
    pub(super) standing: Standing,
}

/// What one person has to do with an ask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) person: usize,
    /// The number of what was said, and what.
    pub(super) said: Option<(u64, Response)>,
    /// How often it was skipped.
    pub(super) skips: u32,
}

/// What came of an ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Standing {
    /// Nothing yet.
    Pending,
    /// A label: of several, the one most give, the earliest of equals; the mean of numbers.
    Labelled(f64),
    /// Nobody could say.
    Unsure,
    /// It was skipped, and nobody has it now.
    Skipped,
}

impl Part {
    /// Whether this person has given a label, or cannot.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.said, Some((_, Response::Label(_) | Response::Unsure)))
    }
}

impl Ask {
    pub(super) fn part(&self, person: usize) -> Option<&Part> {
        self.parts.iter().find(|part| part.person == person)
    }

    /// The part of a person, who has one from now on.
    pub(super) fn part_mut(&mut self, person: usize) -> &mut Part {
        let place = self.parts.iter().position(|part| part.person == person).unwrap_or(self.parts.len());
        if place == self.parts.len() {
            self.parts.push(Part { person, said: None, skips: 0 });
        }
        &mut self.parts[place]
    }

    pub(super) fn is_held_by(&self, person: usize) -> bool {
        self.holders.iter().any(|(holder, _)| *holder == person)
    }

    /// How many people have given a label, or cannot.
    pub(super) fn done(&self) -> usize {
        self.parts.iter().filter(|part| part.is_done()).count()
    }

    /// The labels given, in the order they came.
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

    /// What stands of it now.
    pub(super) fn stands(&self, numbers: bool) -> Standing {
        // One person is the most common case by far, and millions of asks are folded at once.
        if let ([Part { said: Some((_, Response::Label(label))), .. }], false) = (&self.parts[..], numbers) {
            return Standing::Labelled(*label);
        }
        let labels = self.labels();
        if !labels.is_empty() {
            return Standing::Labelled(consensus(&labels, numbers));
        }
        let said = |wanted: Response| self.parts.iter().any(|part| part.said.is_some_and(|(_, given)| given == wanted));
        if said(Response::Unsure) {
            Standing::Unsure
        } else if said(Response::Skip) && self.holders.is_empty() {
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
/// Without labels.
pub fn consensus(labels: &[f64], numbers: bool) -> f64 {
    if numbers { mean(labels) } else { majority(labels) }
}

fn mean(labels: &[f64]) -> f64 {
    labels.iter().sum::<f64>() / labels.len() as f64
}

fn majority(labels: &[f64]) -> f64 {
    let votes = |label: f64| labels.iter().filter(|other| **other == label).count();
    labels.iter().copied().fold(labels[0], |best, label| if votes(best) < votes(label) { label } else { best })
}
