//! Severity B: statements that are wrong or incomplete.

use std::f64::consts::LN_2;
use std::sync::Arc;

use querist_theory::bound::BoundInputs;
use querist_theory::certificate::{Claim, Verdict, certify, certify_classes};
use querist_theory::coordinate::{Label, Probability};
use querist_theory::equivalent::Queried;
use querist_theory::integrability::curl;
use querist_theory::link::Link;
use querist_theory::loss::{self, Loss};
use querist_theory::numeric::search::{bisect, maximum};
use querist_theory::registry::Named;
use querist_theory::uncertainty::{Constant, Uncertainty, UncertaintyFacts};
use querist_theory::vector;

use crate::{
    BY_DIFFERENCES, ByQuadrature, CLOSE, above_chord, assert_apart, assert_close, derivative, exponential_slope,
    hinge_slope, is_proved, least, logistic_slope, pair, refutation, squared_hinge_slope,
};

/// The name of softmax cross entropy.
const SOFTMAX: &str = "softmax-cross-entropy";

type Function = fn(f64) -> f64;

#[test]
fn erratum_10_squared_hinge_convex_up_to_one() {
    // as printed
    fn printed_is_convex(_mu: f64) -> bool {
        true
    }
    for mu in [0.25, 1.0, 1.01, 3.0, 10.0] {
        let slope = |s: f64| squared_hinge_slope(s) / (1.0 + mu * s.abs());
        let by_hand = ByQuadrature { slope: &slope, kinks: &[0.0, 1.0] };
        let pair = pair("squared-hinge", &format!("margin:mu={mu}"));
        let bulge = above_chord(&|s| by_hand.rise(s), -4.0, 0.0);
        if mu <= 1.0 {
            assert!(bulge <= CLOSE && is_proved(&pair, Claim::ConvexInScore), "μ = {mu}");
        } else {
            let witness = refutation(&pair, Claim::ConvexInScore);
            // Uses the left branch alone: differences must not reach across the kink at 0.
            let left = |s: f64| -2.0 * (1.0 - s) / (1.0 - mu * s);
            assert_close("witness", derivative(&left, witness.at[0], 1e-4), witness.found, BY_DIFFERENCES);
            assert!(witness.found < 0.0 && CLOSE < bulge, "μ = {mu}");
            assert_ne!(printed_is_convex(mu), bulge <= CLOSE);
        }
        // The link that the paper derives from convexity holds without it, because C̃′ = U·C′.
        let link = Link::new(&pair).unwrap();
        for z in [0.1, 0.5, 0.9] {
            assert_close("H⁻ − ℓ̃(0)", by_hand.wrong_side(0.5 * (1.0 + z)).1, 0.0, 0.0);
            assert_close("ψ", link.value(z), by_hand.link(z), CLOSE);
        }
    }
    let slope = |s: f64| squared_hinge_slope(s) / (1.0 + 3.0 * s.abs());
    let by_hand = ByQuadrature { slope: &slope, kinks: &[0.0, 1.0] };
    assert_close("bulge at μ = 3", above_chord(&|s| by_hand.rise(s), -4.0, 0.0), 0.29486, 1e-5);
}

#[test]
fn erratum_11_exponential_convex_up_to_one() {
    // as printed, for every μ; it divides by 0 at μ = 1
    fn printed_link(mu: f64, z: f64) -> f64 {
        let root = (1.0 - z).powf(0.5 * (1.0 + mu)) * (1.0 + z).powf(0.5 * (1.0 - mu));
        (1.0 - mu * z - root) / (1.0 - mu * mu)
    }
    for mu in [0.25, 1.0, 1.01, 3.0] {
        let slope = |s: f64| (-mu * s.abs()).exp() * exponential_slope(s);
        let by_hand = ByQuadrature { slope: &slope, kinks: &[0.0] };
        let pair = pair("exponential", &format!("exponential:mu={mu}"));
        let bulge = above_chord(&|s| by_hand.rise(s), -4.0, 0.0);
        if mu <= 1.0 {
            assert!(bulge <= CLOSE && is_proved(&pair, Claim::ConvexInScore), "μ = {mu}");
        } else {
            let witness = refutation(&pair, Claim::ConvexInScore);
            assert!(witness.found < 0.0 && CLOSE < bulge, "μ = {mu}");
        }
        let link = Link::new(&pair).unwrap();
        for z in [0.1, 0.5, 0.9] {
            assert_close("ψ", link.value(z), by_hand.link(z), CLOSE);
            if mu == 1.0 {
                assert!(printed_link(mu, z).is_nan());
            } else {
                assert_close("printed ψ", printed_link(mu, z), by_hand.link(z), CLOSE);
            }
        }
    }
    let critical = pair("exponential", "exponential:mu=1");
    assert_close("1 − s", critical.value(-7.0), 8.0, CLOSE);
}

#[test]
fn erratum_12_entropy_lhopital_ratio() {
    // as printed
    fn printed(prediction: f64) -> f64 {
        (-1.0 / (1.0 + prediction)) / (-1.0 / (1.0 + prediction).powi(2))
    }
    let pair = pair("cross-entropy", "entropy");
    for gap in [0.1, 0.01, 0.001] {
        let prediction = gap - 1.0;
        // The two functions of the quotient, to leading order at Ŷ = −1, as functions of 1 + Ŷ.
        let top = derivative(&|g: f64| 0.5 * g.ln(), gap, 1e-3 * gap);
        let bottom = derivative(&|g: f64| -1.0 / g, gap, 1e-3 * gap);
        assert_close("(1 + Ŷ)/2", top / bottom / (0.5 * gap), 1.0, BY_DIFFERENCES);
        assert_close("printed", printed(prediction) / (0.5 * gap), 2.0, BY_DIFFERENCES);
        // The same quotient of the pair itself, ℓ̃″/ℓ″.
        let at = Probability::of_label(0.5 * gap, Label::Plus);
        let found = pair.curvature_in_probability(at) / pair.loss().in_probability(at).curvature;
        assert_close("ℓ̃″/ℓ″", found / (0.5 * gap), 1.0, 0.3 * gap);
        // The limit 0 is correct: ℓ̃′/ℓ′ is U.
        assert!(pair.at_probability(0.5 * gap, Label::Plus).uncertainty < gap.sqrt());
    }
    // The conclusion is correct too: slower than 1/(1 + Ŷ), but unbounded in the probability.
    let witness = refutation(&pair, Claim::Lipschitz);
    assert_eq!((witness.at[0], witness.found), (0.0, f64::INFINITY), "a limit");
    for r in [1e-3_f64, 1e-100, 1e-300] {
        let steepness = -r.ln() - (1.0 - r) / r * (-r).ln_1p();
        let found = pair.slope_in_probability(Probability::of_label(r, Label::Plus)).abs();
        assert_close("steepness", found, steepness, CLOSE);
        assert!(-r.ln() < found && found < 0.01 / r);
    }
}

#[test]
fn erratum_13_threshold_rule_is_zero_outside_its_band() {
    // as printed in the setup; the algorithm says [0, 1]
    fn printed_allows(u: f64) -> bool {
        0.0 < u && u <= 1.0
    }
    let by_threshold = pair("logistic", "threshold:gamma=1.5");
    let witness = refutation(&by_threshold, Claim::Positive);
    let u = f64::from(u8::from(witness.at[0].abs() <= 1.5));
    assert_eq!((witness.found, u), (0.0, 0.0));
    assert!(!printed_allows(u) && is_proved(&by_threshold, Claim::Probability));
    for rule in ["entropy", "least-confidence", "margin:mu=1", "exponential:mu=1"] {
        assert!(is_proved(&pair("logistic", rule), Claim::Positive), "{rule}");
    }
    // For a pool outside the band the normalizing sum is 0.
    let pool = [-4.0, 2.0, 3.0].map(|score| by_threshold.rule().at(score));
    assert!((pool[0] / pool.iter().sum::<f64>()).is_nan());
}

#[test]
fn erratum_14_entropy_is_not_at_most_one() {
    // as printed: the allowed range of an uncertainty
    fn printed_allows(u: f64) -> bool {
        0.0 < u && u <= 1.0
    }
    fn entropy(p: &[f64]) -> f64 {
        p.iter().map(|p| -p * p.ln()).sum()
    }
    let points: Vec<f64> = (1..100).map(|i| f64::from(i) / 100.0).collect();
    let (_, most) = maximum(&|q| entropy(&[q, 1.0 - q]), &points).unwrap();
    assert_close("log 2", most, LN_2, CLOSE);
    assert_close("U_max", certify(&pair("logistic", "entropy")).constants.u_max, most, CLOSE);
    assert_close("U_max in bits", certify(&pair("logistic", "entropy:base=2")).constants.u_max, 1.0, CLOSE);
    for classes in [3_u8, 4, 10] {
        let u = entropy(&vec![1.0 / f64::from(classes); usize::from(classes)]);
        assert!(!printed_allows(u), "{classes} classes");
        let of = |rule: &str| certify_classes(SOFTMAX, rule, usize::from(classes)).unwrap();
        let Verdict::Refuted(witness) = of("entropy").verdict(Claim::Probability).clone() else {
            panic!("{classes} classes");
        };
        assert_close("U", witness.found, u, CLOSE);
        assert!(witness.at.iter().all(|logit| *logit == witness.at[0]), "the uniform distribution");
        assert!(matches!(of(&format!("entropy:base={classes}")).verdict(Claim::Probability), Verdict::Proved(_)));
    }
    let binary = certify_classes(SOFTMAX, "entropy", 2).unwrap();
    assert!(matches!(binary.verdict(Claim::Probability), Verdict::Proved(_)));
}

#[test]
fn erratum_15_kinked_rules_keep_the_leading_link() {
    // as printed: U twice continuously differentiable, so at least one slope at 0
    fn printed_assumption(rule: &dyn Fn(f64) -> f64) -> bool {
        let h = 1e-6;
        let (left, right) = ((rule(0.0) - rule(-h)) / h, (rule(h) - rule(0.0)) / h);
        (right - left).abs() < 1e-3
    }
    let cases: [(&str, &str, Function, Function); 3] = [
        ("squared-hinge", "margin:mu=0.5", squared_hinge_slope, |s| 1.0 / (1.0 + 0.5 * s.abs())),
        ("exponential", "exponential:mu=0.5", exponential_slope, |s| (-0.5 * s.abs()).exp()),
        ("logistic", "least-confidence", logistic_slope, |s| -logistic_slope(s.abs())),
    ];
    for (loss, name, loss_slope, rule) in cases {
        assert!(!printed_assumption(&rule), "{name}");
        let slope = |s: f64| rule(s) * loss_slope(s);
        let plain = ByQuadrature { slope: &loss_slope, kinks: &[1.0] };
        let with_rule = ByQuadrature { slope: &slope, kinks: &[0.0, 1.0] };
        let pair = pair(loss, name);
        let link = Link::new(&pair).unwrap();
        for z in [1e-1, 1e-2, 1e-3] {
            let ratio = with_rule.link(z) / plain.link(z);
            assert!((ratio - rule(0.0)).abs() < z * rule(0.0), "{name}: ψ̃/ψ = {ratio} at {z}");
            assert_close("ψ̃", link.value(z) / with_rule.link(z), 1.0, 1e-9);
        }
        let start = link.start().unwrap();
        assert_close("ψ̃/z²", with_rule.link(1e-4) / 1e-8, start.coefficient, 1e-4);
        assert_eq!(start.power, 2, "{name}");
    }
    // The entropy is smooth, but its loss is not convex in the score; the rules with convex losses are not smooth.
    assert!(printed_assumption(&|s| pair("logistic", "entropy").rule().at(s)));
    assert!(refutation(&pair("logistic", "entropy"), Claim::ConvexInScore).found < 0.0);
    assert!(is_proved(&pair("squared-hinge", "margin:mu=0.5"), Claim::ConvexInScore));
    assert!(is_proved(&pair("exponential", "exponential:mu=0.5"), Claim::ConvexInScore));
}

#[test]
fn erratum_16_iterates_leave_the_set() {
    // One feature, always labeled +1, the parameter set [−1, 1], its best point 1, and G = e on it.
    let setting = BoundInputs { distance: 1.0, gradient: 1_f64.exp(), horizon: 10_000.0, rate: 1.0, u_max: 1.0 };
    let run = |project: fn(f64) -> f64| {
        let mut theta = 0.0_f64;
        for t in 1..=10_000 {
            // Multiples of the golden ratio are spread evenly over the unit interval.
            let coin = (f64::from(t) * 0.618_033_988_749_894_9).fract();
            if coin <= (-0.5 * theta.abs()).exp() {
                theta = project(theta - setting.step(1.0) * exponential_slope(theta));
            }
        }
        theta
    };
    // as printed
    let printed = run(|theta| theta);
    assert!(1.5 < printed, "ended at {printed}");
    // A single label −1 there has a gradient beyond G.
    assert!(setting.gradient < exponential_slope(-printed).abs());
    assert_eq!(run(|theta| theta.clamp(-1.0, 1.0)), 1.0);

    // No G bounds the gradient at every parameter.
    let cases: [(&str, &str, Function); 3] = [
        ("exponential", "exponential:mu=0.5", |s| (-0.5 * s.abs() - s).exp()),
        ("exponential", "constant:p=1", |s| (-s).exp()),
        ("squared-hinge", "constant:p=1", |s| squared_hinge_slope(s).abs()),
    ];
    for (loss, rule, steepness) in cases {
        let pair = crate::pair(loss, rule);
        let witness = refutation(&pair, Claim::Lipschitz);
        assert_close("witness", witness.found / steepness(witness.at[0]), 1.0, CLOSE);
        assert!(witness.needed < witness.found);
        let constants = certify(&pair).constants;
        assert_eq!((constants.lipschitz, constants.loss_lipschitz), (Some(f64::INFINITY), None), "{loss} {rule}");
    }
    // On separable data no finite parameter is optimal, and no D is large enough.
    let pair = pair("exponential", "exponential:mu=0.5");
    let above: Vec<f64> = (0..30).map(|s| pair.above_infimum(f64::from(s)).unwrap()).collect();
    assert!(above.windows(2).all(|two| 0.0 < two[1] && two[1] < two[0]));
    assert_eq!(BoundInputs { distance: f64::INFINITY, ..setting }.equivalent_risk(1.0).total(), f64::INFINITY);
}

/// The rule with h(0) = 1 and h = 1/2 elsewhere.
#[derive(Debug)]
struct Spike;

impl Uncertainty for Spike {
    fn at(&self, v: f64) -> f64 {
        if v == 0.0 { 1.0 } else { 0.5 }
    }

    fn slope(&self, _v: f64) -> f64 {
        0.0
    }

    fn facts(&self) -> UncertaintyFacts {
        let half = Constant::new(0.5).unwrap().facts();
        // No rate bounds its decay, because it jumps.
        UncertaintyFacts { kinks: vec![0.0], jumps: vec![0.0], max: 1.0, decay_at_most: vec![], ..half }
    }
}

#[test]
fn erratum_17_hinge_rule_may_differ_at_zero() {
    // as printed: the required form of a positive, falling, piecewise smooth h with a convex equivalent loss
    fn printed_allows(rule: &dyn Uncertainty) -> bool {
        [0.5, 1.0, 2.0].iter().all(|v| rule.at(*v) == rule.at(0.0))
    }
    assert!(!printed_allows(&Spike));
    let rule: Arc<dyn Uncertainty> = Arc::new(Spike);
    let pair = Queried::new(loss::parse("hinge").unwrap(), Named::own("spike", rule));
    let slope = |s: f64| Spike.at(s) * hinge_slope(s);
    let by_hand = ByQuadrature { slope: &slope, kinks: &[0.0, 1.0] };
    for i in -40..=40 {
        let s = f64::from(i) / 10.0;
        assert_close("half the hinge", 0.5 + by_hand.rise(s), 0.5 * (1.0 - s).max(0.0), CLOSE);
        assert_close("half the hinge", pair.value(s), 0.5 * (1.0 - s).max(0.0), CLOSE);
        assert!(above_chord(&|t| pair.value(t), s - 1.0, s + 0.5) <= CLOSE);
    }
    assert!(!matches!(certify(&pair).verdict(Claim::ConvexInScore), Verdict::Refuted(_)));
    // The rest of the proposition is correct: any other decrease breaks convexity.
    for rule in ["margin:mu=0.01", "exponential:mu=0.01", "mix:rule=threshold:gamma=0.5,floor=0.5"] {
        assert!(refutation(&crate::pair("hinge", rule), Claim::ConvexInScore).found < 0.0, "{rule}");
    }
    assert!(is_proved(&crate::pair("hinge", "constant:p=0.5"), Claim::ConvexInScore));
}

#[test]
fn erratum_18_a_rule_of_the_loss_needs_the_label() {
    // as printed, U = h(ℓ); here h(ℓ) = ℓ/(1 + ℓ)
    fn printed(loss: f64) -> f64 {
        loss / (1.0 + loss)
    }
    // It has two values at one prediction, and choosing between them needs the label before it is queried.
    let logistic = |s: f64| (-s).exp().ln_1p();
    assert_apart("U for y = ±1", printed(logistic(1.0)), printed(logistic(-1.0)));
    let error = Queried::parse("logistic", "expr:log(1+exp(-s))/(1+log(1+exp(-s)))").unwrap_err();
    assert!(error.message.contains("even"), "{error}");

    let at = [1.0, 0.0, -0.5];
    let surprise = |z: &[f64], label: usize| z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[label];
    let probability = |z: &[f64], k: usize| (-surprise(z, k)).exp();
    // ∂ᵢFⱼ − ∂ⱼFᵢ of the field F = U·(p − e_y), by differences.
    let curl_of = |score: &dyn Fn(&[f64], usize) -> f64, label: usize, i: usize, j: usize| {
        let across = |i: usize, j: usize| {
            let field = |shift: f64| {
                let mut z = at;
                z[i] += shift;
                score(&z, label) * (probability(&z, j) - f64::from(u8::from(j == label)))
            };
            derivative(&field, 0.0, 1e-3)
        };
        across(i, j) - across(j, i)
    };
    let entropy = |z: &[f64], _label: usize| (0..3).map(|k| surprise(z, k) * probability(z, k)).sum::<f64>();
    let of_the_loss = |z: &[f64], label: usize| printed(surprise(z, label));
    let mut largest = 0.0_f64;
    for (label, expected) in [(0, -0.014758551870282934), (1, 0.12035371009008107), (2, -0.13228648122212886)] {
        let right = curl_of(&entropy, label, 0, 1);
        assert_close("curl over log 3", right / 3_f64.ln(), expected, BY_DIFFERENCES);
        let found = curl(&*vector::parse("entropy").unwrap().object, &at, label, 0, 1);
        assert_close("curl", found, right, BY_DIFFERENCES);
        assert_close("curl of h(ℓ)", curl_of(&of_the_loss, label, 0, 1), 0.0, BY_DIFFERENCES);
        largest = largest.max(right.abs());
    }
    // ∇U would have to be parallel to p − e_y for every y; the determinant of the first two is the third probability.
    let (p, q) = (probability(&at, 0), probability(&at, 1));
    assert!(0.1 < (p - 1.0) * (q - 1.0) - p * q);
    for rule in ["entropy", "least-confidence", "top-two-margin"] {
        let Verdict::Refuted(witness) = certify_classes(SOFTMAX, rule, 3).unwrap().verdict(Claim::Integrable).clone()
        else {
            panic!("{rule}");
        };
        if rule == "entropy" {
            assert_eq!(witness.at, at);
            assert_close("witness", witness.found.abs(), largest, BY_DIFFERENCES);
        }
    }
    for (rule, classes) in [("constant:p=0.5", 3), ("entropy", 2)] {
        let certificate = certify_classes(SOFTMAX, rule, classes).unwrap();
        assert!(matches!(certificate.verdict(Claim::Integrable), Verdict::Proved(_)), "{rule} {classes}");
    }
}

#[test]
fn erratum_19_the_start_and_the_step_matter() {
    // One parameter, two features: 1, labeled +1 with probability 0.7, and 4, labeled −1.
    fn risk_slope(slope: &dyn Fn(f64) -> f64, theta: f64) -> f64 {
        0.7 * slope(theta) - 1.2 * slope(-4.0 * theta)
    }
    fn descend(slope: &dyn Fn(f64) -> f64, start: f64, step: f64, count: usize) -> f64 {
        (0..count).fold(start, |theta, _| theta - step * risk_slope(slope, theta))
    }
    let slope = |s: f64| hinge_slope(s) / (1.0 + 10.0 * s.abs());
    let by_hand = ByQuadrature { slope: &slope, kinks: &[0.0, 1.0] };
    let risk = |theta: f64| 0.7 * by_hand.rise(theta) + 0.3 * by_hand.rise(-4.0 * theta);
    let (left, right) = (least(&risk, -1.0, 0.0), least(&risk, 0.1, 2.0));
    assert_close("left minimum", left.0, -1.0 / 32.0, 1e-6);
    assert_close("right minimum", right.0, 1.0, 1e-6);
    assert!(left.1 < risk(0.03) && right.1 < risk(0.03), "a ridge between them");
    let hinge = pair("hinge", "margin:mu=10");
    let queried = |s: f64| hinge.slope(s);
    assert_close("from 0", descend(&queried, 0.0, 1e-3, 50_000), left.0, 1e-6);
    assert_close("from 1/10", descend(&queried, 0.1, 1e-3, 50_000), right.0, 1e-3);
    assert!(refutation(&hinge, Claim::ConvexInScore).found < 0.0);

    // as printed, every start is equally good: true of a convex pair
    let convex = pair("squared-hinge", "margin:mu=1");
    let queried = |s: f64| convex.slope(s);
    assert!(is_proved(&convex, Claim::ConvexInScore));
    assert_close("either start", descend(&queried, 0.0, 1e-3, 50_000), descend(&queried, 2.0, 1e-3, 50_000), CLOSE);
    // as printed, one step for all panels: the same number of steps, each three times as large, gets further
    let (slow, fast) = (descend(&queried, 2.0, 1e-4, 900), descend(&queried, 2.0, 3e-4, 900));
    assert_apart("as many steps", fast, slow);
    assert_close("as much time", descend(&queried, 2.0, 3e-4, 300), slow, 1e-3);
}

#[test]
fn erratum_20_entropy_curvature_in_the_score() {
    // as printed where the text promises the entropy's: the curvature of least confidence
    fn printed(s: f64) -> f64 {
        let q = 1.0 / (1.0 + (-s).exp());
        -q * (1.0 - q) * (1.0 - 2.0 * q)
    }
    fn missing(s: f64) -> f64 {
        let (r, o) = (1.0 / (1.0 + (-s).exp()), 1.0 / (1.0 + s.exp()));
        r * o * (2.0 * s * o + (-s).exp().ln_1p())
    }
    let slope = |s: f64| {
        let (q, other) = (1.0 / (1.0 + (-s).exp()), 1.0 / (1.0 + s.exp()));
        (-q * q.ln() - other * other.ln()) * logistic_slope(s)
    };
    let pair = pair("logistic", "entropy");
    for s in [-6.0, -2.0, -0.9, -0.8, -0.3, 0.0, 1.0, 4.0] {
        let right = derivative(&slope, s, 1e-3);
        assert_close("ℓ̃″", pair.curvature(s), right, BY_DIFFERENCES);
        assert_close("the missing formula", missing(s), right, BY_DIFFERENCES);
        if -1.0 < s {
            assert_apart("ℓ̃″", printed(s), right);
        }
    }
    let edge = bisect(&|s| derivative(&slope, s, 1e-3), -2.0, 0.0);
    assert_close("edge by differences", edge, -0.86404978958, BY_DIFFERENCES);
    assert_close("edge", bisect(&|s| pair.curvature(s), -2.0, 0.0), -0.86404978958, 1e-11);
    let witness = refutation(&pair, Claim::ConvexInScore);
    assert!(witness.found < 0.0 && witness.at[0] < edge);
    assert_close("witness", witness.found, derivative(&slope, witness.at[0], 1e-3), BY_DIFFERENCES);

    // The hinge's loss, promised in the same passage, is concave on the whole left side.
    let hinge = crate::pair("hinge", "margin:mu=0.5");
    let by_hand = ByQuadrature { slope: &|s| hinge_slope(s) / (1.0 + 0.5 * s.abs()), kinks: &[0.0, 1.0] };
    for s in [-5.0, -1.0, 0.5, 2.0] {
        assert_close("hinge", hinge.value(s), by_hand.rise(s) - by_hand.rise(1.0), CLOSE);
    }
    assert!(CLOSE < above_chord(&|s| hinge.value(s), -5.0, -1.0));
}
