//! Rows one after the other, with all that moves in one loop.
//!
//! Where steps need no gradient norms and nothing but an answer moves θ, the whole way of a row is short: a sum, a look
//! into the table of flips, and for one that is asked a look into the table of slopes and two sums more. Compiled as one
//! loop in wide registers it takes no calls. The sums are those of `Features` and `Learner`, to the last bit.

// These are bodies of a dispatched loop.
#![allow(clippy::inline_always)]

use super::Flips;
use crate::lanes::{Eight, Work, by_eights};
use crate::learner::{Plain, is_short};

/// The rows of a block with the weights they are scored by, as a walk needs them. All of it must be `#[inline(always)]`.
pub(super) trait Ground {
    type Row: Copy;

    /// The row at this place, with memory asked for what comes later; `None` where it cannot be walked over.
    fn row(&self, place: usize) -> Option<Self::Row>;

    fn score<E: Eight>(&self, eight: E, row: Self::Row) -> f64;

    /// No less than ‖x‖² but for rounding; NaN where a feature is.
    fn norm_squared_at_most(&self, row: Self::Row) -> f64;

    /// θ changes by so much of the row, and the sums of its average by so much.
    fn change<E: Eight>(&mut self, eight: E, row: Self::Row, down: f64, late: f64);
}

/// Observations of a block from a place on, to be walked over.
pub(super) struct Way<'a> {
    pub(super) plain: Plain<'a>,
    pub(super) flips: &'a Flips<'a>,
    pub(super) from: usize,
    /// The time of the last answer.
    pub(super) settled: u64,
    pub(super) labels: &'a [f64],
    pub(super) scores: &'a mut [f64],
    /// Room for the places of those asked.
    pub(super) asked: &'a mut [u32],
}

/// How far it came.
pub(super) struct Walked {
    /// Rows that are done, from the block's first.
    pub(super) done: usize,
    /// How many of them were asked in this walk.
    pub(super) asks: usize,
    /// The time of the last answer.
    pub(super) settled: u64,
}

impl Way<'_> {
    /// Walks to the end of the block, or to a row that must be looked at with more care.
    pub(super) fn over(self, ground: impl Ground) -> Walked {
        by_eights(Walk { way: self, ground })
    }
}

struct Walk<'a, G> {
    way: Way<'a>,
    ground: G,
}

impl<G: Ground> Work for Walk<'_, G> {
    type Made = Walked;

    #[inline(always)]
    fn run<E: Eight>(self, eight: E) -> Walked {
        let Self { way: Way { plain, flips, from, settled, labels, scores, asked }, mut ground } = self;
        let Plain { weight, steps, table } = plain;
        let mut walked = Walked { done: from, asks: 0, settled };
        for place in from..labels.len() {
            let Some(x) = ground.row(place) else { break };
            let score = ground.score(eight, x);
            scores[place] = score;
            if flips.decide(flips.coins[place], score) {
                let label = labels[place];
                let slope = label * table.at_once(label * score);
                let size = steps.size(0.0, 0.0);
                if !is_short(size * slope, score, ground.norm_squared_at_most(x)) {
                    break;
                }
                let time = flips.before + (place + 1) as u64;
                *weight += (time - walked.settled) as f64 * steps.weight();
                steps.taken(0.0, 0.0);
                ground.change(eight, x, -size * slope, -size * *weight * slope);
                walked.settled = time;
                asked[walked.asks] = place as u32;
                walked.asks += 1;
            }
            walked.done = place + 1;
        }
        walked
    }
}
