//! Step sizes, each determined before its observation arrives.

use crate::state::{Reader, Words};

/// A step-size schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepSize {
    /// Distance over gradients (Ivgi, Hinder and Carmon 2023), on queried gradients. It has no parameters.
    Auto,
    /// η at every label.
    Fixed(f64),
    /// η/√k at the k-th label.
    InverseSqrt(f64),
    /// A fixed step for a window, then one set by the query rate in it.
    Pilot {
        /// D/(G√T): the step at c = 1.
        unit: f64,
        /// The largest probability: c = `U_max^{-1/2}` in the window.
        u_max: f64,
        /// The number of observations in the window.
        window: u64,
    },
}

/// A step-size schedule with its state.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    size: StepSize,
    labels: f64,
    gradients: f64,
    /// ‖θ − θ₁‖², and below it the largest ‖θ − θ₁‖ yet.
    distance_squared: f64,
    farthest: f64,
    pilot_rate: Option<f64>,
}

/// The approximate change of the first queried score by the first automatic step.
const FIRST_MOVE: f64 = 0.1;

impl Steps {
    /// Makes a schedule before its first step.
    pub fn new(size: StepSize) -> Self {
        Self { size, labels: 0.0, gradients: 0.0, distance_squared: 0.0, farthest: 0.0, pilot_rate: None }
    }

    pub(crate) fn write(&self, words: &mut Words) {
        for number in [self.labels, self.gradients, self.distance_squared, self.farthest] {
            words.number(number);
        }
        words.optional(self.pilot_rate.as_ref().map(std::slice::from_ref));
    }

    pub(crate) fn read(&mut self, words: &mut Reader<'_>) -> Option<()> {
        let (labels, gradients) = (words.number()?, words.number()?);
        let (distance_squared, farthest) = (words.number()?, words.number()?);
        let mut pilot_rate = None;
        words.optional(&mut pilot_rate)?;
        let pilot_rate = pilot_rate.and_then(|rate| rate.first().copied());
        *self = Self { size: self.size, labels, gradients, distance_squared, farthest, pilot_rate };
        Some(())
    }

    /// Returns the schedule.
    pub fn rule(&self) -> StepSize {
        self.size
    }

    /// Returns whether the schedule needs distances and gradient norms.
    #[inline]
    pub fn is_auto(&self) -> bool {
        self.size == StepSize::Auto
    }

    /// Returns the step for the current gradient. The squared norms of the gradient and of its features matter for
    /// `Auto` only.
    #[inline]
    pub fn size(&self, gradient_squared: f64, features_squared: f64) -> f64 {
        match self.size {
            StepSize::Fixed(step) => step,
            StepSize::Auto => {
                let gradients = self.gradients + gradient_squared;
                if gradients == 0.0 { 0.0 } else { self.reach(features_squared) / gradients.sqrt() }
            }
            StepSize::InverseSqrt(step) => step / (self.labels + 1.0).sqrt(),
            StepSize::Pilot { .. } => self.present(),
        }
    }

    /// Records that the step was taken.
    #[inline]
    pub fn taken(&mut self, gradient_squared: f64, features_squared: f64) {
        self.labels += 1.0;
        if self.is_auto() {
            self.farthest = self.reach(features_squared);
            self.gradients += gradient_squared;
        }
    }

    /// Returns the largest distance yet; before the first step, one that moves the score by `FIRST_MOVE`.
    fn reach(&self, features_squared: f64) -> f64 {
        if self.farthest == 0.0 { FIRST_MOVE / features_squared.sqrt().max(f64::MIN_POSITIVE) } else { self.farthest }
    }

    /// Returns the weight of an observation in θ̄: the step, or its numerator for `Auto`.
    #[inline]
    pub fn weight(&self) -> f64 {
        match self.size {
            // Before the first gradient there is no distance yet. θ₁ rightly has weight 0.
            StepSize::Auto => self.farthest,
            _ => self.present(),
        }
    }

    #[inline]
    fn present(&self) -> f64 {
        match self.size {
            StepSize::Auto => 0.0,
            StepSize::Fixed(step) => step,
            StepSize::InverseSqrt(step) => step / (self.labels + 1.0).sqrt(),
            StepSize::Pilot { unit, u_max, .. } => unit / self.pilot_rate.unwrap_or(u_max).sqrt(),
        }
    }

    /// Records a move of θ by the change of its squared distance to the start.
    #[inline]
    pub fn moved(&mut self, change: f64) {
        self.distance_squared = (self.distance_squared + change).max(0.0);
        self.farthest = self.farthest.max(self.distance_squared.sqrt());
    }

    /// Records a move of θ by its new squared distance to the start.
    pub fn at_distance(&mut self, squared: f64) {
        self.distance_squared = squared;
        self.farthest = self.farthest.max(squared.sqrt());
    }

    /// Returns the end of the pilot's window, if it has not ended.
    pub fn pilot_end(&self) -> Option<u64> {
        match self.size {
            StepSize::Pilot { window, .. } if self.pilot_rate.is_none() => Some(window),
            _ => None,
        }
    }

    /// Ends the pilot's window, in which the mean probability was `rate`.
    pub fn end_pilot(&mut self, rate: f64) {
        // A window without queries carries no information, so the step stays the same.
        if let StepSize::Pilot { u_max, .. } = self.size {
            self.pilot_rate = Some(if 0.0 < rate { rate.min(u_max) } else { u_max });
        }
    }
}
