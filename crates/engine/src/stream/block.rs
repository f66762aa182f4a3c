//! A block of observations at the speed of the data.
//!
//! A flip needs not the probability but only whether it exceeds ξ, and a table knows that nearly always. So the loop over
//! observations has a dot product and a comparison; the probabilities of the block are found afterwards, in wide registers,
//! from the scores that were kept. The bits are those of offering the observations one by one: a law says so.

use std::ops::Range;

use super::{Importance, Rules, StreamLearner};
use crate::features::Features;
use crate::index::WIDE;
use crate::learner::{Diverged, Learner, Weights};
use crate::paired::Paired;
use crate::rows::{Rows, SparsePart};
use crate::rule::{Guide, Rule, ScoreRule};

mod candidates;
mod dense;
mod plane;
mod sparse;
mod walk;

use candidates::Stretch;
use walk::Way;

pub(super) use plane::Run;

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

/// How many observations are done at a time: what is kept of them meanwhile stays in the nearest cache.
const BLOCK: usize = 512;
/// As many numbers before its turn, memory is asked for an observation.
const AHEAD: usize = 512;
/// As many observations before its turn, memory is asked for the weights of one.
const WEIGHTS_AHEAD: usize = 4;
/// A run of candidates that ends before so many observations was not worth its making.
const SHORT: usize = 64;

impl StreamLearner {
    /// `learn_rows` for some of the rows; labels and places are counted from the first of them.
    ///
    /// # Panics
    /// When there are fewer labels than rows, or not so many rows.
    pub fn learn_range(
        &mut self,
        rows: &Rows,
        places: Range<usize>,
        labels: &[f64],
        trace: &mut Trace,
    ) -> Result<(), Diverged> {
        assert!(places.end <= rows.len(), "there are {} rows, asked for up to {}", rows.len(), places.end);
        assert!(places.len() <= labels.len(), "every row has a label");
        // Until there are very many features, their numbers are the places of their weights.
        if WIDE < rows.dim().max(self.dim()) {
            return self.learn_met(rows, places, labels, trace);
        }
        self.learn_at(rows, places, labels, trace)
    }

    /// `learn_range` where indices are the places of weights.
    pub(super) fn learn_at(
        &mut self,
        rows: &Rows,
        places: Range<usize>,
        labels: &[f64],
        trace: &mut Trace,
    ) -> Result<(), Diverged> {
        if matches!(rows, Rows::Sparse(_)) && self.quick_rule().is_some() {
            self.learner.pair(rows.dim());
        }
        self.learner.widen(rows.dim());
        self.dim = self.dim.max(rows.dim());
        let (first, n) = (places.start, places.len());
        match rows {
            // In the plane the compiler sees the whole row.
            Rows::Dense(rows) if rows.dim() == 2 && self.learner.dim() == 2 => {
                let pairs = &rows.values().as_chunks::<2>().0[places];
                self.learn_block(n, |i| pairs[i].as_slice(), Layout::Plane(pairs), labels, trace)
            }
            Rows::Dense(rows) => {
                let (row, dim) = (rows.by_place(), rows.dim());
                let whole = 0 < dim && dim == self.learner.dim();
                let layout = if whole { Layout::Wide(&rows.values()[first * dim..], dim) } else { Layout::Any };
                self.learn_block(n, |i| row(first + i), layout, labels, trace)
            }
            Rows::Sparse(rows) => {
                let row = rows.by_place();
                self.learn_block(n, |i| row(first + i), Layout::Sparse(rows.from(first)), labels, trace)
            }
        }
    }

    fn learn_block<X: Features>(
        &mut self,
        n: usize,
        row: impl Fn(usize) -> X,
        layout: Layout<'_>,
        labels: &[f64],
        trace: &mut Trace,
    ) -> Result<(), Diverged> {
        trace.restart(self.totals.observed + 1);
        let (mut from, mut quick) = (0, self.quick_rule());
        while from < n {
            self.pass_marks();
            let left = (self.next_mark() - self.totals.observed).min((n - from).min(BLOCK) as u64) as usize;
            let warm = self.rules.warm.is_some();
            if let Some(rule) = &quick {
                from += self.hurry(rule, from..from + left, &row, layout, labels, trace)?;
            } else {
                self.one(from, row(from), labels[from], trace)?;
                from += 1;
            }
            if warm && self.rules.warm.is_none() {
                self.mark_anew();
                quick = self.quick_rule();
            }
        }
        Ok(())
    }

    /// The rule of now, where nothing but an answer moves θ, and an answer needs no probability.
    fn quick_rule(&self) -> Option<ScoreRule> {
        quick_rule(&self.rules, self.importance, &self.learner)
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

    /// At most `BLOCK` observations, up to the end of the warm start; says how many were done.
    fn hurry<X: Features>(
        &mut self,
        rule: &ScoreRule,
        places: Range<usize>,
        row: &impl Fn(usize) -> X,
        layout: Layout<'_>,
        labels: &[f64],
        trace: &mut Trace,
    ) -> Result<usize, Diverged> {
        let Some(guide) = rule.guide() else { return Ok(0) };
        let (start, n, before, asked_before) = (places.start, places.len(), self.totals.observed, trace.asked.len());
        let (mut coins, mut run) = (std::mem::take(&mut self.coins), self.run.take().unwrap_or_default());
        coins.resize(n, 0.0);
        self.coin.fill(before + 1, &mut coins);
        trace.scores.resize(start + n, 0.0);
        let row = |i: usize| row(start + i);
        let (labels, scores) = (&labels[places], &mut trace.scores[start..]);
        let flips = Flips { rule, guide, coins: &coins, before };
        let (mut done, mut outcome, mut layout) = (0, Ok(false), layout.part(start, n));
        while done < n && outcome == Ok(false) {
            let from = done;
            let asked = &mut trace.asked;
            (done, outcome) = match layout {
                Layout::Plane(pairs) => {
                    self.by_candidates(Stretch::new(&flips, from, pairs, labels), &mut run, scores, asked)
                }
                Layout::Wide(..) | Layout::Sparse(_) => self.walk(&flips, from, layout, labels, scores, asked),
                Layout::Any => self.in_turn(&flips, from, row, labels, scores, asked),
            };
            // A θ that leaves its candidates behind so soon is better followed in turn.
            if done < from + SHORT {
                layout = Layout::Any;
            }
        }
        (self.coins, self.run) = (coins, Some(run));
        trace.scores.truncate(start + done);
        // So far they were counted from the first of this part.
        trace.asked[asked_before..].iter_mut().for_each(|place| *place += start as u32);
        self.account(rule, before, done, asked_before, trace);
        outcome.map(|_| done)
    }

    /// Observations from a place on, one after the other; gives how far it came, and whether the warm start ended.
    #[inline]
    fn in_turn<X: Features>(
        &mut self,
        flips: &Flips<'_>,
        from: usize,
        row: impl Fn(usize) -> X,
        labels: &[f64],
        scores: &mut [f64],
        asked: &mut Vec<u32>,
    ) -> (usize, Result<bool, Diverged>) {
        let mut done = from;
        while let Some(place) = match self.learner.paired() {
            Some(paired) => flips.until_ask(paired, done, &row, scores),
            None => flips.until_ask(self.learner.point(), done, &row, scores),
        } {
            done = place + 1;
            asked.push(place as u32);
            let outcome = self.step(row(place), flips.before + done as u64, scores[place], labels[place]);
            if outcome != Ok(false) {
                return (done, outcome);
            }
        }
        (labels.len(), Ok(false))
    }

    /// The same where steps are plain and the rows are laid out for it; stops before a row that `step` must look at.
    fn walk(
        &mut self,
        flips: &Flips<'_>,
        from: usize,
        layout: Layout<'_>,
        labels: &[f64],
        scores: &mut [f64],
        asked: &mut Vec<u32>,
    ) -> (usize, Result<bool, Diverged>) {
        self.asks.resize(labels.len(), 0);
        let plain = self.learner.plain().filter(|_| self.rules.warm.is_none());
        let Some((plain, weights)) = plain else { return (from, Ok(false)) };
        let way = Way { plain, flips, from, settled: self.settled, labels, scores, asked: &mut self.asks };
        let walked = match (layout, weights) {
            (Layout::Wide(values, dim), Weights::Apart { theta, behind }) => {
                way.over(dense::Ground::new(values, dim, theta, behind))
            }
            (Layout::Sparse(rows), Weights::Apart { theta, behind }) => {
                way.over(sparse::Ground::new(rows, theta, behind))
            }
            (Layout::Sparse(rows), Weights::Paired(pairs)) => way.over(sparse::OnPairs { rows, pairs }),
            _ => return (from, Ok(false)),
        };
        asked.extend(&self.asks[..walked.asks]);
        self.totals.answered += walked.asks as u64;
        self.settled = walked.settled;
        (walked.done, Ok(false))
    }

    /// The answer to the observation of this time; says whether the warm start ended with it.
    #[inline]
    fn step<X: Features>(&mut self, x: X, time: u64, score: f64, label: f64) -> Result<bool, Diverged> {
        self.totals.observed = time;
        self.settle();
        self.learner.learn(x, &[score], label, 1.0)?;
        self.totals.answered += 1;
        let over = self.rules.switch(self.totals.answered);
        if over {
            self.learner.restart_average();
        }
        Ok(over)
    }

    /// The probabilities of the last `done` scores, and what they add up to.
    fn account(&mut self, rule: &ScoreRule, before: u64, done: usize, asked_before: usize, trace: &mut Trace) {
        let from = trace.probabilities.len();
        trace.probabilities.resize(from + done, 0.0);
        rule.fill(&trace.scores[from..], &mut trace.probabilities[from..]);
        self.totals.expect(before + 1, &trace.probabilities[from..]);
        self.totals.take_all(&trace.asked[asked_before..], &trace.probabilities);
        self.totals.observed = before + done as u64;
    }
}

/// The rule in use, where nothing but an answer moves θ, and an answer needs no probability.
pub(super) fn quick_rule(rules: &Rules, importance: Importance, learner: &Learner) -> Option<ScoreRule> {
    let Rule::Score(rule) = rules.now() else { return None };
    let can_hurry = rule.guide().is_some()
        && importance == Importance::Equivalent
        && learner.optimizer.rests_on_skip()
        && learner.model.outputs == 1
        && matches!(rules.rule, Rule::Score(_));
    can_hurry.then(|| rule.clone())
}

impl Trace {
    /// Forgets the last block.
    pub(super) fn restart(&mut self, first: u64) {
        self.first = first;
        self.scores.clear();
        self.probabilities.clear();
        self.asked.clear();
    }
}

/// How the observations of a block lie in memory.
#[derive(Clone, Copy)]
enum Layout<'a> {
    Plane(&'a [[f32; 2]]),
    /// From the first on to the end of all rows, so many features each.
    Wide(&'a [f32], usize),
    Sparse(SparsePart<'a>),
    Any,
}

impl Layout<'_> {
    /// Of `n` observations from a place on.
    fn part(self, first: usize, n: usize) -> Self {
        match self {
            Layout::Plane(pairs) => Layout::Plane(&pairs[first..first + n]),
            Layout::Wide(values, dim) => Layout::Wide(&values[first * dim..], dim),
            Layout::Sparse(rows) => Layout::Sparse(rows.from(first)),
            Layout::Any => Layout::Any,
        }
    }
}

/// The flips of a block.
struct Flips<'a> {
    rule: &'a ScoreRule,
    guide: &'a Guide,
    coins: &'a [f64],
    /// How many observations went before.
    before: u64,
}

// The innermost loop: what it is given must be seen through.
#[allow(clippy::inline_always)]
impl Flips<'_> {
    /// Whether an observation with this score is asked.
    #[inline(always)]
    fn decide(&self, coin: f64, score: f64) -> bool {
        let a = score.abs();
        self.guide.decide(coin, a).unwrap_or_else(|| coin < self.rule.at(a))
    }

    /// Scores observations under one θ until one is asked: the place of that one.
    #[inline(always)]
    fn until_ask<X: Features>(
        &self,
        theta: impl Point,
        from: usize,
        row: impl Fn(usize) -> X,
        scores: &mut [f64],
    ) -> Option<usize> {
        let n = self.coins.len();
        for (place, (coin, score)) in self.coins.iter().zip(scores).enumerate().skip(from) {
            let x = row(place);
            let ahead = place + 1 + AHEAD / x.numbers().max(1);
            if ahead < n {
                row(ahead).fetch();
            }
            if place + WEIGHTS_AHEAD < n {
                theta.fetch(row(place + WEIGHTS_AHEAD));
            }
            *score = theta.score(x);
            if self.decide(*coin, *score) {
                return Some(place);
            }
        }
        None
    }
}

/// θ in its place.
trait Point: Copy {
    /// Asks memory for what `score` will read at random, where that is more than a cache holds.
    fn fetch<X: Features>(self, x: X);

    fn score<X: Features>(self, x: X) -> f64;
}

impl Point for &[f64] {
    #[inline]
    fn fetch<X: Features>(self, _x: X) {}

    #[inline]
    fn score<X: Features>(self, x: X) -> f64 {
        self[0] + x.dot(&self[1..])
    }
}

impl Point for &Paired {
    #[inline]
    fn fetch<X: Features>(self, x: X) {
        x.each(|feature, _| Paired::fetch(self, feature));
    }

    #[inline]
    fn score<X: Features>(self, x: X) -> f64 {
        Paired::score(self, x)
    }
}
