//! Optimizers: plain gradient descent, heavy ball and Nesterov, on the query clock and on the raw clock (§6.2).

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::features::Features;
use crate::linear::Linear;
use crate::name::{NameError, ParsedName};
use crate::settings::IllegalSettings;
use crate::state::{Reader, Words};
use crate::weights::AveragedWeights;

pub use querist_theory::momentum::Clock;

/// The momentum of an optimizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Momentum {
    /// No momentum: stochastic gradient descent.
    None,
    /// velocity ← β·velocity − η·gradient at θ.
    HeavyBall(Beta),
    /// Like the heavy ball, with uncertainty and gradient at the look-ahead θ + β·velocity.
    Nesterov(Beta),
}

/// The names of momenta.
const MOMENTA: &[&str] = &["none", "heavy-ball", "nesterov"];

impl FromStr for Momentum {
    type Err = NameError;

    /// Parses `none`, `heavy-ball:beta=0.9`, `nesterov:beta=0.9`, or `nesterov`, which has its own schedule.
    fn from_str(text: &str) -> Result<Self, NameError> {
        let name = ParsedName::new(text)?;
        let beta = || match name.positive("beta")? {
            beta if 1.0 <= beta => Err(name.error(format!("beta = {beta}, need 0 < beta < 1"))),
            beta => Ok(Beta::Constant(beta)),
        };
        Ok(match name.head() {
            "none" => name.expect_plain().map(|()| Momentum::None)?,
            "heavy-ball" => Momentum::HeavyBall(beta()?),
            "nesterov" if name.is_plain() => Momentum::Nesterov(Beta::Rising { first: 0.0 }),
            "nesterov" => Momentum::Nesterov(beta()?),
            _ => return Err(name.unknown("momentum", MOMENTA)),
        })
    }
}

impl Display for Momentum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Momentum::None => f.write_str("none"),
            Momentum::HeavyBall(beta) => write!(f, "heavy-ball{beta}"),
            Momentum::Nesterov(beta) => write!(f, "nesterov{beta}"),
        }
    }
}

impl Display for Beta {
    /// Writes the parameter of a momentum's name; nothing for Nesterov's own schedule.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Beta::Constant(beta) => write!(f, ":beta={beta}"),
            Beta::Rising { .. } => Ok(()),
        }
    }
}

/// The momentum coefficient β, the share of the velocity that a tick keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beta {
    /// The same β at every tick.
    Constant(f64),
    /// 1 − 3/(k + 3) at the clock's k-th tick, counted from `first`: Nesterov's own schedule.
    Rising {
        /// The number of ticks counted before the first.
        first: f64,
    },
}

/// Constraints on the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Constraint {
    /// The coefficient λ of the penalty λ/2·‖w‖², which is added to the loss and excludes the intercept.
    pub l2: f64,
    /// The radius of the ball around 0 onto which the parameters are projected.
    pub radius: Option<f64>,
}

impl Constraint {
    pub(crate) fn check(&self) -> Result<(), IllegalSettings> {
        let is_legal = 0.0 <= self.l2 && self.l2.is_finite();
        IllegalSettings::unless(is_legal, "l2", self.l2, "a finite number >= 0")?;
        let radius = self.radius.unwrap_or(1.0);
        IllegalSettings::unless(0.0 < radius && radius.is_finite(), "radius", radius, "a finite number > 0")
    }
}

/// An optimizer with its state.
#[derive(Clone, Debug)]
pub struct Optimizer {
    momentum: Momentum,
    clock: Clock,
    constraint: Constraint,
    velocity: Vec<f64>,
    ahead: Vec<f64>,
    ticks: f64,
}

/// The gradient of one observation, scale·(slope ⊗ x̃). A step descends along the sum of one or more.
#[derive(Clone, Copy)]
pub(crate) struct Gradient<'a, X> {
    /// The features of the observation.
    pub(crate) x: X,
    /// The slope of the loss in its scores.
    pub(crate) slope: &'a [f64],
    /// The factor of the gradient.
    pub(crate) scale: f64,
}

impl Optimizer {
    /// Makes an optimizer with velocity 0.
    pub fn new(momentum: Momentum, clock: Clock, constraint: Constraint) -> Self {
        Self { momentum, clock, constraint, velocity: vec![], ahead: vec![], ticks: 0.0 }
    }

    pub(crate) fn constraint(&self) -> Constraint {
        self.constraint
    }

    /// Returns whether a step changes only the parameters of the features in its rows.
    #[inline]
    pub fn is_sparse(&self) -> bool {
        matches!(self.momentum, Momentum::None) && self.constraint.l2 == 0.0 && self.constraint.radius.is_none()
    }

    /// Returns whether a skipped observation changes nothing.
    pub fn rests_on_skip(&self) -> bool {
        self.momentum == Momentum::None || self.clock == Clock::Query
    }

    /// Returns whether uncertainty and gradient are evaluated at a look-ahead rather than at θ.
    pub(crate) fn looks_ahead(&self) -> bool {
        matches!(self.momentum, Momentum::Nesterov(_))
    }

    /// Returns Nesterov's look-ahead, where uncertainty and gradient are evaluated in place of θ.
    #[inline]
    pub(crate) fn ahead(&self) -> Option<&[f64]> {
        (self.looks_ahead() && !self.ahead.is_empty()).then_some(&self.ahead)
    }

    /// Takes a step of this size down the gradients.
    #[inline]
    pub(crate) fn step<X: Features>(
        &mut self,
        model: Linear,
        weights: &mut AveragedWeights,
        gradients: &[Gradient<'_, X>],
        size: f64,
    ) {
        if self.is_sparse() {
            for part in gradients {
                weights.add_gradient(model, part.x, part.slope, -size * part.scale);
            }
        } else {
            self.dense_step(model, weights, gradients, size);
        }
    }

    fn dense_step<X: Features>(
        &mut self,
        model: Linear,
        weights: &mut AveragedWeights,
        gradients: &[Gradient<'_, X>],
        size: f64,
    ) {
        match self.momentum {
            Momentum::None => {
                let mut change = vec![0.0; weights.len()];
                self.down(model, &weights.theta(), gradients, size, &mut change);
                weights.add_all(&change);
                self.project(weights);
            }
            Momentum::HeavyBall(_) | Momentum::Nesterov(_) => {
                let mut velocity = self.tick(weights.len());
                self.down(model, &weights.theta(), gradients, size, &mut velocity);
                self.move_by_velocity(velocity, weights);
            }
        }
    }

    /// Processes an observation that was not queried. On the raw clock it counts as a zero gradient.
    pub(crate) fn skip(&mut self, weights: &mut AveragedWeights) {
        if self.rests_on_skip() {
            return;
        }
        let velocity = self.tick(weights.len());
        self.move_by_velocity(velocity, weights);
    }

    /// Changes θ by the velocity, stores the velocity, and updates the look-ahead.
    fn move_by_velocity(&mut self, velocity: Vec<f64>, weights: &mut AveragedWeights) {
        weights.add_all(&velocity);
        self.velocity = velocity;
        self.project(weights);
        self.look_ahead(&weights.theta());
    }

    /// Extends the state with zeros to this many parameters.
    pub fn widen(&mut self, parameters: usize) {
        for part in [&mut self.velocity, &mut self.ahead] {
            if !part.is_empty() {
                part.resize(parameters, 0.0);
            }
        }
    }

    pub(crate) fn write(&self, words: &mut Words) {
        words.numbers(&self.velocity);
        words.numbers(&self.ahead);
        words.number(self.ticks);
    }

    /// Restores the state that an optimizer with this many parameters wrote. Returns `None` if the words do not fit.
    pub(crate) fn read(&mut self, words: &mut Reader<'_>, parameters: usize) -> Option<()> {
        let (velocity, ahead, ticks) = (words.numbers()?, words.numbers()?, words.number()?);
        let fits = |part: &[f64]| part.is_empty() || part.len() == parameters;
        (fits(&velocity) && fits(&ahead)).then_some(())?;
        (self.velocity, self.ahead, self.ticks) = (velocity, ahead, ticks);
        Some(())
    }

    /// Returns 1 − β, the share of a step's effect that is immediate. The rest follows through the velocity.
    pub fn at_once(&self) -> f64 {
        1.0 - self.beta()
    }

    /// Returns β at the current tick.
    fn beta(&self) -> f64 {
        match self.momentum {
            Momentum::None => 0.0,
            Momentum::HeavyBall(Beta::Constant(beta)) | Momentum::Nesterov(Beta::Constant(beta)) => beta,
            Momentum::HeavyBall(Beta::Rising { first }) | Momentum::Nesterov(Beta::Rising { first }) => {
                let k = first + self.ticks;
                k / (k + 3.0)
            }
        }
    }

    /// Advances the clock by one tick and returns the velocity before any gradient.
    fn tick(&mut self, parameters: usize) -> Vec<f64> {
        let beta = self.beta();
        self.ticks += 1.0;
        let mut velocity = std::mem::take(&mut self.velocity);
        velocity.resize(parameters, 0.0);
        for v in &mut velocity {
            *v *= beta;
        }
        velocity
    }

    /// Computes change −= size·(gradient + λw).
    fn down<X: Features>(
        &self,
        model: Linear,
        theta: &[f64],
        gradients: &[Gradient<'_, X>],
        size: f64,
        change: &mut [f64],
    ) {
        for part in gradients {
            model.add_gradient(part.x, part.slope, -size * part.scale, change);
        }
        if self.constraint.l2 != 0.0 {
            // λ/2·‖w‖² is part of the loss, so it has the loss's weight.
            let decay = size * self.constraint.l2 * gradients.iter().map(|part| part.scale).sum::<f64>();
            let weights = change[model.outputs..].iter_mut().zip(&self.ahead().unwrap_or(theta)[model.outputs..]);
            for (change, w) in weights {
                *change -= decay * w;
            }
        }
    }

    fn project(&self, weights: &mut AveragedWeights) {
        let Some(radius) = self.constraint.radius else { return };
        let theta = weights.theta();
        let norm = theta.iter().map(|t| t * t).sum::<f64>().sqrt();
        if radius < norm {
            let change: Vec<f64> = theta.iter().map(|t| t * (radius / norm - 1.0)).collect();
            weights.add_all(&change);
        }
    }

    fn look_ahead(&mut self, theta: &[f64]) {
        if let Momentum::Nesterov(_) = self.momentum {
            let beta = self.beta();
            self.ahead.clear();
            self.ahead.extend(theta.iter().zip(&self.velocity).map(|(t, v)| t + beta * v));
        }
    }
}
