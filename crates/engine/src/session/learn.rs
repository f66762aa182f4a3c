//! Training in the background: a worker takes a job, and the session adopts its model later.

use std::sync::Arc;

use crate::digest::Digest;
use crate::narrow::Renumbered;
use crate::pool::{Assessment, Drawn, LabeledDraw, PoolLearner, RefitPool};
use crate::rows::Rows;
use crate::rule::{Rule, Scale};
use crate::scorer::Scorer;
use crate::stop::{Advice, StopRule};

/// A function that returns the displayed content of an item, by its row. Ledgers store the content and identify it by
/// its SHA-256 digest.
pub type DisplayedContent = Box<dyn Fn(usize) -> String + Send + Sync>;

/// The pool to be labeled, and its learner.
pub struct Study {
    /// The features of every item.
    pub rows: Rows,
    /// The original feature numbers, if those of the rows were renumbered.
    pub renumbered: Option<Renumbered>,
    /// The id of every item.
    pub ids: Vec<Arc<str>>,
    /// Returns the displayed content of an item, by its row.
    pub content: DisplayedContent,
    /// 53 bits of FNV-1a of every item's cells, by which ledgers before version 3 identify contents.
    pub fingerprints: Vec<u64>,
    /// The digest of every item's cells that are learned from and not displayed; empty if there are none.
    pub hidden: Vec<Digest>,
    /// Imported labels: used for training, never asked for, excluded from estimates.
    pub imported: Vec<(usize, f64)>,
    /// Items whose imported labels are skipped, because the items have changed since the import.
    pub changed_imports: Vec<Arc<str>>,
    /// Creates a fitting learner in its initial state.
    pub learner: Box<dyn Fn() -> RefitPool + Send + Sync>,
    /// The rule that advises when to stop.
    pub stop: StopRule,
}

impl Study {
    /// Computes the digest of an item's displayed content.
    pub(super) fn content_digest(&self, row: usize) -> Digest {
        Digest::of((self.content)(row).as_bytes())
    }

    /// Computes the digest of an item's features, by their original numbers.
    pub(super) fn feature_digest(&self, row: usize) -> Digest {
        let row = self.rows.row(row);
        Digest::of(&self.renumbered.as_ref().map_or_else(|| row.to_bytes(), |renumbered| renumbered.row_bytes(row)))
    }

    /// Computes 53 bits of FNV-1a of a model's parameters. Features that no item has count too, with parameters of 0.
    pub(super) fn parameter_digest(&self, learned: &Learned) -> u64 {
        let (parameters, outputs) = (&learned.parameters, learned.scorer.outputs());
        let runs: Vec<(usize, &[f64])> = match &self.renumbered {
            Some(renumbered) => renumbered.runs(parameters, outputs).collect(),
            None => vec![(0, parameters)],
        };
        runs.into_iter().fold(FNV_START, |hash, (zeros, numbers)| mixed(hash, zeros, numbers)) >> 11
    }

    /// Returns whether an item's content equals the recorded one.
    pub fn has_content(&self, row: usize, content: Option<Digest>, fingerprint: Option<u64>) -> bool {
        match (content, fingerprint) {
            (Some(content), _) => self.content_digest(row) == content,
            (None, Some(fingerprint)) => self.fingerprints[row] == fingerprint,
            (None, None) => true,
        }
    }

    /// Returns whether an item's hidden cells equal the recorded ones; asks of older ledgers recorded none.
    pub fn has_hidden(&self, row: usize, hidden: Option<Digest>) -> bool {
        hidden.is_none_or(|hidden| self.hidden.get(row) == Some(&hidden))
    }
}

/// A training job: a snapshot of all labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Labels of items that were not drawn for them.
    pub given: Vec<(usize, f64)>,
    /// Answers to draws, in the order they arrived.
    pub answers: Vec<Answer>,
    /// The number of items that could be drawn at the start, without drawn items that have no answer.
    pub askable: usize,
}

/// An answer to a draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The draw, with its row.
    pub drawn: Drawn,
    /// The label.
    pub label: f64,
    /// The loss of the model that asked: 1 for a wrong decision, 0 for a correct one, or the loss for numbers.
    pub loss: f64,
}

/// The result of a training job.
#[derive(Debug)]
pub struct Learned {
    /// The parameters: weights feature by feature, intercepts last.
    pub parameters: Vec<f64>,
    /// A scorer with the same parameters.
    pub scorer: Scorer,
    /// U of every item.
    pub uncertainty: Vec<f64>,
    /// A lower bound on U.
    pub least: f64,
    /// `true` if items are still drawn uniformly.
    pub is_cold: bool,
    /// The number of labels it was trained on, including those not drawn for.
    pub labels: u64,
    /// Estimates for the whole pool; `None` if the labels do not allow any.
    pub assessment: Option<Assessment>,
    /// Advice on whether to stop.
    pub advice: Option<Advice>,
    /// The scale of a rule in units of the pool; `None` before the rule took it, and for other rules.
    pub scale: Option<Scale>,
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Continues an FNV-1a hash with zeros, then with numbers. A byte of 0 only multiplies by the prime.
fn mixed(hash: u64, zeros: usize, numbers: &[f64]) -> u64 {
    let (mut hash, mut power, mut left) = (hash, FNV_PRIME, 8 * zeros);
    while 0 < left {
        if left % 2 == 1 {
            hash = hash.wrapping_mul(power);
        }
        power = power.wrapping_mul(power);
        left /= 2;
    }
    let bytes = numbers.iter().flat_map(|value| value.to_bits().to_le_bytes());
    bytes.fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

/// A worker that trains job after job. If a job extends the last one, training continues from there, with the same
/// result.
pub struct Apprentice {
    study: Arc<Study>,
    learner: RefitPool,
    given: Vec<(usize, f64)>,
    known: Vec<Answer>,
}

impl Apprentice {
    /// Creates a worker without training data.
    pub fn new(study: Arc<Study>) -> Self {
        let learner = (study.learner)();
        Self { study, learner, given: vec![], known: vec![] }
    }

    /// Trains on a job. The result does not depend on earlier jobs.
    pub fn learn(&mut self, work: &Work) -> Learned {
        if work.given != self.given || !work.answers.starts_with(&self.known) {
            self.begin_with(&work.given);
        }
        let rows = &self.study.rows;
        let known = |answer: &Answer| LabeledDraw {
            x: rows.row(answer.drawn.row),
            drawn: answer.drawn,
            label: answer.label,
            loss: answer.loss,
        };
        let new: Vec<LabeledDraw<'_>> = work.answers[self.known.len()..].iter().map(known).collect();
        self.learner.add_answers(&new, work.askable);
        self.known.clone_from(&work.answers);
        let uncertainty = self.learner.uncertainties(rows);
        let is_cold = self.learner.is_cold();
        let assessment = if is_cold { None } else { self.learner.assess(Some(rows)).ok() };
        let advice = assessment.as_ref().map(|assessment| self.study.stop.advise(&assessment.progress()));
        let parameters = self.learner.learner().theta();
        Learned {
            scorer: Scorer::new(self.learner.learner().task().outputs(), &parameters),
            parameters,
            uncertainty,
            least: self.learner.rule().least(),
            is_cold,
            labels: (work.given.len() + work.answers.len()) as u64,
            assessment,
            advice,
            scale: match self.learner.rule() {
                Rule::Relative(rule) if !is_cold => Some(rule.scale()),
                _ => None,
            },
        }
    }

    fn begin_with(&mut self, given: &[(usize, f64)]) {
        self.learner = (self.study.learner)();
        self.known.clear();
        self.given = given.to_vec();
        let rows = &self.study.rows;
        let given: Vec<_> = given.iter().map(|(row, label)| (*row, rows.row(*row), *label)).collect();
        self.learner.add_seed_labels(&given);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashing_a_run_of_zeros_equals_hashing_each_zero() {
        let numbers = [0.0, 0.0, 0.0, 1.5, 0.0, -2.0];
        let whole = mixed(FNV_START, 0, &numbers);
        assert_eq!(mixed(mixed(FNV_START, 3, &[1.5]), 1, &[-2.0]), whole);
    }
}
