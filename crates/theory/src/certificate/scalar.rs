//! Verdicts on a pair whose prediction is one number.

use super::{Claim, Proof, Verdict, Witness};
use crate::convexity;
use crate::coordinate::{Coordinate, Label, Probability};
use crate::equivalent::Queried;
use crate::link::Link;
use crate::lipschitz;
use crate::loss::{Loss, Task};
use crate::numeric::search::{maximum, probes};
use crate::registry::Because;

/// How far beyond rounding a curvature must be negative to refute convexity, relative to its two terms.
const ROUNDING: f64 = 64.0 * f64::EPSILON;
/// A slope that shows that no small constant bounds it.
const STEEP: f64 = 1e6;

pub(super) fn verdict(pair: &Queried, claim: Claim) -> Verdict {
    match claim {
        Claim::Integrable => integrable(pair),
        Claim::Calibrated => calibrated(pair),
        Claim::ConvexInScore => convex_in_score(pair),
        Claim::ConvexInProbability => convex_in_probability(pair),
        Claim::Lipschitz => lipschitz(pair),
        Claim::Probability => probability(pair),
        Claim::Positive => positive(pair),
    }
}

fn proved(rule: &'static str, from: Vec<Because>) -> Verdict {
    Verdict::Proved(Proof { rule, from })
}

fn unknown(tried: impl Into<Because>) -> Verdict {
    Verdict::Unknown { tried: tried.into() }
}

fn integrable(pair: &Queried) -> Verdict {
    match (&pair.loss_facts().defined, &pair.rule_facts().bounded) {
        (Some(defined), Some(bounded)) => proved(
            "loss and rule depend on the parameters through one number, so U·ℓ′ has an antiderivative",
            vec![defined.clone(), bounded.clone()],
        ),
        _ => unknown("U·ℓ′ is a number wherever it was tried; that it is one everywhere could not be shown"),
    }
}

fn calibrated(pair: &Queried) -> Verdict {
    let (loss, rule) = (pair.loss_facts(), pair.rule_facts());
    if loss.task == Task::Regression {
        return calibrated_regression(pair);
    }
    if let (Some(convex), Some(falls), Some(bounded), Some(near)) =
        (&loss.convex, &loss.falls_at_zero, &rule.bounded, &rule.positive_near_zero)
    {
        return proved(
            "C̃′ = U·C′ keeps the sign of C′: the best wrong-side prediction is 0, and near 0 the right side is better",
            vec![convex.clone(), falls.clone(), bounded.clone(), near.clone()],
        );
    }
    let link = Link::general(pair);
    // A search knows ψ to about 1e-9 of the rule's size; NaN is no witness.
    let nothing = 1e-12 * rule.max;
    let flat = (1..=64).map(|i| f64::from(i) / 64.0).find(|z| link.value(*z) <= nothing);
    match flat {
        Some(z) => Verdict::Refuted(Witness {
            at: vec![z],
            coordinates: "z",
            quantity: "ψ(z), what being wrong costs at label bias z",
            found: link.value(z),
            relation: ">",
            needed: 0.0,
            because: vec![],
        }),
        None => unknown("H⁻ − H is positive at 64 biases; no theorem covers this loss"),
    }
}

fn calibrated_regression(pair: &Queried) -> Verdict {
    let rule = pair.rule_facts();
    // A zero at a single point does no harm; one on an interval does.
    match (&rule.positive, rule.zero_at.filter(|_| rule.support.is_some())) {
        (Some(positive), _) => proved(
            "the slope of the conditional risk is 2U(ŷ)(ŷ − E[y]), so the conditional mean stays its only minimizer",
            vec![positive.clone()],
        ),
        (None, Some(zero)) => Verdict::Refuted(Witness {
            at: vec![zero],
            coordinates: "prediction",
            quantity: "slope of the conditional risk at a prediction that is 1 below the conditional mean",
            found: 0.0,
            relation: "<",
            needed: 0.0,
            because: vec!["nothing is asked there, so a wrong prediction is not corrected".into()],
        }),
        (None, None) => unknown("whether U > 0 everywhere is not known"),
    }
}

fn convex_in_score(pair: &Queried) -> Verdict {
    if let Some(proof) = convexity::prove_in_score(pair) {
        return Verdict::Proved(proof);
    }
    if pair.loss_facts().task == Task::Regression {
        return regression_witness(pair)
            .map_or_else(|| unknown("no target that breaks it was found"), Verdict::Refuted);
    }
    let curvature = |s: f64| beyond_rounding(pair.curvature(s), score_terms(pair, s));
    let plain: Vec<f64> = (-40..=40).map(|i| f64::from(i) / 4.0).filter(|s| !pair.kinks().contains(s)).collect();
    let search = Search {
        coordinates: "s",
        quantity: "curvature of the equivalent loss in s",
        kink_at: |s| s,
        curvature: &curvature,
        plain,
        all: probes(pair.kinks()),
    };
    search.for_concavity(pair)
}

fn convex_in_probability(pair: &Queried) -> Verdict {
    if pair.loss_facts().task == Task::Regression {
        return unknown("a regression loss has no probability coordinate");
    }
    if let Some(proof) = convexity::prove_in_probability(pair) {
        return Verdict::Proved(proof);
    }
    let curvature = |r: f64| {
        let at = Probability::of_label(r, Label::Plus);
        beyond_rounding(pair.curvature_in_probability(at), probability_terms(pair, at))
    };
    let seen_at = |s: f64| Probability::of_margin(s).right;
    let kinks: Vec<f64> = pair.kinks().iter().map(|s| seen_at(*s)).collect();
    let plain: Vec<f64> = (1..20).map(|i| f64::from(i) / 20.0).filter(|r| !kinks.contains(r)).collect();
    // Beyond |s| = 30 the probability is within rounding of its edge.
    let all = probes(pair.kinks()).into_iter().filter(|s| s.abs() < 30.0).map(seen_at).collect();
    let search = Search {
        coordinates: "r",
        quantity: "curvature of the equivalent loss in the probability r of the label that occurred",
        kink_at: seen_at,
        curvature: &curvature,
        plain,
        all,
    };
    search.for_concavity(pair)
}

/// The curvature, or 0 where it is lost in the rounding of its terms.
fn beyond_rounding(curvature: f64, terms: f64) -> f64 {
    if curvature.abs() <= ROUNDING * terms || curvature.is_nan() { 0.0 } else { curvature }
}

fn score_terms(pair: &Queried, s: f64) -> f64 {
    let (slope, u) = (pair.loss().slope(s), pair.rule().at(s));
    // A curvature found from a typed expression has the rounding of the slopes it is made of, here and at 0.
    let rounding = u * (slope.abs() + pair.loss().slope(0.0).abs());
    (pair.rule().slope(s) * slope).abs() + (u * pair.loss().curvature(s)).abs() + rounding
}

fn probability_terms(pair: &Queried, at: Probability) -> f64 {
    let stretch = 1.0 / (at.right * at.wrong);
    score_terms(pair, at.margin()) * stretch * stretch
}

/// A search for a point at which a pair is not convex in one of its coordinates.
struct Search<'a> {
    coordinates: &'static str,
    quantity: &'static str,
    /// A margin in this coordinate.
    kink_at: fn(f64) -> f64,
    curvature: &'a dyn Fn(f64) -> f64,
    /// Points that are easy to read, tried first.
    plain: Vec<f64>,
    all: Vec<f64>,
}

impl Search<'_> {
    /// A downward jump of the slope at a kink, or a point of negative curvature; `Unknown` if neither is found.
    fn for_concavity(&self, pair: &Queried) -> Verdict {
        if let Some(witness) = pair.kinks().iter().find_map(|kink| self.downward_jump(pair, *kink)) {
            return Verdict::Refuted(witness);
        }
        let depth = |x: f64| -(self.curvature)(x);
        let plain = self.plain.iter().map(|x| (*x, depth(*x))).max_by(|a, b| a.1.total_cmp(&b.1));
        let deepest = plain.filter(|(_, depth)| 0.0 < *depth).or_else(|| maximum(&depth, &self.all));
        match deepest {
            Some((x, depth)) if 0.0 < depth => Verdict::Refuted(self.witness(x, self.quantity, -depth, vec![])),
            _ => {
                unknown(format!("no negative curvature at {} points, and no theorem covers this pair", self.all.len()))
            }
        }
    }

    fn downward_jump(&self, pair: &Queried, kink: f64) -> Option<Witness> {
        let (before, after) = (pair.slope(kink.next_down()), pair.slope(kink.next_up()));
        let reach = 0.01 * kink.abs().max(1.0);
        let scale = pair.slope(kink - reach).abs() + pair.slope(kink + reach).abs();
        let because =
            || vec![format!("slope {:.6} just before, {:.6} just after, in s", before + 0.0, after + 0.0).into()];
        (after - before < -1e-6 * scale)
            .then(|| self.witness((self.kink_at)(kink), "jump of the equivalent slope", after - before, because()))
    }

    fn witness(&self, at: f64, quantity: &'static str, found: f64, because: Vec<Because>) -> Witness {
        let coordinates = self.coordinates;
        Witness { at: vec![at], coordinates, quantity, found, relation: ">=", needed: 0.0, because }
    }
}

/// For squared error: a prediction and a target at which the curvature 2U + 2U′(ŷ − y) is negative.
fn regression_witness(pair: &Queried) -> Option<Witness> {
    let rule = pair.rule();
    let facts = rule.facts();
    let witness = |at, quantity, found| {
        Some(Witness {
            at,
            coordinates: "prediction, target",
            quantity,
            found,
            relation: ">=",
            needed: 0.0,
            because: vec![
                "a rule that fades favors targets on the far side: only a constant rule serves every target".into(),
            ],
        })
    };
    if let Some(&jump) = facts.jumps.iter().find(|jump| **jump < 0.0) {
        let target = jump + 1.0;
        let rise = rule.at(jump.next_up()) - rule.at(jump.next_down());
        return witness(vec![jump, target], "jump of the equivalent slope", -2.0 * rise);
    }
    let steep = |s: f64| {
        let u = rule.at(s);
        if u < 1e-3 { 0.0 } else { (rule.slope(s) / u).abs() }
    };
    // Away from kinks and rounding, so that anyone can see it by differences.
    let clear = |s: &f64| 0.05 < s.abs() && facts.kinks.iter().all(|k| 0.05 < (s - k).abs());
    let points = probes(&facts.kinks).into_iter().filter(clear);
    let s = points.filter(|s| 1e-12 < steep(*s)).max_by(|a, b| steep(*a).total_cmp(&steep(*b)))?;
    // At ŷ − y = −2U/U′ the two terms are 2U and −4U.
    let target = s + 2.0 * rule.at(s) / rule.slope(s);
    let found = 2.0 * rule.at(s) + 2.0 * rule.slope(s) * (s - target);
    witness(vec![s, target], "curvature of the equivalent loss in the prediction", found)
}

fn lipschitz(pair: &Queried) -> Verdict {
    if let Some(proof) = lipschitz::prove(pair) {
        return Verdict::Proved(proof);
    }
    let (loss, rule) = (pair.loss_facts(), pair.rule_facts());
    if loss.task == Task::Regression {
        let Some((s, u)) = maximum(&|s| pair.rule().at(s), &probes(&rule.jumps)).filter(|(_, u)| 0.0 < *u) else {
            return unknown("the rule asks for nothing at any point tried");
        };
        return Verdict::Refuted(Witness {
            at: vec![s, s + STEEP / u],
            coordinates: "prediction, target",
            quantity: "|slope| of the equivalent loss",
            found: 2.0 * STEEP,
            relation: "<=",
            needed: STEEP,
            because: vec!["the slope 2U(ŷ)(ŷ − y) grows with the target without bound".into()],
        });
    }
    let Some(proof) = lipschitz::refute(loss, rule) else {
        return unknown("no theorem covers how fast this loss steepens against this rule");
    };
    let mut because = vec![proof.rule.into()];
    because.extend(proof.from);
    // The first point far enough out, or the steepest that a number can hold.
    let steepest = (0..=1000).map(|i| -10_f64.powf(f64::from(i) * 0.01 - 1.0));
    let at = steepest
        .clone()
        .find(|s| STEEP < pair.steepness(*s) && pair.steepness(*s).is_finite())
        .or_else(|| {
            steepest
                .filter(|s| pair.steepness(*s).is_finite())
                .max_by(|a, b| pair.steepness(*a).total_cmp(&pair.steepness(*b)))
        })
        .unwrap_or(f64::NAN);
    let found = pair.steepness(at);
    let seen_at = match loss.coordinate {
        Coordinate::Score => at,
        Coordinate::Probability => Probability::of_margin(at).right,
    };
    Verdict::Refuted(Witness {
        at: vec![seen_at],
        coordinates: match loss.coordinate {
            Coordinate::Score => "s",
            Coordinate::Probability => "r",
        },
        quantity: "|slope| of the equivalent loss",
        found,
        relation: "<=",
        needed: STEEP.min(0.5 * found),
        because,
    })
}

fn probability(pair: &Queried) -> Verdict {
    let rule = pair.rule_facts();
    match &rule.bounded {
        Some(bounded) if rule.at_most <= 1.0 => {
            proved("0 ≤ U ≤ 1", vec![bounded.clone(), format!("U ≤ {}", rule.at_most).into()])
        }
        Some(_) if 1.0 < pair.rule().at(0.0) => Verdict::Refuted(Witness {
            at: vec![0.0],
            coordinates: "s",
            quantity: "U",
            found: pair.rule().at(0.0),
            relation: "<=",
            needed: 1.0,
            because: vec![],
        }),
        _ => unknown("no score outside [0, 1] was found, and no bound shows that there is none"),
    }
}

fn positive(pair: &Queried) -> Verdict {
    let rule = pair.rule_facts();
    match (&rule.positive, rule.zero_at) {
        (Some(positive), _) => proved("U > 0 at every finite score", vec![positive.clone()]),
        (None, Some(zero)) => Verdict::Refuted(Witness {
            at: vec![zero],
            coordinates: "s",
            quantity: "U",
            found: 0.0,
            relation: ">",
            needed: 0.0,
            because: vec![],
        }),
        (None, None) => unknown("no zero was found, and no theorem shows that there is none"),
    }
}
