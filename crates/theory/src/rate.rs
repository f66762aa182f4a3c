//! Logarithmic rates on the wrong side of the boundary, s = −a with a ≥ 0, and their comparison.
//!
//! A loss steepens there at the rate c(a) = ℓ″/|ℓ′|; a rule decays at the rate d(a) = −U′/U. The equivalent slope
//! is U·|ℓ′| = exp ∫(c − d), so c − d determines its growth, and with it convexity and Lipschitz bounds.
//! Every rate is k + w·σ(−a) + Σ hᵢμᵢ/(1 + μᵢa): three kinds of terms, each monotone in a. The weights are exact, so
//! rounding never affects a comparison at equality.

use std::cmp::Ordering;

use crate::numeric::exact::Exact;
use crate::registry::Because;

/// A rate k + w·σ(−a) + Σ hμ/(1 + μa), as a function of a ≥ 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// k.
    constant: Exact,
    /// w, the weight of σ(−a) = 1/(1 + eᵃ).
    sigmoid: Exact,
    /// Pairs (h, μ) with μ > 0, sorted by μ; no two have the same μ.
    hyperbolic: Vec<(Exact, f64)>,
}

/// A bound on a rate, with its reason.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The bound.
    pub rate: Rate,
    /// The reason why it holds.
    pub because: Because,
}

impl Bound {
    /// Creates a bound with its reason.
    pub fn new(rate: Rate, because: impl Into<Because>) -> Self {
        Self { rate, because: because.into() }
    }
}

/// The growth of a function with a given logarithmic rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// It tends to this multiple of its value at zero.
    Limit(f64),
    /// It exceeds every bound.
    Unbounded,
}

impl Rate {
    /// Returns the rate 0 of a constant function.
    pub fn zero() -> Self {
        Self::constant(0.0)
    }

    /// Returns the constant rate k.
    pub fn constant(k: f64) -> Self {
        Self::sigmoid(k, 0.0)
    }

    /// Returns the rate hμ/(1 + μa), for μ > 0.
    pub fn hyperbolic(h: f64, mu: f64) -> Self {
        Self { hyperbolic: vec![(Exact::from(h), mu)], ..Self::zero() }
    }

    /// Returns the rate k + w·σ(−a).
    pub fn sigmoid(k: f64, w: f64) -> Self {
        Self { constant: Exact::from(k), sigmoid: Exact::from(w), hyperbolic: Vec::new() }
    }

    /// Returns the sum of two rates, the rate of a product of functions.
    pub fn plus(&self, other: &Self) -> Self {
        let mut hyperbolic = self.hyperbolic.clone();
        for (h, mu) in &other.hyperbolic {
            match hyperbolic.iter_mut().find(|(_, known)| known == mu) {
                Some((weight, _)) => *weight = weight.plus(h),
                None => hyperbolic.push((h.clone(), *mu)),
            }
        }
        hyperbolic.retain(|(h, _)| h.sign() != Ordering::Equal);
        hyperbolic.sort_by(|x, y| x.1.total_cmp(&y.1));
        Self { constant: self.constant.plus(&other.constant), sigmoid: self.sigmoid.plus(&other.sigmoid), hyperbolic }
    }

    /// Returns the difference of two rates, the rate of a quotient of functions.
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    /// Returns the rate times a positive number, the rate of a power of a function.
    pub fn times(&self, factor: f64) -> Self {
        self.scaled(|term| term.times(factor))
    }

    /// Returns the rate of the reciprocal.
    pub fn negated(&self) -> Self {
        self.scaled(Exact::negated)
    }

    fn scaled(&self, scale: impl Fn(&Exact) -> Exact) -> Self {
        Self {
            constant: scale(&self.constant),
            sigmoid: scale(&self.sigmoid),
            hyperbolic: self.hyperbolic.iter().map(|(h, mu)| (scale(h), *mu)).collect(),
        }
    }

    /// Returns the value at a ≥ 0.
    pub fn at(&self, a: f64) -> f64 {
        let hyperbolic: f64 = self.hyperbolic.iter().map(|(h, mu)| h.approximate() / (1.0 / mu + a)).sum();
        self.constant.approximate() + self.sigmoid.approximate() * crate::numeric::stable::sigmoid(-a) + hyperbolic
    }

    /// Returns whether a comparison of terms shows k + w·σ(−a) + Σ hμ/(1 + μa) ≥ 0 for all a ≥ 0.
    pub fn is_nonnegative(&self) -> bool {
        let zero = Exact::default();
        let (mut positive, negative): (Vec<_>, Vec<_>) =
            self.hyperbolic.iter().cloned().partition(|(h, _)| h.sign() == Ordering::Greater);
        // The remaining negative terms are most negative at a = 0; the positive ones fall to 0 at infinity.
        let mut worst = self.constant.plus(&self.sigmoid.min(&zero).times(0.5));
        for (h, mu) in negative {
            // h₁μ₁/(1 + μ₁a) ≥ h₂μ₂/(1 + μ₂a) for all a ≥ 0 if h₁ ≥ h₂ and μ₁ ≥ μ₂.
            let mut deficit = h.negated();
            for (available, _) in positive.iter_mut().filter(|(_, larger)| mu <= *larger) {
                let covered = deficit.min(available);
                *available = available.minus(&covered);
                deficit = deficit.minus(&covered);
            }
            worst = worst.minus(&deficit.times(mu));
        }
        worst.sign() != Ordering::Less
    }

    /// Returns the limit behavior of exp ∫₀ᵃ rate as a → ∞.
    pub fn growth(&self) -> Growth {
        let power = self.hyperbolic.iter().fold(Exact::default(), |sum, (h, _)| sum.plus(h));
        match self.constant.sign().then(power.sign()) {
            Ordering::Greater => Growth::Unbounded,
            Ordering::Less => Growth::Limit(0.0),
            Ordering::Equal => {
                // ∫ σ(−a) da = log 2 over the half-line, and Π (1 + μa)^h → Π μ^h if Σ h = 0.
                let factors: f64 = self.hyperbolic.iter().map(|(h, mu)| mu.powf(h.approximate())).product();
                Growth::Limit(2_f64.powf(self.sigmoid.approximate()) * factors)
            }
        }
    }
}
