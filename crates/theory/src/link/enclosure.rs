//! Rigorous bounds for ψ: outward-rounded slopes of the equivalent loss, summed over panels from 0 outward.
//!
//! Relative to the prediction 0, the prediction s at bias z costs D(s) = ∫₀ˢ C̃′. ψ̄ = H⁻ − H is the infimum of D over
//! s ≤ 0 less its infimum over all s, and ψ is the convex hull of ψ̄.

use crate::equivalent::Queried;
use crate::expression::{Interval, holds_on};
use crate::loss::Loss;

/// The exponent of 2 at which the outermost panel ends; beyond it only the sign of C̃′ is used.
const OUTERMOST: i32 = 30;
/// The maximum number of halvings of one panel on which D may turn.
const TURNING: u32 = 8;
/// The maximum number of such halvings over all panels.
const MAX_TURNINGS: u32 = 64;
/// The distance from 0 beyond which panels are halved at most three times.
const FAR: f64 = 1024.0;
/// The exponent of 2 at which the innermost panel ends.
const INNERMOST: i32 = -12;

/// The limits on the refinement of panels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// A panel is halved while its integral is less precise than this, relative to the sum up to it.
    precision: f64,
    /// The maximum number of halvings of a panel.
    halvings: u32,
}

impl Effort {
    /// The effort for 4 digits, about a millisecond or two.
    pub(crate) const QUICK: Effort = Effort { precision: 1e-5, halvings: 6 };
}

/// Bounds for ℓ̃′ on a panel and for its integral.
#[derive(Clone, Copy, Debug)]
struct SlopeBounds {
    slope: Interval,
    integral: Interval,
}

/// One step away from 0, on both sides.
#[derive(Clone, Copy, Debug)]
struct StepBounds {
    from: f64,
    to: f64,
    /// On [from, to].
    right: SlopeBounds,
    /// On [−to, −from].
    left: SlopeBounds,
}

/// Bounds for the infimum of D over one side of 0.
#[derive(Clone, Copy, Debug)]
struct Infimum {
    low: f64,
    high: f64,
}

/// Enclosures of the slope of an equivalent loss, from which ψ is bounded at every bias.
#[derive(Debug)]
pub(crate) struct EnclosedRisk<'a> {
    pair: &'a Queried,
    panels: Vec<StepBounds>,
    end: f64,
    /// The infimum of D over s ≤ 0 is at least minus this at every bias.
    wrong_side_gain: f64,
}

impl<'a> EnclosedRisk<'a> {
    /// Encloses the slopes of this pair.
    pub(crate) fn new(pair: &'a Queried, effort: Effort) -> Self {
        let mut edges: Vec<f64> = (INNERMOST..=OUTERMOST).map(|i| 2_f64.powi(i)).collect();
        let end = 2_f64.powi(OUTERMOST);
        edges.extend(pair.kinks().iter().map(|kink| kink.abs()).filter(|kink| 0.0 < *kink && *kink < end).take(100));
        edges.push(0.0);
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let mut risk = Self { pair, panels: vec![], end, wrong_side_gain: f64::INFINITY };
        let mut known = (0.0, 0.0);
        for edge in edges.windows(2) {
            // Far out the integral is small and the rounding error large.
            let halvings = if FAR < edge[1] { effort.halvings.min(3) } else { effort.halvings };
            risk.refine(edge[0], edge[1], Effort { halvings, ..effort }, &mut known);
        }
        // The infimum of functions that are affine in z is concave, so its minimum is at an end.
        let ends = [0.0, 1.0].map(|z| risk.infimum(wrong_side(z)).low);
        risk.wrong_side_gain = -ends[0].min(ends[1]);
        risk
    }

    /// Returns bounds for ψ̄(z) = H⁻ − H.
    pub(crate) fn cost_of_wrong_side(&self, z: f64) -> Interval {
        let (right, wrong) = (self.infimum(right_side(z)), self.infimum(wrong_side(z)));
        let cost = Interval::new(wrong.low, wrong.high) - Interval::new(right.low, right.high);
        // D(0) = 0 is a wrong-side prediction, so H⁻ − H = max(0, inf − inf).
        Interval::new(cost.low.max(0.0), cost.high.max(0.0))
    }

    /// Returns bounds for ψ(z), the convex hull of ψ̄.
    pub(crate) fn link(&self, z: f64) -> Interval {
        let cost = self.cost_of_wrong_side(z);
        if z == 1.0 {
            // A hull touches its function at the ends.
            return cost;
        }
        // −inf over s > 0 is convex in z, and ψ̄ exceeds it by no less than −gain.
        let right = self.infimum(right_side(z));
        let least = Interval::point(-right.high) - Interval::point(self.wrong_side_gain);
        Interval::new(least.low.max(0.0), cost.high)
    }

    fn refine(&mut self, from: f64, to: f64, effort: Effort, known: &mut (f64, f64)) {
        let panel = self.panel(from, to);
        let is_sharp = |side: SlopeBounds, known: f64| {
            width(side.integral) <= effort.precision * (known + magnitude(side.integral))
        };
        if effort.halvings == 0 || (is_sharp(panel.right, known.0) && is_sharp(panel.left, known.1)) {
            known.0 += magnitude(panel.right.integral);
            known.1 += magnitude(panel.left.integral);
            self.panels.push(panel);
            return;
        }
        let middle = f64::midpoint(from, to);
        let effort = Effort { halvings: effort.halvings - 1, ..effort };
        self.refine(from, middle, effort, known);
        self.refine(middle, to, effort, known);
    }

    fn panel(&self, from: f64, to: f64) -> StepBounds {
        StepBounds { from, to, right: self.side(from, to), left: self.side(-to, -from) }
    }

    fn side(&self, from: f64, to: f64) -> SlopeBounds {
        // At a kink the ends of the panel belong to other branches; they matter only on the slivers at the ends.
        let (inner_from, inner_to) = (from.next_up(), to.next_down());
        let length = |from: f64, to: f64| Interval::point(to) - Interval::point(from);
        let slope = known_only(self.pair.enclose(Interval::new(from, to)).slope);
        let slivers = slope * (length(from, inner_from) + length(inner_to, to));
        let width = length(inner_from, inner_to);
        let inner = self.pair.enclose(Interval::new(inner_from, inner_to));
        let plain = known_only(inner.slope * width);
        if !(inner.slope.defined && inner.curvature.defined) {
            return SlopeBounds { slope, integral: slivers + plain };
        }
        // f(x) − f(m) = f′(ξ)(x − m) integrates to at most the spread of f′ times width²/8.
        let middle = self.pair.enclose(Interval::point(f64::midpoint(from, to))).slope;
        let spread = (Interval::point(inner.curvature.high) - Interval::point(inner.curvature.low)).high;
        let error = Interval::new(-spread, spread) * width * width * Interval::point(0.125);
        SlopeBounds { slope, integral: slivers + intersection(plain, middle * width + error) }
    }

    /// Returns bounds for inf D over one side of 0.
    fn infimum(&self, weights: LabelWeights) -> Infimum {
        let least = Infimum { low: 0.0, high: 0.0 };
        let mut descent = Descent { sum: Interval::point(0.0), least, turnings: MAX_TURNINGS };
        for panel in &self.panels {
            self.descend(weights, panel, TURNING, &mut descent);
        }
        let Descent { sum, mut least, .. } = descent;
        if !self.never_falls_beyond_end(weights) {
            least.low = self.least_beyond_end(weights, sum).map_or(f64::NEG_INFINITY, |low| least.low.min(low));
        }
        least
    }

    /// Adds one panel to D, halving it where D may turn.
    fn descend(&self, weights: LabelWeights, panel: &StepBounds, halvings: u32, descent: &mut Descent) {
        let slope = weights.combine(panel.right.slope, panel.left.slope);
        let sign = self.sign(weights, panel, slope);
        let monotone = 0.0 <= sign.low || sign.high <= 0.0;
        if !monotone && 0 < halvings.min(descent.turnings) {
            descent.turnings -= 1;
            let middle = f64::midpoint(panel.from, panel.to);
            self.descend(weights, &self.panel(panel.from, middle), halvings - 1, descent);
            self.descend(weights, &self.panel(middle, panel.to), halvings - 1, descent);
            return;
        }
        let before = descent.sum;
        let integral = weights.combine(panel.right.integral, panel.left.integral);
        descent.sum = before + intersection(integral, sign * Interval::new(0.0, f64::INFINITY));
        descent.least.high = descent.least.high.min(descent.sum.high);
        descent.least.low = descent.least.low.min(descent.sum.low);
        if !monotone {
            let width = Interval::point(panel.to) - Interval::point(panel.from);
            descent.least.low = descent.least.low.min((before + slope * width).low);
        }
    }

    /// Returns bounds with the sign of D′ on a panel: its own, or that of C′ where C̃′ = U·C′ with U ≥ 0.
    fn sign(&self, weights: LabelWeights, panel: &StepBounds, slope: Interval) -> Interval {
        if 0.0 <= slope.low || slope.high <= 0.0 || self.pair.rule_facts().nonnegative.is_none() {
            return slope;
        }
        let own = known_only(self.own_slope(weights, Interval::new(panel.from, panel.to)));
        if 0.0 <= own.low || own.high <= 0.0 { own } else { slope }
    }

    /// Returns bounds for the slope of the conditional risk of the loss itself at distance `over` from 0.
    fn own_slope(&self, weights: LabelWeights, over: Interval) -> Interval {
        weights.combine(self.pair.loss().enclose(over).slope, self.pair.loss().enclose(-over).slope)
    }

    /// Returns whether C̃′ = U·C′ ≥ 0 is shown beyond the last panel.
    fn never_falls_beyond_end(&self, weights: LabelWeights) -> bool {
        let tail = Interval::new(self.end, f64::INFINITY);
        self.pair.rule_facts().nonnegative.is_some()
            && holds_on(tail, &|panel| {
                let slope = self.own_slope(weights, panel);
                slope.defined && 0.0 <= slope.low
            })
    }

    /// Returns a lower bound of D beyond the last panel: U is at most its maximum, and C is at least its own infimum.
    fn least_beyond_end(&self, weights: LabelWeights, at_end: Interval) -> Option<f64> {
        let facts = self.pair.rule_facts();
        facts.bounded.as_ref()?;
        let tail = Interval::new(self.end, f64::INFINITY);
        let falls = holds_on(tail, &|panel| {
            let slope = self.own_slope(weights, panel);
            slope.defined && slope.high <= 0.0
        });
        let own = |over: Interval| {
            let (right, left) = (self.pair.loss().enclose(over).value, self.pair.loss().enclose(-over).value);
            let (same, other) = if weights.mirrored { (left, right) } else { (right, left) };
            weights.same * same + weights.other * other
        };
        let fall = own(Interval::point(self.end)) - own(tail);
        let most = Interval::new(0.0, facts.at_most) * Interval::new(0.0, fall.high.max(0.0));
        (falls && most.high.is_finite()).then(|| (at_end - most).low)
    }
}

/// D at the end of the processed panels, and its infimum over them.
#[derive(Clone, Copy, Debug)]
struct Descent {
    sum: Interval,
    least: Infimum,
    /// The number of halvings left.
    turnings: u32,
}

/// The weights of the two labels for predictions on one side of 0.
#[derive(Clone, Copy, Debug)]
struct LabelWeights {
    same: Interval,
    other: Interval,
    /// `true` if predictions are negative.
    mirrored: bool,
}

impl LabelWeights {
    /// Returns D′ away from 0, from ℓ̃′ at a and at −a.
    fn combine(self, right: Interval, left: Interval) -> Interval {
        if self.mirrored { self.other * right - self.same * left } else { self.same * right - self.other * left }
    }
}

fn right_side(z: f64) -> LabelWeights {
    let half = Interval::point(0.5);
    let (one, z) = (Interval::point(1.0), Interval::point(z));
    LabelWeights { same: (one + z) * half, other: (one - z) * half, mirrored: false }
}

/// Returns the weights for s = −a, where the likelier label costs what the other costs at a.
fn wrong_side(z: f64) -> LabelWeights {
    LabelWeights { mirrored: true, ..right_side(z) }
}

/// Discards bounds that are not guaranteed to enclose a value.
fn known_only(interval: Interval) -> Interval {
    if interval.defined { interval } else { Interval::UNKNOWN }
}

fn width(interval: Interval) -> f64 {
    interval.high - interval.low
}

fn magnitude(interval: Interval) -> f64 {
    interval.high.abs().min(interval.low.abs())
}

fn intersection(one: Interval, other: Interval) -> Interval {
    Interval::new(one.low.max(other.low), one.high.min(other.high))
}
