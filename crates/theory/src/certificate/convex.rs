//! Convexity: a proof from facts, or a point at which an enclosure shows that the slope falls.

use super::scalar::{proved_or, unknown};
use super::{Verdict, Witness};
use crate::convexity;
use crate::coordinate::{Coordinate, Label, Probability};
use crate::equivalent::Queried;
use crate::expression::{Enclosure, Function, Interval};
use crate::loss::{Loss, LossTask, Squared};
use crate::numeric::search::probes;
use crate::registry::Because;

/// The quantity reported at a kink.
///
/// If the kink is not a double itself, the slope changes there even without a jump.
const SLOPE_CHANGE: &str = "change of the slope between the doubles next to it";
/// The number of deepest candidates of a search that are verified.
const MAX_CANDIDATES: usize = 400;

pub(super) fn in_score(pair: &Queried) -> Verdict {
    proved_or(convexity::prove_in_score(pair), || {
        if pair.loss_facts().task == LossTask::Regression {
            return regression_witness(pair)
                .map_or_else(|| unknown("no target that breaks it was found"), Verdict::Refuted);
        }
        let plain = (-40..=40).map(|i| f64::from(i) / 4.0).filter(|s| !pair.kinks().contains(s)).collect();
        let search = Search {
            pair,
            coordinate: Coordinate::Score,
            quantity: "curvature of the equivalent loss in s",
            plain,
            all: probes(pair.kinks()),
        };
        search.verdict()
    })
}

pub(super) fn in_probability(pair: &Queried) -> Verdict {
    if pair.loss_facts().task == LossTask::Regression {
        return unknown("a regression loss has no probability coordinate");
    }
    proved_or(convexity::prove_in_probability(pair), || {
        let seen_at = |s: f64| Probability::of_margin(s).right;
        let kinks: Vec<f64> = pair.kinks().iter().map(|s| seen_at(*s)).collect();
        // Beyond |s| = 30 the probability is within rounding of its edge.
        let all = probes(pair.kinks()).into_iter().filter(|s| s.abs() < 30.0).map(seen_at).collect();
        let search = Search {
            pair,
            coordinate: Coordinate::Probability,
            quantity: "curvature of the equivalent loss in the probability r of the label that occurred",
            plain: (1..20).map(|i| f64::from(i) / 20.0).filter(|r| !kinks.contains(r)).collect(),
            all,
        };
        search.verdict()
    })
}

/// A search for a point where a pair is not convex in one of its coordinates.
///
/// Floating-point evaluation proposes candidates; only an enclosure below 0 makes one a witness.
struct Search<'a> {
    pair: &'a Queried,
    coordinate: Coordinate,
    quantity: &'static str,
    /// Points with short decimals, tried first because they are easy to read.
    plain: Vec<f64>,
    all: Vec<f64>,
}

impl Search<'_> {
    fn verdict(&self) -> Verdict {
        let witness = self.pair.kinks().iter().find_map(|kink| self.downward_jump(*kink));
        let witness = witness.or_else(|| self.negative_curvature()).or_else(|| self.falling_slope());
        witness.map_or_else(
            || {
                unknown(format!(
                    "no enclosure of the curvature is negative at {} points, and no theorem covers this pair",
                    self.all.len()
                ))
            },
            Verdict::Refuted,
        )
    }

    /// Returns a witness if the slope in s jumps down at the kink; it then does so in every coordinate.
    fn downward_jump(&self, kink: f64) -> Option<Witness> {
        let (before, after) = (kink.next_down(), kink.next_up());
        let jump = self.pair.enclose(Interval::point(after)).slope - self.pair.enclose(Interval::point(before)).slope;
        let seen = self.slope_at(after) - self.slope_at(before);
        let (before, after) = (self.pair.slope(before), self.pair.slope(after));
        // A fall that is small relative to the slopes nearby comes from the curvature, not from a jump.
        let reach = 0.01 * kink.abs().max(1.0);
        let scale = self.pair.slope(kink - reach).abs() + self.pair.slope(kink + reach).abs();
        if !(is_below_zero(jump) && is_below_zero(seen) && after - before < -1e-6 * scale) {
            return None;
        }
        let because = format!("slope {:.6} just before, {:.6} just after, in s", before + 0.0, after + 0.0);
        let witness = |at| self.witness(vec![at], SLOPE_CHANGE, after - before, jump, vec![because.into()]);
        let r = Probability::of_margin(kink).right;
        Some(match self.coordinate {
            // A probability that rounds to 0 or 1 does not identify a point.
            Coordinate::Probability if 0.0 < r && r < 1.0 => witness(r),
            _ => Witness { coordinates: "s", ..witness(kink) },
        })
    }

    fn negative_curvature(&self) -> Option<Witness> {
        [&self.plain, &self.all].into_iter().find_map(|points| {
            let mut candidates: Vec<(f64, f64)> =
                points.iter().map(|x| (*x, self.curvature(*x))).filter(|(_, curvature)| *curvature < 0.0).collect();
            candidates.sort_by(|a, b| a.1.total_cmp(&b.1));
            candidates.into_iter().take(MAX_CANDIDATES).find_map(|(x, curvature)| {
                let enclosed = self.enclosed_curvature(x);
                is_below_zero(enclosed).then(|| self.witness(vec![x], self.quantity, curvature, enclosed, vec![]))
            })
        })
    }

    /// Searches for two points where the earlier has the larger slope, for falls that no curvature shows.
    fn falling_slope(&self) -> Option<Witness> {
        let mut steepest: Option<(f64, Interval)> = None;
        for s in probes(self.pair.kinks()).into_iter().filter(|s| s.abs() < 700.0) {
            let slope = self.slope_at(s);
            if let Some((before, larger)) = steepest {
                let change = slope - larger;
                if is_below_zero(change) {
                    let quantity = match self.coordinate {
                        Coordinate::Score => "change of the equivalent slope",
                        Coordinate::Probability => "change of the equivalent slope in r",
                    };
                    let middle = f64::midpoint(change.low, change.high);
                    let coordinates = "from s, to s";
                    let witness = self.witness(vec![before, s], quantity, middle, change, vec![]);
                    return Some(Witness { coordinates, ..witness });
                }
            }
            if slope.defined && steepest.is_none_or(|(_, larger)| larger.low < slope.low) {
                steepest = Some((s, slope));
            }
        }
        None
    }

    fn curvature(&self, x: f64) -> f64 {
        match self.coordinate {
            Coordinate::Score => self.pair.curvature(x),
            Coordinate::Probability => self.pair.curvature_in_probability(Probability::of_label(x, Label::Plus)),
        }
    }

    fn enclosed_curvature(&self, x: f64) -> Interval {
        let at = Interval::point(x);
        match self.coordinate {
            Coordinate::Score => self.pair.enclose(at).curvature,
            Coordinate::Probability => {
                let wrong = Interval::point(1.0) - at;
                let equivalent = self.pair.enclose(at.natural_logarithm() - wrong.natural_logarithm());
                let stretch = Interval::point(1.0) / (at * wrong);
                (equivalent.curvature + equivalent.slope * (at - wrong)) * stretch * stretch
            }
        }
    }

    /// Returns the slope in this coordinate, at a margin.
    fn slope_at(&self, s: f64) -> Interval {
        let slope = self.pair.enclose(Interval::point(s)).slope;
        // U·ℓ′ is the slope where the rule is continuous.
        let continuous = self.pair.rule().enclose(Interval::point(s)).slope.defined;
        let slope = if continuous { slope } else { Interval::UNKNOWN };
        match self.coordinate {
            Coordinate::Score => slope,
            Coordinate::Probability => slope / Enclosure::variable(Interval::point(s)).apply(Function::Sigmoid).slope,
        }
    }

    fn witness(
        &self,
        at: Vec<f64>,
        quantity: &'static str,
        found: f64,
        enclosure: Interval,
        because: Vec<Because>,
    ) -> Witness {
        Witness {
            at,
            coordinates: match self.coordinate {
                Coordinate::Score => "s",
                Coordinate::Probability => "r",
            },
            quantity,
            found: enclosure.nearest_to(found),
            relation: ">=",
            needed: 0.0,
            enclosure: Some(enclosure),
            because,
        }
    }
}

/// Searches for a prediction and a target where the curvature 2U + 2U′(ŷ − y) of squared error is negative.
fn regression_witness(pair: &Queried) -> Option<Witness> {
    let rule = pair.rule();
    let facts = pair.rule_facts();
    let witness = |at, quantity, found: f64, enclosure: Interval| {
        is_below_zero(enclosure).then(|| Witness {
            at,
            coordinates: "prediction, target",
            quantity,
            found: enclosure.nearest_to(found),
            relation: ">=",
            needed: 0.0,
            enclosure: Some(enclosure),
            because: vec![
                "a rule that fades favors targets on the far side: only a constant rule serves every target".into(),
            ],
        })
    };
    if let Some(&jump) = facts.jumps.iter().find(|jump| **jump < 0.0) {
        let target = jump + 1.0;
        let slope = |s: f64| {
            let at = Interval::point(s);
            rule.enclose(at).value * Squared { target }.enclose(at).slope
        };
        let rise = rule.at(jump.next_up()) - rule.at(jump.next_down());
        let change = slope(jump.next_up()) - slope(jump.next_down());
        return witness(vec![jump, target], SLOPE_CHANGE, -2.0 * rise, change);
    }
    let steep = |s: f64| {
        let u = rule.at(s);
        if u < 1e-3 { 0.0 } else { (rule.slope(s) / u).abs() }
    };
    // Away from kinks and rounding, so that anyone can confirm it with finite differences.
    let clear = |s: &f64| 0.05 < s.abs() && facts.kinks.iter().all(|k| 0.05 < (s - k).abs());
    let mut points: Vec<f64> = probes(&facts.kinks).into_iter().filter(clear).filter(|s| 0.0 < steep(*s)).collect();
    // Reversed so that the stable sort prefers the positive of two equally steep points.
    points.reverse();
    points.sort_by(|a, b| steep(*b).total_cmp(&steep(*a)));
    points.into_iter().take(MAX_CANDIDATES).find_map(|s| {
        // At ŷ − y = −2U/U′ the two terms are 2U and −4U.
        let target = s + 2.0 * rule.at(s) / rule.slope(s);
        let enclosed = rule.enclose(Interval::point(s));
        let two = Interval::point(2.0);
        let curvature = two * enclosed.value + two * enclosed.slope * (Interval::point(s) - Interval::point(target));
        let found = 2.0 * rule.at(s) + 2.0 * rule.slope(s) * (s - target);
        witness(vec![s, target], "curvature of the equivalent loss in the prediction", found, curvature)
    })
}

/// Returns whether an enclosed number certainly exists and is negative.
fn is_below_zero(enclosure: Interval) -> bool {
    enclosure.defined && enclosure.high < 0.0
}
