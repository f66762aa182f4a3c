//! Query rules: the probability of querying a label, an even function of the score (§2; Examples 1–5).

use std::fmt::Debug;

use crate::coordinate::Probability;
use crate::expression::{Enclosure, Interval};
use crate::loss::Loss;
use crate::rate::{Bound, Rate};
use crate::registry::{self, Because, Entry, NameError, Named, ParamError};

pub(crate) mod boundary;
mod constant;
mod critical;
mod entropy;
mod exponential;
mod expression;
mod least_confidence;
mod margin;
mod mix;
mod power;
mod product;
mod threshold;

pub use boundary::assumption;
pub use constant::Constant;
pub use critical::Critical;
pub(crate) use critical::least_rate as least_critical_rate;
pub use entropy::Entropy;
pub use exponential::ExponentialDecay;
pub use expression::ExpressionRule;
pub use least_confidence::LeastConfidence;
pub use margin::Margin;
pub use mix::Mix;
pub use power::Power;
pub use product::Product;
pub use threshold::Threshold;

/// All named rules.
pub static UNCERTAINTIES: &[Entry<dyn Uncertainty>] = &[
    entropy::ENTRY,
    least_confidence::ENTRY,
    margin::ENTRY,
    threshold::ENTRY,
    exponential::ENTRY,
    boundary::ENTRY,
    critical::ENTRY,
    constant::ENTRY,
    product::ENTRY,
    power::ENTRY,
    mix::ENTRY,
    expression::ENTRY,
];

/// Parses the name of a rule for a loss: `entropy`, `margin:mu=0.5`, `mix:rule=entropy:base=2,floor=0.05`.
///
/// ```
/// use querist_theory::{loss, uncertainty};
/// let logistic = loss::parse("logistic")?;
/// let rule = uncertainty::parse("margin:mu=2", &logistic)?;
/// assert_eq!(rule.at(-1.5), 0.25);
/// # Ok::<(), querist_theory::registry::NameError>(())
/// ```
pub fn parse(text: &str, loss: &Named<dyn Loss>) -> Result<Named<dyn Uncertainty>, NameError> {
    registry::parse("rule", UNCERTAINTIES, text, Some(loss), 0)
}

/// The probability of querying a label at score v. Even in v.
///
/// ```
/// use querist_theory::uncertainty::{Margin, Uncertainty};
///
/// let rule = Margin::new(2.0)?;
/// assert_eq!((rule.at(0.0), rule.at(1.5), rule.at(-1.5)), (1.0, 0.25, 0.25));
/// assert_eq!(rule.facts().max, 1.0);
/// # Ok::<(), querist_theory::registry::ParamError>(())
/// ```
pub trait Uncertainty: Debug + Send + Sync {
    /// Returns U(v).
    fn at(&self, v: f64) -> f64;

    /// Returns U′(v); at a kink, the right-hand slope.
    fn slope(&self, v: f64) -> f64;

    /// Returns outward-rounded bounds for U and U′ over an interval; the curvature may be unknown.
    ///
    /// Only enclosures refute a claim. A rule without them is certified by its facts or not at all.
    fn enclose(&self, _over: Interval) -> Enclosure {
        Enclosure::UNKNOWN
    }

    /// Returns the claimed facts about the rule.
    fn facts(&self) -> UncertaintyFacts;

    /// Returns the kind of evidence for the maximum among the facts.
    fn known_max(&self) -> KnownMax {
        KnownMax::Attained
    }

    /// Returns log U(v), also where U itself underflows.
    fn log_at(&self, v: f64) -> f64 {
        self.at(v).ln()
    }

    /// Returns U and dU/dr in the probability coordinate.
    fn in_probability(&self, at: Probability) -> (f64, f64) {
        let s = at.margin();
        (self.at(s), self.slope(s) / (at.right * at.wrong))
    }
}

/// The kind of evidence for the maximum of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownMax {
    /// It is a value of U.
    Attained,
    /// No value of U is larger, but the largest may be smaller.
    UpperBound,
    /// It is the largest value that a search found.
    Searched,
    /// An upper bound computed from maxima of which some were found by search.
    SearchedBound,
}

impl KnownMax {
    /// Returns the machine-readable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attained => "attained",
            Self::UpperBound => "upper bound",
            Self::Searched => "found by search",
            Self::SearchedBound => "upper bound from maxima found by search",
        }
    }

    /// Returns the relation of the maximum to its stated value, and a remark to print behind that value.
    pub fn relation(self) -> (&'static str, &'static str) {
        match self {
            Self::Attained => ("=", ""),
            Self::UpperBound => ("≤", ""),
            Self::Searched => ("≈", " (found by search)"),
            Self::SearchedBound => ("≤", " (from maxima found by search)"),
        }
    }
}

/// The claimed facts about a rule. `None` and empty lists mean that nothing is claimed; claims carry reasons.
#[derive(Clone, Debug)]
pub struct UncertaintyFacts {
    /// The points where the slope jumps.
    pub kinks: Vec<f64>,
    /// The kinks where U itself jumps.
    pub jumps: Vec<f64>,
    /// `U_max`, the largest value.
    pub max: f64,
    /// A proved upper bound of U; `max` may come from a search where this does not.
    pub at_most: f64,
    /// Even, and 0 ≤ U.
    pub nonnegative: Option<Because>,
    /// Even, and 0 ≤ U ≤ `at_most`.
    pub bounded: Option<Because>,
    /// U > 0 everywhere.
    pub positive: Option<Because>,
    /// U > 0 on some interval around 0, except perhaps at 0 itself.
    pub positive_near_zero: Option<Because>,
    /// Non-increasing in |v|.
    pub falling: Option<Because>,
    /// U is at least this everywhere.
    pub floor: f64,
    /// U = 0 for |v| beyond this.
    pub support: Option<f64>,
    /// A score at which U is exactly 0, not by underflow.
    pub zero_at: Option<f64>,
    /// The name of the loss whose slope this rule levels: U|ℓ′| is the same at every s < 0.
    pub levels: Option<String>,
    /// Upper bounds of the decay rate −U′/U at |v| = a, each valid by itself.
    pub decay_at_most: Vec<Bound>,
    /// Lower bounds of the decay rate.
    pub decay_at_least: Vec<Bound>,
}

impl UncertaintyFacts {
    /// Returns the facts of a continuous, even, positive rule that never rises in |v|.
    ///
    /// It decays from its maximum at 0 at exactly this rate; `because` is the reason for these facts.
    pub(crate) fn fading(max: f64, rate: Bound, because: &'static str) -> Self {
        Self {
            kinks: if rate.rate == Rate::zero() { vec![] } else { vec![0.0] },
            jumps: vec![],
            max,
            at_most: max,
            nonnegative: Some(because.into()),
            bounded: Some(because.into()),
            positive: Some(because.into()),
            positive_near_zero: Some(because.into()),
            falling: Some(because.into()),
            levels: None,
            floor: 0.0,
            support: None,
            zero_at: None,
            decay_at_most: vec![rate.clone()],
            decay_at_least: vec![rate],
        }
    }
}

/// Rejects a parameter out of its range, or so small or large that its reciprocal or square would overflow.
pub(crate) fn require_size(name: &str, value: f64, need: &str, within: bool) -> Result<(), ParamError> {
    if !within {
        return Err(ParamError::number(name, value, need));
    }
    if value != 0.0 && !(1e-100..=1e100).contains(&value.abs()) {
        return Err(ParamError::number(name, value, &format!("a {name} between 1e-100 and 1e100")));
    }
    Ok(())
}

/// Returns μ|v|, which is 0 for μ = 0 even at infinity.
#[inline]
pub(crate) fn stretched(mu: f64, v: f64) -> f64 {
    if mu == 0.0 && v.is_infinite() { 0.0 } else { mu * v.abs() }
}

/// Returns the slope of an even function from its slope at |v|; the right-hand one at 0.
pub(crate) fn even_slope(v: f64, slope_at_magnitude: f64) -> f64 {
    if v < 0.0 { -slope_at_magnitude } else { slope_at_magnitude }
}
