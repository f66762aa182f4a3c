//! Values where a formula would overflow, round to an edge or lose digits. The expected numbers were computed with
//! 60 digits from independent formulas.

use querist_theory::coordinate::Label;
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::loss::Loss;
use querist_theory::uncertainty::KnownMax;

fn pair(loss: &str, rule: &str) -> Queried {
    Queried::parse(loss, rule).unwrap()
}

fn within(found: f64, expected: f64, eps: f64, what: &str) {
    let off = (found - expected).abs() / (expected.abs() * f64::EPSILON);
    assert!(off <= eps, "{what}: {found:e} instead of {expected:e}, {off} eps");
}

/// Checks that ψ′ is γ/2 beyond the bias whose minimizer is γ, also where that bias rounds to 1.
#[test]
fn the_link_of_a_threshold_ends_with_a_finite_slope() {
    for gamma in [0.5, 5.0, 37.0, 40.0, 100.0, 700.0, 800.0] {
        let pair = pair("logistic", &format!("threshold:gamma={gamma}"));
        let link = Link::new(&pair).unwrap();
        within(link.slope(1.0), 0.5 * gamma, 16.0, &format!("slope at gamma = {gamma}"));
        if 37.0 <= gamma {
            within(link.value(1.0), std::f64::consts::LN_2, 4.0, &format!("value at gamma = {gamma}"));
        }
    }
}

/// Compares with d²ℓ̃/dr² = −log(1 − r)/r².
#[test]
fn the_curvature_in_a_tiny_probability_is_accurate() {
    let pair = pair("cross-entropy", "entropy");
    for (q, plus, minus) in [
        (1e-200, 1.000_000_000_000_000_0e200, 460.517_018_598_809_14),
        (1e-300, 1.000_000_000_000_000_0e300, 690.775_527_898_213_7),
        (1e-10, 10_000_000_000.5, 23.025_850_934_545_627),
        (0.25, 4.602_913_159_228_495, 2.464_523_308_657_583_3),
        (0.5, 2.772_588_722_239_781_2, 2.772_588_722_239_781_2),
        (0.999, 6.921_591_540_471_539, 1_000.500_333_583_532_6),
    ] {
        for (label, expected) in [(Label::Plus, plus), (Label::Minus, minus)] {
            let found = pair.at_probability(q, label).equivalent_curvature.unwrap();
            within(found, expected, 8.0, &format!("q = {q}, {label:?}"));
        }
    }
    assert_eq!(pair.at_probability(0.0, Label::Plus).equivalent_curvature, Some(f64::INFINITY));
}

/// Compares with ∫ₛ^∞ e⁻ᵗ/(1 + 2|t|) dt, by exponential integrals.
#[test]
fn the_margin_rule_with_the_exponential_loss_is_accurate() {
    let pair = pair("exponential", "margin:mu=2");
    for (s, expected) in [
        (0.999_999_99, 0.082_452_207_726_444_6),
        (0.5, 0.180_851_479_543_887_87),
        (1.0, 0.082_452_206_500_179_78),
        (0.0, 0.461_455_316_241_865_2),
        (3.0, 0.005_745_908_921_447_398),
        (20.0, 4.802_951_339_390_413e-11),
        (-0.5, 0.898_429_696_659_995_9),
        (-3.0, 4.546_783_239_672_081),
        (-10.0, 1_178.126_629_664_684_8),
    ] {
        within(pair.value(s), expected, 8.0, &format!("s = {s}"));
    }
}

#[test]
fn the_evidence_for_a_maximum_is_reported() {
    for (rule, known, max) in [
        ("entropy", KnownMax::Attained, std::f64::consts::LN_2),
        ("product:rule=entropy,by=margin:mu=1", KnownMax::Attained, std::f64::consts::LN_2),
        ("product:rule=expr:exp(-s^2),by=expr:exp(-abs(s))", KnownMax::Attained, 1.0),
        ("expr:1-0.5*exp(-s^2)", KnownMax::Searched, 1.0),
        ("product:rule=threshold:gamma=1,by=expr:1-exp(-s^2)", KnownMax::SearchedBound, 1.0),
        ("power:rule=(expr:1-0.5*exp(-s^2)),exponent=2", KnownMax::Searched, 1.0),
        ("mix:rule=(expr:1-0.5*exp(-s^2)),floor=0.5", KnownMax::Searched, 1.0),
    ] {
        let pair = pair("logistic", rule);
        assert_eq!(pair.rule().known_max(), known, "{rule}");
        assert!((pair.rule_facts().max - max).abs() < 1e-6, "{rule}: {}", pair.rule_facts().max);
    }
}
