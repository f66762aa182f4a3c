//! Enclosures contain ψ and the curls of K classes, for everything registered.

use querist_theory::certificate::{Claim, Verdict, certify_classes};
use querist_theory::equivalent::Queried;
use querist_theory::integrability::{curl, find_curl};
use querist_theory::link::Link;
use querist_theory::loss::LOSSES;
use querist_theory::uncertainty::UNCERTAINTIES;
use querist_theory::vector::{SCORES, parse};

fn registered_pairs() -> impl Iterator<Item = Queried> {
    let losses = LOSSES.iter().flat_map(|entry| entry.samples);
    losses.flat_map(|loss| {
        let rules = UNCERTAINTIES.iter().flat_map(|entry| entry.samples);
        rules.filter_map(|rule| Queried::parse(loss, rule).ok())
    })
}

#[test]
fn psi_of_registered_pairs_lies_within_its_enclosure() {
    let mut compared = 0;
    for pair in registered_pairs() {
        let Some(link) = Link::new(&pair) else { continue };
        for z in [0.0, 1e-6, 0.5, 1.0] {
            let (psi, enclosure) = link.enclosed_value(z);
            let name = format!("{} × {} at z = {z}: {psi:?} in {enclosure:?}", pair.loss().name, pair.rule().name);
            assert!(enclosure.low <= enclosure.high, "{name}");
            assert_eq!(psi.is_some(), enclosure.high.is_finite(), "{name}");
            compared += usize::from(psi.is_some());
        }
    }
    assert!(250 < compared, "{compared}");
}

#[test]
fn the_enclosure_contains_the_curl() {
    for name in SCORES.iter().flat_map(|entry| entry.samples) {
        let score = parse(name).unwrap();
        for classes in [3, 4, 7, 1000] {
            let Some(found) = find_curl(&*score.object, classes) else {
                assert!(score.is_constant(), "{name} with {classes} classes");
                continue;
            };
            let (i, j) = found.plane;
            let again = curl(&*score.object, &found.logits, found.label, i, j);
            // The plain curl adds up to 1,000 rounded probabilities.
            let slack = 1e-12 * again.abs();
            assert!(
                found.enclosure.low - slack <= again && again <= found.enclosure.high + slack,
                "{name}: {again} in {:?}",
                found.enclosure
            );
            assert!(
                0.0 < found.enclosure.low || found.enclosure.high < 0.0,
                "{name}: {again} in {:?}",
                found.enclosure
            );
        }
    }
}

#[test]
fn an_underflowing_curl_refutes_nothing() {
    let certificate = certify_classes("softmax-cross-entropy", "top-two-ratio:mu=1e9", 3).unwrap();
    assert!(matches!(certificate.verdict(Claim::Integrable), Verdict::Unknown { .. }));
}

#[test]
fn least_confidence_of_many_classes_is_a_probability_up_to_its_largest_scale() {
    for classes in [3_u32, 7, 10, 49, 1000] {
        // The largest double at or below K/(K − 1), and the one after it.
        let k = f64::from(classes);
        let exceeds = |scale: f64| 0.0 < scale.mul_add(k - 1.0, -k);
        let mut scale = k / (k - 1.0);
        while exceeds(scale) {
            scale = scale.next_down();
        }
        while !exceeds(scale.next_up()) {
            scale = scale.next_up();
        }
        let verdict = |scale: f64| {
            let rule = format!("least-confidence:scale={scale}");
            let certificate = certify_classes("softmax-cross-entropy", &rule, classes as usize).unwrap();
            certificate.verdict(Claim::Probability).clone()
        };
        assert!(matches!(verdict(scale), Verdict::Proved(_)), "{classes}, {scale}");
        assert!(matches!(verdict(scale.next_up()), Verdict::Refuted(_)), "{classes}, {scale}");
    }
}
