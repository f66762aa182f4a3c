//! The candidates of a run, one after the other.

use prefetch_index::prefetch_index;

use super::plane::{Run, score, three};
use super::{BLOCK, Flips, StreamLearner};
use crate::learner::Diverged;

/// Observations of a block from a place on.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'a> {
    flips: &'a Flips<'a>,
    from: usize,
    pairs: &'a [[f32; 2]],
    labels: &'a [f64],
    coins: &'a [f64],
}

impl<'a> Stretch<'a> {
    pub(super) fn new(flips: &'a Flips<'a>, from: usize, pairs: &'a [[f32; 2]], labels: &'a [f64]) -> Self {
        let pairs = &pairs[from..];
        Self { flips, from, pairs, labels: &labels[from..][..pairs.len()], coins: &flips.coins[from..][..pairs.len()] }
    }
}

impl StreamLearner {
    /// Observations for as long as θ stays near; gives how far it came, and whether the warm start ended.
    pub(super) fn by_candidates(
        &mut self,
        stretch: Stretch<'_>,
        run: &mut Run,
        scores: &mut [f64],
        mut asked: impl FnMut(usize),
    ) -> (usize, Result<bool, Diverged>) {
        let Stretch { flips, from, pairs, labels, coins } = stretch;
        run.seek(self.learner.point(), flips.guide, pairs, coins);
        let scores = &mut scores[from..];
        run.remember(0, three(self.learner.point()));
        self.asks.resize(pairs.len(), 0);
        let (mut next, mut done) = self.stroll(stretch, run, &mut asked);
        let mut outcome = Ok(false);
        while let Some(place) = run.candidate(next).filter(|_| done.is_none()) {
            next += 1;
            let mut theta = three(self.learner.point());
            let score = score(theta, pairs[place]);
            if flips.decide(coins[place], score) {
                asked(from + place);
                let time = flips.before + (from + place + 1) as u64;
                outcome = self.step(pairs[place].as_slice(), time, score, labels[place]);
                theta = three(self.learner.point());
                done = (!run.holds(theta) || outcome != Ok(false)).then_some(place + 1);
            }
            run.remember(next, theta);
        }
        let done = done.unwrap_or(pairs.len());
        run.score(&pairs[..done], &mut scores[..done]);
        (from + done, outcome)
    }

    /// The candidates with all that moves in registers, where the step is fixed and nothing else moves θ. Says how many
    /// were done, and where the run ended if θ left them behind; stops before what `step` must look at.
    ///
    /// From one answer to the next runs a chain of operations that wait for each other, and nothing else should be waited
    /// for: what can be known of the whole run is checked before it.
    #[inline(never)]
    fn stroll(&mut self, stretch: Stretch<'_>, run: &mut Run, mut asked: impl FnMut(usize)) -> (usize, Option<usize>) {
        let Stretch { flips, from, pairs, labels, coins } = stretch;
        let plain = self.learner.plain_steps().filter(|_| self.rules.warm.is_none());
        let Some((mut moving, slope)) = plain.filter(|(moving, _)| moving.is_safe(run.widest(), run.farthest())) else {
            return (0, None);
        };
        let (mut settled, mut answers) = (self.settled, 0);
        let most = moving.longest(run.widest());
        let (mut next, mut done, mut near, mut unchecked) = (0, None, None, run.answers_that_hold(moving.theta, most));
        while let Some(place) = run.candidate(next) {
            let (pair, label) = (pairs[place], labels[place]);
            // The processor's own reading ahead stops at each page, and a block's observations fill one.
            prefetch_index(pairs, place + BLOCK);
            prefetch_index(labels, place + BLOCK);
            let margin = moving.margin(pair, label);
            // The next margin moves little with this answer, so its cell is nearly always right.
            let ahead = run.candidate(next + 1).map(|place| moving.margin(pairs[place], labels[place]));
            if flips.decide(coins[place], margin) {
                if label.abs() != 1.0 {
                    break;
                }
                let slope = slope.at_near(margin, near);
                let time = flips.before + (from + place + 1) as u64;
                moving.step(pair, label, slope, (time - settled).cast_signed() as f64);
                settled = time;
                self.asks[answers] = place as u32;
                answers += 1;
                if unchecked == 0 {
                    done = (!run.holds(moving.theta)).then_some(place + 1);
                    unchecked = run.answers_that_hold(moving.theta, most);
                } else {
                    unchecked -= 1;
                }
            }
            next += 1;
            run.remember(next, moving.theta);
            if done.is_some() {
                break;
            }
            near = ahead.and_then(|margin| slope.cell(margin));
        }
        self.asks[..answers].iter().for_each(|place| asked(from + *place as usize));
        self.learner.moved_plainly(moving, answers as u64);
        self.settled = settled;
        self.totals.answered += answers as u64;
        (next, done)
    }
}
