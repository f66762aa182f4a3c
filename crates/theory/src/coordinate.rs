//! Two coordinates for one prediction: the margin s and the probability r of the label that occurred.
//!
//! r = σ(s). A loss or rule in one coordinate maps to the other through the logit, and querying commutes with
//! that change: the slope gains the same factor ds/dr whether it is multiplied by U before or after.
//! Both r and 1 − r are stored, so that numbers near an edge keep their digits.

use crate::numeric::stable::sigmoid;

/// The coordinate in which a function is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinate {
    /// The margin s = y·ŷ.
    Score,
    /// The modeled probability r of the label that occurred.
    Probability,
}

/// The modeled probability of the label that occurred, and that of the other one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probability {
    /// r.
    pub right: f64,
    /// 1 − r, not computed from a rounded r.
    pub wrong: f64,
}

/// One of the two labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// y = +1.
    Plus,
    /// y = −1.
    Minus,
}

impl Label {
    /// Returns +1 or −1.
    pub fn sign(self) -> f64 {
        match self {
            Label::Plus => 1.0,
            Label::Minus => -1.0,
        }
    }
}

impl Probability {
    /// Creates it from the modeled probability q of y = +1 and the label that occurred.
    pub fn of_label(q: f64, label: Label) -> Self {
        match label {
            Label::Plus => Self { right: q, wrong: 1.0 - q },
            Label::Minus => Self { right: 1.0 - q, wrong: q },
        }
    }

    /// Creates it from the margin.
    pub fn of_margin(s: f64) -> Self {
        Self { right: sigmoid(s), wrong: sigmoid(-s) }
    }

    /// Returns the margin s = log(r/(1 − r)).
    pub fn margin(self) -> f64 {
        // Near 1/2 both logarithms nearly cancel; the difference r − (1 − r) is exact there.
        let difference = self.right - self.wrong;
        if difference.abs() < 0.5 { 2.0 * difference.atanh() } else { self.right.ln() - self.wrong.ln() }
    }

    /// Returns the smaller of the two probabilities.
    pub fn small(self) -> f64 {
        self.right.min(self.wrong)
    }

    /// Returns −log r, without forming 1 − (1 − r).
    pub fn surprise(self) -> f64 {
        if self.right < 0.5 { -self.right.ln() } else { -(-self.wrong).ln_1p() }
    }
}

/// The label bias z = 2p − 1 = |P(+1) − P(−1)|, stored together with 1 − z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bias {
    /// z.
    pub z: f64,
    /// 1 − z.
    pub gap: f64,
}

impl Bias {
    /// Creates it from z in [0, 1].
    pub fn new(z: f64) -> Self {
        Self { z, gap: 1.0 - z }
    }

    /// Returns z − z′, computed from whichever of z and 1 − z has more digits.
    pub fn beyond(self, other: Self) -> f64 {
        if self.z < 0.5 { self.z - other.z } else { other.gap - self.gap }
    }
}

/// A function's value and first two derivatives at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jet {
    /// f.
    pub value: f64,
    /// f′.
    pub slope: f64,
    /// f″.
    pub curvature: f64,
}

impl Jet {
    /// Converts a function of the margin to r: ds/dr = 1/(r(1 − r)), d²s/dr² = (r − (1 − r))/(r(1 − r))².
    pub fn through_logit(self, at: Probability) -> Self {
        let stretch = 1.0 / (at.right * at.wrong);
        Self {
            value: self.value,
            slope: self.slope * stretch,
            curvature: (self.curvature + self.slope * (at.right - at.wrong)) * stretch * stretch,
        }
    }
}
