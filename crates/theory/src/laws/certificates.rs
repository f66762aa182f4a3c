//! Laws of certificates: witnesses refute when evaluated again, and proofs survive attempts to break them.

use super::{Broken, agree, at_most, tries};
use crate::certificate::{Claim, Verdict, Witness, certify};
use crate::coordinate::{Coordinate, Probability};
use crate::equivalent::Queried;
use crate::loss::{Loss, LossTask, Squared};

pub(super) fn witnesses_refute(pair: &Queried) -> Result<(), Broken> {
    for certified in certify(pair).claims {
        if let Verdict::Refuted(witness) = certified.verdict {
            if witness.found.is_infinite() {
                // A limit that follows from a theorem; the facts of the theorem must be reported.
                let facts = witness.because.len() as f64;
                at_most("the facts behind a limit", witness.at[0], 2.0, facts, 0.0)?;
                continue;
            }
            let found = evaluate(pair, certified.claim, &witness);
            agree("the witness, evaluated again", witness.at[0], found, witness.found, 1e-2, 1e-12)?;
            if satisfied(&witness, found) {
                return Err(Broken { what: "a witness", at: witness.at[0], found, expected: witness.needed });
            }
        }
    }
    Ok(())
}

fn satisfied(witness: &Witness, found: f64) -> bool {
    match witness.relation {
        ">=" => witness.needed <= found,
        ">" => witness.needed < found,
        "<=" => found <= witness.needed,
        "<" => found < witness.needed,
        _ => found == witness.needed,
    }
}

/// Evaluates the quantity at a witness by a different method than the one that found it.
fn evaluate(pair: &Queried, claim: Claim, witness: &Witness) -> f64 {
    let at = witness.at[0];
    let regression = pair.loss_facts().task == LossTask::Regression;
    let s = if witness.coordinates == "r" { (at / (1.0 - at)).ln() } else { at };
    match claim {
        Claim::ConvexInScore | Claim::ConvexInProbability if witness.quantity.contains("next to it") => {
            let target = witness.at.get(1).map(|target| Squared { target: *target });
            let slope = |s: f64| target.map_or(pair.slope(s), |squared| pair.rule().at(s) * squared.slope(s));
            slope(s + 1e-9 * s.abs()) - slope(s - 1e-9 * s.abs())
        }
        Claim::ConvexInScore if witness.quantity.starts_with("change") => pair.slope(witness.at[1]) - pair.slope(at),
        Claim::ConvexInProbability if witness.quantity.starts_with("change") => {
            let slope = |s: f64| pair.slope_in_probability(Probability::of_margin(s));
            slope(witness.at[1]) - slope(at)
        }
        Claim::ConvexInScore if regression => {
            let h = 1e-6;
            let slope = |s: f64| pair.rule().at(s) * Squared { target: witness.at[1] }.slope(s);
            (slope(s + h) - slope(s - h)) / (2.0 * h)
        }
        Claim::ConvexInScore => pair.curvature(s),
        Claim::ConvexInProbability => {
            pair.curvature_in_probability(Probability::of_label(at, crate::coordinate::Label::Plus))
        }
        Claim::Lipschitz if regression => (pair.rule().at(s) * Squared { target: witness.at[1] }.slope(s)).abs(),
        Claim::Lipschitz if pair.loss_facts().coordinate == Coordinate::Probability => {
            pair.slope_in_probability(Probability::of_label(at, crate::coordinate::Label::Plus)).abs()
        }
        Claim::Lipschitz => pair.slope(s).abs(),
        Claim::Calibrated if regression => pair.rule().at(s) * -2.0,
        Claim::Calibrated => {
            let risk = |s: f64| 0.5 * ((1.0 + at) * pair.value(s) + (1.0 - at) * pair.value(-s));
            let right = tries().filter(|s| 0.0 < *s && *s < 40.0).map(risk).fold(f64::INFINITY, f64::min);
            (risk(0.0) - right).max(0.0)
        }
        Claim::Probability | Claim::Positive => pair.rule().at(s),
        Claim::Integrable => unreachable!("a function of one number has an antiderivative"),
    }
}

pub(super) fn proved_claims_survive(pair: &Queried) -> Result<(), Broken> {
    let certificate = certify(pair);
    let proved = |claim| matches!(certificate.verdict(claim), Verdict::Proved(_));
    let mut points: Vec<f64> = tries().collect();
    points.sort_by(f64::total_cmp);
    let in_reach = |s: &f64| s.abs() < 18.0;
    if proved(Claim::ConvexInScore) {
        never_falls(&points, &|s| pair.slope(s))?;
    }
    if proved(Claim::ConvexInProbability) {
        let near: Vec<f64> = points.iter().copied().filter(in_reach).collect();
        never_falls(&near, &|s| pair.slope_in_probability(Probability::of_margin(s)))?;
    }
    for &s in &points {
        let u = pair.rule().at(s);
        if proved(Claim::Probability) {
            at_most("0 against U", s, 0.0, u, 0.0)?;
            at_most("U", s, u, 1.0, 0.0)?;
        }
        if proved(Claim::Positive) && s.abs() < 26.0 {
            at_most("the least number against U", s, f64::MIN_POSITIVE, u, 0.0)?;
        }
        let constant = certificate.constants.lipschitz;
        if let (true, Some(constant)) = (proved(Claim::Lipschitz) && s.abs() < 600.0, constant) {
            at_most("|slope|", s, pair.steepness(s), constant, 1e-9 * constant)?;
        }
    }
    if proved(Claim::Calibrated) && pair.loss_facts().task == LossTask::Classification {
        for z in [1e-3, 0.1, 0.5, 0.9, 1.0] {
            let best = pair.loss().minimizer(crate::coordinate::Bias::new(z)).map_or(1e-3, |s| s.min(1e-3));
            let p = 0.5 * (1.0 + z);
            let risk = |s: f64| p * pair.value(s) + (1.0 - p) * pair.value(-s);
            at_most("risk just right of 0 against that at 0", z, risk(best), risk(0.0), -1e-30)?;
        }
    }
    Ok(())
}

fn never_falls(points: &[f64], slope: &dyn Fn(f64) -> f64) -> Result<(), Broken> {
    points.windows(2).try_for_each(|pair| {
        let (before, after) = (slope(pair[0]), slope(pair[1]));
        if before.is_infinite() {
            return Ok(());
        }
        at_most("slope before a later one", pair[0], before, after, 1e-13 * before.abs())
    })
}
