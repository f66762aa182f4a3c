//! Existence beyond one score (§6.1): curls, loops, and the construction that has an objective.

use querist_theory::certificate::{CONDITIONAL_LOSS, Claim, Verdict, certify, certify_classes};
use querist_theory::equivalent::Queried;
use querist_theory::integrability::{conditional_loss_field, curl, find_curl, loop_work, queried_field};
use querist_theory::vector::{cross_entropy, cross_entropy_gradient, parse, softmax};

use crate::support::{RandomStream, near};

const POINT: [f64; 3] = [1.0, 0.0, -0.5];

/// Returns the corners of a unit square in the first two logits.
fn square() -> Vec<Vec<f64>> {
    [[0.5, -0.5], [1.5, -0.5], [1.5, 0.5], [0.5, 0.5]].map(|[a, b]| vec![a, b, -0.25]).to_vec()
}

#[test]
fn prop_existence_equiv_curl() {
    // Score, its value, and the curl in the first two logits for each of the three labels.
    let rows = [
        ("entropy:base=3", 0.82463965297307588, [-0.014758551870282934, 0.12035371009008107, -0.13228648122212886]),
        ("least-confidence", 0.37146828078823755, [0.0, 0.088148043261174752, -0.1453315538952939]),
        ("top-two-margin", 0.60269217841038662, [0.03242785289527709, 0.088148043261174752, -0.29066310779058781]),
    ];
    for (name, value, curls) in rows {
        let score = parse(name).unwrap();
        near(name, score.at(&softmax(&POINT)), value, 1e-15);
        for (label, expected) in curls.into_iter().enumerate() {
            let at = |i: usize, j: usize| curl(&*score.object, &POINT, label, i, j);
            near(name, at(0, 1), expected, 1e-15);
            // The field sums to 0 over the logits, which relates its curls to each other.
            near(name, at(0, 2), -expected, 1e-15);
            near(name, at(1, 2), expected, 1e-15);
            near(name, at(1, 0), -expected, 1e-15);
            near(name, curl_by_differences(name, label), expected, 1e-9);
        }
    }
    // Averaging over the label does not repair it.
    let score = parse("entropy:base=3").unwrap();
    let mean: f64 = [0.5, 0.3, 0.2].iter().enumerate().map(|(y, p)| p * curl(&*score.object, &POINT, y, 0, 1)).sum();
    near("averaged curl", mean, 0.0022695408474570809, 1e-15);
}

#[test]
fn the_top_two_ratio_has_a_curl_at_every_decay_rate() {
    for (mu, floor) in [(0.5, 0.0), (1.0, 0.1), (3.0, 0.2)] {
        let name = format!("top-two-ratio:mu={mu},floor={floor}");
        let score = parse(&name).unwrap();
        // The two largest logits are 1 apart, and only they matter: ∇U = κ(−1, 1, 0).
        let kappa = (1.0 - floor) * mu * f64::exp(-mu);
        near(&name, score.at(&softmax(&POINT)), floor + (1.0 - floor) * f64::exp(-mu), 1e-15);
        for label in 0..3 {
            let gradient = cross_entropy_gradient(&softmax(&POINT), label);
            let expected = -kappa * (gradient[0] + gradient[1]);
            near(&name, curl(&*score.object, &POINT, label, 0, 1), expected, 1e-15);
            near(&name, curl_by_differences(&name, label), expected, 1e-9);
        }
    }
    for mu in [0.01, 1.0, 60.0, 1000.0] {
        let rule = format!("top-two-ratio:mu={mu},floor=0.1");
        let certificate = certify_classes("softmax-cross-entropy", &rule, 3).unwrap();
        assert!(matches!(certificate.verdict(Claim::Integrable), Verdict::Refuted(_)), "{rule}");
        assert!(matches!(certificate.verdict(Claim::Probability), Verdict::Proved(_)), "{rule}");
        // Two classes are one score, and the rule is the exponential one with a floor.
        let two = certify_classes("softmax-cross-entropy", &rule, 2).unwrap();
        let pair = Queried::parse("logistic", &format!("mix:rule=exponential:mu={mu},floor=0.1")).unwrap();
        assert_eq!(two.constants.psi_at_1, certify(&pair).constants.psi_at_1, "{rule}");
    }
}

/// Returns ∂₁F₂ − ∂₂F₁ of the queried field, by finite differences.
fn curl_by_differences(score: &str, label: usize) -> f64 {
    let score = parse(score).unwrap();
    let h = 1e-5;
    let across = |i: usize, j: usize| {
        let at = |t: f64| {
            let mut logits = POINT;
            logits[i] += t;
            queried_field(&*score.object, label, &logits)[j]
        };
        (at(h) - at(-h)) / (2.0 * h)
    };
    across(0, 1) - across(1, 0)
}

#[test]
fn prop_existence_equiv_loops() {
    for (name, expected) in
        [("entropy:base=3", -0.0106419148862981), ("top-two-margin", 0.0238572424955937), ("least-confidence", 0.0)]
    {
        let score = parse(name).unwrap();
        let work = loop_work(&|logits| queried_field(&*score.object, 0, logits), &square());
        near(name, work, expected, 1e-13);
    }
    // A function of the loss itself is integrable for every label, but it needs the label before it is queried.
    for label in 0..3 {
        let field = |logits: &[f64]| {
            let loss = cross_entropy(logits, label);
            let gradient = cross_entropy_gradient(&softmax(logits), label);
            gradient.iter().map(|g| loss / (1.0 + loss) * g).collect::<Vec<f64>>()
        };
        near("U = ℓ/(1 + ℓ)", loop_work(&field, &square()), 0.0, 1e-14);
    }
}

#[test]
fn prop_existence_equiv_level_sets() {
    // Along a level set of the loss of label 0 the other two exponentials have a constant sum, so p₀ is constant.
    let level = |t: f64| {
        let rest: f64 = 1.4;
        [0.8, (rest * t).ln(), (rest * (1.0 - t)).ln()]
    };
    let at = |name: &str, t: f64| parse(name).unwrap().at(&softmax(&level(t)));
    near("the loss", cross_entropy(&level(0.3), 0), cross_entropy(&level(0.5), 0), 1e-14);
    // Label 0 is the likeliest, so least confidence is 1 − e^(−ℓ): constant along it, with curl 0. Entropy is not.
    near("least confidence", at("least-confidence", 0.3), at("least-confidence", 0.5), 1e-14);
    assert!(0.01 < at("entropy", 0.5) - at("entropy", 0.3));
    for (name, zero) in [("least-confidence", true), ("entropy", false)] {
        let found = curl(&*parse(name).unwrap().object, &level(0.3), 0, 0, 1);
        assert_eq!(found.abs() < 1e-15, zero, "{name}: {found}");
    }
}

#[test]
fn prop_existence_equiv_two_classes() {
    let mut stream = RandomStream::new(5);
    for name in ["entropy", "entropy:base=2", "least-confidence", "top-two-margin", "constant:p=0.5"] {
        let score = parse(name).unwrap();
        for _ in 0..200 {
            let logits = [stream.between(-6.0, 6.0), stream.between(-6.0, 6.0)];
            for label in 0..2 {
                near(name, curl(&*score.object, &logits, label, 0, 1), 0.0, 1e-15);
            }
        }
        assert_eq!(find_curl(&*score.object, 2), None, "{name}");
        let certificate = certify_classes("softmax-cross-entropy", name, 2).unwrap();
        assert!(matches!(certificate.verdict(Claim::Integrable), Verdict::Proved(_)), "{name}");
    }
}

#[test]
fn prop_existence_equiv_more_classes() {
    for classes in [3, 4, 10] {
        for name in ["entropy", "least-confidence", "top-two-margin"] {
            let certificate = certify_classes("softmax-cross-entropy", name, classes).unwrap();
            let Verdict::Refuted(witness) = certificate.verdict(Claim::Integrable) else { panic!("{name}, {classes}") };
            assert_eq!(witness.at.len(), classes);
            // The label and plane that `find_curl` reports have the curl of the witness.
            let score = parse(name).unwrap();
            let found = find_curl(&*score.object, classes).unwrap();
            let again = curl(&*score.object, &witness.at, found.label, found.plane.0, found.plane.1);
            assert_eq!(again, witness.found, "{name}, {classes}");
            assert!(1e-3 < again.abs(), "{name}, {classes}");
        }
        let constant = certify_classes("softmax-cross-entropy", "constant:p=0.3", classes).unwrap();
        assert!(matches!(constant.verdict(Claim::Integrable), Verdict::Proved(_)));
    }
}

#[test]
fn prop_existence_equiv_conditional_loss() {
    // U = L/M with L = E[ℓ | x]: the mean field is the gradient of L²/(2M).
    let (probabilities, bound) = ([0.5, 0.3, 0.2], 7.0);
    let loss =
        |logits: &[f64]| -> f64 { probabilities.iter().enumerate().map(|(y, p)| p * cross_entropy(logits, y)).sum() };
    let field = |logits: &[f64]| conditional_loss_field(&probabilities, bound, logits);
    let h = 1e-5;
    for (j, found) in field(&POINT).into_iter().enumerate() {
        let potential = |t: f64| {
            let mut logits = POINT;
            logits[j] += t;
            loss(&logits).powi(2) / (2.0 * bound)
        };
        near("gradient", found, (potential(h) - potential(-h)) / (2.0 * h), 1e-10);
    }
    near("loop", loop_work(&field, &square()), 0.0, 1e-15);
    let certificate = certify_classes("softmax-cross-entropy", CONDITIONAL_LOSS, 3).unwrap();
    assert!(matches!(certificate.verdict(Claim::Integrable), Verdict::Proved(_)));
}
