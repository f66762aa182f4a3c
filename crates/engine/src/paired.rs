//! Weights with the sums of their average beside them.
//!
//! A few of very many weights stand each in a line of the cache of its own, and their sums would stand in as many more.
//! Where memory is what takes the time, half of the lines are half of the time. The numbers are those of θ and `Average`, to
//! the last bit.

use prefetch_index::prefetch_index;

use crate::features::Features;
use crate::numbers::Zeros;
use crate::parameters::Parameters;
use crate::simd::dispatch;

/// As many weights stay in a cache by themselves.
const LARGE: usize = 1 << 15;

/// There is room for so many from the start: memory is taken for what is written, and features that come late are not copied for.
const ROOM: usize = 1 << 22;

/// θ, the intercept first, and beside each number its sum.
#[derive(Debug)]
pub(crate) struct Paired {
    room: Zeros,
    len: usize,
}

impl Paired {
    /// θ and its sums, where there are so many that it pays, or will be.
    pub(crate) fn new(theta: &[f64], sums: &[f64], parameters: usize) -> Option<Self> {
        (LARGE < parameters.max(theta.len())).then(|| {
            let mut paired = Self { room: Zeros::new(2 * parameters.max(theta.len()).max(ROOM)), len: theta.len() };
            for ((pair, theta), sum) in paired.pairs_mut().iter_mut().zip(theta).zip(sums) {
                *pair = [*theta, *sum];
            }
            paired
        })
    }

    /// How many parameters there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// More parameters, 0 for now.
    pub(crate) fn widen(&mut self, parameters: usize) {
        let len = self.len;
        self.len = parameters.max(len);
        if self.room.len() < 2 * self.len {
            let mut wider = Zeros::new(2 * self.len.max(2 * len));
            wider[..2 * len].copy_from_slice(&self.room[..2 * len]);
            self.room = wider;
        }
    }

    /// θ.
    pub(crate) fn theta(&self) -> Vec<f64> {
        self.pairs().iter().map(|[theta, _]| *theta).collect()
    }

    /// The sums.
    pub(crate) fn sums(&self) -> Parameters {
        let mut sums = Parameters::zeros(self.len, 1);
        for (sum, [_, kept]) in sums.iter_mut().zip(self.pairs()) {
            *sum = *kept;
        }
        sums
    }

    /// All sums are 0 from here.
    pub(crate) fn forget_sums(&mut self) {
        self.pairs_mut().iter_mut().for_each(|[_, sum]| *sum = 0.0);
    }

    /// The score of an observation.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of dispatched loops")]
    pub(crate) fn score<X: Features>(&self, x: X) -> f64 {
        let [[intercept, _], weights @ ..] = self.pairs() else { return 0.0 };
        intercept + x.dot_by(|j| weights[j][0])
    }

    /// Asks memory for what is kept of this feature.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of dispatched loops")]
    pub(crate) fn fetch(&self, feature: usize) {
        // The intercept is in front.
        prefetch_index(self.pairs(), feature + 1);
    }

    /// θ += scale·x̃, and the sums += late·x̃.
    #[inline]
    pub(crate) fn change<X: Features>(&mut self, intercept: bool, x: X, changes: (f64, f64)) {
        dispatch(
            #[inline(always)]
            move || self.change_at_once(intercept, x, changes),
        );
    }

    /// The same, as a part of loops that are dispatched themselves.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "fused operations must be inlined into a dispatched loop")]
    pub(crate) fn change_at_once<X: Features>(&mut self, intercept: bool, x: X, (scale, late): (f64, f64)) {
        let [[b, sum], weights @ ..] = self.pairs_mut() else { return };
        if intercept {
            *b += scale;
            *sum += late;
        }
        x.each(
            #[inline(always)]
            |j, x| {
                let [w, sum] = &mut weights[j];
                *w = scale.mul_add(x, *w);
                *sum = late.mul_add(x, *sum);
            },
        );
    }

    #[inline]
    fn pairs(&self) -> &[[f64; 2]] {
        &self.room.as_chunks().0[..self.len]
    }

    #[inline]
    fn pairs_mut(&mut self) -> &mut [[f64; 2]] {
        &mut self.room.as_chunks_mut().0[..self.len]
    }
}
