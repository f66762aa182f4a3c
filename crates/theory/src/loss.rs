//! Losses: functions of one number, the margin s = y·ŷ (§2 of the paper; Examples 1–5).

use std::fmt::Debug;

use crate::coordinate::{Bias, Coordinate, Jet, Probability};
use crate::expression::{Enclosure, Interval};
use crate::numeric::quadrature::integrate;
use crate::rate::Bound;
use crate::registry::{self, Because, Entry, NameError, Named};

mod cross_entropy;
mod exponential;
mod expression;
mod hinge;
mod logistic;
mod modified_huber;
mod squared;
mod squared_hinge;

pub use cross_entropy::CrossEntropy;
pub use exponential::Exponential;
pub use expression::ExpressionLoss;
pub use hinge::Hinge;
pub use logistic::Logistic;
pub use squared::Squared;
pub use squared_hinge::SquaredHinge;

/// All named losses.
pub static LOSSES: &[Entry<dyn Loss>] = &[
    logistic::ENTRY,
    cross_entropy::ENTRY,
    hinge::ENTRY,
    squared_hinge::ENTRY,
    modified_huber::ENTRY,
    exponential::ENTRY,
    squared::ENTRY,
    expression::ENTRY,
];

/// Parses the name of a loss: `logistic`, `squared:target=1`, `expr:log(1+exp(-s))`.
///
/// ```
/// let loss = querist_theory::loss::parse("squared-hinge")?;
/// assert_eq!(loss.value(-1.0), 4.0);
/// assert_eq!(loss.slope(-1.0), -4.0);
/// # Ok::<(), querist_theory::registry::NameError>(())
/// ```
pub fn parse(text: &str) -> Result<Named<dyn Loss>, NameError> {
    registry::parse("loss", LOSSES, text, None, 0)
}

/// A loss of the signed margin s = y·ŷ; for regression, of the prediction at a fixed target.
///
/// ```
/// use querist_theory::loss::{Hinge, Loss};
///
/// assert_eq!((Hinge.value(0.25), Hinge.slope(0.25)), (0.75, -1.0));
/// assert_eq!((Hinge.value(2.0), Hinge.slope(2.0)), (0.0, 0.0));
/// assert!(Hinge.facts().convex.is_some());
/// ```
pub trait Loss: Debug + Send + Sync {
    /// Returns ℓ(s).
    fn value(&self, s: f64) -> f64;

    /// Returns ℓ′(s); at a kink, the right-hand slope.
    fn slope(&self, s: f64) -> f64;

    /// Returns ℓ″(s) away from kinks.
    fn curvature(&self, s: f64) -> f64;

    /// Returns outward-rounded bounds for ℓ, ℓ′ and ℓ″ over an interval.
    ///
    /// Only enclosures refute a claim. A loss without them is certified by its facts or not at all.
    fn enclose(&self, _over: Interval) -> Enclosure {
        Enclosure::UNKNOWN
    }

    /// Returns the claimed facts about the loss.
    fn facts(&self) -> LossFacts;

    /// Returns ℓ(s) − ℓ(t) for s ≤ t, without cancellation if the loss implements it.
    fn drop_between(&self, s: f64, t: f64) -> f64 {
        // Values close together cancel, but the integral of the slope does not.
        if t - s < 1e-2 { -integrate(&|x| self.slope(x), s, t, &[]) } else { self.value(s) - self.value(t) }
    }

    /// Returns log |ℓ′(s)|, also where the slope itself overflows.
    fn log_steepness(&self, s: f64) -> f64 {
        self.slope(s).abs().ln()
    }

    /// Returns the value and derivatives in r, the probability coordinate.
    fn in_probability(&self, at: Probability) -> Jet {
        let s = at.margin();
        Jet { value: self.value(s), slope: self.slope(s), curvature: self.curvature(s) }.through_logit(at)
    }

    /// Returns the conditional minimizer s*(p) for a label of bias z = 2p − 1 ≥ 0, where known in closed form.
    fn minimizer(&self, _bias: Bias) -> Option<f64> {
        None
    }

    /// Returns the bias whose minimizer is s ≥ 0: the inverse of `minimizer`, where that is continuous.
    fn bias_of(&self, _s: f64) -> Option<Bias> {
        None
    }

    /// Returns ψ of the loss itself, with every label queried: value and derivatives at z, where known in closed form.
    fn link(&self, _bias: Bias) -> Option<Jet> {
        None
    }
}

/// The learning task of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossTask {
    /// Two classes; the argument is the margin.
    Classification,
    /// A number; the argument is the prediction, the target is part of the loss.
    Regression,
}

/// The point where the free constant of an equivalent loss is fixed to 0. A convention, not a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ground {
    /// At s → +∞.
    Infinity,
    /// At this point.
    Point(f64),
}

/// The claimed facts about a loss. `None` means that nothing is claimed; `Some` carries the reason.
#[derive(Clone, Debug)]
pub struct LossFacts {
    /// The learning task.
    pub task: LossTask,
    /// The coordinate in which the loss is defined.
    pub coordinate: Coordinate,
    /// The points where slope or curvature jumps.
    pub kinks: Vec<f64>,
    /// The point where its equivalent losses are grounded.
    pub ground: Ground,
    /// Has a finite slope at every s, so that U·ℓ′ can be integrated.
    pub defined: Option<Because>,
    /// ℓ′(0) exists and is negative.
    pub falls_at_zero: Option<Because>,
    /// Convex in s.
    pub convex: Option<Because>,
    /// Non-increasing in s.
    pub decreasing: Option<Because>,
    /// A Lipschitz constant in the loss's own coordinate.
    pub lipschitz: Option<(f64, Because)>,
    /// ℓ″/|ℓ′| at s = −a, exactly.
    pub rate_left: Option<Bound>,
    /// A lower bound of ℓ″/|ℓ′| at s = a, on the right.
    pub rate_right: Option<Bound>,
}
