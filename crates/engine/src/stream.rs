//! Algorithm 1 (label alg:USGD): observations arrive in a stream, and each is queried with its probability.

use crate::coin::Coin;
use crate::features::Features;
use crate::index::FeatureIndex;
use crate::learner::{Diverged, Learner};
use crate::rows::Rows;
use crate::rule::Rule;
use crate::settings::IllegalSettings;
use crate::simd::dispatch;
use crate::state::{Reader, Words};
use crate::task::LogisticSlope;

mod block;
mod lazy_weights;

pub use block::Trace;

/// A learner that processes one observation after another.
///
/// ```
/// use querist_engine::{learner::Learner, optimizer::*, rule, step::*, stream::*, task};
///
/// let task = task::parse("logistic", task::Labels::Binary)?;
/// let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
/// let learner = Learner::new(task, true, 2, optimizer, Steps::new(StepSize::Auto), None)?;
/// let rules = Rules::only(rule::parse("entropy", "logistic", task::Labels::Binary)?);
/// let mut stream = StreamLearner::new(learner, rules, 7, Importance::Equivalent)?;
/// let x = [0.5_f32, 1.0];
/// let offer = stream.offer(&x[..]);
/// if offer.asked {
///     stream.answer(&x[..], offer.probability, 1.0)?;
/// }
/// assert_eq!((stream.totals().observed, stream.totals().answered), (1, u64::from(offer.asked)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StreamLearner {
    learner: Learner,
    rules: Rules,
    coin: Coin,
    importance: Importance,
    totals: Totals,
    /// The time up to which θ̄ includes its weights.
    settled: u64,
    /// (time, expected queries) at the last two marks. There are eight marks each time the time doubles.
    marks: [(u64, f64); 2],
    scores: Vec<f64>,
    /// The slope of the loss for steps within a block, if it is the logistic loss.
    slope: Option<LogisticSlope>,
    /// The random numbers of a block, kept to reuse the allocation.
    coins: Vec<f64>,
    /// The number of features of a row.
    dim: usize,
    /// The map from features to weights, once there are very many features.
    index: Option<FeatureIndex>,
}

/// The query rule, and an optional warm-start rule before it.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The rule for the first labels.
    pub warm: Option<Warm>,
    /// The rule after the warm start.
    pub rule: Rule,
}

/// A warm-start rule. The objective of the critical rule is convex, so where it ends does not depend on the start.
#[derive(Clone, Debug)]
pub struct Warm {
    /// The rule.
    pub rule: Rule,
    /// The number of labels that the rule queries.
    pub labels: u64,
}

/// The importance weight of queried gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// 1: minimizes the equivalent loss.
    Equivalent,
    /// 1/U: minimizes the loss itself.
    Original,
}

/// The outcome of offering an observation.
///
/// ```
/// # use querist_engine::{learner::Learner, optimizer::*, rule, step::*, stream::*, task};
/// # let task = task::parse("logistic", task::Labels::Binary)?;
/// # let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
/// # let learner = Learner::new(task, true, 2, optimizer, Steps::new(StepSize::Auto), None)?;
/// let rules = Rules::only(rule::parse("margin:mu=1", "logistic", task::Labels::Binary)?);
/// let mut stream = StreamLearner::new(learner, rules, 7, Importance::Equivalent)?;
/// let offer = stream.offer(&[0.5_f32, 1.0][..]);
/// // Before its first label the score is 0, so the margin rule queries with probability 1.
/// assert_eq!((offer.time, offer.probability, offer.asked), (1, 1.0, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct Offer {
    /// The observation's number, from 1.
    pub time: u64,
    /// The probability of querying it.
    pub probability: f64,
    /// Whether it was queried.
    pub asked: bool,
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Totals {
    /// Observations processed.
    pub observed: u64,
    /// Labels queried.
    pub asked: u64,
    /// Labels received.
    pub answered: u64,
    /// Σ U in eight lanes by time, so that the sum has the same bits for any block size.
    expected: [f64; 8],
    /// Σ 1/U over the queried items, whose expectation is the number of observations.
    pub inverse: f64,
    /// Observations with U = 0, which can never be queried.
    pub impossible: u64,
    /// Σ (1 − U)/U over every eighth observation, an eighth of the variance of `inverse`. The queried items alone would
    /// estimate it without bias. They would miss items that are queried once in a million times and then count a
    /// million.
    variance: f64,
}

impl Totals {
    /// Records the queried items, by their indices in `probabilities`.
    #[inline]
    fn take_all(&mut self, indices: &[u32], probabilities: &[f64]) {
        let (eights, rest) = indices.as_chunks::<8>();
        // Division has the longest latency, and processors overlap several of them.
        for eight in eights {
            let mut inverses = [0.0; 8];
            for (inverse, index) in inverses.iter_mut().zip(eight) {
                *inverse = 1.0 / probabilities[*index as usize];
            }
            for inverse in inverses {
                self.inverse += inverse;
            }
        }
        for index in rest {
            self.inverse += 1.0 / probabilities[*index as usize];
        }
        self.asked += indices.len() as u64;
    }

    /// Adds the probabilities of consecutive observations.
    #[inline]
    fn expect(&mut self, first: u64, probabilities: &[f64]) {
        // The very first observation is in the first lane.
        let lane = (first.wrapping_sub(1) % 8) as usize;
        let (head, rest) = probabilities.split_at((8 - lane).min(probabilities.len()) % 8);
        let (eights, tail) = rest.as_chunks::<8>();
        self.expect_few(lane, head);
        if !eights.is_empty() {
            let totals = &mut *self;
            dispatch(
                #[inline(always)]
                move || totals.expect_eights(eights),
            );
        }
        self.expect_few(0, tail);
    }

    #[inline]
    fn expect_few(&mut self, lane: usize, probabilities: &[f64]) {
        for (lane, probability) in (lane..).zip(probabilities) {
            self.expected[lane] += probability;
            self.impossible += u64::from(*probability == 0.0);
            if lane == 0 {
                self.variance += variance(*probability);
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
    fn expect_eights(&mut self, eights: &[[f64; 8]]) {
        let (mut expected, mut impossible) = (self.expected, [0; 8]);
        for eight in eights {
            for lane in 0..8 {
                expected[lane] += eight[lane];
                impossible[lane] += u64::from(eight[lane] == 0.0);
            }
            self.variance += variance(eight[0]);
        }
        self.expected = expected;
        self.impossible += impossible.iter().sum::<u64>();
    }

    /// Returns the mean of asked/U over the items with U > 0, and its standard error. The mean is 1 up to random error
    /// if the probabilities are correct. Returns `None` if there are no such items.
    pub fn inverse_mean(&self) -> Option<(f64, f64)> {
        let possible = (self.observed - self.impossible) as f64;
        let share = self.observed as f64 / self.observed.div_ceil(8) as f64;
        (0.0 < possible).then(|| (self.inverse / possible, (share * self.variance).sqrt() / possible))
    }

    /// Returns Σ U, the expected number of queries.
    pub fn expected_asked(&self) -> f64 {
        let l = &self.expected;
        ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
    }
}

/// Returns the variance of asked/U, or 0 if U = 0.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn variance(probability: f64) -> f64 {
    if 0.0 < probability { 1.0 / probability - 1.0 } else { 0.0 }
}

impl StreamLearner {
    /// Makes a learner that has processed nothing.
    ///
    /// # Errors
    /// If a rule cannot be used on a stream or does not fit the number of scores.
    pub fn new(learner: Learner, rules: Rules, seed: u64, importance: Importance) -> Result<Self, IllegalSettings> {
        rules.check_for_stream()?;
        rules.check_outputs(learner.model.outputs)?;
        let (scores, dim) = (vec![0.0; learner.model.outputs], learner.dim());
        let slope = learner.task.is_logistic().then(LogisticSlope::new);
        Ok(Self {
            dim,
            index: None,
            learner,
            rules,
            coin: Coin::new(seed, "query"),
            importance,
            totals: Totals::default(),
            settled: 0,
            marks: [(0, 0.0); 2],
            scores,
            slope,
            coins: vec![],
        })
    }

    /// Returns the state as words for [`Self::restore`], or `None` if the rule stores answers.
    pub fn state(&self) -> Option<Vec<u64>> {
        let warm = self.rules.warm.as_ref().map(|warm| &warm.rule);
        let keeps = |rule: &Rule| matches!(rule, Rule::ConditionalLoss(_));
        if keeps(&self.rules.rule) || warm.is_some_and(keeps) {
            return None;
        }
        let mut words = Words::default();
        let totals = &self.totals;
        let wholes = [totals.observed, totals.asked, totals.answered, totals.impossible, self.settled];
        wholes.into_iter().chain([u64::from(warm.is_some())]).for_each(|whole| words.whole(whole));
        words.numbers(&totals.expected);
        words.number(totals.inverse);
        words.number(totals.variance);
        for (time, expected) in self.marks {
            words.whole(time);
            words.number(expected);
        }
        self.learner.write(&mut words);
        if let Some(index) = &self.index {
            words.whole(self.dim as u64);
            words.0.extend(index.words());
        }
        Some(words.0)
    }

    /// Restores the state of a learner with the same settings. Returns `None` if the words do not fit; the learner must
    /// then be discarded.
    pub fn restore(&mut self, state: &[u64]) -> Option<()> {
        let words = &mut Reader(state);
        let (observed, asked, answered) = (words.whole()?, words.whole()?, words.whole()?);
        let (impossible, settled, is_warm) = (words.whole()?, words.whole()?, words.whole()? == 1);
        let expected = words.numbers()?.try_into().ok()?;
        let (inverse, variance) = (words.number()?, words.number()?);
        let marks = [(words.whole()?, words.number()?), (words.whole()?, words.number()?)];
        self.learner.read(words)?;
        let right = impossible <= observed
            && settled <= observed
            && answered <= asked
            && asked <= observed
            && marks.iter().all(|m| m.0 <= observed);
        (right && (self.rules.warm.is_some() || !is_warm)).then_some(())?;
        (self.dim, self.index) = match words.0 {
            [] => (self.learner.dim(), None),
            [dim, pages @ ..] => (usize::try_from(*dim).ok()?, Some(FeatureIndex::from_words(pages)?)),
        };
        self.index.as_ref().is_none_or(|index| index.dim() == self.learner.dim()).then_some(())?;
        if !is_warm {
            self.rules.warm = None;
        }
        self.totals = Totals { observed, asked, answered, expected, inverse, impossible, variance };
        (self.settled, self.marks) = (settled, marks);
        Some(())
    }

    /// Returns the parameters with everything that updates them.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// Returns the current counts.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the recent mean probability, over at least the last sixteenth and at most the last quarter of the run.
    pub fn recent_rate(&self) -> f64 {
        let (time, expected) = self.marks[0];
        let observed = self.totals.observed - time;
        if observed == 0 { 0.0 } else { (self.totals.expected_asked() - expected) / observed as f64 }
    }

    /// Returns whether the warm-start rule is still in use.
    pub fn is_warming_up(&self) -> bool {
        self.rules.warm.is_some()
    }

    /// Returns the current rule.
    pub fn rule(&self) -> &Rule {
        self.rules.now()
    }

    /// Returns the current probability of querying these features.
    pub fn probability<X: Features>(&self, x: X) -> f64 {
        match &self.index {
            None => self.probability_at(x),
            Some(index) => self.probability_at(index.row(x).as_sparse()),
        }
    }

    /// Computes [`Self::probability`] for features that are given by the indices of their weights.
    fn probability_at<X: Features>(&self, x: X) -> f64 {
        let mut scores = vec![0.0; self.scores.len()];
        self.learner.scores(x, &mut scores);
        self.rules.now().probability(&scores, x)
    }

    /// Processes the next observation and decides at random whether to query it.
    pub fn offer<X: Features>(&mut self, x: X) -> Offer {
        let probability = self.probability(x);
        let asked = self.coin.unit(self.totals.observed + 1) < probability;
        self.consider(probability, asked);
        Offer { time: self.totals.observed, probability, asked }
    }

    /// Processes an observation with this probability and decision: `offer` without the features, for replay.
    pub fn consider(&mut self, probability: f64, asked: bool) {
        self.pass_marks();
        let time = self.totals.observed + 1;
        self.totals.observed = time;
        self.totals.expect(time, &[probability]);
        if asked {
            self.totals.take_all(&[0], &[probability]);
        } else if !self.learner.optimizer.rests_on_skip() {
            self.settle();
            self.learner.skip();
        }
    }

    /// Applies the answer to a query, immediate or delayed, as a step at the current parameters. `probability` is that
    /// of the query.
    pub fn answer<X: Features>(&mut self, x: X, probability: f64, label: f64) -> Result<(), Diverged> {
        match self.allocate(x) {
            None => self.answer_at(x, probability, label),
            Some(row) => self.answer_at(row.as_sparse(), probability, label),
        }
    }

    /// Does the work of `answer` for features that are given by the indices of their weights.
    fn answer_at<X: Features>(&mut self, x: X, probability: f64, label: f64) -> Result<(), Diverged> {
        let mut scores = std::mem::take(&mut self.scores);
        self.learner.scores(x, &mut scores);
        let done = self.learn(x, &scores, probability, label);
        self.scores = scores;
        done
    }

    #[inline]
    fn learn<X: Features>(&mut self, x: X, scores: &[f64], probability: f64, label: f64) -> Result<(), Diverged> {
        self.settle();
        let weight = match self.importance {
            Importance::Equivalent => 1.0,
            Importance::Original => 1.0 / probability,
        };
        self.learner.learn(x, scores, label, weight)?;
        self.totals.answered += 1;
        self.rules.learned([(x, label)], &self.learner);
        if self.rules.switch(self.totals.answered) {
            self.learner.weights.restart_average();
            self.reset_marks();
        }
        Ok(())
    }

    /// Brings the weights of θ̄ up to the current observation.
    #[inline]
    fn settle(&mut self) {
        let run = (self.totals.observed - self.settled) as f64;
        self.learner.weights.advance_average(run * self.learner.steps.weight());
        self.settled = self.totals.observed;
    }

    /// Returns the next time at which `pass_marks` has work to do.
    fn next_mark(&self) -> u64 {
        let apart = between_marks(self.totals.observed);
        let mark = (self.totals.observed / apart + 1) * apart;
        self.learner.steps.pilot_end().map_or(mark, |end| mark.min(end.max(self.totals.observed + 1)))
    }

    /// Restarts the recent rate: earlier queries were made by another rule.
    fn reset_marks(&mut self) {
        self.marks = [(self.totals.observed, self.totals.expected_asked()); 2];
    }

    /// Does the work that depends on time alone, before the next observation: sets a mark, ends the pilot's window.
    fn pass_marks(&mut self) {
        let time = self.totals.observed;
        if time.is_multiple_of(between_marks(time)) && self.marks[1].0 < time {
            self.marks = [self.marks[1], (time, self.totals.expected_asked())];
        }
        if self.learner.steps.pilot_end().is_some_and(|end| end <= time) && 0 < time {
            self.settle();
            self.learner.steps.end_pilot(self.totals.expected_asked() / time as f64);
        }
    }

    /// Offers these rows one after the other and answers each query immediately. After an error the rows before it are
    /// done.
    ///
    /// # Panics
    /// If there are fewer labels than rows.
    pub fn learn_rows(&mut self, rows: &Rows, labels: &[f64], trace: &mut Trace) -> Result<(), Diverged> {
        self.learn_range(rows, 0..rows.len(), labels, trace)
    }
}

/// Returns the distance between marks at this time, an eighth of the last power of 2.
fn between_marks(time: u64) -> u64 {
    (time | 1).ilog2().checked_sub(3).map_or(1, |eighth| 1 << eighth)
}

impl Rules {
    /// Makes rules without a warm start.
    pub fn only(rule: Rule) -> Self {
        Self { warm: None, rule }
    }

    /// Returns the largest probability of either rule.
    pub fn max(&self) -> f64 {
        self.warm.as_ref().map_or(0.0, |warm| warm.rule.max()).max(self.rule.max())
    }

    pub(crate) fn now(&self) -> &Rule {
        self.warm.as_ref().map_or(&self.rule, |warm| &warm.rule)
    }

    pub(crate) fn now_mut(&mut self) -> &mut Rule {
        self.warm.as_mut().map_or(&mut self.rule, |warm| &mut warm.rule)
    }

    /// Ends the warm start when it has its labels. Returns whether it ended in this call.
    pub(crate) fn switch(&mut self, answered: u64) -> bool {
        let over = self.warm.as_ref().is_some_and(|warm| warm.labels <= answered);
        if over {
            self.warm = None;
        }
        over
    }

    /// Updates the rules after answers changed the learner.
    pub(crate) fn learned<X: Features>(
        &mut self,
        answers: impl IntoIterator<Item = (X, f64), IntoIter: Clone>,
        learner: &Learner,
    ) {
        let answers = answers.into_iter();
        for rule in [Some(&mut self.rule), self.warm.as_mut().map(|warm| &mut warm.rule)].into_iter().flatten() {
            if let Rule::ConditionalLoss(rule) = rule {
                answers.clone().for_each(|(x, label)| rule.learn(x, label));
                rule.refresh(learner.task(), learner.model, &learner.point());
            }
        }
    }
}
