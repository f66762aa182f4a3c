//! Conditional risks: `C_p`, H, H⁻ and their minimizers (Appendix "Surrogate Property").
//!
//! With p the probability of y = +1 at one feature, the prediction s costs `C_p`(s) = p ℓ̃(s) + (1 − p) ℓ̃(−s).

use crate::coordinate::Bias;
use crate::equivalent::Queried;
use crate::expression::Interval;
use crate::loss::{Loss, LossTask};
use crate::numeric::quadrature::integrate_within;
use crate::numeric::search::{bisect, probes};

/// Returns `C_p`(s) = p ℓ̃(s) + (1 − p) ℓ̃(−s).
pub fn conditional_risk(loss: &dyn Loss, p: f64, s: f64) -> f64 {
    weighted(p, loss.value(s)) + weighted(1.0 - p, loss.value(-s))
}

/// Returns whether the wrong-side optimum is the prediction 0 and the right-side optimum is that of the loss itself.
///
/// C̃′ = U·C′ keeps the sign of C′ for even U ≥ 0, and C is convex if ℓ is (label `prop:equiv_surrogate`).
pub fn keeps_minimizer(pair: &Queried) -> bool {
    let facts = pair.loss_facts();
    facts.task == LossTask::Classification
        && facts.convex.is_some()
        && facts.decreasing.is_some()
        && pair.rule_facts().bounded.is_some()
}

/// Returns s*(p) ≥ 0 of a convex decreasing loss: its closed form, or the sign change of the slope of `C_p`.
pub(crate) fn minimizer_of(loss: &dyn Loss, bias: Bias) -> f64 {
    if let Some(s) = loss.minimizer(bias) {
        return s;
    }
    let slope = |s: f64| 0.5 * ((1.0 + bias.z) * loss.slope(s) - weighted(bias.gap, loss.slope(-s)));
    if 0.0 <= slope(0.0) {
        return 0.0;
    }
    let far = (0..40).map(|i| 2_f64.powi(i)).find(|s| 0.0 <= slope(*s));
    // A slope that only underflows is not 0: the risk keeps falling.
    let reaches_zero = |far: &f64| 0.0 < bias.gap || loss.enclose(Interval::point(*far)).slope == Interval::point(0.0);
    far.filter(reaches_zero).map_or(f64::INFINITY, |far| bisect(&slope, 0.0, far))
}

/// The conditional risks of one pair.
#[derive(Debug)]
pub struct Risk<'a> {
    pair: &'a Queried,
    /// Losses at many predictions, for pairs whose minimizers must be searched for.
    table: Vec<RiskRow>,
}

/// The values ℓ̃(s) and ℓ̃(−s).
#[derive(Clone, Copy, Debug)]
struct RiskRow {
    s: f64,
    value: f64,
    mirrored: f64,
}

/// The relative error of ℓ̃ between two neighboring rows that suffices for a search.
const ROUGH: f64 = 1e-11;

/// The predictions among which a search minimizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Any,
    NotPositive,
    Positive,
}

impl<'a> Risk<'a> {
    /// Uses known facts about the loss, and tabulates it only if they are not sufficient.
    pub fn new(pair: &'a Queried) -> Self {
        if keeps_minimizer(pair) { Self { pair, table: vec![] } } else { Self::by_search(pair) }
    }

    /// Tabulates the loss for a search, even if facts about it are known.
    pub fn by_search(pair: &'a Queried) -> Self {
        let mut points = probes(pair.kinks());
        points.extend(points.clone().iter().map(|s| -s));
        // Losses with heavy tails have their infimum further out than the probes.
        points.extend((5..=7).flat_map(|i| [10_f64.powi(i), -10_f64.powi(i)]));
        // The boundary itself belongs to both sides, kink or not.
        points.push(0.0);
        let is_number = |s: f64| pair.slope(s).is_finite() && pair.loss().value(s).is_finite();
        points.retain(|s| is_number(*s) && is_number(-s));
        points.sort_by(f64::total_cmp);
        points.dedup();
        // Integrating from each point to the next is far cheaper than integrating to infinity from each.
        let zero = points.partition_point(|s| *s < 0.0);
        let base = pair.value(points[zero]);
        let mut values = vec![base; points.len()];
        let rise = |from: f64, to: f64| integrate_within(&|t| pair.slope(t), from, to, pair.kinks(), ROUGH);
        for i in zero + 1..points.len() {
            values[i] = values[i - 1] + rise(points[i - 1], points[i]);
        }
        for i in (0..zero).rev() {
            values[i] = values[i + 1] - rise(points[i], points[i + 1]);
        }
        let last = points.len() - 1;
        let row = |i: usize| RiskRow { s: points[i], value: values[i], mirrored: values[last - i] };
        Self { pair, table: (0..points.len()).map(row).collect() }
    }

    /// Returns the pair.
    pub(crate) fn pair(&self) -> &Queried {
        self.pair
    }

    /// Returns ℓ̃(s), computed from the nearest row.
    fn value(&self, s: f64) -> f64 {
        let next = self.table.partition_point(|row| row.s < s).min(self.table.len() - 1);
        let row = self.table[next];
        let rise = |from: f64, to: f64| integrate_within(&|t| self.pair.slope(t), from, to, self.pair.kinks(), ROUGH);
        if row.s < s { row.value + rise(row.s, s) } else { row.value - rise(s, row.s) }
    }

    /// Returns s*(p), a minimizer of `C_p`.
    pub fn minimizer(&self, p: f64) -> f64 {
        if !self.table.is_empty() {
            return self.search(p, Side::Any).0;
        }
        let (sign, bias) = if p < 0.5 {
            (-1.0, Bias { z: 1.0 - 2.0 * p, gap: 2.0 * p })
        } else {
            (1.0, Bias { z: 2.0 * p - 1.0, gap: 2.0 * (1.0 - p) })
        };
        if bias.z == 0.0 {
            return 0.0;
        }
        let s = minimizer_of(&*self.pair.loss().object, bias);
        // Beyond the band of a rule nothing is queried and the risk is flat; the minimizer is at its edge.
        sign * self.pair.rule_facts().support.map_or(s, |edge| s.min(edge))
    }

    /// Returns H(p) = inf `C_p`.
    pub fn bayes(&self, p: f64) -> f64 {
        if !self.table.is_empty() {
            return self.search(p, Side::Any).1;
        }
        let s = self.minimizer(p);
        // An infinite minimizer means that p is 0 or 1, and only the side without loss counts.
        if s.is_infinite() { self.pair.value(f64::INFINITY) } else { conditional_risk(self.pair, p, s) }
    }

    /// Returns H⁻(p), the infimum over predictions of the wrong sign.
    pub fn wrong_side(&self, p: f64) -> f64 {
        if self.table.is_empty() {
            return self.pair.value(0.0);
        }
        self.search(p.max(1.0 - p), Side::NotPositive).1
    }

    /// Returns ψ̄ = H⁻ − H at p = (1 + z)/2, by search.
    pub(crate) fn cost_of_wrong_side(&self, z: f64) -> f64 {
        let p = 0.5 * (1.0 + z);
        let wrong = self.search(p, Side::NotPositive).1;
        let cost = wrong - self.search(p, Side::Positive).1;
        // `max` would turn NaN into 0.
        if cost < 0.0 { 0.0 } else { cost }
    }

    /// Returns the minimizer and minimum of `C_p` near the best row.
    fn search(&self, p: f64, side: Side) -> (f64, f64) {
        let allowed = |s: f64| match side {
            Side::Any => true,
            Side::NotPositive => s <= 0.0,
            Side::Positive => 0.0 < s,
        };
        let rows: Vec<&RiskRow> = self.table.iter().filter(|row| allowed(row.s)).collect();
        let cost = |row: &RiskRow| weighted(p, row.value) + weighted(1.0 - p, row.mirrored);
        let Some(best) = (0..rows.len()).min_by(|i, j| cost(rows[*i]).total_cmp(&cost(rows[*j]))) else {
            return (f64::NAN, f64::NAN);
        };
        let (low, high) = (rows[best.saturating_sub(1)].s, rows[(best + 1).min(rows.len() - 1)].s);
        let slope = |s: f64| weighted(p, self.pair.slope(s)) - weighted(1.0 - p, self.pair.slope(-s));
        if slope(low) < 0.0 && 0.0 < slope(high) {
            let s = bisect(&slope, low, high);
            let polished = weighted(p, self.value(s)) + weighted(1.0 - p, self.value(-s));
            if polished < cost(rows[best]) {
                return (s, polished);
            }
        }
        (rows[best].s, cost(rows[best]))
    }
}

/// Returns the product, where a weight of 0 takes precedence over an infinite loss.
pub(crate) fn weighted(weight: f64, loss: f64) -> f64 {
    if weight == 0.0 { 0.0 } else { weight * loss }
}
