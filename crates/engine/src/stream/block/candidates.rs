//! The candidates of a run, one after the other.

use prefetch_index::prefetch_index;

use super::plane::{Run, score, three};
use super::{BLOCK, Flips, StreamLearner};
use crate::learner::{Diverged, Moving, Sided};
use crate::simd::dispatch;
use crate::task::LogisticSlope;

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
        asked: &mut Vec<u32>,
    ) -> (usize, Result<bool, Diverged>) {
        let Stretch { flips, from, pairs, labels, coins } = stretch;
        run.seek(self.learner.point(), flips.guide, pairs, coins);
        let scores = &mut scores[from..];
        run.remember(0, three(self.learner.point()));
        let (mut next, mut done) = self.stroll(stretch, run, asked);
        let mut outcome = Ok(false);
        while let Some(place) = run.candidate(next).filter(|_| done.is_none()) {
            next += 1;
            let mut theta = three(self.learner.point());
            let score = score(theta, pairs[place]);
            if flips.decide(coins[place], score) {
                asked.push((from + place) as u32);
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
    fn stroll(&mut self, stretch: Stretch<'_>, run: &mut Run, asked: &mut Vec<u32>) -> (usize, Option<usize>) {
        let plain = self.learner.plain_steps().filter(|_| self.rules.warm.is_none());
        let Some((moving, slope)) = plain.filter(|(moving, _)| moving.is_safe(run.widest(), run.farthest())) else {
            return (0, None);
        };
        let mut asks = std::mem::take(&mut run.asks);
        asks.resize(stretch.pairs.len(), Ask::default());
        let stroll = Stroll { stretch, slope, asks: &mut asks, moving, settled: self.settled };
        let going = &mut *run;
        let Strolled { moving, settled, next, answers, done } = dispatch(
            #[inline(always)]
            move || stroll.on(going),
        );
        asked.extend(asks[..answers].iter().map(|ask| (stretch.from + ask.place) as u32));
        run.asks = asks;
        self.learner.moved_plainly(moving, answers as u64);
        self.settled = settled;
        self.totals.answered += answers as u64;
        (next, done)
    }
}

/// Candidates to be gone through.
struct Stroll<'a> {
    stretch: Stretch<'a>,
    slope: &'a LogisticSlope,
    /// Room for those asked.
    asks: &'a mut [Ask],
    moving: Moving,
    settled: u64,
}

/// An answered candidate.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::stream) struct Ask {
    place: usize,
    slope: f64,
}

/// What they came to: how many were done, how many of them were answered, where the run ended.
struct Strolled {
    moving: Moving,
    settled: u64,
    next: usize,
    answers: usize,
    done: Option<usize>,
}

impl Stroll<'_> {
    /// From one answer to the next runs a chain of operations that wait for each other, and nothing else should be waited
    /// for: what can be known of the whole run is checked before it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
    fn on(self, run: &mut Run) -> Strolled {
        let Self { stretch: Stretch { flips, from, pairs, labels, coins }, slope, asks, mut moving, mut settled } =
            self;
        let (mut next, mut answers, mut done, mut near) = (0, 0, None, None);
        let most = moving.longest(run.widest());
        let mut unchecked = run.answers_that_hold(moving.theta, most);
        let sided = |place: usize| (place, Sided::new(pairs[place], labels[place]));
        let mut at_hand = run.candidate(0).map(sided);
        while let Some((place, observation)) = at_hand {
            // The processor's own reading ahead stops at each page, and a block's observations fill one.
            prefetch_index(pairs, place + BLOCK);
            prefetch_index(labels, place + BLOCK);
            let margin = moving.margin(observation);
            // The next margin moves little with this answer, so its cell is nearly always right.
            let ahead = run.candidate(next + 1).map(sided);
            let near_ahead = ahead.and_then(|(_, observation)| slope.cell(moving.margin(observation)));
            if flips.decide(coins[place], margin) {
                if labels[place].abs() != 1.0 {
                    break;
                }
                let slope = slope.at_near(margin, near);
                moving.step(observation, slope);
                asks[answers] = Ask { place, slope };
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
            (at_hand, near) = (ahead, near_ahead);
        }
        for Ask { place, slope } in &asks[..answers] {
            let time = flips.before + (from + place + 1) as u64;
            moving.follow(Sided::new(pairs[*place], labels[*place]), *slope, (time - settled).cast_signed() as f64);
            settled = time;
        }
        Strolled { moving, settled, next, answers, done }
    }
}
