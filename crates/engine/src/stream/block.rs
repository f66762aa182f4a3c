//! Blocks of observations, on a path driven by tables.
//!
//! Between two queries θ does not move. A flip needs only the answer to ξ < U, which a table gives nearly always. So
//! the loop over rows computes a dot product and a comparison; the probabilities of the block follow from its scores,
//! in wide registers. The results are bit-identical to offering the observations one by one; a test checks this.

use std::ops::Range;

use super::{Importance, Rules, StreamLearner};
use crate::features::Features;
use crate::index::WIDE;
use crate::learner::{Diverged, Learner};
use crate::rows::Rows;
use crate::rule::{Guide, Rule, ScoreRule};
use crate::weights::{NARROW, Storage};

mod row_loop;
mod rows;

use row_loop::{LoopProgress, RowLoop};
use rows::{LaneRows, NarrowRows, PlainRows};

/// The scores, probabilities and queries of the observations of a block.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The number of the first observation, from 1.
    pub first: u64,
    /// The scores of each observation when it arrived, one after the other.
    pub scores: Vec<f64>,
    /// The probability of each observation.
    pub probabilities: Vec<f64>,
    /// The indices of the queried observations within the block.
    pub asked: Vec<u32>,
}

/// The maximum number of observations in a block. Their random numbers and scores fit in the L1 cache.
const BLOCK: usize = 512;

impl StreamLearner {
    /// Processes a range of the rows like `learn_rows`. Labels and indices are counted from the first row of the range.
    ///
    /// # Panics
    /// If there are fewer labels than rows, or the range exceeds the rows.
    pub fn learn_range(
        &mut self,
        rows: &Rows,
        range: Range<usize>,
        labels: &[f64],
        trace: &mut Trace,
    ) -> Result<(), Diverged> {
        assert!(range.end <= rows.len(), "there are {} rows, asked for up to {}", rows.len(), range.end);
        assert!(range.len() <= labels.len(), "every row has a label");
        // Up to `WIDE` features, the index of a feature is the index of its weight.
        if WIDE < rows.dim().max(self.dim()) {
            return self.learn_lazily(rows, range, labels, trace);
        }
        self.learn_at(rows, range, labels, trace)
    }

    /// Does the work of `learn_range` for features that are given by the indices of their weights.
    pub(super) fn learn_at(
        &mut self,
        rows: &Rows,
        range: Range<usize>,
        labels: &[f64],
        trace: &mut Trace,
    ) -> Result<(), Diverged> {
        let mut fast_rule = self.fast_rule();
        if matches!(rows, Rows::Sparse(_)) && fast_rule.is_some() {
            self.learner.interleave_weights(rows.dim());
        }
        self.learner.widen(rows.dim());
        self.dim = self.dim.max(rows.dim());
        trace.restart(self.totals.observed + 1);
        let (mut done, n) = (0, range.len());
        while done < n {
            self.pass_marks();
            let left = (self.next_mark() - self.totals.observed).min((n - done).min(BLOCK) as u64) as usize;
            let was_warming_up = self.is_warming_up();
            if let Some(rule) = &fast_rule {
                let labels = &labels[done..done + left];
                let block = RowBlock { rows, first: range.start + done, offset: done, labels };
                done += self.learn_block_fast(rule, &block, trace)?;
            } else {
                self.learn_one(done, rows.row(range.start + done), labels[done], trace)?;
                done += 1;
            }
            if was_warming_up && !self.is_warming_up() {
                self.reset_marks();
                fast_rule = self.fast_rule();
            }
        }
        Ok(())
    }

    /// Returns the current rule, if blocks can take the fast path under it.
    fn fast_rule(&self) -> Option<ScoreRule> {
        fast_rule(&self.rules, self.importance, &self.learner)
    }

    /// Offers one row, and answers it if it is queried.
    fn learn_one<X: Features>(&mut self, position: usize, x: X, label: f64, trace: &mut Trace) -> Result<(), Diverged> {
        let offer = self.offer_with(x, trace);
        trace.probabilities.push(offer.probability);
        if offer.asked {
            trace.asked.push(position as u32);
            let scores = trace.scores.split_off(trace.scores.len() - self.scores.len());
            let done = self.learn(x, &scores, offer.probability, label);
            trace.scores.extend(scores);
            done?;
        }
        Ok(())
    }

    /// Offers a row like `offer`, and appends its scores to the trace.
    pub(super) fn offer_with<X: Features>(&mut self, x: X, trace: &mut Trace) -> super::Offer {
        let mut scores = std::mem::take(&mut self.scores);
        self.learner.scores(x, &mut scores);
        let probability = self.rules.now().probability(&scores, x);
        trace.scores.extend_from_slice(&scores);
        self.scores = scores;
        let asked = self.coin.unit(self.totals.observed + 1) < probability;
        self.consider(probability, asked);
        super::Offer { time: self.totals.observed, probability, asked }
    }

    /// Processes a block on the table-driven path and returns the number of observations consumed: all, or those up to
    /// the end of the warm start. Bit-identical to calling `offer` and `answer` on each.
    fn learn_block_fast(
        &mut self,
        rule: &ScoreRule,
        block: &RowBlock<'_>,
        trace: &mut Trace,
    ) -> Result<usize, Diverged> {
        let Some(guide) = rule.guide() else { return Ok(0) };
        let (n, before, asked_before) = (block.labels.len(), self.totals.observed, trace.asked.len());
        let mut coins = std::mem::take(&mut self.coins);
        coins.resize(n, 0.0);
        self.coin.fill(before + 1, &mut coins);
        trace.scores.resize(block.offset + n, 0.0);
        trace.asked.reserve(n);
        let flips = Flips { rule, guide, coins: &coins, before };
        let (done, outcome) = self.learn_sequentially(&flips, block, trace);
        self.coins = coins;
        trace.scores.truncate(block.offset + done);
        self.account(rule, before, done, asked_before, trace);
        outcome.map(|_| done)
    }

    /// Processes the rows of a block one after the other. Returns how many are done, and whether the warm start ended.
    fn learn_sequentially(
        &mut self,
        flips: &Flips<'_>,
        block: &RowBlock<'_>,
        trace: &mut Trace,
    ) -> (usize, Result<bool, Diverged>) {
        let mut done = 0;
        while done < block.labels.len() {
            let needs_step;
            (done, needs_step) = self.run_row_loop(flips, block, done, trace);
            if needs_step {
                let (x, label) = (block.rows.row(block.first + done), block.labels[done]);
                let score = trace.scores[block.offset + done];
                trace.asked.push((block.offset + done) as u32);
                done += 1;
                let outcome = self.step(x, flips.before + done as u64, score, label);
                if outcome != Ok(false) {
                    return (done, outcome);
                }
            }
        }
        (done, Ok(false))
    }

    /// Runs the loop that fits the layout of the rows and of the weights. Returns how many rows of the block are done,
    /// and whether the next one is queried and needs `step`.
    fn run_row_loop(
        &mut self,
        flips: &Flips<'_>,
        &RowBlock { rows, first, offset, labels }: &RowBlock<'_>,
        from: usize,
        trace: &mut Trace,
    ) -> (usize, bool) {
        let can_step = !self.is_warming_up() && self.learner.steps_need_no_norm();
        let (n, dim, asked_before) = (labels.len(), self.learner.dim(), trace.asked.len());
        let Learner { model, steps, weights, .. } = &mut self.learner;
        let average_weight = weights.average_weight();
        let row_loop = RowLoop {
            flips,
            slope: self.slope.as_ref().filter(|_| can_step),
            intercept: model.intercept,
            labels,
            scores: &mut trace.scores[offset..],
            asked: &mut trace.asked,
            first_index: offset,
            progress: LoopProgress {
                done: from,
                needs_step: false,
                settled: self.settled,
                steps: *steps,
                average_weight,
            },
        };
        let progress = match (rows, weights.storage_mut()) {
            (Rows::Dense(rows), storage) => {
                let (values, is_whole) = (&rows.values()[first * rows.dim()..], rows.dim() == dim);
                run_dense(row_loop, PlainRows { values, dim: rows.dim() }, is_whole, storage, n)
            }
            (Rows::Sparse(rows), Storage::Separate(weights)) => row_loop.run(rows.from(first), weights.open(), n),
            (Rows::Sparse(rows), Storage::Interleaved(weights)) => row_loop.run(rows.from(first), weights.open(), n),
        };
        self.settled = progress.settled;
        self.totals.answered += (trace.asked.len() - asked_before) as u64;
        self.learner.commit_steps(progress.steps, progress.average_weight);
        (progress.done, progress.needs_step)
    }

    /// Answers the observation of this time and returns whether the warm start ended with it.
    fn step<X: Features>(&mut self, x: X, time: u64, score: f64, label: f64) -> Result<bool, Diverged> {
        self.totals.observed = time;
        self.settle();
        self.learner.learn(x, &[score], label, 1.0)?;
        self.totals.answered += 1;
        let over = self.rules.switch(self.totals.answered);
        if over {
            self.learner.weights.restart_average();
        }
        Ok(over)
    }

    /// Computes the probabilities of the last `done` scores and adds them to the totals.
    fn account(&mut self, rule: &ScoreRule, before: u64, done: usize, asked_before: usize, trace: &mut Trace) {
        let from = trace.probabilities.len();
        trace.probabilities.resize(from + done, 0.0);
        rule.fill(&trace.scores[from..], &mut trace.probabilities[from..]);
        self.totals.expect(before + 1, &trace.probabilities[from..]);
        self.totals.take_all(&trace.asked[asked_before..], &trace.probabilities);
        self.totals.observed = before + done as u64;
    }
}

/// Runs a loop over dense rows up to row `n`, or up to the final rows of the data, which cannot be read in whole
/// vectors.
fn run_dense(
    row_loop: RowLoop<'_>,
    rows: PlainRows<'_>,
    is_whole: bool,
    storage: &mut Storage,
    n: usize,
) -> LoopProgress {
    let weights = match storage {
        Storage::Separate(weights) => weights,
        Storage::Interleaved(weights) => return row_loop.run(rows, weights.open(), n),
    };
    let from = row_loop.progress.done;
    if is_whole && rows.dim <= NARROW {
        let narrow = NarrowRows::new(rows.values, rows.dim);
        let end = n.min(narrow.len());
        if let Some(store) = weights.open_narrow().filter(|_| from < end) {
            return row_loop.run(narrow, store, end);
        }
    } else if is_whole {
        let lanes = LaneRows::new(rows.values, rows.dim);
        let end = n.min(lanes.len());
        if from < end {
            return row_loop.run(lanes, weights.open_dense(), end);
        }
    }
    row_loop.run(rows, weights.open(), n)
}

/// Returns the rule in use, if only answers move θ, scores are evaluated at θ, and an answer needs no probability.
pub(super) fn fast_rule(rules: &Rules, importance: Importance, learner: &Learner) -> Option<ScoreRule> {
    let Rule::Score(rule) = rules.now() else { return None };
    let is_fast = rule.guide().is_some()
        && importance == Importance::Equivalent
        && learner.optimizer.rests_on_skip()
        && !learner.optimizer.looks_ahead()
        && learner.model.outputs == 1
        && matches!(rules.rule, Rule::Score(_));
    is_fast.then(|| rule.clone())
}

impl Trace {
    /// Clears the trace for a new block.
    pub(super) fn restart(&mut self, first: u64) {
        self.first = first;
        self.scores.clear();
        self.probabilities.clear();
        self.asked.clear();
    }
}

/// Consecutive rows with their labels.
struct RowBlock<'a> {
    rows: &'a Rows,
    /// The index of the first among `rows`.
    first: usize,
    /// The index of the first in the trace.
    offset: usize,
    labels: &'a [f64],
}

/// The random decisions of a block.
struct Flips<'a> {
    rule: &'a ScoreRule,
    guide: &'a Guide,
    coins: &'a [f64],
    /// The number of observations before the block.
    before: u64,
}

impl Flips<'_> {
    /// Returns whether an observation with this score is queried.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of dispatched loops")]
    fn decide(&self, coin: f64, score: f64) -> bool {
        let a = score.abs();
        self.guide.decide(coin, a).unwrap_or_else(|| coin < self.rule.at(a))
    }
}
