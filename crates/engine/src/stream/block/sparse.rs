//! Sparse rows for a walk.

// These are bodies of a dispatched loop.
#![allow(clippy::inline_always)]

use super::{AHEAD, WEIGHTS_AHEAD, walk};
use crate::features::Features;
use crate::lanes::Eight;
use crate::paired::Paired;
use crate::parameters::Parameters;
use crate::rows::{Sparse, SparsePart};

/// The rows of a block, over weights that a cache holds.
pub(super) struct Ground<'a> {
    rows: SparsePart<'a>,
    theta: &'a mut [f64],
    behind: &'a mut [f64],
}

impl<'a> Ground<'a> {
    pub(super) fn new(rows: SparsePart<'a>, theta: &'a mut Parameters, behind: &'a mut Parameters) -> Self {
        Self { rows, theta, behind }
    }
}

impl<'a> walk::Ground for Ground<'a> {
    type Row = Sparse<'a>;

    #[inline(always)]
    fn row(&self, place: usize) -> Option<Sparse<'a>> {
        self.rows.fetch_behind(place, AHEAD);
        Some(self.rows.row(place))
    }

    #[inline(always)]
    fn score<E: Eight>(&self, _eight: E, row: Sparse<'a>) -> f64 {
        let [intercept, weights @ ..] = &*self.theta else { return 0.0 };
        intercept + row.dot(weights)
    }

    #[inline(always)]
    fn norm_squared_at_most(&self, row: Sparse<'a>) -> f64 {
        row.norm_squared_at_most()
    }

    #[inline(always)]
    fn change<E: Eight>(&mut self, _eight: E, row: Sparse<'a>, down: f64, late: f64) {
        let ([b, weights @ ..], [sum, sums @ ..]) = (&mut *self.theta, &mut *self.behind) else { return };
        *b += down;
        *sum += late;
        let len = weights.len();
        let sums = &mut sums[..len];
        row.each(
            #[inline(always)]
            |j, x| {
                weights[j] = down.mul_add(x, weights[j]);
                sums[j] = late.mul_add(x, sums[j]);
            },
        );
    }
}

/// The rows of a block, over weights that stand beside their sums.
pub(super) struct OnPairs<'a> {
    pub(super) rows: SparsePart<'a>,
    pub(super) pairs: &'a mut Paired,
}

impl<'a> walk::Ground for OnPairs<'a> {
    type Row = Sparse<'a>;

    #[inline(always)]
    fn row(&self, place: usize) -> Option<Sparse<'a>> {
        self.rows.fetch_behind(place, AHEAD);
        if let Some(row) = self.rows.get(place + WEIGHTS_AHEAD) {
            row.each(|feature, _| self.pairs.fetch(feature));
        }
        Some(self.rows.row(place))
    }

    #[inline(always)]
    fn score<E: Eight>(&self, _eight: E, row: Sparse<'a>) -> f64 {
        self.pairs.score(row)
    }

    #[inline(always)]
    fn norm_squared_at_most(&self, row: Sparse<'a>) -> f64 {
        row.norm_squared_at_most()
    }

    #[inline(always)]
    fn change<E: Eight>(&mut self, _eight: E, row: Sparse<'a>, down: f64, late: f64) {
        self.pairs.change_at_once(true, row, (down, late));
    }
}
