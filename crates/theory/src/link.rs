//! The surrogate link ψ: excess equivalent risk ε implies excess 0–1 risk at most ψ⁻¹(ε) (§2, §3.3, §4.3).
//!
//! A closed form is used where one is known. For any even U ≥ 0 and convex decreasing loss, H is concave and no convex
//! hull is needed. Then ψ″(z) = U(s*)·ψ₀″(z), with ψ₀ the link of the loss itself. Without a closed form of ψ₀, ψ is
//! the descent of the conditional risk from 0 to its minimizer. All other pairs use the general construction, the
//! convex hull of H⁻ − H.

mod enclosure;

use std::cell::OnceCell;

use crate::coordinate::Bias;
use crate::equivalent::Queried;
use crate::expression::Interval;
use crate::loss::{Loss, LossTask};
use crate::numeric::quadrature::{
    integrate, integrate_outwards, integrate_to_infinity, integrate_towards_zero, integrate_within,
};
use crate::pair;
use crate::risk::{Risk, keeps_minimizer, minimizer_of, weighted};

pub(crate) use enclosure::{Effort, EnclosedRisk};

/// The method that computes ψ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A formula.
    ClosedForm,
    /// ψ″ = U(s*)·ψ₀″, integrated.
    Identity,
    /// C̃(0) − C̃(s*), the conditional risk's descent, integrated.
    Descent,
    /// H⁻ − H on a grid and its convex hull, accepted where an enclosure agrees.
    General,
}

/// The link ψ of one pair.
#[derive(Debug)]
pub struct Link<'a> {
    pair: &'a Queried,
    method: Method,
    /// The grid of the general construction, if that is the method.
    general: Option<General<'a>>,
    enclosed: OnceCell<EnclosedRisk<'a>>,
}

/// H⁻ − H by search, and the corners of its convex hull.
#[derive(Debug)]
struct General<'a> {
    risk: Risk<'a>,
    hull: Vec<(f64, f64)>,
}

impl General<'_> {
    /// Returns the searched value where an enclosure agrees, else the middle of a narrow enclosure, or NaN.
    fn value(&self, z: f64, enclosure: Interval) -> f64 {
        let (cost, hull) = (self.risk.cost_of_wrong_side(z), interpolate(&self.hull, z));
        let searched = if cost < hull { cost } else { hull };
        // A search has its own rounding error, relative to the maximum of the rule.
        let slack = 1e-9 * searched.abs().max(self.risk.pair().rule_facts().max);
        if enclosure.low - slack <= searched && searched <= enclosure.high + slack {
            searched
        } else {
            sharp_middle(enclosure).unwrap_or(f64::NAN)
        }
    }
}

/// Returns the middle of an enclosure of ψ that is narrow enough to print 3 digits.
pub(crate) fn sharp_middle(enclosure: Interval) -> Option<f64> {
    let is_sharp = enclosure.high.is_finite() && enclosure.high - enclosure.low <= 1e-3 * enclosure.high;
    is_sharp.then(|| f64::midpoint(enclosure.low, enclosure.high))
}

/// The leading term of ψ at 0: coefficient·z^power.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Start {
    /// The coefficient.
    pub coefficient: f64,
    /// 2, or 1 for the hinge, whose H has a kink at 1/2.
    pub power: u8,
}

impl Start {
    fn value(self, z: f64) -> f64 {
        self.coefficient * z.powi(i32::from(self.power))
    }

    fn slope(self, z: f64) -> f64 {
        self.coefficient * f64::from(self.power) * z.powi(i32::from(self.power) - 1)
    }
}

/// The bias below which the two sides of a conditional risk's slope cancel to half their digits. There ψ equals its
/// leading term to the same accuracy.
const SMALL: f64 = 1e-8;

/// The number of grid steps on which the general construction evaluates H⁻ − H.
const GRID: u32 = 64;

impl<'a> Link<'a> {
    /// Creates the link with the best available method; `None` for regression, which has no classes.
    pub fn new(pair: &'a Queried) -> Option<Self> {
        if pair.loss_facts().task == LossTask::Regression {
            return None;
        }
        let closed = pair.closed_form().is_some_and(|form| form.link(Bias::new(0.5)).is_some());
        let known = pair.loss().link(Bias::new(0.5)).is_some();
        let method = match (closed, keeps_minimizer(pair)) {
            (true, _) => Method::ClosedForm,
            (false, true) if known => Method::Identity,
            (false, true) => Method::Descent,
            (false, false) => Method::General,
        };
        Some(Self::by(pair, method))
    }

    /// Creates the link by the general construction, even if a better method exists.
    pub fn general(pair: &'a Queried) -> Self {
        Self::by(pair, Method::General)
    }

    /// Creates the link by the identity; `None` unless the loss has a closed-form link and the identity applies.
    pub fn by_identity(pair: &'a Queried) -> Option<Self> {
        (pair.loss().link(Bias::new(0.5)).is_some() && keeps_minimizer(pair)).then(|| Self::by(pair, Method::Identity))
    }

    fn by(pair: &'a Queried, method: Method) -> Self {
        let general = (method == Method::General).then(|| {
            let risk = Risk::by_search(pair);
            let points = (0..=GRID).map(|i| f64::from(i) / f64::from(GRID));
            let hull = lower_hull(points.map(|z| (z, risk.cost_of_wrong_side(z))));
            General { risk, hull }
        });
        Self { pair, method, general, enclosed: OnceCell::new() }
    }

    /// Returns the pair of the link.
    pub fn pair(&self) -> &Queried {
        self.pair
    }

    /// Returns the method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns ψ(z) for 0 ≤ z ≤ 1.
    pub fn value(&self, z: f64) -> f64 {
        match self.method {
            Method::ClosedForm => self.closed(z).map_or(f64::NAN, |link| link.value),
            Method::Identity => self.integrated(Bias::new(z)),
            Method::Descent => self.descended(Bias::new(z)),
            Method::General => self.general.as_ref().map_or(f64::NAN, |general| general.value(z, self.enclose(z))),
        }
    }

    /// Returns outward-rounded bounds for ψ(z).
    pub fn enclose(&self, z: f64) -> Interval {
        self.enclosed.get_or_init(|| EnclosedRisk::new(self.pair, Effort::QUICK)).link(z)
    }

    /// Returns ψ(z) and its enclosure; the value is `None` if the enclosure is unbounded or excludes it.
    pub fn enclosed_value(&self, z: f64) -> (Option<f64>, Interval) {
        let (value, enclosure) = (self.value(z), self.enclose(z));
        let nearest = enclosure.nearest_to(value);
        // The computed value is rounded; the enclosure is rigorous.
        let agrees = (value - nearest).abs() <= 1e-9 * nearest;
        ((agrees && enclosure.high.is_finite()).then_some(nearest), enclosure)
    }

    /// Returns ψ′(z); infinite where ψ ends vertically.
    pub fn slope(&self, z: f64) -> f64 {
        match self.method {
            Method::ClosedForm => self.closed(z).map_or(f64::NAN, |link| link.slope),
            Method::Descent if z < SMALL => self.start().map_or(0.0, |start| start.slope(z)),
            Method::Identity | Method::Descent => self.integrated_slope(Bias::new(z)),
            Method::General => {
                let rise = |step: f64| {
                    let (low, high) = ((z - step).max(0.0), (z + step).min(1.0));
                    (self.value(high) - self.value(low)) / (high - low)
                };
                // A difference quotient that depends on the step is not a slope.
                let (slope, halved) = (rise(1e-4), rise(5e-5));
                if (slope - halved).abs() <= 1e-6 * slope.abs() { slope } else { f64::NAN }
            }
        }
    }

    /// Returns the least z with ψ(z) ≥ u, a bound on excess 0–1 risk; 1 if u ≥ ψ(1).
    pub fn inverse(&self, u: f64) -> f64 {
        if u.is_nan() {
            return f64::NAN;
        }
        if u <= 0.0 {
            return 0.0;
        }
        if self.value(1.0) <= u {
            return 1.0;
        }
        let start = self.start().map_or(0.5, |start| (u / start.coefficient).powf(1.0 / f64::from(start.power)));
        let (mut low, mut high) = (0.0, 1.0);
        let mut z = if 0.0 < start && start < 1.0 { start } else { 0.5 };
        // Bisection alone would have converged by then; only a noisy searched link needs more.
        for _ in 0..200 {
            let error = self.value(z) - u;
            if error < 0.0 {
                low = z;
            } else {
                high = z;
            }
            let step = z - error / self.slope(z);
            let next = if low <= step && step <= high { step } else { 0.5 * (low + high) };
            // Plain Newton can cycle in the last bits.
            if (next - z).abs() <= 4.0 * f64::EPSILON * z {
                return next;
            }
            z = next;
        }
        z
    }

    /// Returns the leading term of ψ at 0, where the identity applies (label `prop:equiv_surrogate`).
    pub fn start(&self) -> Option<Start> {
        if !keeps_minimizer(self.pair) {
            return None;
        }
        let zero = Bias::new(0.0);
        let linear = self.integrated_slope(zero);
        if 0.0 < linear {
            return Some(Start { coefficient: linear, power: 1 });
        }
        let coefficient = 0.125 * self.pair.rule().at(0.0) * self.neg_h2_half()?;
        self.enclosed_coefficient().contains(coefficient).then_some(Start { coefficient, power: 2 })
    }

    /// Returns bounds for U(0)·ℓ′(0)²/(2ℓ″(0)), widened by the rounding error of the value they are compared with.
    fn enclosed_coefficient(&self) -> Interval {
        let zero = Interval::point(0.0);
        let (u, loss) = (self.pair.rule().enclose(zero).value, self.pair.loss().enclose(zero));
        let half = Interval::point(0.5);
        let rounding = Interval::new(1.0 - 1e-12, 1.0 + 1e-12);
        half * u * loss.slope * loss.slope / loss.curvature * rounding
    }

    /// Returns −H″(1/2) of the loss itself, 4ψ₀″(0) = 4ℓ′(0)²/ℓ″(0); `None` if H has a kink there or it is unknown.
    pub fn neg_h2_half(&self) -> Option<f64> {
        let loss = self.pair.loss();
        let own = loss.link(Bias::new(0.0)).map(|link| link.curvature).or_else(|| {
            let smooth = keeps_minimizer(self.pair) && !self.pair.loss_facts().kinks.contains(&0.0);
            smooth.then(|| loss.slope(0.0) * loss.slope(0.0) / loss.curvature(0.0))
        })?;
        (0.0 < own && own.is_finite()).then_some(4.0 * own)
    }

    fn closed(&self, z: f64) -> Option<pair::LinkValue> {
        self.pair.closed_form()?.link(Bias::new(z))
    }

    /// Returns ψ(z) = ψ′(0+)·z + ∫₀ᶻ (z − t) U(s*(t)) ψ₀″(t) dt.
    ///
    /// The half next to 0 is integrated in t and the half next to z in x = z − t, so that both t and 1 − t keep their
    /// digits where they are small.
    fn integrated(&self, bias: Bias) -> f64 {
        let (loss, rule) = (self.pair.loss(), self.pair.rule());
        let curvature = |at: Bias| {
            let own = loss.link(at).map_or(f64::NAN, |link| link.curvature);
            if own == 0.0 { 0.0 } else { own * rule.at(loss.minimizer(at).unwrap_or(f64::NAN)) }
        };
        let kinks = self.pair.kinks().iter().filter(|k| 0.0 < **k);
        let edges: Vec<Bias> = kinks.filter_map(|k| loss.bias_of(*k)).collect();
        let near_zero = integrate_towards_zero(
            &|t| (bias.z - t) * curvature(Bias::new(t)),
            0.5 * bias.z,
            &edges.iter().map(|edge| edge.z).collect::<Vec<f64>>(),
        );
        let near_z = integrate_towards_zero(
            &|x| x * curvature(Bias { z: bias.z - x, gap: bias.gap + x }),
            0.5 * bias.z,
            &edges.iter().map(|edge| bias.beyond(*edge)).collect::<Vec<f64>>(),
        );
        self.integrated_slope(Bias::new(0.0)) * bias.z + near_zero + near_z
    }

    /// Returns ψ(z) = −∫₀^{s*} C̃′, with C̃′ = U·C′ and C the conditional risk of the loss at p = (1 + z)/2.
    fn descended(&self, bias: Bias) -> f64 {
        if let (Some(start), true) = (self.start(), bias.z < SMALL) {
            return start.value(bias.z);
        }
        let to = minimizer_of(&*self.pair.loss().object, bias);
        let descent = |t: f64| -0.5 * ((1.0 + bias.z) * self.pair.slope(t) - weighted(bias.gap, self.pair.slope(-t)));
        let breaks: Vec<f64> = self.pair.kinks().iter().map(|k| k.abs()).collect();
        if to <= 1.0 {
            // The two slopes agree in all but the last digits of z.
            integrate_within(&descent, 0.0, to, &breaks, 1e-13_f64.max(1e-15 / bias.z))
        } else if to.is_finite() {
            integrate_outwards(&descent, 0.0, to, &breaks)
        } else {
            integrate_to_infinity(&descent, 0.0, &breaks)
        }
    }

    /// Returns ψ′(z) = (ℓ̃(−s*) − ℓ̃(s*))/2 = ∫₀^{s*} U(t)(|ℓ′(t)| + |ℓ′(−t)|)/2 dt.
    fn integrated_slope(&self, bias: Bias) -> f64 {
        let to = minimizer_of(&*self.pair.loss().object, bias);
        let integrand = |t: f64| 0.5 * (self.pair.slope(t).abs() + self.pair.slope(-t).abs());
        let mut breaks: Vec<f64> = self.pair.kinks().iter().map(|k| k.abs()).collect();
        if to.is_finite() {
            breaks.extend([1.0, 4.0, 16.0]);
            return integrate(&integrand, 0.0, to, &breaks);
        }
        // If the tail still matters at 10⁵⁰, the integral diverges.
        let near = integrate_outwards(&integrand, 0.0, 1e3, &breaks);
        let tail = integrate(&integrand, 1e49, 1e50, &[]);
        if 1e-12 * near < tail {
            return f64::INFINITY;
        }
        integrate_to_infinity(&integrand, 0.0, &breaks)
    }
}

/// Returns the corners of the lower convex hull of points sorted by z.
fn lower_hull(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for point in points {
        while let [.., before, last] = hull[..] {
            let turn = (last.0 - before.0) * (point.1 - before.1) - (last.1 - before.1) * (point.0 - before.0);
            if 0.0 < turn {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

fn interpolate(corners: &[(f64, f64)], z: f64) -> f64 {
    let right = corners.partition_point(|corner| corner.0 < z);
    match (right.checked_sub(1).and_then(|i| corners.get(i)), corners.get(right)) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (z - a.0) / (b.0 - a.0),
        (None, Some(b)) => b.1,
        (_, None) => f64::NAN,
    }
}
