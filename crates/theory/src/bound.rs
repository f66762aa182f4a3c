//! Steps, risk bounds and label budgets (§4.1, §4.3, §5.1, Appendix "Fixed-step calibration").
//!
//! D bounds the distance of the initial point from the optimum and G² the second moment of the loss gradient. T is the
//! number of observations, r the mean query rate and c the step constant of η = cD/(G√T).

/// The quantities on which the fixed-step bounds depend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundInputs {
    /// D.
    pub distance: f64,
    /// G.
    pub gradient: f64,
    /// T.
    pub horizon: f64,
    /// r, the mean of `r_T`.
    pub rate: f64,
    /// `U_max`.
    pub u_max: f64,
}

/// The two terms of the fixed-step bound (label `prop:SGD_converge`).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Terms {
    /// DG/(2c√T), from the distance of the initial point.
    pub start: f64,
    /// cDGr/(2√T), from the noise of the queried gradients.
    pub noise: f64,
}

impl Terms {
    /// Returns the sum of both terms, a bound on the excess equivalent risk.
    pub fn total(self) -> f64 {
        self.start + self.noise
    }
}

impl BoundInputs {
    /// Returns DG/(2√T).
    fn unit(&self) -> f64 {
        0.5 * self.distance * self.gradient / self.horizon.sqrt()
    }

    /// Returns the step size η = cD/(G√T).
    pub fn step(&self, c: f64) -> f64 {
        c * self.distance / (self.gradient * self.horizon.sqrt())
    }

    /// Returns c = `U_max`^{−1/2}, which needs only the largest query probability (label rem:choosing-c).
    pub fn feasible_c(&self) -> f64 {
        self.u_max.powf(-0.5)
    }

    /// Returns c = r^{−1/2}, the best choice if the mean query rate were known.
    pub fn oracle_c(&self) -> f64 {
        self.rate.powf(-0.5)
    }

    /// Returns the bound DG/(2√T)·(1/c + c r) on the excess equivalent risk (label eq:constant-c-bound).
    pub fn equivalent_risk(&self, c: f64) -> Terms {
        Terms { start: self.unit() / c, noise: self.unit() * c * self.rate }
    }

    /// Returns the bound if the gradient's moment is bounded only on average: `U_max` replaces r.
    pub fn weak_moment_risk(&self, c: f64) -> Terms {
        Terms { start: self.unit() / c, noise: self.unit() * c * self.u_max }
    }

    /// Returns DG `U_max`/√T, the bound for the pool at step D/(G√T) (label `prop:SGD_converge_pool`).
    pub fn pool_risk(&self) -> f64 {
        self.distance * self.gradient * self.u_max / self.horizon.sqrt()
    }

    /// Returns the expected number of labels, T·r.
    pub fn expected_labels(&self) -> f64 {
        self.horizon * self.rate
    }

    /// Returns the leading excess 0–1 risk (label eq:fixed-c-classification) from −H″(1/2) of the loss.
    ///
    /// Holds where U(0) = `U_max`; see [`off_peak`] for other rules.
    pub fn leading_risk(&self, c: f64, neg_h2_half: f64) -> f64 {
        let terms = self.equivalent_risk(c).total();
        (8.0 * terms / (self.u_max * neg_h2_half)).sqrt()
    }

    /// Returns the leading excess 0–1 risk of passive learning with the same number of labels.
    pub fn passive_leading_risk(&self, neg_h2_half: f64) -> f64 {
        (8.0 * self.distance * self.gradient / (neg_h2_half * self.expected_labels().sqrt())).sqrt()
    }

    /// Returns active over passive leading risk at the same number of labels (label eq:fixed-c-risk-ratio).
    pub fn matched_ratio(&self, c: f64) -> f64 {
        (self.rate.sqrt() / (2.0 * self.u_max) * (1.0 / c + c * self.rate)).sqrt()
    }

    /// Returns ρ = r/`U_max`.
    pub fn rho(&self) -> f64 {
        self.rate / self.u_max
    }

    /// Returns the smallest horizon at which the fixed-step bound is at most `excess`.
    pub fn horizon_for(&self, c: f64, excess: f64) -> f64 {
        let at_one = BoundInputs { horizon: 1.0, ..*self }.equivalent_risk(c).total();
        (at_one / excess) * (at_one / excess)
    }
}

/// Returns ρ^{1/4}√((1 + ρ)/2), the ratio at c = `U_max`^{−1/2} (label eq:feasible-risk-ratio).
pub fn feasible_ratio(rho: f64) -> f64 {
    rho.powf(0.25) * (0.5 * (1.0 + rho)).sqrt()
}

/// Returns √ρ, the ratio at the oracle's c.
pub fn oracle_ratio(rho: f64) -> f64 {
    rho.sqrt()
}

/// Returns ρ^{1/4}, the ratio at c = `U_max`^{−1/2} under the weak moment bound.
pub fn weak_feasible_ratio(rho: f64) -> f64 {
    rho.powf(0.25)
}

/// Returns ρ(1 + ρ)²/4, the labels needed for the same risk, active over passive, at c = `U_max`^{−1/2}.
pub fn feasible_budget_ratio(rho: f64) -> f64 {
    0.25 * rho * (1.0 + rho) * (1.0 + rho)
}

/// Returns ρ², the labels needed for the same risk, active over passive, at the oracle's c.
pub fn oracle_budget_ratio(rho: f64) -> f64 {
    rho * rho
}

/// Returns √(`U_max`/U(0)), a factor on the leading excess risk of a rule whose maximum is not at 0.
///
/// The leading terms above assume the maximum at 0, but ψ starts as U(0)·(−H″(1/2))/8·z² (label
/// `prop:equiv_surrogate`).
pub fn off_peak(u_max: f64, u_at_zero: f64) -> f64 {
    (u_max / u_at_zero).sqrt()
}

/// Returns (√(r̂/r) + √(r/r̂))/2, by which a rate estimate r̂ inflates the oracle's bound (label apd:step-calibration).
pub fn inflation(estimate: f64, rate: f64) -> f64 {
    let ratio = (estimate / rate).sqrt();
    0.5 * (ratio + 1.0 / ratio)
}
