//! Thresholds of verdicts: μ = 1, no rule at all for the hinge, and the sharpest rule of each loss.

use querist_theory::certificate::{Claim, Verdict, certify};
use querist_theory::equivalent::Queried;
use querist_theory::loss::Loss;
use querist_theory::numeric::search::bisect;

use super::{ROUNDING, name};
use crate::by_hand::{self, ByHand};
use crate::numbers::{brief, derivative, fixed};
use crate::{Basis, Findings, PaperClaim, ReproductionSettings};

pub(super) fn run(settings: &ReproductionSettings, findings: &mut Findings) {
    findings.claims.extend(turning(settings, "squared-hinge", "margin", "subsec:convexity", 10));
    findings.claims.extend(turning(settings, "exponential", "exponential", "eg:exponential", 11));
    findings.claim(entropy_edge());
    findings.claim(no_rule_for_the_hinge());
    for loss in ["logistic", "squared-hinge", "exponential", "modified-huber", "hinge"] {
        findings.claim(critical_is_sharpest(loss));
    }
    findings.claim(logistic_needs_half());
}

/// Returns the certificate's verdict on convexity, or `None` if it is unknown.
fn certified(loss: &str, rule: &str) -> Option<bool> {
    let pair = Queried::parse(loss, rule).expect("a registered pair");
    match certify(&pair).verdict(Claim::ConvexInScore) {
        Verdict::Proved(_) => Some(true),
        Verdict::Refuted(_) => Some(false),
        Verdict::Unknown { .. } => None,
    }
}

/// Returns whether no chord on [−12, 12] lies below the loss.
fn chords_above(by_hand: &ByHand) -> bool {
    by_hand.worst_chord().0 <= ROUNDING * (1.0 + by_hand.rise(-12.0).abs())
}

/// Checks convexity exactly for μ ≤ 1: the main text's range holds, the appendix's "for any μ" does not.
fn turning(
    settings: &ReproductionSettings,
    loss: &str,
    rule: &str,
    place: &'static str,
    erratum: u8,
) -> [PaperClaim; 2] {
    let step = settings.pick(0.05, 0.25);
    let count = (3.0_f64 / step).round() as u32;
    let mut scanned: Vec<f64> = (0..=count).map(|i| f64::from(i) * step).collect();
    scanned.extend([0.999, 1.001, 10.0]);
    let (mut wrong, mut last_convex, mut first_not) = (vec![], 0.0_f64, f64::INFINITY);
    for &mu in &scanned {
        let named = format!("{rule}:mu={mu}");
        let chords = chords_above(&ByHand::of(loss, &named));
        if certified(loss, &named) != Some(chords) || chords != (mu <= 1.0) {
            wrong.push(mu);
        }
        if chords { last_convex = last_convex.max(mu) } else { first_not = first_not.min(mu) }
    }
    let seen = format!("{} values of μ in [0, 10]: convex up to {last_convex}, not from {first_not}", scanned.len());
    let inside = PaperClaim::new(place, format!("{loss} by {rule} is convex for μ in [0, 1], and for no μ beyond"))
        .computed(seen.clone())
        .expected("certificates and chords agree at every μ, and turn at 1", Basis::Run)
        .holds(wrong.is_empty());
    let (height, low, high) = ByHand::of(loss, &format!("{rule}:mu=3")).worst_chord();
    let always = PaperClaim::new(
        "Convexity and Proof of prop:Hinge_non-conv",
        format!("{loss} by {rule} is convex (no condition on μ is printed)"),
    )
    .computed(format!("for μ = 3 the loss is {} above its chord on [{}, {}]", brief(height), brief(low), brief(high)))
    .expected("convex just when μ ≤ 1", Basis::Run)
    .holds_with_erratum(erratum, wrong.is_empty() && 1e-3 < height);
    [inside, always]
}

/// Checks that the curvature of the entropy pair changes sign at s = −0.86404978958.
fn entropy_edge() -> PaperClaim {
    let pair = Queried::parse("logistic", "entropy").expect("a registered pair");
    let by_hand = ByHand::of("logistic", "entropy");
    let curvature = |s: f64| derivative(&|t| by_hand.slope(t), s, 1e-3);
    let found = bisect(&|s| pair.curvature(s), -2.0, 0.0);
    let independent = bisect(&curvature, -2.0, 0.0);
    PaperClaim::new(
        "subsec:convexity",
        "the entropy's curvature is negative far on the wrong side (the appendix referred to does not have it)",
    )
    .computed(format!("negative for s < {}", fixed(found, 11)))
    .expected(format!("−0.86404978958; by differences {}", fixed(independent, 9)), Basis::Reference)
    .holds_with_erratum(20, (found + 0.864_049_789_58).abs() < 1e-10 && (independent - found).abs() < 1e-8)
}

/// Checks that every decreasing rule makes the hinge nonconvex, and that a constant rule does not.
fn no_rule_for_the_hinge() -> PaperClaim {
    let falling = [
        "margin:mu=0.01",
        "margin:mu=1",
        "exponential:mu=0.01",
        "exponential:mu=1",
        "threshold:gamma=0.5",
        "entropy",
        "least-confidence",
    ];
    let broken = falling
        .iter()
        .filter(|rule| certified("hinge", rule) == Some(false) && !chords_above(&ByHand::of("hinge", rule)))
        .count();
    let constant =
        certified("hinge", "constant:p=0.5") == Some(true) && chords_above(&ByHand::of("hinge", "constant:p=0.5"));
    PaperClaim::new("prop:Hinge_non-conv", "no falling rule keeps the hinge convex")
        .computed(format!(
            "{broken} of {} falling rules refuted, by certificate and by a chord; a constant proved",
            falling.len()
        ))
        .expected("all of them, and the constant", Basis::Run)
        .holds(broken == falling.len() && constant)
}

/// Checks that U·|ℓ′| is constant for s < 0 under `critical`, and that its power 1.01 is refuted.
fn critical_is_sharpest(loss: &'static str) -> PaperClaim {
    let by_hand = ByHand::of(loss, "critical");
    let uneven = (1..=100)
        .map(|i| by_hand.slope(-0.1 * f64::from(i)) / by_hand.slope(-1e-9) - 1.0)
        .fold(0.0_f64, |worst, off| worst.max(off.abs()));
    let level = uneven < 1e-8 && certified(loss, "critical") == Some(true) && chords_above(&by_hand);
    let (u, slope) = (by_hand::rule("critical", loss), by_hand::loss_slope(loss));
    let floor = u(12.0);
    let claim = PaperClaim::new(
        "eq:curvature-decomposition",
        format!("`critical` is the sharpest rule that keeps {loss} convex"),
    );
    if floor == 1.0 {
        return claim
            .computed("U = 1: the hinge has no curvature to spend")
            .expected("level, proved, and the constant of `prop:Hinge_non-conv`", Basis::Theory)
            .holds(level);
    }
    let sharper = ByHand::new(Box::new(move |s| u(s).powf(1.01) * slope(s)), &by_hand::kinks(loss, "critical"));
    let refuted = certified(loss, "power:rule=critical,exponent=1.01") == Some(false);
    let (height, low, high) = sharper.worst_chord();
    claim
        .computed(format!(
            "U·|ℓ′| level to {} for s < 0, U(12) = {}; its power 1.01 is {} above a chord on [{}, {}]",
            brief(uneven),
            brief(floor),
            brief(height),
            brief(low),
            brief(high)
        ))
        .expected("level to 1e-8 and proved; the sharper one refuted", Basis::Run)
        .holds(level && refuted && 1e-6 < height)
}

/// Checks for the logistic loss that every rule that falls below half its maximum is refuted.
fn logistic_needs_half() -> PaperClaim {
    let rules = ["entropy", "least-confidence", "margin:mu=0.1", "exponential:mu=0.1", "threshold:gamma=2"];
    let refuted: Vec<&str> = rules
        .into_iter()
        .filter(|rule| {
            let u = by_hand::rule(rule, "logistic");
            u(30.0) < 0.5 * u(0.0) && certified("logistic", rule) == Some(false)
        })
        .collect();
    let least = by_hand::rule("critical", "logistic")(30.0);
    let named: Vec<String> = refuted.iter().map(|rule| name("logistic", rule)).collect();
    PaperClaim::new(
        "subsec:convexity",
        "no rule that falls below half its greatest value keeps the logistic loss convex",
    )
    .computed(format!("refuted: {}", named.join(", ")))
    .expected(
        format!("all {}; the sharpest rule (1 + e^−|s|)/2 never falls below {}", rules.len(), brief(least)),
        Basis::Theory,
    )
    .holds(refuted.len() == rules.len() && (least - 0.5).abs() < 1e-12)
}
