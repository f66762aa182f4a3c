//! Convexity of equivalent losses (§4.2 and Appendix "Additional convexity calculations").

use querist_theory::certificate::{Claim, Verdict, certify};
use querist_theory::loss::Loss;
use querist_theory::uncertainty;

use crate::support::{PAPER_PAIRS, dot, near, pair, plus};

/// The expected truth of a claim about a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    Yes,
    No,
}
use Holds::{No, Yes};

fn verdict(loss: &str, rule: &str, claim: Claim) -> Option<Holds> {
    match certify(&pair(loss, rule)).verdict(claim) {
        Verdict::Proved(_) => Some(Yes),
        Verdict::Refuted(_) => Some(No),
        Verdict::Unknown { .. } => None,
    }
}

#[track_caller]
fn expect(rows: &[(&str, &str, Holds)], claim: Claim) {
    for (loss, rule, holds) in rows {
        assert_eq!(verdict(loss, rule, claim), Some(*holds), "{loss} by {rule}: {}", claim.name());
    }
}

#[test]
fn subsec_convexity() {
    let rows = [
        ("logistic", "entropy", No),
        ("logistic", "least-confidence", No),
        ("squared-hinge", "margin:mu=0", Yes),
        ("squared-hinge", "margin:mu=0.5", Yes),
        ("squared-hinge", "margin:mu=1", Yes),
        ("squared-hinge", "margin:mu=1.001", No),
        ("squared-hinge", "margin:mu=10", No),
        ("logistic", "threshold:gamma=0.1", No),
        ("logistic", "threshold:gamma=2", No),
        ("logistic", "threshold:gamma=10", No),
        ("hinge", "margin:mu=0", Yes),
        ("hinge", "margin:mu=0.001", No),
        ("hinge", "margin:mu=10", No),
        ("exponential", "exponential:mu=0", Yes),
        ("exponential", "exponential:mu=0.9", Yes),
        ("exponential", "exponential:mu=1", Yes),
        ("exponential", "exponential:mu=1.001", No),
        ("exponential", "exponential:mu=3", No),
    ];
    expect(&rows, Claim::ConvexInScore);
}

#[test]
fn subsec_convexity_beyond_the_examples() {
    let rows = [
        ("logistic", "entropy:base=2", No),
        ("logistic", "least-confidence:scale=2", No),
        ("logistic", "margin:mu=0.01", No),
        ("logistic", "margin:mu=1", No),
        ("logistic", "exponential:mu=0.01", No),
        ("logistic", "exponential:mu=1", No),
        ("hinge", "threshold:gamma=0.5", No),
        ("hinge", "threshold:gamma=1.5", No),
        ("squared-hinge", "threshold:gamma=0.5", No),
        ("squared-hinge", "threshold:gamma=1.5", No),
        ("hinge", "exponential:mu=0.5", No),
        ("squared-hinge", "exponential:mu=0.1", No),
        ("squared-hinge", "exponential:mu=1", No),
        ("exponential", "margin:mu=0.5", Yes),
        ("exponential", "margin:mu=1", Yes),
        ("exponential", "margin:mu=1.001", No),
        ("exponential", "margin:mu=3", No),
        ("logistic", "critical", Yes),
        ("logistic", "constant:p=0.3", Yes),
        ("hinge", "constant:p=0.3", Yes),
        ("squared-hinge", "constant:p=0.3", Yes),
        ("exponential", "constant:p=0.3", Yes),
        ("squared:target=1.5", "constant:p=0.3", Yes),
        ("squared:target=1.5", "margin:mu=0.5", No),
    ];
    expect(&rows, Claim::ConvexInScore);
}

#[test]
fn apd_convex_details() {
    // In the probability the two rules of Example 1 are convex, with any factor.
    let rows = [
        ("cross-entropy", "entropy", Yes),
        ("cross-entropy", "entropy:base=2", Yes),
        ("cross-entropy", "least-confidence", Yes),
        ("logistic", "entropy", Yes),
        ("logistic", "least-confidence:scale=2", Yes),
        ("cross-entropy", "threshold:gamma=2", No),
    ];
    expect(&rows, Claim::ConvexInProbability);
    let sigmoid = |s: f64| 1.0 / (1.0 + (-s).exp());
    let (entropy, least) = (pair("logistic", "entropy"), pair("logistic", "least-confidence"));
    for s in [-5.0, -2.0, -0.9, -0.3, 0.4, 3.0] {
        let (r, o) = (sigmoid(s), sigmoid(-s));
        near("entropy", entropy.curvature(s), r * o * (2.0 * s * o + (-s).exp().ln_1p()), 1e-14);
        let by_hand = if s < 0.0 { -r * o * (1.0 - 2.0 * r) } else { 2.0 * r * o * o };
        near("least confidence", least.curvature(s), by_hand, 1e-14);
    }
    // The sign change of entropy's curvature, to the accuracy of the root.
    let root = -0.86404978958;
    assert!(entropy.curvature(root - 1e-10) < 0.0 && 0.0 < entropy.curvature(root + 1e-10));
}

#[test]
fn eq_curvature_decomposition() {
    // The Hessian in the parameters, by differences of values, has rank one, with U′ℓ′ + Uℓ″ along x.
    let x = [1.2, -0.7];
    for (loss, rule) in PAPER_PAIRS {
        let pair = pair(loss, rule);
        for theta in [[0.2, -0.1], [1.1, 0.3], [-0.5, 0.9], [0.6, 0.2], [-0.2, 0.1]] {
            for y in [-1.0, 1.0] {
                let s = y * dot(theta, x);
                let (rule_part, loss_part) =
                    (pair.rule().slope(s) * pair.loss().slope(s), pair.rule().at(s) * pair.loss().curvature(s));
                for (i, j) in [(0, 0), (0, 1), (1, 1)] {
                    let (h, e) = (2e-4, [[1.0, 0.0], [0.0, 1.0]]);
                    let at = |a: f64, b: f64| pair.value(y * dot(plus(plus(theta, a, e[i]), b, e[j]), x));
                    let numeric = (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4.0 * h * h);
                    let what = format!("{loss} by {rule} at {s}");
                    near(&what, numeric, x[i] * x[j] * (rule_part + loss_part), 2e-6);
                    near(&what, pair.curvature(s), rule_part + loss_part, 1e-13);
                }
            }
        }
    }
}

#[test]
fn subsec_convexity_squared_margin() {
    for mu in [0.0, 0.4, 1.0, 2.5] {
        let pair = pair("squared-hinge", &format!("margin:mu={mu}"));
        for s in [-7.0, -0.6, 0.3, 0.9, 1.4_f64] {
            let by_hand = match s {
                s if s < 0.0 => 2.0 * (1.0 - mu) / (1.0 - mu * s).powi(2),
                s if s < 1.0 => 2.0 * (1.0 + mu) / (1.0 + mu * s).powi(2),
                _ => 0.0,
            };
            near(&format!("mu = {mu}, s = {s}"), pair.curvature(s), by_hand, 1e-14);
        }
        // The slope does not jump at the junctions, so the sign of the curvature determines convexity.
        for junction in [0.0, 1.0_f64] {
            near("slope", pair.slope(junction.next_down()), pair.slope(junction.next_up()), 1e-14);
        }
    }
}

#[test]
fn eg_tifrea_is_not_convex() {
    // At the left edge of the band the slope jumps down from 0, and the certificate reports it.
    for gamma in [0.5, 2.0] {
        let pair = pair("logistic", &format!("threshold:gamma={gamma}"));
        let (before, after) = (pair.slope(-gamma - 1e-9), pair.slope(-gamma + 1e-9));
        assert_eq!(before, 0.0);
        near("jump", after, -1.0 / (1.0 + (-gamma).exp()), 1e-8);
        let certificate = certify(&pair);
        let Verdict::Refuted(witness) = certificate.verdict(Claim::ConvexInScore) else { panic!("gamma = {gamma}") };
        assert_eq!(witness.at, [-gamma]);
        near("witness", witness.found, after, 1e-8);
    }
}

#[test]
fn prop_hinge_non_conv() {
    let fading = [
        "margin:mu=0.001",
        "margin:mu=1000",
        "exponential:mu=0.01",
        "exponential:mu=10",
        "entropy",
        "least-confidence:scale=2",
        "threshold:gamma=3",
        "mix:rule=margin:mu=1,floor=0.9",
        "power:rule=entropy:base=2,exponent=0.01",
        "expr:1/(1+s^2)",
        "expr:0.5+0.5*exp(-s^2)",
        "expr:max(0,1-abs(s)/20)",
    ];
    for rule in fading {
        assert_eq!(verdict("hinge", rule, Claim::ConvexInScore), Some(No), "{rule}");
        // In terms of values: some chord on the wrong side lies below the loss.
        let pair = pair("hinge", rule);
        let above_chord = |a: f64, b: f64| pair.value(0.5 * (a + b)) - 0.5 * (pair.value(a) + pair.value(b));
        let worst = (0..60).map(|i| above_chord(-0.5 * f64::from(i) - 1.0, -0.5 * f64::from(i))).fold(0.0, f64::max);
        assert!(1e-7 < worst, "{rule}: {worst}");
    }
    for rule in ["constant", "constant:p=0.2", "margin:mu=0", "exponential:mu=0", "critical"] {
        assert_eq!(verdict("hinge", rule, Claim::ConvexInScore), Some(Yes), "{rule}");
    }
}

#[test]
fn eq_curvature_decomposition_extremal_rule() {
    // The rule with zero curvature on the wrong side, in closed form for each loss.
    type Formula = fn(f64) -> f64;
    let rows: [(&str, Formula); 4] = [
        ("logistic", |a| 0.5 * (1.0 + (-a).exp())),
        ("squared-hinge", |a| 1.0 / (1.0 + a)),
        ("exponential", |a| (-a).exp()),
        ("hinge", |_| 1.0),
    ];
    for (name, formula) in rows {
        let loss = querist_theory::loss::parse(name).unwrap();
        let critical = uncertainty::parse("critical", &loss).unwrap();
        let pair = pair(name, "critical");
        for a in [0.0, 1e-3, 0.4, 1.0, 2.7, 9.0, 30.0] {
            for s in [-a, a] {
                near(&format!("critical rule of {name} at {s}"), critical.at(s), formula(a), 1e-14);
            }
            near(&format!("slope of {name} at -{a}"), pair.slope(-a), pair.slope(0.0), 1e-14);
        }
        assert_eq!(verdict(name, "critical", Claim::ConvexInScore), Some(Yes), "{name}");
        // Any sharper rule breaks convexity, any softer rule does not.
        let sharper = if name == "hinge" { "margin:mu=0.01" } else { "power:rule=critical,exponent=1.01" };
        assert_eq!(verdict(name, sharper, Claim::ConvexInScore), Some(No), "{name} by {sharper}");
        let product = "product:rule=critical,by=exponential:mu=0.01";
        assert_eq!(verdict(name, product, Claim::ConvexInScore), Some(No), "{name} by {product}");
        let softer = "power:rule=critical,exponent=0.99";
        assert_eq!(verdict(name, softer, Claim::ConvexInScore), Some(Yes), "{name} by {softer}");
    }
}
