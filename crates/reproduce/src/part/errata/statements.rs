//! Severity B: statements that are wrong or incomplete.

use std::f64::consts::LN_2;

use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::rule;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner};
use querist_engine::task::{self, Labels};
use querist_theory::bound::BoundInputs;
use querist_theory::certificate::{Claim, Verdict, certify, certify_classes};
use querist_theory::coordinate::{Label, Probability};
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::loss::Loss;

use super::{CONVEXITY_PROOF, Erratum, ErratumOutcome, apart, close};
use crate::ReproductionSettings;
use crate::by_hand::{self, ByHand, least, sigmoid};
use crate::numbers::{brief, derivative, fixed};

pub(super) fn all(settings: &ReproductionSettings) -> Vec<Erratum> {
    vec![
        convex_up_to_one(10, "squared-hinge", "margin", "margin × squared hinge: convex, for any μ; here μ = 3"),
        convex_up_to_one(11, "exponential", "exponential", "exponential: convex, for any μ; here μ = 3"),
        lhopital(),
        threshold_is_zero(),
        entropy_beyond_one(),
        kinked_rules(),
        leaving_the_set(settings),
        spike(),
        rule_of_the_loss(),
        start_and_step(),
        entropy_in_score(),
    ]
}

fn pair(loss: &str, rule: &str) -> Queried {
    Queried::parse(loss, rule).expect("a registered pair")
}

fn proved(pair: &Queried, property: Claim) -> bool {
    matches!(certify(pair).verdict(property), Verdict::Proved(_))
}

fn refuted(pair: &Queried, property: Claim) -> bool {
    matches!(certify(pair).verdict(property), Verdict::Refuted(_))
}

fn convex_up_to_one(number: u8, loss: &str, rule: &str, statement: &'static str) -> Erratum {
    let mut found = true;
    let mut bulge = 0.0;
    for mu in [0.25, 1.0, 1.01, 3.0] {
        let named = format!("{rule}:mu={mu}");
        let (pair, by_hand) = (pair(loss, &named), ByHand::of(loss, &named));
        bulge = by_hand.above_chord(-4.0, 0.0);
        found &= if mu <= 1.0 {
            bulge < 1e-12 && proved(&pair, Claim::ConvexInScore)
        } else {
            1e-6 < bulge && refuted(&pair, Claim::ConvexInScore)
        };
        // The link derived from convexity remains valid without it, because C̃′ = U·C′.
        let link = Link::new(&pair).expect("a link for two classes");
        found &= [0.1, 0.5, 0.9].into_iter().all(|z| close(link.value(z), by_hand.link(z)));
    }
    Erratum {
        number,
        severity: 'B',
        place: CONVEXITY_PROOF,
        statement,
        printed: "convex".to_owned(),
        right: "convex just when μ ≤ 1; ψ holds for every μ".to_owned(),
        check: format!("{} above its chord on [−4, 0]; ψ by brute force at three z and four μ", brief(bulge)),
        outcome: ErratumOutcome::Corrected(found),
    }
}

fn lhopital() -> Erratum {
    let pair = pair("cross-entropy", "entropy");
    let mut found = true;
    let mut check = 0.0;
    for gap in [0.1, 0.001, 0.01_f64] {
        // The two functions of the quotient, to leading order at Ŷ = −1, as functions of 1 + Ŷ.
        check = derivative(&|g: f64| 0.5 * g.ln(), gap, 1e-3 * gap) / derivative(&|g: f64| -1.0 / g, gap, 1e-3 * gap);
        let printed = (-1.0 / gap) / (-1.0 / (gap * gap));
        let at = Probability::of_label(0.5 * gap, Label::Plus);
        let of_pair = pair.curvature_in_probability(at) / pair.loss().in_probability(at).curvature;
        found &= (check / (0.5 * gap) - 1.0).abs() < 1e-9
            && (printed / check - 2.0).abs() < 1e-9
            && (of_pair / check - 1.0).abs() < 0.3 * gap;
    }
    Erratum {
        number: 12,
        severity: 'B',
        place: "apd:Lipschitz",
        statement: "entropy: the quotient of l'Hôpital's rule, at 1 + Ŷ = 0.01",
        printed: brief(0.01),
        right: brief(0.005),
        check: format!("{} by differences; the limit 0 stands", brief(check)),
        outcome: ErratumOutcome::Corrected(found),
    }
}

fn threshold_is_zero() -> Erratum {
    let by_threshold = pair("logistic", "threshold:gamma=1.5");
    let u = by_hand::rule("threshold:gamma=1.5", "logistic");
    let pool = [-4.0, 2.0, 3.0].map(|score| by_threshold.rule().at(score));
    let share = pool[0] / pool.iter().sum::<f64>();
    let others = ["entropy", "least-confidence", "margin:mu=1", "exponential:mu=1"];
    Erratum {
        number: 13,
        severity: 'B',
        place: "sec:setup",
        statement: "U takes values in (0, 1]; here the threshold γ = 1.5 at s = 2",
        printed: "0 < U ≤ 1".to_owned(),
        right: format!("U = {}; 0 ≤ U ≤ 1", by_threshold.rule().at(2.0)),
        check: format!("{} by the indicator; a pool outside the band has shares {share}", u(2.0)),
        outcome: ErratumOutcome::Corrected(
            by_threshold.rule().at(2.0) == 0.0
                && u(2.0) == 0.0
                && share.is_nan()
                && refuted(&by_threshold, Claim::Positive)
                && proved(&by_threshold, Claim::Probability)
                && others.iter().all(|rule| proved(&pair("logistic", rule), Claim::Positive)),
        ),
    }
}

fn entropy_beyond_one() -> Erratum {
    let uniform = |classes: f64| -classes * (1.0 / classes) * (1.0 / classes).ln();
    let two = certify(&pair("logistic", "entropy")).constants.u_max;
    let mut found = close(two, LN_2) && close(two, uniform(2.0));
    for (classes, scaled) in [(3_u8, "entropy:base=3"), (10, "entropy:base=10")] {
        let of = |rule: &str| certify_classes("softmax-cross-entropy", rule, usize::from(classes));
        let plain = of("entropy").ok().map(|certificate| match certificate.verdict(Claim::Probability) {
            Verdict::Refuted(witness) => close(witness.found, uniform(f64::from(classes))),
            _ => false,
        });
        let scaled = of(scaled).is_ok_and(|c| matches!(c.verdict(Claim::Probability), Verdict::Proved(_)));
        found &= plain == Some(true) && scaled && 1.0 < uniform(f64::from(classes));
    }
    Erratum {
        number: 14,
        severity: 'B',
        place: "sec:setup",
        statement: "the entropy is a probability as it stands; here at its greatest, for 2 and 3 classes",
        printed: "at most 1, reaching 1".to_owned(),
        right: format!("log 2 = {two:.4} and log 3 = {:.4}; divide by log K", 3_f64.ln()),
        check: format!("{:.4} and {:.4} at equal probabilities", uniform(2.0), uniform(3.0)),
        outcome: ErratumOutcome::Corrected(found),
    }
}

fn kinked_rules() -> Erratum {
    let cases =
        [("squared-hinge", "margin:mu=0.5"), ("exponential", "exponential:mu=0.5"), ("logistic", "least-confidence")];
    let mut found = true;
    let (mut jumps, mut ratios) = (vec![], vec![]);
    for (loss, rule) in cases {
        let u = by_hand::rule(rule, loss);
        let jump = (u(1e-6) - 2.0 * u(0.0) + u(-1e-6)) / 1e-6;
        let ratio = |z: f64| ByHand::of(loss, rule).link(z) / ByHand::of(loss, "constant:p=1").link(z) / u(0.0);
        found &= 0.1 < jump.abs() && (ratio(0.01) - 1.0).abs() < 0.01 && (ratio(0.001) - 1.0).abs() < 0.001;
        jumps.push(brief(jump));
        ratios.push(format!("{:.5}", ratio(0.001)));
    }
    let smooth = by_hand::rule("entropy", "logistic");
    found &= ((smooth(1e-6) - 2.0 * smooth(0.0) + smooth(-1e-6)) / 1e-6).abs() < 1e-3;
    found &= refuted(&pair("logistic", "entropy"), Claim::ConvexInScore);
    Erratum {
        number: 15,
        severity: 'B',
        place: "assm:uncertainty",
        statement: "U must be twice continuously differentiable for ψ̃ = U_max·ψ + o(z²)",
        printed: "no kink in U".to_owned(),
        right: "an even, continuous U ≥ 0 with U(0) > 0 is enough".to_owned(),
        check: format!(
            "U′ jumps by {} at 0 for margin, exponential, least confidence; ψ̃/(U_max ψ) = {} at z = 0.001",
            jumps.join(", "),
            ratios.join(", ")
        ),
        outcome: ErratumOutcome::Corrected(found),
    }
}

/// Returns the end of a run on one feature that is always labeled +1, with the step of the bound for Θ = [−1, 1].
fn end_of_run(settings: &ReproductionSettings, radius: Option<f64>) -> f64 {
    let setting = BoundInputs { distance: 1.0, gradient: 1_f64.exp(), horizon: 10_000.0, rate: 1.0, u_max: 1.0 };
    let task = task::parse("exponential", Labels::Binary).expect("a registered loss");
    let rule = rule::parse("exponential:mu=0.5", "exponential", Labels::Binary).expect("a registered rule");
    let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint { l2: 0.0, radius });
    let steps = Steps::new(StepSize::Fixed(setting.step(1.0)));
    let learner = Learner::new(task, false, 1, optimizer, steps, None).expect("legal settings");
    let mut learner =
        StreamLearner::new(learner, Rules::only(rule), settings.seed, Importance::Equivalent).expect("legal settings");
    for _ in 0..10_000 {
        let x: &[f32] = &[1.0];
        let offer = learner.offer(x);
        if offer.asked {
            learner.answer(x, offer.probability, 1.0).expect("a loss that falls does not diverge");
        }
    }
    learner.learner().theta()[0]
}

fn leaving_the_set(settings: &ReproductionSettings) -> Erratum {
    let (free, kept) = (end_of_run(settings, None), end_of_run(settings, Some(1.0)));
    // The flow dθ/dt = e^(−3θ/2) from 0, over a time of 10⁴ steps, ends at log(1 + 3t/2)·2/3.
    let time = 10_000.0 / (1_f64.exp() * 100.0);
    let flow = (1.0 + 1.5 * time).ln() / 1.5;
    let unbounded =
        ["exponential:mu=0.5", "constant:p=1"].iter().all(|rule| refuted(&pair("exponential", rule), Claim::Lipschitz));
    Erratum {
        number: 16,
        severity: 'B',
        place: "prop:SGD_converge",
        statement: "iterates stay in Θ; here Θ = [−1, 1], one feature, 10⁴ observations, exponential × exponential",
        printed: "|θ| ≤ 1".to_owned(),
        right: format!("θ = {} without projection, {} with it", brief(free), brief(kept)),
        check: format!("the gradient flow ends at {}, to 0.15; no G serves all of ℝ", brief(flow)),
        // A run's own noise has the size √step = 0.06.
        outcome: ErratumOutcome::Corrected(
            (free - flow).abs() < 0.15 && 1.0 < free && (kept - 1.0).abs() < 1e-6 && unbounded,
        ),
    }
}

fn spike() -> Erratum {
    // h(0) = 1 and h = 1/2 elsewhere.
    let h = |v: f64| if v == 0.0 { 1.0 } else { 0.5 };
    let hinge = by_hand::loss_slope("hinge");
    let by_hand = ByHand::new(Box::new(move |s| h(s) * hinge(s)), &[0.0, 1.0]);
    let half = (-40..=40).map(|i| f64::from(i) / 10.0).all(|s| close(0.5 + by_hand.rise(s), 0.5 * (1.0 - s).max(0.0)));
    let height = by_hand.worst_chord().0;
    let falls = ["margin:mu=0.01", "exponential:mu=0.01", "mix:rule=threshold:gamma=0.5,floor=0.5"];
    let found = half && height < 1e-12 && falls.iter().all(|rule| refuted(&pair("hinge", rule), Claim::ConvexInScore));
    Erratum {
        number: 17,
        severity: 'B',
        place: "prop:Hinge_non-conv",
        statement: "a rule that keeps the hinge convex is constant",
        printed: "h constant".to_owned(),
        right: "h constant except perhaps at 0".to_owned(),
        check: format!("h(0) = 1, h = 1/2 elsewhere gives half the hinge, {} above any chord", brief(height.max(0.0))),
        outcome: ErratumOutcome::Corrected(found),
    }
}

fn rule_of_the_loss() -> Erratum {
    let h = |s: f64| {
        let loss = (-s).exp().ln_1p();
        loss / (1.0 + loss)
    };
    let rejection = Queried::parse("logistic", "expr:log(1+exp(-s))/(1+log(1+exp(-s)))").err();
    let constant = certify_classes("softmax-cross-entropy", "constant:p=0.5", 3);
    let constant = constant.is_ok_and(|c| matches!(c.verdict(Claim::Integrable), Verdict::Proved(_)));
    let none = ["entropy", "least-confidence", "top-two-margin"].iter().all(|rule| {
        certify_classes("softmax-cross-entropy", rule, 3)
            .is_ok_and(|c| matches!(c.verdict(Claim::Integrable), Verdict::Refuted(_)))
    });
    let explained = rejection.is_some_and(|error| error.message.contains("even"));
    Erratum {
        number: 18,
        severity: 'B',
        place: "Existence Beyond Scalar Predictions",
        statement: "U = h(ℓ) is a sufficient construction; here h(ℓ) = ℓ/(1 + ℓ), prediction 1",
        printed: "one U".to_owned(),
        right: format!("U = {} if y = +1 and {} if y = −1: it needs the label", brief(h(1.0)), brief(h(-1.0))),
        check: "typed as a rule it is refused as not even; of the rules of three classes only a constant is integrable"
            .to_owned(),
        outcome: ErratumOutcome::Corrected(apart(h(1.0), h(-1.0)) && explained && constant && none),
    }
}

fn start_and_step() -> Erratum {
    // One parameter, two features: 1, labeled +1 seven times in ten, and 4, labeled −1.
    fn descend(pair: &Queried, start: f64, step: f64, count: usize) -> f64 {
        (0..count).fold(start, |theta, _| theta - step * (0.7 * pair.slope(theta) - 1.2 * pair.slope(-4.0 * theta)))
    }
    let by_hand = ByHand::of("hinge", "margin:mu=10");
    let risk = |theta: f64| 0.7 * by_hand.rise(theta) + 0.3 * by_hand.rise(-4.0 * theta);
    let grid = |low: f64, high: f64| (0..=400).map(|i| low + (high - low) * f64::from(i) / 400.0).collect::<Vec<f64>>();
    let (left, right) = (least(&risk, &grid(-1.0, 0.02)).0, least(&risk, &grid(0.1, 2.0)).0);
    let hinge = pair("hinge", "margin:mu=10");
    let ends = (descend(&hinge, 0.0, 1e-3, 50_000), descend(&hinge, 0.1, 1e-3, 50_000));
    let convex = pair("squared-hinge", "margin:mu=1");
    let (from_zero, from_two) = (descend(&convex, 0.0, 1e-3, 50_000), descend(&convex, 2.0, 1e-3, 50_000));
    let (slow, fast) = (descend(&convex, 2.0, 1e-4, 900), descend(&convex, 2.0, 3e-4, 900));
    let found = (ends.0 - left).abs() < 1e-4
        && (ends.1 - right).abs() < 2e-3
        && 0.5 < right - left
        && close(from_zero, from_two)
        && apart(fast, slow)
        && (descend(&convex, 2.0, 3e-4, 300) - slow).abs() < APART_IN_TIME;
    Erratum {
        number: 19,
        severity: 'B',
        place: "Numerical Illustration",
        statement: "runs of all panels compare as if from one start with one step; published ones had several of both",
        printed: "the same start and the step 10⁻⁴ everywhere".to_owned(),
        right: format!(
            "the start decides: hinge by margin μ = 10 goes from 0 to {}, from 0.1 to {}",
            brief(ends.0),
            brief(ends.1)
        ),
        check: format!(
            "minima at {} and {} by brute force; a convex pair ends at one place",
            brief(left),
            brief(right)
        ),
        outcome: ErratumOutcome::Refuted(found),
    }
}

/// The tolerance for steps of 3·10⁻⁴ instead of 10⁻⁴ over the same time, which change the end by about their size.
const APART_IN_TIME: f64 = 1e-3;

fn entropy_in_score() -> Erratum {
    let by_hand = ByHand::of("logistic", "entropy");
    let check = |s: f64| derivative(&|t| by_hand.slope(t), s, 1e-3);
    let formula = |s: f64| {
        let (r, o) = (sigmoid(s), sigmoid(-s));
        r * o * (2.0 * s * o + (-s).exp().ln_1p())
    };
    let pair = pair("logistic", "entropy");
    let found = [-6.0, -2.0, -0.9, -0.8, 0.0, 1.0, 4.0]
        .into_iter()
        .all(|s| (pair.curvature(s) - check(s)).abs() < 1e-10 && (formula(s) - check(s)).abs() < 1e-10);
    let edge = -0.864_049_789_58;
    let turns = pair.curvature(edge - 1e-9) < 0.0 && 0.0 < pair.curvature(edge + 1e-9);
    let seen = check(edge - 1e-6) < 0.0 && 0.0 < check(edge + 1e-6);
    Erratum {
        number: 20,
        severity: 'B',
        place: "subsec:convexity",
        statement: "the entropy's curvature is in the appendix; here at s = −2",
        printed: "nothing".to_owned(),
        right: format!(
            "r·o·(2so + log(1 + e⁻ˢ)) = {}, negative for s < {}",
            fixed(pair.curvature(-2.0), 6),
            fixed(edge, 9)
        ),
        check: format!("{} by differences of U·ℓ′, which turn at the same place", fixed(check(-2.0), 6)),
        outcome: ErratumOutcome::Corrected(found && turns && seen),
    }
}
