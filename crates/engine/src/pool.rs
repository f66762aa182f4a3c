//! Algorithm 2 (label alg:USGD_pool-based): rows are drawn from a pool with probability proportional to U.
//!
//! There are two exact methods for the same distribution, and a deterministic one. *Reject* proposes a row at random
//! and accepts it with probability `U/U_max`: its cost does not grow with the pool. *Scan* adds up U over all rows and
//! thus knows `S_t`. *Top* takes the most uncertain row: it has no probabilities, so nothing can be estimated from its
//! labels.

use std::fmt::{self, Display};

use crate::coin::Coin;
use crate::estimate;
use crate::fit::Refit;
use crate::learner::{Diverged, Learner};
use crate::rows::{Row, Rows};
use crate::rule::{Rule, Scale};
use crate::settings::IllegalSettings;
use crate::stream::{Importance, Rules};

mod apart;
mod assess;
mod crossfit;
mod fitting;
mod known;
mod propose;
mod retired;
mod scan;
mod weights;

use apart::Apart;
pub use apart::LESS;
pub use assess::{Assessment, NotAssessed};
pub use crossfit::CrossFit;
use fitting::Fitting;
pub use fitting::{ColdStart, Objective};
pub use known::Known;
use retired::Retired;
pub use scan::{BLOCK, Scan};
pub use weights::{Weighed, Weights, settle};

/// A method of drawing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Accept–reject sampling.
    Reject,
    /// Sampling by a pass over the pool.
    Scan,
    /// The most uncertain row, the first of equals; deterministic.
    Top,
}

/// The choice between drawing with and without replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// Each row is asked at most once.
    Without,
    /// Rows can be asked again, with new labels.
    With,
}

/// A row to be labeled.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Drawn {
    /// The index of the row.
    pub row: usize,
    /// U, reduced if the row is near one drawn since the last answer.
    pub uncertainty: f64,
    /// The probability of acceptance: U/ΣU for a scan, `U/U_max` at the proposal for reject, `None` for top.
    pub probability: Option<f64>,
    /// The number of proposals; 0 if a pass found it.
    pub tries: u64,
    /// `1/S_t`, or its unbiased estimate `N/U_max`.
    pub inverse_rate: f64,
    /// `true` if a pass found it because too many proposals were rejected.
    pub fallback: bool,
    /// `S_t`, the mean of U over the rows that were left. It comes from a pass, or for a fitting learner that uses
    /// proposals from an unbiased estimate on separate rows; `None` if there is neither.
    pub rate: Option<f64>,
    /// The scale of a rule in units of the pool.
    pub scale: Option<Scale>,
    /// A lower bound on the U of all rows.
    pub least: f64,
}

impl Drawn {
    /// Returns the probability U/ΣU of the row among the `left` that could be drawn; `None` if it is unknown.
    pub fn chance(&self, left: usize) -> Option<estimate::Draw> {
        let total = self.rate? * left as f64;
        // A sampled ΣU may be too small, even 0.
        let share = |u: f64| if u == 0.0 { 0.0 } else { (u / total).min(1.0) };
        Some(estimate::Draw { probability: share(self.uncertainty), floor: share(self.least) })
    }
}

/// Sums of U up to this count as 0. Their inverses are weights of θ̄, whose sum would overflow.
const NOTHING: f64 = 1e-100;

/// A reason why there is no next row.
#[derive(Clone, Debug, PartialEq)]
pub enum NoRow {
    /// Every row has been asked, is held out for the test, or had a label from the start.
    Exhausted,
    /// U is 0 for every row that is left, or adds up to at most 1e-100.
    AllZero {
        /// The number of rows left.
        left: usize,
    },
    /// U adds up to NaN or infinity over the rows.
    NotFinite {
        /// The sum.
        total: f64,
    },
}

impl Display for NoRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoRow::Exhausted => write!(f, "no row of the pool is left to ask"),
            NoRow::AllZero { left } => {
                write!(f, "the rule gives probability 0, or next to it, to all {left} rows that are left")
            }
            NoRow::NotFinite { total } => {
                write!(f, "the rule's values add up to {total} over the pool; use a rule with values between 0 and 1")
            }
        }
    }
}

/// A learner that draws from a pool.
#[derive(Debug)]
pub struct PoolLearner {
    learner: Learner,
    rules: Rules,
    draw: Draw,
    replacement: Replacement,
    importance: Importance,
    retired: Retired,
    propose: Coin,
    accept: Coin,
    /// The number of proposals, including those of retired rows: one sequence through all draws, so that the next ones
    /// are known.
    proposed: u64,
    time: u64,
    answered: u64,
    /// The number of proposals of rows that were left, and of draws that fell back to a scan.
    tries: u64,
    fallbacks: u64,
    scores: Vec<f64>,
    fitting: Option<Fitting>,
    /// The number of rows that could be asked at the start.
    askable: usize,
    look: Coin,
    seed: u64,
    apart: Option<Apart>,
    /// `true` if the parameters have changed since the rule took its scale from the pool.
    moved: bool,
}

/// The number of rows in a sample of the pool from which a rule takes its scale.
const SAMPLE: usize = 1024;

/// Settings of a pool run.
#[derive(Clone, Copy, Debug)]
pub struct PoolSettings {
    /// The method of drawing rows.
    pub draw: Draw,
    /// Drawing with or without replacement.
    pub replacement: Replacement,
    /// The factor of the gradients of asked rows.
    pub importance: Importance,
    /// The run's seed.
    pub seed: u64,
}

impl PoolLearner {
    /// Creates a learner for a pool of this many rows. Returns an error if the rules do not fit the model.
    pub fn new(learner: Learner, rules: Rules, rows: usize, settings: PoolSettings) -> Result<Self, IllegalSettings> {
        rules.check_outputs(learner.model.outputs)?;
        let scores = vec![0.0; learner.model.outputs];
        Ok(Self {
            learner,
            rules,
            draw: settings.draw,
            replacement: settings.replacement,
            importance: settings.importance,
            retired: Retired::new(rows),
            propose: Coin::new(settings.seed, "propose"),
            accept: Coin::new(settings.seed, "accept"),
            proposed: 0,
            time: 0,
            answered: 0,
            tries: 0,
            fallbacks: 0,
            scores,
            fitting: None,
            askable: rows,
            look: Coin::new(settings.seed, "look"),
            seed: settings.seed,
            apart: None,
            moved: true,
        })
    }

    /// Fits all answers after each, instead of taking a step. Random numbers and probabilities stay the same, except
    /// for the cold start, which asks at random.
    pub fn fitted_by(mut self, refit: Refit, objective: Objective, cold: ColdStart) -> Self {
        self.fitting = Some(Fitting::new(refit, objective, cold));
        self
    }

    /// Diversifies rows drawn between two answers: U of a row x is multiplied by [`LESS`] if some drawn row y has
    /// ‖x − y‖² ≤ within·(‖x‖² + ‖y‖²). Returns an error unless 0 < within < 1.
    pub fn kept_apart(mut self, within: f64) -> Result<Self, IllegalSettings> {
        IllegalSettings::unless(0.0 < within && within < 1.0, "apart", within, "0 < apart < 1")?;
        self.apart = Some(Apart::new(within, self.learner.dim()));
        Ok(self)
    }

    /// Adds a seed label: its row is never asked, it is learned from, and estimates exclude it.
    ///
    /// # Panics
    /// If the learner takes steps, which need a draw.
    pub fn give(&mut self, row: usize, x: Row<'_>, label: f64) {
        let fitting = self.fitting.as_mut().expect("labels are given to a learner that fits");
        fitting.give(row as u64, x, label);
        fitting.fit(self.askable, |_| 1.0);
        self.learner.place(fitting.refit.theta());
        self.retire(row);
    }

    /// Returns the fit, if the learner fits.
    pub fn refit(&self) -> Option<&Refit> {
        self.fitting.as_ref().map(|fitting| &fitting.refit)
    }

    /// Returns whether rows are still drawn uniformly because there are too few labels to fit.
    pub fn is_cold(&self) -> bool {
        self.fitting.as_ref().is_some_and(|fitting| fitting.cold_rule().is_some())
    }

    /// Returns the current rule for drawing rows.
    pub fn rule(&self) -> &Rule {
        let cold = self.fitting.as_ref().and_then(Fitting::cold_rule);
        cold.unwrap_or_else(|| self.rules.now())
    }

    /// Returns the learner: the parameters and their updates.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// Returns the number of draws.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// Returns the number of answers.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// Returns the number of draws that ended in a scan because too many proposals were rejected.
    pub fn fallbacks(&self) -> u64 {
        self.fallbacks
    }

    /// Returns the number of proposals of rows that were left.
    pub fn tries(&self) -> u64 {
        self.tries
    }

    /// Returns the rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Excludes a row from asks, because it is held out for the test or already labeled.
    pub fn retire(&mut self, row: usize) {
        self.retired.retire(row);
        self.askable = self.retired.left();
    }

    /// Sets the number of rows that could be asked at the start, for replays that do not know which rows are held out.
    pub fn set_askable(&mut self, rows: usize) {
        self.askable = rows;
    }

    /// Returns the number of rows that could be asked at the start.
    pub fn askable(&self) -> usize {
        self.askable
    }

    /// Returns the number of rows that can still be asked.
    pub fn left(&self) -> usize {
        self.retired.left()
    }

    /// Returns U of these features under the current model.
    pub fn uncertainty(&self, x: Row<'_>) -> f64 {
        let mut scores = vec![0.0; self.learner.model.outputs];
        self.learner.scores(x, &mut scores);
        self.rule().probability(&scores, x)
    }

    /// Returns the current weight of these features in a draw: U, reduced if they are near a row drawn since the last
    /// answer.
    pub fn counted(&self, x: Row<'_>) -> f64 {
        self.uncertainty(x) * self.apart.as_ref().map_or(1.0, |apart| apart.share(x))
    }

    /// Returns a lower bound on the current weights of all rows.
    pub fn least(&self) -> f64 {
        self.rule().least() * self.apart.as_ref().map_or(1.0, Apart::least)
    }

    /// Draws the next row to label. Without replacement it will not be drawn again.
    pub fn ask(&mut self, rows: &Rows) -> Result<Drawn, NoRow> {
        if self.retired.left() == 0 {
            return Err(NoRow::Exhausted);
        }
        self.take_scale(rows);
        if let Some(apart) = self.apart.as_mut().filter(|_| self.draw != Draw::Reject) {
            apart.look(rows);
        }
        let mut drawn = match self.draw {
            Draw::Reject => match rows {
                Rows::Dense(dense) => self.reject(rows, dense.by_place()),
                Rows::Sparse(sparse) => self.reject(rows, sparse.by_place()),
            },
            Draw::Top if !self.is_cold() => self.scan(rows).top(),
            Draw::Scan | Draw::Top => self.scan(rows).draw(self.accept.unit(self.time)),
        }?;
        if drawn.rate.is_none() && drawn.probability.is_some() && self.fitting.is_some() {
            drawn.rate = Some(self.sampled_rate(rows));
        }
        drawn.scale = match self.rule() {
            Rule::Relative(rule) => Some(rule.scale()),
            _ => None,
        };
        drawn.least = self.least();
        self.note(&drawn, rows.row(drawn.row));
        Ok(drawn)
    }

    /// Lets a rule in units of the pool take its scale from a sample, if the parameters have changed.
    fn take_scale(&mut self, rows: &Rows) {
        if self.is_cold() || !std::mem::take(&mut self.moved) || !matches!(self.rules.now(), Rule::Relative(_)) {
            return;
        }
        let outputs = self.learner.model.outputs;
        let rarest = self.fitting.as_ref().map_or(0, Fitting::rarest);
        let learner = &self.learner;
        let score = |row: usize, scores: &mut [f64]| {
            learner.scores(rows.row(row), scores);
            Ok::<_, std::convert::Infallible>(())
        };
        let Ok(()) = settle(self.rules.now_mut(), rows.len(), outputs, rarest, score);
    }

    /// Sets the scale that a rule had at an ask, for replays without the pool.
    pub fn set_scale(&mut self, scale: Scale) {
        self.moved = false;
        if let Rule::Relative(rule) = self.rules.now_mut() {
            rule.set_scale(scale);
        }
    }

    /// Records a draw for replay: `ask` without the search. If held-out rows are unknown, a later `ask` may draw
    /// differently than the original run.
    pub fn record(&mut self, drawn: &Drawn, x: Row<'_>) {
        self.pass_over(drawn.tries);
        self.note(drawn, x);
    }

    fn note(&mut self, drawn: &Drawn, x: Row<'_>) {
        self.time += 1;
        self.tries += drawn.tries;
        self.fallbacks += u64::from(drawn.fallback);
        if let Some(apart) = &mut self.apart {
            apart.draw(x);
        }
        if self.replacement == Replacement::Without {
            self.retired.retire(drawn.row);
        }
    }

    /// Learns from the answers to the rows drawn since the last call: one step on their mean gradient.
    ///
    /// With importance weights, answers from a pass are weighted by `S_t/U`. Proposals do not know `S_t`, and 1/N is
    /// not unbiased for it. They are weighted by `U_max/U`, as Algorithm 1 does on the proposals: the same objective,
    /// with steps longer by `U_max/S_t`.
    pub fn answer(&mut self, answers: &[(Row<'_>, Drawn, f64)]) -> Result<(), Diverged> {
        self.moved = true;
        if let Some(apart) = &mut self.apart {
            apart.forget();
        }
        if self.fitting.is_some() {
            self.fit(answers);
            return Ok(());
        }
        let before = self.learner.average.weight();
        let done = self.learn(answers);
        if done.is_err() {
            self.learner.average.go_back(before);
        }
        done
    }

    fn fit(&mut self, answers: &[(Row<'_>, Drawn, f64)]) {
        let losses = self.judge(answers);
        let Some(mut fitting) = self.fitting.take() else { return };
        for ((x, drawn, label), loss) in answers.iter().zip(losses) {
            fitting.answer(*x, *drawn, *label, loss);
        }
        fitting.fit(self.askable, |x| self.uncertainty(x));
        self.learner.place(fitting.refit.theta());
        self.fitting = Some(fitting);
        self.answered += answers.len() as u64;
        self.rules.learned(answers.iter().map(|(x, _, label)| (*x, *label)), &self.learner);
        self.rules.switch(self.answered);
    }

    fn learn(&mut self, answers: &[(Row<'_>, Drawn, f64)]) -> Result<(), Diverged> {
        let share = 1.0 / answers.len() as f64;
        let inverse_rate: f64 = answers.iter().map(|(_, drawn, _)| share * drawn.inverse_rate).sum();
        self.learner.average.pass(self.learner.steps.weight() * inverse_rate);
        let u_max = self.rules.now().max();
        let weight = |drawn: &Drawn| match self.importance {
            Importance::Equivalent => 1.0,
            Importance::Original if drawn.tries == 0 => 1.0 / (drawn.uncertainty * drawn.inverse_rate),
            Importance::Original => u_max / drawn.uncertainty,
        };
        if let [(x, drawn, label)] = answers {
            let weight = weight(drawn);
            self.learner.scores(*x, &mut self.scores);
            self.learner.learn(*x, &self.scores, *label, weight)?;
        } else {
            let weights: Vec<f64> = answers.iter().map(|(_, drawn, _)| weight(drawn)).collect();
            let parts: Vec<(Row<'_>, f64)> = answers.iter().map(|(x, _, label)| (*x, *label)).collect();
            self.learner.learn_together(&parts, &weights)?;
        }
        self.answered += answers.len() as u64;
        self.rules.learned(answers.iter().map(|(x, _, label)| (*x, *label)), &self.learner);
        if self.rules.switch(self.answered) {
            self.learner.restart_average();
        }
        Ok(())
    }

    /// Returns a pass over the rows that are left.
    pub fn scan<'a>(&'a self, rows: &'a Rows) -> Scan<'a> {
        Scan::new(rows, &self.learner, self.rule(), &self.retired, self.apart.as_ref())
    }
}

/// Returns row indices of a pool: all of a small pool, otherwise a random sample.
fn sample(coin: Coin, first: u64, rows: usize) -> Vec<usize> {
    if rows <= SAMPLE { (0..rows).collect() } else { (first..).take(SAMPLE).map(|at| coin.below(at, rows)).collect() }
}
