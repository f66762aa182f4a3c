//! A block of observations at the speed of the data.
//!
//! A flip needs not the probability but only whether it exceeds ξ, and a table knows that nearly always. So the loop over
//! observations has a dot product and a comparison; the probabilities of the block are found afterwards, in wide registers,
//! from the scores that were kept. The bits are those of offering the observations one by one: a law says so.

use std::ops::Range;

use super::{Importance, StreamLearner};
use crate::features::Features;
use crate::learner::Diverged;
use crate::rule::{Guide, Rule, ScoreRule};

/// What happened to the observations of a block.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The number of the first, from 1.
    pub first: u64,
    /// The scores each had when it came, one after the other.
    pub scores: Vec<f64>,
    /// The probability of each.
    pub probabilities: Vec<f64>,
    /// The places of the asked, within the block.
    pub asked: Vec<u32>,
}

impl StreamLearner {
    pub(super) fn learn_block<X: Features>(
        &mut self,
        n: usize,
        row: impl Fn(usize) -> X,
        labels: &[f64],
        trace: &mut Trace,
    ) -> Result<(), Diverged> {
        trace.first = self.totals.observed + 1;
        trace.scores.clear();
        trace.probabilities.clear();
        trace.asked.clear();
        let mut from = 0;
        while from < n {
            self.pass_marks();
            let left = (self.next_mark() - self.totals.observed).min((n - from) as u64) as usize;
            let quick = match self.rules.now() {
                Rule::Score(rule) if self.can_hurry(rule) => Some(rule.clone()),
                _ => None,
            };
            match quick {
                Some(rule) => from += self.hurry(&rule, from..from + left, &row, labels, trace)?,
                None => {
                    self.one(from, row(from), labels[from], trace)?;
                    from += 1;
                }
            }
        }
        Ok(())
    }

    /// Whether nothing but an answer moves θ, and an answer needs no probability.
    fn can_hurry(&self, rule: &ScoreRule) -> bool {
        rule.guide().is_some()
            && self.importance == Importance::Equivalent
            && self.learner.optimizer.rests_on_skip()
            && self.learner.model.outputs == 1
            && matches!(self.rules.rule, Rule::Score(_))
    }

    fn one<X: Features>(&mut self, place: usize, x: X, label: f64, trace: &mut Trace) -> Result<(), Diverged> {
        let offer = self.offer_with(x, trace);
        trace.probabilities.push(offer.probability);
        if offer.asked {
            trace.asked.push(place as u32);
            let scores = trace.scores.split_off(trace.scores.len() - self.scores.len());
            let done = self.learn(x, &scores, offer.probability, label);
            trace.scores.extend(scores);
            done?;
        }
        Ok(())
    }

    /// `offer`, with the scores kept.
    fn offer_with<X: Features>(&mut self, x: X, trace: &mut Trace) -> super::Offer {
        let mut scores = std::mem::take(&mut self.scores);
        self.learner.scores(x, &mut scores);
        let probability = self.rules.now().probability(self.learner.task(), &scores, x);
        trace.scores.extend_from_slice(&scores);
        self.scores = scores;
        let asked = self.coin.unit(self.totals.observed + 1) < probability;
        self.consider(probability, asked);
        super::Offer { time: self.totals.observed, probability, asked }
    }

    /// Observations up to the next mark, or to the end of the warm start; says how many were done.
    fn hurry<X: Features>(
        &mut self,
        rule: &ScoreRule,
        places: Range<usize>,
        row: &impl Fn(usize) -> X,
        labels: &[f64],
        trace: &mut Trace,
    ) -> Result<usize, Diverged> {
        let Some(guide) = rule.guide() else { return Ok(0) };
        let (start, before, asked_before) = (places.start, self.totals.observed, trace.asked.len());
        let mut coins = std::mem::take(&mut self.coins);
        coins.resize(places.len(), 0.0);
        self.coin.fill(before + 1, &mut coins);
        trace.scores.resize(start + places.len(), 0.0);
        let scores = &mut trace.scores[start..];
        let flips = Flips { rule, guide, coins: &coins };
        let (mut done, mut outcome) = (0, Ok(()));
        while outcome.is_ok() {
            let asked = flips.until_ask(self.learner.point(), done, |i| row(start + i), scores);
            let Some(asked) = asked else {
                done = places.len();
                break;
            };
            done = asked + 1;
            trace.asked.push((start + asked) as u32);
            self.totals.observed = before + done as u64;
            self.settle();
            outcome = self.learner.learn(row(start + asked), &scores[asked..done], labels[start + asked], 1.0);
            self.totals.answered += u64::from(outcome.is_ok());
            if self.rules.switch(self.totals.answered) {
                self.learner.average.restart();
                break;
            }
        }
        self.coins = coins;
        trace.scores.truncate(start + done);
        self.account(rule, before, start, done, asked_before, trace);
        outcome.map(|()| done)
    }

    /// The probabilities of the last `done` scores, and what they add up to.
    fn account(
        &mut self,
        rule: &ScoreRule,
        before: u64,
        start: usize,
        done: usize,
        asked_before: usize,
        trace: &mut Trace,
    ) {
        let from = trace.probabilities.len();
        trace.probabilities.resize(from + done, 0.0);
        rule.fill(&trace.scores[from..], &mut trace.probabilities[from..]);
        let new = &trace.probabilities[from..];
        self.totals.expect(before + 1, new);
        for place in &trace.asked[asked_before..] {
            self.totals.inverse += 1.0 / new[*place as usize - start];
        }
        self.totals.asked += (trace.asked.len() - asked_before) as u64;
        self.totals.observed = before + done as u64;
    }
}

/// The flips of a block.
struct Flips<'a> {
    rule: &'a ScoreRule,
    guide: &'a Guide,
    coins: &'a [f64],
}

impl Flips<'_> {
    /// Scores observations under one θ until one is asked: the place of that one.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the innermost loop: what it is given must be seen through")]
    fn until_ask<X: Features>(
        &self,
        theta: &[f64],
        from: usize,
        row: impl Fn(usize) -> X,
        scores: &mut [f64],
    ) -> Option<usize> {
        let (intercept, weights) = (theta[0], &theta[1..]);
        for (i, (coin, score)) in self.coins[from..].iter().zip(&mut scores[from..]).enumerate() {
            *score = intercept + row(from + i).dot(weights);
            let a = score.abs();
            if self.guide.decide(*coin, a).unwrap_or_else(|| *coin < self.rule.at(a)) {
                return Some(from + i);
            }
        }
        None
    }
}
