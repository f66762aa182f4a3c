//! Algorithm 2 (label alg:USGD_pool-based): rows are drawn from a pool with probability in proportion to their U.
//!
//! Two exact draws of the same law, and one that is none. *Reject* proposes a row at random and takes it with `U/U_max`:
//! its cost does not grow with the pool. *Scan* adds up U over all rows: it knows `S_t`. *Top* takes the most uncertain row:
//! it has no probabilities, so nothing that needs them can be said of it afterwards.

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

/// How rows are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Accept–reject.
    Reject,
    /// A pass over the pool.
    Scan,
    /// The most uncertain row, the first of equals.
    Top,
}

/// Whether a row can be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// Once at most.
    Without,
    /// Again and again, with fresh labels.
    With,
}

/// A row to be labeled.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Drawn {
    /// Which.
    pub row: usize,
    /// Its U, or what that counted for beside the rows it was kept apart from.
    pub uncertainty: f64,
    /// The probability it was taken with: for a scan U/ΣU, for reject `U/U_max` when it was proposed, none for top.
    pub probability: Option<f64>,
    /// How many rows were proposed for it; 0 where it was found by a pass.
    pub tries: u64,
    /// `1/S_t`, or its unbiased stand-in `N/U_max`.
    pub inverse_rate: f64,
    /// Found by a pass because too many proposals were refused.
    pub fallback: bool,
    /// `S_t`, the mean of U over the rows that were left: from a pass, or an unbiased estimate from rows of their own where
    /// a learner that fits proposes; `None` where there is neither.
    pub rate: Option<f64>,
    /// What the pool's scores said to a rule that is relative to them.
    pub scale: Option<Scale>,
    /// No row's U was below this.
    pub least: f64,
}

impl Drawn {
    /// The chance of the row among the `left` that could be drawn, U/ΣU; `None` where it had none.
    pub fn chance(&self, left: usize) -> Option<estimate::Draw> {
        let total = self.rate? * left as f64;
        // A sampled ΣU may be too small, even 0.
        let share = |u: f64| if u == 0.0 { 0.0 } else { (u / total).min(1.0) };
        Some(estimate::Draw { probability: share(self.uncertainty), floor: share(self.least) })
    }
}

/// A sum of U that counts as 0. Its inverse is a weight of θ̄, and a sum of such weights would be no number.
const NOTHING: f64 = 1e-100;

/// Why there is no next row.
#[derive(Clone, Debug, PartialEq)]
pub enum NoRow {
    /// Every row has been asked, is kept for the test, or had its label from the start.
    Exhausted,
    /// U is 0 for every row that is left, or all of them together come to 1e-100.
    AllZero {
        /// How many are left.
        left: usize,
    },
    /// The U of all rows add up to NaN or infinity.
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
    /// Proposals so far, those of rows that were gone included: one sequence through all draws, so that it is known what comes.
    proposed: u64,
    time: u64,
    answered: u64,
    /// Proposals that were rows left to ask, and draws that fell back to a scan.
    tries: u64,
    fallbacks: u64,
    scores: Vec<f64>,
    fitting: Option<Fitting>,
    /// Rows that could be asked at the start.
    askable: usize,
    look: Coin,
    seed: u64,
    apart: Option<Apart>,
    /// The parameters moved since the rule took the pool's scale.
    moved: bool,
}

/// The scale of a pool is taken from as many of its rows.
const SAMPLE: usize = 1024;

/// Settings of a pool run.
#[derive(Clone, Copy, Debug)]
pub struct PoolSettings {
    /// How rows are drawn.
    pub draw: Draw,
    /// Whether a row can be asked again.
    pub replacement: Replacement,
    /// What asked gradients are multiplied by.
    pub importance: Importance,
    /// The run's seed.
    pub seed: u64,
}

impl PoolLearner {
    /// Makes a learner that has asked nothing yet, of a pool of this many rows. Rules that do not fit the model are errors.
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

    /// Answers are fitted anew after each, instead of taking a step: all chance and all probabilities are as before, but for
    /// the cold start, which asks at random.
    pub fn fitted_by(mut self, refit: Refit, objective: Objective, cold: ColdStart) -> Self {
        self.fitting = Some(Fitting::new(refit, objective, cold));
        self
    }

    /// Rows drawn between two answers are kept apart: U of a row x counts for [`LESS`] of itself where one drawn y has
    /// ‖x − y‖² ≤ within·(‖x‖² + ‖y‖²), 0 < within < 1.
    pub fn kept_apart(mut self, within: f64) -> Result<Self, IllegalSettings> {
        IllegalSettings::unless(0.0 < within && within < 1.0, "apart", within, "0 < apart < 1")?;
        self.apart = Some(Apart::new(within, self.learner.dim()));
        Ok(self)
    }

    /// A label known beforehand: its row is never asked, it is learned from, and it is kept out of estimates.
    ///
    /// # Panics
    /// When the learner takes steps: a step needs a draw.
    pub fn give(&mut self, row: usize, x: Row<'_>, label: f64) {
        let fitting = self.fitting.as_mut().expect("labels are given to a learner that fits");
        fitting.give(row as u64, x, label);
        fitting.fit(self.askable, |_| 1.0);
        self.learner.place(fitting.refit.theta());
        self.retire(row);
    }

    /// What is fitted, where the learner fits.
    pub fn refit(&self) -> Option<&Refit> {
        self.fitting.as_ref().map(|fitting| &fitting.refit)
    }

    /// Whether rows are still asked at random because there is too little to fit.
    pub fn is_cold(&self) -> bool {
        self.fitting.as_ref().is_some_and(|fitting| fitting.cold_rule().is_some())
    }

    /// The rule rows are drawn by now.
    pub fn rule(&self) -> &Rule {
        let cold = self.fitting.as_ref().and_then(Fitting::cold_rule);
        cold.unwrap_or_else(|| self.rules.now())
    }

    /// The parameters, and what moves them.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// Draws so far.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// Labels that came.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// Draws that ended in a scan because too many proposals were refused.
    pub fn fallbacks(&self) -> u64 {
        self.fallbacks
    }

    /// Proposals so far.
    pub fn tries(&self) -> u64 {
        self.tries
    }

    /// The rule of now.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// This row is never asked: it is kept for the test, or labeled already.
    pub fn retire(&mut self, row: usize) {
        self.retired.retire(row);
        self.askable = self.retired.left();
    }

    /// How many rows could be asked at the start, for replay, where those kept for the test are not known.
    pub fn set_askable(&mut self, rows: usize) {
        self.askable = rows;
    }

    /// How many rows could be asked at the start.
    pub fn askable(&self) -> usize {
        self.askable
    }

    /// How many rows can still be asked.
    pub fn left(&self) -> usize {
        self.retired.left()
    }

    /// U of these features now.
    pub fn uncertainty(&self, x: Row<'_>) -> f64 {
        let mut scores = vec![0.0; self.learner.model.outputs];
        self.learner.scores(x, &mut scores);
        self.rule().probability(&scores, x)
    }

    /// What U of these features counts for in a draw now: less than U where they are near a row it is to be kept apart from.
    pub fn counted(&self, x: Row<'_>) -> f64 {
        self.uncertainty(x) * self.apart.as_ref().map_or(1.0, |apart| apart.share(x))
    }

    /// No row counts for less in a draw now.
    pub fn least(&self) -> f64 {
        self.rule().least() * self.apart.as_ref().map_or(1.0, Apart::least)
    }

    /// The next row to label. It will not be drawn again, unless rows can be asked again.
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

    /// A rule that is relative to the pool looks at a sample of it, after the parameters have moved.
    fn take_scale(&mut self, rows: &Rows) {
        if self.is_cold() || !std::mem::take(&mut self.moved) || !matches!(self.rules.now(), Rule::Relative(_)) {
            return;
        }
        let outputs = self.learner.model.outputs;
        let rarest = self.fitting.as_ref().map_or(0, Fitting::rarest);
        let learner = &self.learner;
        let score = |place: usize, scores: &mut [f64]| {
            learner.scores(rows.row(place), scores);
            Ok::<_, std::convert::Infallible>(())
        };
        let Ok(()) = settle(self.rules.now_mut(), rows.len(), outputs, rarest, score);
    }

    /// The scale a rule had at an ask, for replay: the pool itself is not there then.
    pub fn set_scale(&mut self, scale: Scale) {
        self.moved = false;
        if let Rule::Relative(rule) = self.rules.now_mut() {
            rule.set_scale(scale);
        }
    }

    /// A draw was made: `ask` without the search, for replay. Where rows kept for the test are not known, what `ask` would draw
    /// next is not either.
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

    /// The answers to rows drawn since the last: one step on their mean gradient.
    ///
    /// With importance weights a pass weights by `S_t/U`. Proposals do not know `S_t`, and 1/N is not unbiased for it; they
    /// weight by `U_max/U`, as Algorithm 1 does on the proposals: the same objective, with steps longer by `U_max/S_t`.
    pub fn answer(&mut self, answers: &[(Row<'_>, Drawn, f64)]) -> Result<(), Diverged> {
        self.moved = true;
        if let Some(apart) = &mut self.apart {
            apart.forget();
        }
        if self.fitting.is_some() {
            self.fit(answers);
            return Ok(());
        }
        let before = self.learner.weights.average_weight();
        let done = self.learn(answers);
        if done.is_err() {
            self.learner.weights.set_average_weight(before);
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
        self.learner.weights.advance_average(self.learner.steps.weight() * inverse_rate);
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
            self.learner.weights.restart_average();
        }
        Ok(())
    }

    /// U over the rows that are left, block by block.
    pub fn scan<'a>(&'a self, rows: &'a Rows) -> Scan<'a> {
        Scan::new(rows, &self.learner, self.rule(), &self.retired, self.apart.as_ref())
    }
}

/// Places in a pool: all of a small one, otherwise some at random.
fn sample(coin: Coin, first: u64, rows: usize) -> Vec<usize> {
    if rows <= SAMPLE { (0..rows).collect() } else { (first..).take(SAMPLE).map(|at| coin.below(at, rows)).collect() }
}
