//! Inter-annotator agreement, updated with every ask.

use std::collections::BTreeMap;

use super::ask::AskState;

/// The agreement of annotators on items with several labels.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Agreement {
    /// The number of such items.
    pub items: usize,
    /// The fraction of pairs of labels that are equal, averaged over items.
    pub share: f64,
    /// Agreement beyond chance: (share − chance)/(1 − chance), with chance from the frequencies of labels.
    pub kappa: f64,
}

/// Running sums over asks with two or more labels.
#[derive(Debug, Default)]
pub(super) struct Agreements {
    /// By the number of labels of an ask: asks, and pairs of equal labels in them.
    by_size: BTreeMap<usize, (usize, usize)>,
    /// The number of times each label was given, by its bits.
    counts: BTreeMap<u64, usize>,
}

impl Agreements {
    /// Adds an ask.
    pub(super) fn add(&mut self, ask: &AskState) {
        self.change(ask, |sum, more| *sum += more);
    }

    /// Removes an ask; call it before the ask changes.
    pub(super) fn remove(&mut self, ask: &AskState) {
        self.change(ask, |sum, less| *sum -= less);
    }

    fn change(&mut self, ask: &AskState, change: fn(&mut usize, usize)) {
        if ask.done() < 2 {
            return;
        }
        let labels = ask.labels();
        if labels.len() < 2 {
            return;
        }
        let before = |a: usize| labels[..a].iter().filter(|label| **label == labels[a]).count();
        let (items, same) = self.by_size.entry(labels.len()).or_default();
        change(items, 1);
        change(same, (0..labels.len()).map(before).sum());
        for label in labels {
            change(self.counts.entry(label.0.to_bits()).or_default(), 1);
        }
    }

    /// Returns the agreement on all items; `None` if no item has two labels.
    pub(super) fn total(&self) -> Option<Agreement> {
        let items: usize = self.by_size.values().map(|(items, _)| items).sum();
        if items == 0 {
            return None;
        }
        let pairs = |size: usize| (size * (size - 1) / 2) as f64;
        let shares: f64 = self.by_size.iter().map(|(size, (_, same))| *same as f64 / pairs(*size)).sum();
        let share = shares / items as f64;
        let labels: usize = self.by_size.iter().map(|(size, (items, _))| size * items).sum();
        let chance: f64 = self.counts.values().map(|count| (*count as f64 / labels as f64).powi(2)).sum();
        let kappa = if chance < 1.0 { (share - chance) / (1.0 - chance) } else { 1.0 };
        Some(Agreement { items, share, kappa })
    }
}
