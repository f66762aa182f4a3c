//! Logarithmic rates on the wrong side of the boundary, s = −a with a ≥ 0, and what follows from comparing them.
//!
//! A loss steepens there at the rate c(a) = ℓ″/|ℓ′|; a rule fades at the rate d(a) = −U′/U. The equivalent slope
//! is U·|ℓ′| = exp ∫(c − d), so its growth, and with it convexity and Lipschitz bounds, is read off c − d.
//! Every rate is k + w·σ(−a) + Σ hᵢ/(bᵢ + a): three kinds of terms, each monotone in a.

use crate::expression::directed::{product_down, product_up, quotient_up, sum_down, sum_up};
use crate::registry::Because;

/// k + w·σ(−a) + Σ h/(b + a), as a function of a ≥ 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// k.
    pub constant: f64,
    /// w, the weight of σ(−a) = 1/(1 + eᵃ).
    pub sigmoid: f64,
    /// Pairs (h, b) with b > 0.
    pub hyperbolic: Vec<(f64, f64)>,
}

/// A bound on a rate, with its reason.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The bound.
    pub rate: Rate,
    /// Why it holds.
    pub because: Because,
}

impl Bound {
    /// A bound and its reason.
    pub fn new(rate: Rate, because: impl Into<Because>) -> Self {
        Self { rate, because: because.into() }
    }
}

/// How a function grows that has a given logarithmic rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// It tends to this multiple of its value at zero.
    Limit(f64),
    /// It exceeds every bound.
    Unbounded,
}

impl Rate {
    /// 0: a function that stands still.
    pub fn zero() -> Self {
        Self::constant(0.0)
    }

    /// k.
    pub fn constant(k: f64) -> Self {
        Self { constant: k, sigmoid: 0.0, hyperbolic: Vec::new() }
    }

    /// 1/(b + a).
    pub fn hyperbolic(b: f64) -> Self {
        Self { constant: 0.0, sigmoid: 0.0, hyperbolic: vec![(1.0, b)] }
    }

    /// k + w·σ(−a).
    pub fn sigmoid(k: f64, w: f64) -> Self {
        Self { constant: k, sigmoid: w, hyperbolic: Vec::new() }
    }

    /// The sum of two rates, that of a product of functions; rounded up, so that an upper bound stays one.
    pub fn plus_up(&self, other: &Self) -> Self {
        self.combine(other, sum_up)
    }

    /// The same, rounded down.
    pub fn plus_down(&self, other: &Self) -> Self {
        self.combine(other, sum_down)
    }

    /// The rate of a quotient of functions, rounded up.
    pub fn minus_up(&self, other: &Self) -> Self {
        self.plus_up(&other.negated())
    }

    /// The same, rounded down.
    pub fn minus_down(&self, other: &Self) -> Self {
        self.plus_down(&other.negated())
    }

    /// The rate times a number, that of a power of a function, rounded up.
    pub fn times_up(&self, factor: f64) -> Self {
        self.scaled(|term| product_up(term, factor))
    }

    /// The same, rounded down.
    pub fn times_down(&self, factor: f64) -> Self {
        self.scaled(|term| product_down(term, factor))
    }

    /// The rate of the reciprocal.
    pub fn negated(&self) -> Self {
        self.scaled(|term| -term)
    }

    /// Every kind of term is non-negative, so rounding each weight one way rounds the sum that way.
    fn combine(&self, other: &Self, add: fn(f64, f64) -> f64) -> Self {
        let mut hyperbolic = self.hyperbolic.clone();
        for &(h, b) in &other.hyperbolic {
            match hyperbolic.iter_mut().find(|(_, offset)| *offset == b) {
                Some((weight, _)) => *weight = add(*weight, h),
                None => hyperbolic.push((h, b)),
            }
        }
        hyperbolic.retain(|(h, _)| *h != 0.0);
        hyperbolic.sort_by(|x, y| x.1.total_cmp(&y.1));
        Self { constant: add(self.constant, other.constant), sigmoid: add(self.sigmoid, other.sigmoid), hyperbolic }
    }

    fn scaled(&self, scale: impl Fn(f64) -> f64) -> Self {
        Self {
            constant: scale(self.constant),
            sigmoid: scale(self.sigmoid),
            hyperbolic: self.hyperbolic.iter().map(|(h, b)| (scale(*h), *b)).filter(|(h, _)| *h != 0.0).collect(),
        }
    }

    /// The value at a ≥ 0.
    pub fn at(&self, a: f64) -> f64 {
        let hyperbolic: f64 = self.hyperbolic.iter().map(|(h, b)| h / (b + a)).sum();
        self.constant + self.sigmoid * crate::numeric::stable::sigmoid(-a) + hyperbolic
    }

    /// Whether k + w·σ(−a) + Σ h/(b + a) ≥ 0 for all a ≥ 0, by comparing terms; `false` means "not shown".
    pub fn is_nonnegative(&self) -> bool {
        let mut positive: Vec<(f64, f64)> = self.hyperbolic.iter().copied().filter(|(h, _)| 0.0 < *h).collect();
        let mut unpaid = Vec::new();
        for &(h, b) in self.hyperbolic.iter().filter(|(h, _)| *h < 0.0) {
            // h₁/(b₁ + a) ≥ h₂/(b₂ + a) for all a ≥ 0 when h₁ ≥ h₂ and b₁ ≤ b₂.
            let mut owed = -h;
            for (have, offset) in &mut positive {
                if *offset <= b {
                    let paid = owed.min(*have);
                    *have = sum_down(*have, -paid);
                    owed = sum_up(owed, -paid);
                }
            }
            if 0.0 < owed {
                unpaid.push((owed, b));
            }
        }
        // What is left that is negative is most so at a = 0; what is positive falls to 0 at infinity.
        let mut worst = sum_down(self.constant, 0.5 * self.sigmoid.min(0.0));
        for (h, b) in unpaid {
            worst = sum_down(worst, -quotient_up(h, b));
        }
        0.0 <= worst
    }

    /// How exp ∫₀ᵃ rate behaves as a → ∞.
    pub fn growth(&self) -> Growth {
        let power: f64 = self.hyperbolic.iter().map(|(h, _)| h).sum();
        if 0.0 < self.constant || (self.constant == 0.0 && 0.0 < power) {
            Growth::Unbounded
        } else if self.constant < 0.0 || power < 0.0 {
            Growth::Limit(0.0)
        } else {
            // ∫ σ(−a) da = log 2 over the half-line, and Π ((b + a)/b)^h → Π b^{−h} when Σ h = 0.
            let offsets: f64 = self.hyperbolic.iter().map(|(h, b)| b.powf(-h)).product();
            Growth::Limit(2_f64.powf(self.sigmoid) * offsets)
        }
    }
}
