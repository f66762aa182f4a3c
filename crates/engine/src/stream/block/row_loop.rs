//! The loop over the rows of a block, with the step of Algorithm 1 for fixed and falling step sizes.
//!
//! A skipped row costs a score and a lookup in the table of flips. A step without gradient norms is taken inside the
//! loop. The results are bit-identical to those of `Learner::learn`.

// These functions are parts of a dispatched loop.
#![allow(clippy::inline_always)]

use super::Flips;
use super::rows::BlockRows;
use crate::learner::is_short;
use crate::simd::Simd;
use crate::step::Steps;
use crate::task::LogisticSlope;
use crate::weights::{RowStep, WeightStore};
use querist_rows::with_widest_simd;

/// The prefetch distance for weights, in rows.
const WEIGHTS_AHEAD: usize = 4;

/// A loop over rows of a block.
pub(super) struct RowLoop<'a> {
    pub(super) flips: &'a Flips<'a>,
    /// The slope of the loss for steps inside the loop; without it, the loop stops at every queried row.
    pub(super) slope: Option<&'a LogisticSlope>,
    pub(super) intercept: bool,
    pub(super) labels: &'a [f64],
    /// Receives the scores of the rows.
    pub(super) scores: &'a mut [f64],
    /// Receives the indices of the queried rows, counted from `first_index`.
    pub(super) asked: &'a mut Vec<u32>,
    pub(super) first_index: usize,
    pub(super) progress: LoopProgress,
}

/// The progress of a loop, and the changes by its steps apart from the weights.
pub(super) struct LoopProgress {
    /// Rows of the block that are done.
    pub(super) done: usize,
    /// `true` if the next row is queried and needs a step that the loop does not take.
    pub(super) needs_step: bool,
    /// The time of the last step.
    pub(super) settled: u64,
    pub(super) steps: Steps,
    pub(super) average_weight: f64,
}

impl RowLoop<'_> {
    /// Runs up to row `end`, or to a queried row that needs a step the loop does not take.
    pub(super) fn run<R: BlockRows>(self, rows: R, store: impl WeightStore<R::Row>, end: usize) -> LoopProgress {
        with_widest_simd!(|simd| self.run_with(simd, rows, store, end))
    }

    #[inline(always)]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "the compiler must assume that the loop changes what it only borrows"
    )]
    fn run_with<R: BlockRows>(
        self,
        simd: impl Simd,
        rows: R,
        mut store: impl WeightStore<R::Row>,
        end: usize,
    ) -> LoopProgress {
        let Self { flips, slope, intercept, labels, scores, asked, first_index, mut progress } = self;
        // Without gradient norms this is also the weight of an observation in θ̄.
        let mut size = progress.steps.size(0.0, 0.0);
        for index in progress.done..end {
            rows.prefetch_behind(index);
            prefetch_weights(&rows, &store, index);
            let x = rows.row(index);
            let score = store.score(simd, x);
            scores[index] = score;
            if flips.decide(flips.coins[index], score) {
                progress.needs_step = true;
                let Some(slope) = slope else { break };
                let label = labels[index];
                let slope = label * slope.inlined_at(label * score);
                if !is_short(size * slope, score, rows.norm_squared_at_most(x)) {
                    break;
                }
                progress.needs_step = false;
                let time = flips.before + (index + 1) as u64;
                progress.average_weight += (time - progress.settled) as f64 * size;
                progress.settled = time;
                store.add(simd, x, RowStep::new(-size, slope, progress.average_weight, intercept));
                progress.steps.taken(0.0, 0.0);
                size = progress.steps.size(0.0, 0.0);
                asked.push((first_index + index) as u32);
            }
            progress.done = index + 1;
        }
        progress
    }
}

#[inline(always)]
fn prefetch_weights<R: BlockRows, W: WeightStore<R::Row>>(rows: &R, store: &W, index: usize) {
    if W::IS_LARGE
        && let Some(row) = rows.get(index + WEIGHTS_AHEAD)
    {
        store.prefetch(row);
    }
}
