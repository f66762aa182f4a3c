//! The cold start of a learner that fits: the first draws, until a fit is possible.

use std::fmt::{self, Display};
use std::str::FromStr;

use super::Retired;
use crate::name::{self, NameError};
use crate::rows::Rows;
use crate::rule::Rule;
use crate::task::Labels;

mod coverage;
mod similarity;
mod start_rows;

use coverage::{ColdPhase, CoverageDraw, DrawGoal};
pub(crate) use coverage::{Coverage, RemainingRows};
pub use start_rows::{StartGroup, StartRows};

/// The draws of a cold start.
///
/// ```
/// use querist_engine::pool::ColdDraws;
///
/// assert_eq!("coverage".parse::<ColdDraws>(), Ok(ColdDraws::Coverage));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColdDraws {
    /// Uniform draws.
    #[default]
    Random,
    /// Draws that cover the pool: rows that are typical of what no drawn row resembles.
    Coverage,
}

impl ColdDraws {
    /// All kinds.
    pub const ALL: [Self; 2] = [ColdDraws::Random, ColdDraws::Coverage];
}

impl ColdDraws {
    /// Returns the default for a rule: coverage, but random for a rule that draws uniformly.
    pub fn of_rule(rule: &Rule) -> Self {
        if rule.name().starts_with("constant") { Self::Random } else { Self::Coverage }
    }
}

impl Display for ColdDraws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColdDraws::Random => "random",
            ColdDraws::Coverage => "coverage",
        })
    }
}

impl FromStr for ColdDraws {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        name::find("cold start", text, &Self::ALL)
    }
}

/// A cold start: it lasts for at least `least` labels, then until every class has been seen or there are `most`.
#[derive(Clone, Debug)]
pub(super) struct ColdStart {
    pub(super) draws: ColdDraws,
    start: StartRows,
    least: u64,
    most: u64,
    seen: Vec<bool>,
    answered: u64,
    labels: Labels,
    uniform: Rule,
    /// Rows that were drawn or have a seed label, and that the coverage does not include yet.
    uncovered: Vec<usize>,
    coverage: Option<Coverage>,
    /// The constant in U of the last draw by coverage.
    base: f64,
}

impl ColdStart {
    /// Creates a cold start of at least 10 labels and two per class, and at most five times that.
    pub(super) fn new(labels: Labels) -> Self {
        let classes = labels.classes();
        let least = least_labels(labels);
        let uniform = crate::rule::parse("constant", "logistic", Labels::Binary).expect("a rule of the theory");
        Self {
            draws: ColdDraws::Random,
            start: StartRows::default(),
            least,
            most: 5 * least,
            seen: vec![false; classes],
            answered: 0,
            labels,
            uniform,
            uncovered: vec![],
            coverage: None,
            base: f64::INFINITY,
        }
    }

    /// Sets the draws, which stay uniform with very many classes.
    pub(super) fn set_draws(&mut self, draws: ColdDraws) {
        self.draws = if self.labels.classes() <= MOST_CLASSES { draws } else { ColdDraws::Random };
    }

    /// Sets the rows that are drawn first.
    pub(super) fn set_start(&mut self, start: StartRows) {
        self.start = start;
    }

    /// Returns whether U of a row depends on the pool: rows are drawn by coverage, some come first, or a replay has set
    /// the constant of such a draw.
    pub(super) fn is_by_coverage(&self) -> bool {
        self.draws == ColdDraws::Coverage || !self.start.is_empty() || self.base.is_finite()
    }

    /// Returns the uniform rule.
    pub(super) fn rule(&self) -> &Rule {
        &self.uniform
    }

    /// Records the label of this number of answers; returns whether the cold start is over.
    pub(super) fn see(&mut self, label: f64, answered: u64) -> bool {
        self.answered = answered;
        if !self.seen.is_empty() {
            self.seen[self.labels.class(label)] = true;
        }
        self.least <= answered && self.seen.iter().all(|seen| *seen) || self.most <= answered
    }

    /// Records a row that was drawn or has a seed label.
    pub(super) fn note(&mut self, row: usize) {
        if self.is_by_coverage() {
            self.uncovered.push(row);
        }
    }

    /// Draws a row by coverage; `None` if all draws are random or no row is left.
    pub(super) fn draw(&mut self, rows: &Rows, retired: &Retired, seed: u64, coin: f64) -> Option<CoverageDraw> {
        if self.draws == ColdDraws::Random && self.start.is_empty() {
            return None;
        }
        let coverage = self.coverage.get_or_insert_with(|| Coverage::new(rows, seed, &self.start));
        self.uncovered.drain(..).for_each(|row| coverage.cover(rows, row));
        let classes_seen = self.seen.iter().filter(|seen| **seen).count();
        let phase = phase_of(self.draws, self.labels, self.answered, classes_seen);
        let drawn = coverage.draw(phase, retired, coin);
        self.set_base(drawn.map_or(f64::INFINITY, |drawn| drawn.base));
        drawn
    }

    /// Sets the constant in U of the last draw by coverage, for replays without the pool.
    pub(super) fn set_base(&mut self, base: f64) {
        self.base = base;
    }

    /// Returns a lower bound on U of the last draw.
    pub(super) fn least(&self) -> f64 {
        if self.base.is_finite() { self.base / (1.0 + self.base) } else { 1.0 }
    }
}

/// With more classes, draws by coverage are not used: of ten runs with 26 classes, one had a poor λ for hundreds of labels.
pub(super) const MOST_CLASSES: usize = 10;

/// Returns the least number of labels of a cold start.
pub(crate) fn least_labels(labels: Labels) -> u64 {
    10.max(2 * labels.classes() as u64)
}

/// Returns the phase of a cold start after some number of answers of some number of classes. If all answers are of one
/// class, other classes may be unlike the bulk of the pool.
pub(crate) fn phase_of(draws: ColdDraws, labels: Labels, answered: u64, classes_seen: usize) -> ColdPhase {
    let least = least_labels(labels);
    let goal = match draws {
        ColdDraws::Random => DrawGoal::Uniform,
        ColdDraws::Coverage if least <= answered && classes_seen == 1 => DrawGoal::Far,
        ColdDraws::Coverage => DrawGoal::Typical,
    };
    // Rows that match a search may all be of one class, and a model needs others too.
    ColdPhase { goal, is_early: 2 * answered < least }
}

impl RemainingRows for Retired {
    fn left(&self) -> usize {
        self.left()
    }

    fn is_left(&self, row: usize) -> bool {
        !self.contains(row)
    }

    fn nth_left(&self, n: usize) -> Option<usize> {
        self.nth_left(n)
    }
}
