//! Logarithmic rates on the wrong side of the boundary, s = −a with a ≥ 0, and what follows from comparing them.
//!
//! A loss steepens there at the rate c(a) = ℓ″/|ℓ′|; a rule fades at the rate d(a) = −U′/U. The equivalent slope
//! is U·|ℓ′| = exp ∫(c − d), so its growth, and with it convexity and Lipschitz bounds, is read off c − d.
//! Every rate is k + w·σ(−a) + Σ hᵢμᵢ/(1 + μᵢa): three kinds of terms, each monotone in a. Weights are exact, so that a
//! comparison at equality is decided and not rounded.

use std::cmp::Ordering;

use crate::numeric::exact::Exact;
use crate::registry::Because;

/// k + w·σ(−a) + Σ hμ/(1 + μa), as a function of a ≥ 0.
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
        Self::sigmoid(k, 0.0)
    }

    /// hμ/(1 + μa), for μ > 0.
    pub fn hyperbolic(h: f64, mu: f64) -> Self {
        Self { hyperbolic: vec![(Exact::from(h), mu)], ..Self::zero() }
    }

    /// k + w·σ(−a).
    pub fn sigmoid(k: f64, w: f64) -> Self {
        Self { constant: Exact::from(k), sigmoid: Exact::from(w), hyperbolic: Vec::new() }
    }

    /// The sum of two rates, that of a product of functions.
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

    /// The difference of two rates, that of a quotient of functions.
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    /// The rate times a positive number, that of a power of a function.
    pub fn times(&self, factor: f64) -> Self {
        self.scaled(|term| term.times(factor))
    }

    /// The rate of the reciprocal.
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

    /// The value at a ≥ 0.
    pub fn at(&self, a: f64) -> f64 {
        let hyperbolic: f64 = self.hyperbolic.iter().map(|(h, mu)| h.approximate() / (1.0 / mu + a)).sum();
        self.constant.approximate() + self.sigmoid.approximate() * crate::numeric::stable::sigmoid(-a) + hyperbolic
    }

    /// Whether k + w·σ(−a) + Σ hμ/(1 + μa) ≥ 0 for all a ≥ 0, by comparing terms; `false` means "not shown".
    pub fn is_nonnegative(&self) -> bool {
        let zero = Exact::default();
        let (mut positive, negative): (Vec<_>, Vec<_>) =
            self.hyperbolic.iter().cloned().partition(|(h, _)| h.sign() == Ordering::Greater);
        // What is left that is negative is most so at a = 0; what is positive falls to 0 at infinity.
        let mut worst = self.constant.plus(&self.sigmoid.min(&zero).times(0.5));
        for (h, mu) in negative {
            // h₁μ₁/(1 + μ₁a) ≥ h₂μ₂/(1 + μ₂a) for all a ≥ 0 when h₁ ≥ h₂ and μ₁ ≥ μ₂.
            let mut owed = h.negated();
            for (have, _) in positive.iter_mut().filter(|(_, larger)| mu <= *larger) {
                let paid = owed.min(have);
                *have = have.minus(&paid);
                owed = owed.minus(&paid);
            }
            worst = worst.minus(&owed.times(mu));
        }
        worst.sign() != Ordering::Less
    }

    /// How exp ∫₀ᵃ rate behaves as a → ∞.
    pub fn growth(&self) -> Growth {
        let power = self.hyperbolic.iter().fold(Exact::default(), |sum, (h, _)| sum.plus(h));
        match self.constant.sign().then(power.sign()) {
            Ordering::Greater => Growth::Unbounded,
            Ordering::Less => Growth::Limit(0.0),
            Ordering::Equal => {
                // ∫ σ(−a) da = log 2 over the half-line, and Π (1 + μa)^h → Π μ^h when Σ h = 0.
                let factors: f64 = self.hyperbolic.iter().map(|(h, mu)| mu.powf(h.approximate())).product();
                Growth::Limit(2_f64.powf(self.sigmoid.approximate()) * factors)
            }
        }
    }
}
