//! Dense rows one after the other, with all that moves in one loop.
//!
//! Where steps need no gradient norms and nothing but an answer moves θ, the whole way of a row is short: a sum, a look
//! into the table of flips, and for one that is asked a look into the table of slopes and two sums more. Compiled as one
//! loop in wide registers it takes no calls. The sums are those of `Features` and `Learner`, to the last bit.

// These are bodies of a dispatched loop.
#![allow(clippy::inline_always)]

use prefetch_index::prefetch_index;

use super::{AHEAD, Flips};
use crate::lanes::{Eight, LANES, Work, by_eights};
use crate::learner::{Plain, is_short};

/// How many features a line of the cache holds.
const LINE: usize = 16;
const ALL: [u32; LANES] = [u32::MAX; LANES];

/// Rows one after the other, with whole arrays of lanes to be read of each.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    /// The rows from the block's first on, to the end of all there are.
    pub(super) values: &'a [f32],
    pub(super) dim: usize,
    pub(super) labels: &'a [f64],
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

/// Walks from a place to the end of the block, or to a row that must be looked at with more care.
pub(super) fn walk(
    plain: Plain<'_>,
    flips: &Flips<'_>,
    (from, settled): (usize, u64),
    block: Block<'_>,
    scores: &mut [f64],
    asked: &mut [u32],
) -> Walked {
    by_eights(Walk { plain, flips, from, settled, block, scores, asked })
}

struct Walk<'a> {
    plain: Plain<'a>,
    flips: &'a Flips<'a>,
    from: usize,
    settled: u64,
    block: Block<'a>,
    scores: &'a mut [f64],
    asked: &'a mut [u32],
}

impl Work for Walk<'_> {
    type Made = Walked;

    #[inline(always)]
    fn run<E: Eight>(self, eight: E) -> Walked {
        let Self { plain, flips, from, settled, block, scores, asked } = self;
        let Plain { theta, behind, weight, steps, table } = plain;
        let mut walked = Walked { done: from, asks: 0, settled };
        let (([intercept], weights), ([late_intercept], lates)) = (theta.lines_mut(), behind.lines_mut()) else {
            return walked;
        };
        let mask = &mask(block.dim);
        for place in from..block.labels.len() {
            let start = place * block.dim;
            let Some(x) = block.values.get(start..start + LANES * weights.len()) else { break };
            for line in (0..block.dim).step_by(LINE) {
                prefetch_index(block.values, start + AHEAD + line);
            }
            let x = x.as_chunks::<LANES>().0;
            let score = *intercept + dot(eight, x, weights, mask);
            scores[place] = score;
            if flips.decide(flips.coins[place], score) {
                let label = block.labels[place];
                let slope = label * table.at_once(label * score);
                let size = steps.size(0.0, 0.0);
                if !is_short(size * slope, score, block.dim as f64 * largest_squared(x, mask)) {
                    break;
                }
                let time = flips.before + (place + 1) as u64;
                *weight += (time - walked.settled) as f64 * steps.weight();
                let (down, late) = (-size * slope, -size * *weight * slope);
                steps.taken(0.0, 0.0);
                *intercept += down;
                *late_intercept += late;
                add(eight, x, mask, (down, weights), (late, lates));
                walked.settled = time;
                asked[walked.asks] = place as u32;
                walked.asks += 1;
            }
            walked.done = place + 1;
        }
        walked
    }
}

/// All bits for the features of the last lanes, none beyond the row.
fn mask(dim: usize) -> [u32; LANES] {
    let last = dim - (dim - 1) / LANES * LANES;
    std::array::from_fn(|lane| if lane < last { u32::MAX } else { 0 })
}

#[inline(always)]
fn dot<E: Eight>(eight: E, x: &[[f32; LANES]], w: &[[f64; LANES]], mask: &[u32; LANES]) -> f64 {
    let (Some((x_last, xs)), Some((w_last, ws))) = (x.split_last(), w.split_last()) else { return 0.0 };
    let mut lanes = eight.splat(0.0);
    for (x, w) in xs.iter().zip(ws) {
        lanes = eight.add(lanes, eight.multiply(eight.widen(x, &ALL), eight.load(w)));
    }
    lanes = eight.add(lanes, eight.multiply(eight.widen(x_last, mask), eight.load(w_last)));
    eight.sum(lanes)
}

#[inline(always)]
fn add<E: Eight>(
    eight: E,
    x: &[[f32; LANES]],
    mask: &[u32; LANES],
    (scale, w): (f64, &mut [[f64; LANES]]),
    (more, u): (f64, &mut [[f64; LANES]]),
) {
    let (Some((x_last, xs)), Some((w_last, ws)), Some((u_last, us))) =
        (x.split_last(), w.split_last_mut(), u.split_last_mut())
    else {
        return;
    };
    let (scale, more) = (eight.splat(scale), eight.splat(more));
    for ((x, w), u) in xs.iter().zip(ws).zip(us) {
        let x = eight.widen(x, &ALL);
        add_to(eight, x, scale, w);
        add_to(eight, x, more, u);
    }
    let x = eight.widen(x_last, mask);
    add_to(eight, x, scale, w_last);
    add_to(eight, x, more, u_last);
}

#[inline(always)]
fn add_to<E: Eight>(eight: E, x: E::Numbers, scale: E::Numbers, w: &mut [f64; LANES]) {
    eight.store(eight.multiply_add(scale, x, eight.load(w)), w);
}

/// The largest x², NaN where one is.
#[inline(always)]
fn largest_squared(x: &[[f32; LANES]], mask: &[u32; LANES]) -> f64 {
    // Without their signs floats are ordered as their bits, NaN above all.
    let Some((last, xs)) = x.split_last() else { return 0.0 };
    let mut most: [u32; LANES] = std::array::from_fn(|lane| last[lane].abs().to_bits() & mask[lane]);
    for x in xs {
        for lane in 0..LANES {
            most[lane] = most[lane].max(x[lane].abs().to_bits());
        }
    }
    let largest = f64::from(f32::from_bits(most.into_iter().fold(0, u32::max)));
    largest * largest
}
