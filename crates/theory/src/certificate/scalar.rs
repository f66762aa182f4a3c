//! Verdicts on a pair with a scalar prediction.

use super::calibrated::calibrated;
use super::{Claim, Proof, Verdict, Witness, convex};
use crate::coordinate::{Coordinate, Probability};
use crate::equivalent::Queried;
use crate::expression::{Enclosure, Function, Interval};
use crate::lipschitz;
use crate::loss::{Loss, LossTask};
use crate::numeric::search::{maximum, probes};
use crate::registry::Because;

/// The slope above which a witness counts as steep.
const STEEP: f64 = 1e6;

pub(super) fn verdict(pair: &Queried, claim: Claim) -> Verdict {
    match claim {
        Claim::Integrable => integrable(pair),
        Claim::Calibrated => calibrated(pair),
        Claim::ConvexInScore => convex::in_score(pair),
        Claim::ConvexInProbability => convex::in_probability(pair),
        Claim::Lipschitz => lipschitz(pair),
        Claim::Probability => probability(pair),
        Claim::Positive => positive(pair),
    }
}

pub(super) fn proved(rule: &'static str, from: Vec<Because>) -> Verdict {
    Verdict::Proved(Proof { rule, from })
}

pub(super) fn proved_or(proof: Option<Proof>, otherwise: impl FnOnce() -> Verdict) -> Verdict {
    proof.map_or_else(otherwise, Verdict::Proved)
}

pub(super) fn unknown(tried: impl Into<Because>) -> Verdict {
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

fn lipschitz(pair: &Queried) -> Verdict {
    proved_or(lipschitz::prove(pair), || match pair.loss_facts().task {
        LossTask::Regression => steep_regression(pair),
        LossTask::Classification => steep(pair),
    })
}

fn steep_regression(pair: &Queried) -> Verdict {
    let points = probes(&pair.rule_facts().jumps);
    let largest = maximum(&|s| pair.rule().at(s), &points).map(|(s, _)| s);
    let mut enclosed = largest.into_iter().chain(points).map(|s| (s, pair.rule().enclose(Interval::point(s)).value));
    let Some((s, u)) = enclosed.find(|(_, u)| u.defined && 0.0 < u.low) else {
        return unknown("no enclosure shows a score at which the rule asks");
    };
    let target = s + STEEP / u.low;
    let slope = Interval::point(2.0) * u * (Interval::point(target) - Interval::point(s));
    Verdict::Refuted(Witness {
        at: vec![s, target],
        coordinates: "prediction, target",
        quantity: "|slope| of the equivalent loss",
        found: slope.nearest_to(2.0 * STEEP),
        relation: "<=",
        needed: STEEP,
        enclosure: Some(slope),
        because: vec!["the slope 2U(ŷ)(ŷ − y) grows with the target without bound".into()],
    })
}

/// Refutes a bounded slope by a theorem on rates, with a steep point as illustration where one exists.
fn steep(pair: &Queried) -> Verdict {
    let loss = pair.loss_facts();
    let Some(proof) = lipschitz::refute(loss, pair.rule_facts()) else {
        return unknown("no theorem covers how fast this loss steepens against this rule");
    };
    let mut because: Vec<Because> = vec![proof.rule.into()];
    because.extend(proof.from);
    let seen_at = |s: f64| match loss.coordinate {
        Coordinate::Score => s,
        Coordinate::Probability => Probability::of_margin(s).right,
    };
    let witness = |at: f64, quantity, found: f64, relation, needed: f64, enclosure| {
        Verdict::Refuted(Witness {
            at: vec![at],
            coordinates: match loss.coordinate {
                Coordinate::Score => "s",
                Coordinate::Probability => "r",
            },
            quantity,
            found,
            relation,
            needed,
            enclosure,
            because: because.clone(),
        })
    };
    let steepness = |s: f64| {
        let slope = pair.enclose(Interval::point(s)).slope;
        let slope = match loss.coordinate {
            Coordinate::Score => slope,
            Coordinate::Probability => slope / Enclosure::variable(Interval::point(s)).apply(Function::Sigmoid).slope,
        };
        slope.absolute()
    };
    (0..=1000)
        .map(|i| -10_f64.powf(f64::from(i) * 0.01 - 1.0))
        .map(|s| (s, steepness(s)))
        .find(|(_, slope)| slope.defined && STEEP < slope.low && slope.high.is_finite())
        .map_or_else(
            || {
                let quantity = "limit of |slope| of the equivalent loss";
                witness(seen_at(f64::NEG_INFINITY), quantity, f64::INFINITY, "<", f64::INFINITY, None)
            },
            |(s, slope)| {
                let found = slope.nearest_to(pair.steepness(s));
                witness(seen_at(s), "|slope| of the equivalent loss", found, "<=", STEEP, Some(slope))
            },
        )
}

fn probability(pair: &Queried) -> Verdict {
    let rule = pair.rule_facts();
    let at_zero = pair.rule().enclose(Interval::point(0.0)).value;
    match &rule.bounded {
        Some(bounded) if rule.at_most <= 1.0 => {
            proved("0 ≤ U ≤ 1", vec![bounded.clone(), format!("U ≤ {}", rule.at_most).into()])
        }
        Some(_) if at_zero.defined && 1.0 < at_zero.low => Verdict::Refuted(Witness {
            at: vec![0.0],
            coordinates: "s",
            quantity: "U",
            found: at_zero.nearest_to(pair.rule().at(0.0)),
            relation: "<=",
            needed: 1.0,
            enclosure: Some(at_zero),
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
            enclosure: None,
            because: vec![],
        }),
        (None, None) => unknown("no zero was found, and no theorem shows that there is none"),
    }
}
