//! Algorithm 2 (label alg:USGD_pool-based): rows are drawn from a pool with probability proportional to U.
//!
//! There are two exact methods for the same distribution, and a deterministic one. *Reject* proposes a row at random
//! and accepts it with probability `U/U_max`: its cost does not grow with the pool. *Scan* adds up U over all rows and
//! thus knows `S_t`. *Top* takes the most uncertain row: it has no probabilities, so nothing can be estimated from its
//! labels.
//!
//! A learner either takes a gradient step for each answer, as in the paper ([`SgdPool`]), or fits a model to all answers
//! ([`RefitPool`]). Both draw by a [`PoolSampler`], and [`PoolLearner`] is their common interface.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::estimate;
use crate::learner::Learner;
use crate::name::{self, NameError};
use crate::rows::{Row, Rows};
use crate::rule::{Rule, Scale};
use crate::settings::IllegalSettings;
use crate::stream::Rules;

mod answer_error;
mod answers;
mod assess;
mod cold_start;
mod crossfit;
mod current_model;
mod diversity;
mod model_fit;
mod precision;
mod refit;
mod regression;
mod retired;
mod row_weights;
mod sampler;
mod scan;
mod scored;
mod sgd;
mod twin;

pub use answer_error::AnswerError;
pub use answers::Objective;
pub use assess::{Assessment, NotAssessed};
pub use cold_start::{ColdDraws, StartGroup, StartRows};
pub(crate) use cold_start::{Coverage, RemainingRows, least_labels, phase_of};
pub use crossfit::CrossFit;
pub use diversity::NEAR_FACTOR;
pub use model_fit::{CandidateLoss, ModelCandidate, ModelChoice, ModelFit};
pub use precision::{Precision, PrecisionGoal, PrecisionPlan};
pub use refit::{LabeledDraw, RefitPool, RefitSettings};
pub use regression::Regression;
use retired::Retired;
pub use row_weights::{RowWeights, WeightedDraw, settle};
pub use sampler::PoolSampler;
use sampler::rows_to_sample;
pub use scan::{BLOCK, Scan};
pub use scored::{
    ColdMethod, DrawMethod, Prediction, PredictionKind, PredictionValues, Predictions, ScoredDraw, ScoredPool,
    ScoredPoolError, ScoredPoolEstimate, ScoredPoolSettings, WrongPrediction,
};
pub use sgd::{SgdPool, SgdSettings};

/// A method of drawing rows.
///
/// ```
/// use querist_engine::pool::Draw;
///
/// assert_eq!("scan".parse::<Draw>(), Ok(Draw::Scan));
/// let error = "scam".parse::<Draw>().unwrap_err();
/// assert!(error.to_string().contains("did you mean `scan`?"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Accept–reject sampling.
    Reject,
    /// Sampling by a pass over the pool.
    Scan,
    /// The most uncertain row, the first of equals; deterministic.
    Top,
}

impl Draw {
    /// All methods.
    pub const ALL: [Self; 3] = [Draw::Reject, Draw::Scan, Draw::Top];
}

impl Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Draw::Reject => "reject",
            Draw::Scan => "scan",
            Draw::Top => "top",
        })
    }
}

impl FromStr for Draw {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        name::find("draw", text, &Self::ALL)
    }
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
///
/// ```
/// use querist_engine::pool::Drawn;
///
/// # let (tries, fallback, scale, least) = (0, false, None, 0.0);
/// let (probability, inverse_rate, rate) = (Some(0.25), 2.0, Some(0.5));
/// let drawn = Drawn { row: 3, uncertainty: 0.5, probability, tries, inverse_rate, fallback, rate, scale, least };
/// // Four rows with a mean U of 0.5 have ΣU = 2, of which this row has a quarter.
/// assert_eq!(drawn.draw_probability(4).map(|draw| draw.probability), Some(0.25));
/// ```
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
    pub fn draw_probability(&self, left: usize) -> Option<estimate::DrawProbability> {
        let total = self.rate? * left as f64;
        // A sampled ΣU may be too small, even 0.
        let share = |u: f64| if u == 0.0 { 0.0 } else { (u / total).min(1.0) };
        let noise = self.rate_noise(left);
        Some(estimate::DrawProbability { probability: share(self.uncertainty), floor: share(self.least), noise })
    }

    /// Returns a bound on the relative variance of the rate, if it was sampled from the `left` rows. No U is above `U_max`,
    /// so the relative variance of U is at most `U_max/S − 1`.
    fn rate_noise(&self, left: usize) -> f64 {
        match (self.rate, self.probability) {
            (Some(rate), Some(accepted)) if 0 < self.tries && !self.fallback && 0.0 < rate && 0.0 < accepted => {
                let largest = self.uncertainty / accepted;
                ((largest / rate - 1.0) / rows_to_sample(left).max(1) as f64).clamp(0.0, 1.0)
            }
            _ => 0.0,
        }
    }
}

/// A reason why there is no next row.
///
/// ```
/// use querist_engine::pool::NoRow;
///
/// assert_eq!(NoRow::Exhausted.to_string(), "no row of the pool is left to ask");
/// assert!(NoRow::AllZero { left: 4998 }.to_string().contains("all 4998 rows"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoRow {
    /// Every row has been asked, is held out for the test, or had a label from the start.
    Exhausted,
    /// U is 0 for every row that is left, or adds up to at most 1e-100.
    AllZero {
        /// The number of rows left.
        left: usize,
    },
    /// The rows are not those of the pool: another number of rows or of features.
    OtherRows {
        /// The number of rows and of features expected.
        expected: (usize, usize),
        /// The numbers found.
        found: (usize, usize),
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
                write!(
                    f,
                    "the rule's values add up to {total} over the pool; features must be finite, and the rule between 0 and 1"
                )
            }
            NoRow::OtherRows { expected, found } => {
                let ((rows, dim), (found_rows, found_dim)) = (expected, found);
                write!(f, "the pool has {rows} rows of {dim} features; got {found_rows} rows of {found_dim}")
            }
        }
    }
}

impl std::error::Error for NoRow {}

/// A learner that draws rows from a pool and learns from their labels.
///
/// ```
/// use querist_engine::pool::PoolLearner;
/// use querist_rows::{DenseRows, Rows};
/// # use querist_engine::learner::Learner;
/// # use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
/// # use querist_engine::pool::{Draw, Replacement, SgdPool, SgdSettings};
/// # use querist_engine::step::{StepSize, Steps};
/// # use querist_engine::stream::{Importance, Rules};
/// # use querist_engine::task::Labels;
/// # use querist_engine::{rule, task};
///
/// fn label_all(pool: &mut impl PoolLearner, rows: &Rows, label: impl Fn(usize) -> f64) {
///     while let Ok(drawn) = pool.ask(rows) {
///         pool.answer(&[(rows.row(drawn.row), drawn, label(drawn.row))]).expect("the steps are short");
///     }
/// }
///
/// let rows = Rows::Dense(DenseRows::from_values(1, vec![-1.0, -0.1, 0.2, 0.9]).expect("whole rows"));
/// # let task = task::parse("logistic", Labels::Binary)?;
/// # let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
/// # let learner = Learner::new(task, true, 1, optimizer, Steps::new(StepSize::Auto), None)?;
/// # let rules = Rules::only(rule::parse("entropy", "logistic", Labels::Binary)?);
/// # let (replacement, importance) = (Replacement::Without, Importance::Equivalent);
/// # let settings = SgdSettings { draw: Draw::Scan, replacement, importance, seed: 1 };
/// # let mut pool = SgdPool::new(learner, rules, rows.len(), settings)?;
/// label_all(&mut pool, &rows, |row| if row < 2 { -1.0 } else { 1.0 });
/// assert_eq!((pool.answered(), pool.left()), (4, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PoolLearner {
    /// Returns the model, the rules and the state of the draws.
    fn sampler(&self) -> &PoolSampler;

    /// Returns the sampler for changes.
    fn sampler_mut(&mut self) -> &mut PoolSampler;

    /// Draws the next row to label. Without replacement it will not be drawn again.
    fn ask(&mut self, rows: &Rows) -> Result<Drawn, NoRow>;

    /// Learns from the answers to the rows drawn since the last call.
    ///
    /// # Errors
    /// If a label is not one of the task's, a row does not have the model's number of finite features, or a step would
    /// overflow. Then nothing is learned.
    fn answer(&mut self, answers: &[(Row<'_>, Drawn, f64)]) -> Result<(), AnswerError>;

    /// Diversifies rows drawn between two answers: U of a row x is multiplied by [`NEAR_FACTOR`] if some drawn row y has
    /// ‖x − y‖² ≤ within·(‖x‖² + ‖y‖²). Returns an error unless 0 < within < 1.
    fn diversify(&mut self, within: f64) -> Result<(), IllegalSettings> {
        self.sampler_mut().diversify(within)
    }

    /// Returns whether rows are still drawn uniformly because there are too few labels to fit.
    fn is_cold(&self) -> bool {
        self.sampler().is_cold()
    }

    /// Returns whether the next row is drawn by coverage of the pool. Then its U depends on the rows of the pool and not
    /// only on its own features.
    fn is_by_coverage(&self) -> bool {
        self.sampler().is_by_coverage()
    }

    /// Returns the current rule for drawing rows.
    fn rule(&self) -> &Rule {
        self.sampler().rule()
    }

    /// Returns the learner: the parameters and their updates.
    fn learner(&self) -> &Learner {
        &self.sampler().learner
    }

    /// Returns the number of draws.
    fn time(&self) -> u64 {
        self.sampler().time
    }

    /// Returns the number of answers.
    fn answered(&self) -> u64 {
        self.sampler().answered
    }

    /// Returns the number of draws that ended in a scan because too many proposals were rejected.
    fn fallbacks(&self) -> u64 {
        self.sampler().fallbacks
    }

    /// Returns the number of proposals of rows that were left.
    fn tries(&self) -> u64 {
        self.sampler().tries
    }

    /// Returns the rules.
    fn rules(&self) -> &Rules {
        &self.sampler().rules
    }

    /// Excludes a row from asks, because it is held out for the test or already labeled.
    fn retire(&mut self, row: usize) {
        self.sampler_mut().retire(row);
    }

    /// Sets the number of rows that could be asked at the start, for replays that do not know which rows are held out.
    fn set_askable(&mut self, rows: usize) {
        self.sampler_mut().askable = rows;
    }

    /// Returns the number of rows that could be asked at the start.
    fn askable(&self) -> usize {
        self.sampler().askable
    }

    /// Returns the number of rows that can still be asked.
    fn left(&self) -> usize {
        self.sampler().retired.left()
    }

    /// Returns U of these features under the current model. A rule in units of the pool has the scale of the last draw
    /// or of [`Self::uncertainties`].
    fn uncertainty(&self, x: Row<'_>) -> f64 {
        self.sampler().uncertainty(x)
    }

    /// Returns the current weight of these features in a draw: U, reduced if they are near a row drawn since the last
    /// answer.
    fn draw_weight(&self, x: Row<'_>) -> f64 {
        self.sampler().draw_weight(x)
    }

    /// Returns a lower bound on the current weights of all rows.
    fn least(&self) -> f64 {
        self.sampler().least()
    }

    /// Sets the scale that a rule had at an ask, for replays without the pool.
    fn set_scale(&mut self, scale: Scale) {
        self.sampler_mut().set_scale(scale);
    }

    /// Records a draw for replay: `ask` without the search. If held-out rows are unknown, a later `ask` may draw
    /// differently than the original run.
    fn record(&mut self, drawn: &Drawn, x: Row<'_>) {
        self.sampler_mut().replay(drawn, x);
    }

    /// Returns U of every row under the current model, 0 for retired ones.
    fn uncertainties(&mut self, rows: &Rows) -> Vec<f64> {
        let sampler = self.sampler_mut();
        sampler.take_scale(rows);
        sampler.scan(rows).all()
    }

    /// Returns a pass over the rows that are left.
    fn scan<'a>(&'a self, rows: &'a Rows) -> Scan<'a> {
        self.sampler().scan(rows)
    }
}
