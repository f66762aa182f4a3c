//! Hard cases for certificates: false claims must not be proved, true ones not refuted, nor equalities rounded away.

use querist_theory::certificate::{Claim, Verdict, certify, certify_classes};
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::loss::Loss;

fn verdict(loss: &str, rule: &str, claim: Claim) -> Verdict {
    let pair = Queried::parse(loss, rule).unwrap_or_else(|error| panic!("{error}"));
    certify(&pair).verdict(claim).clone()
}

/// Checks false claims that rounding, underflow or a sampled maximum could make look true.
#[test]
fn false_claims_are_not_proved() {
    let spike = "product:rule=(expr:0.1+0.5*exp(-(1e5*(abs(s)-0.3137))^2)),by=least-confidence:scale=4";
    let cases = [
        ("logistic", spike, Claim::Probability),
        ("logistic", "entropy:base=1.9999999999999998", Claim::Probability),
        ("expr:(s-0.1-0.2+0.3)^2", "constant", Claim::Calibrated),
        ("hinge", "power:rule=margin:mu=1e-20,exponent=0.01", Claim::ConvexInScore),
        ("exponential", "product:rule=exponential:mu=1,by=exponential:mu=1e-20", Claim::ConvexInScore),
        ("exponential", "product:rule=exponential:mu=0.7,by=exponential:mu=0.29999999999999998", Claim::Lipschitz),
        ("squared-hinge", "margin:mu=1.0000000000000002", Claim::ConvexInScore),
        ("expr:1/(s-0.1234567)", "constant", Claim::Integrable),
        ("expr:-log(s+60)", "constant", Claim::Integrable),
        ("logistic", "expr:0.5+0*log(20000-abs(s))", Claim::Integrable),
    ];
    for (loss, rule, claim) in cases {
        assert!(!matches!(verdict(loss, rule, claim), Verdict::Proved(_)), "{loss} {rule} {}", claim.name());
    }
    let above_one = certify_classes("softmax-cross-entropy", "entropy:base=2.9999999999999996", 3).unwrap();
    assert!(matches!(above_one.verdict(Claim::Probability), Verdict::Refuted(_)));
}

/// Checks true claims that noise could make look false.
#[test]
fn true_claims_are_not_refuted() {
    let cases = [
        ("expr:-log(sigmoid(s))", "constant", Claim::ConvexInScore),
        ("expr:log(2*cosh(s))-s", "constant", Claim::ConvexInScore),
        ("expr:log(2*cosh(s))-s", "constant", Claim::ConvexInProbability),
        ("expr:max(0,1-s)", "constant:p=1e-12", Claim::Calibrated),
        ("expr:sigmoid(-s)", "constant:p=1e-13", Claim::Calibrated),
        ("expr:sqrt(1+s^2)-s", "margin:mu=1", Claim::Calibrated),
        ("expr:cosh(s)-s", "critical", Claim::Calibrated),
        ("squared", "expr:1-exp(-s^2)", Claim::Calibrated),
        ("expr:(sqrt(4+s^2)-s)/2", "mix:rule=margin:mu=1,floor=0.5", Claim::Calibrated),
        ("expr:log(1+exp(-s))*(1+0.01*cos(s))", "constant", Claim::Calibrated),
        ("expr:-atan(1e200*s)", "constant", Claim::Calibrated),
        ("expr:1e-10*sigmoid(-s)", "constant", Claim::Calibrated),
        ("expr:cosh(s)-sinh(s)", "constant", Claim::ConvexInScore),
        ("expr:sqrt(s^2+1e-300)-s", "constant", Claim::Calibrated),
        ("expr:sqrt(s^2+1e-300)-s", "constant", Claim::ConvexInScore),
        ("expr:sqrt(s^2+1e-300)-s", "constant", Claim::ConvexInProbability),
        ("squared", "expr:0.5*(sin(1e6*s)^2+cos(1e6*s)^2)", Claim::ConvexInScore),
        ("expr:max(exp(-s),1-s)", "product:rule=entropy,by=least-confidence", Claim::ConvexInProbability),
    ];
    for (loss, rule, claim) in cases {
        assert!(!matches!(verdict(loss, rule, claim), Verdict::Refuted(_)), "{loss} {rule} {}", claim.name());
    }
}

/// Checks that witnesses carry the refuting enclosure, and that it lies on the wrong side.
#[test]
fn refutations_are_enclosed() {
    for (loss, rule, claim) in [
        ("logistic", "entropy", Claim::ConvexInScore),
        ("logistic", "threshold:gamma=1.5", Claim::ConvexInProbability),
        ("expr:-atan(1e200*s)", "constant", Claim::ConvexInScore),
        ("expr:1e-10*sigmoid(-s)", "constant", Claim::ConvexInScore),
        ("expr:1e-200*sigmoid(-s)", "constant", Claim::ConvexInScore),
        ("squared", "margin:mu=1", Claim::ConvexInScore),
        ("squared", "threshold:gamma=1", Claim::ConvexInScore),
    ] {
        let Verdict::Refuted(witness) = verdict(loss, rule, claim) else { panic!("{loss} {rule} {}", claim.name()) };
        let enclosure = witness.enclosure.unwrap();
        assert!(
            enclosure.defined && enclosure.low <= witness.found && witness.found <= enclosure.high,
            "{loss} {rule}"
        );
        assert!(enclosure.high < 0.0, "{loss} {rule}: {enclosure:?}");
    }
}

/// Checks losses whose decisions differ from those of the Bayes rule, at any scale.
#[test]
fn miscalibrated_losses_are_refuted() {
    for (loss, rule) in [
        ("expr:exp(s)", "entropy"),
        ("expr:1e-200*exp(s)", "constant"),
        ("expr:max(0,-s)", "margin:mu=1"),
        ("expr:abs(s)-0.5*s", "least-confidence"),
        ("logistic", "expr:max(0,abs(s)-1)/(1+abs(s))"),
        ("expr:1e200*s^2", "constant"),
    ] {
        let Verdict::Refuted(witness) = verdict(loss, rule, Claim::Calibrated) else { panic!("{loss} {rule}") };
        assert_eq!(witness.enclosure.map(|bounds| (bounds.low, bounds.high)), Some((0.0, 0.0)), "{loss} {rule}");
    }
}

/// Checks that sums of exponents close to the limit are computed exactly from the parsed doubles.
#[test]
fn exponents_are_added_exactly() {
    let rule = |parts: [(f64, f64); 3]| {
        let [one, two, three] = parts.map(|(mu, exponent)| format!("power:rule=margin:mu={mu},exponent={exponent}"));
        format!("product:rule=({one}),by=(product:rule=({two}),by=({three}))")
    };
    let pair = Queried::parse("squared-hinge", &rule([(0.25, 0.6), (2.0, 0.2), (0.5, 0.2)])).unwrap();
    let certificate = certify(&pair);
    assert!(matches!(certificate.verdict(Claim::Lipschitz), Verdict::Proved(_)), "0.6 + 0.2 + 0.2 = 1");
    // 2·(1 + a) Π (1 + μa)^−h tends to 2·4^0.6·0.5^0.2·2^0.2.
    let limit = 2.0 * 4_f64.powf(0.6);
    assert!((certificate.constants.lipschitz.unwrap() / limit - 1.0).abs() < 1e-12);
    // As doubles these sum to about 1 − 2⁻⁵⁴, as integer arithmetic shows.
    let exponents = [0.085, 0.6, 0.315];
    let units: i128 = exponents.iter().map(|exponent| (exponent * 2_f64.powi(60)) as i128).sum();
    assert!(units < 1 << 60);
    let below = rule([(0.3, exponents[0]), (5.0, exponents[1]), (3.0, exponents[2])]);
    let Verdict::Refuted(witness) = verdict("squared-hinge", &below, Claim::Lipschitz) else { panic!("{below}") };
    assert_eq!((witness.at[0], witness.found), (f64::NEG_INFINITY, f64::INFINITY));
    assert!(2 < witness.because.len(), "the theorem and its facts");
}

/// Compares ψ of a loss that is not in the registry with quadrature at 30 digits.
#[test]
fn links_of_losses_given_as_expressions_are_enclosed() {
    let pair = Queried::parse("expr:(sqrt(4+s^2)-s)/2", "mix:rule=margin:mu=1,floor=0.5").unwrap();
    let found = Link::new(&pair).unwrap().value(0.5);
    assert!((found - 0.117_724_659_153_945_7).abs() < 1e-9, "{found}");
    // Not convex, so no theorem gives its ψ = z/2.
    let sigmoid = Queried::parse("expr:sigmoid(-s)", "constant").unwrap();
    for z in [0.25, 0.5, 1.0] {
        let found = Link::new(&sigmoid).unwrap().value(z);
        assert!((found - 0.5 * z).abs() < 1e-4, "{z}: {found}");
    }
    let certificate = certify(&sigmoid);
    let bounds = certificate.constants.psi_at_1_enclosure.unwrap();
    assert!(bounds.low <= 0.5 && 0.5 <= bounds.high && bounds.high - bounds.low < 1e-3, "{bounds:?}");
}

/// Checks equalities at the limit of a proof, which outward rounding must not break.
#[test]
fn limits_of_convexity_are_still_proved() {
    for (loss, rule) in [
        ("squared-hinge", "margin:mu=1"),
        ("exponential", "exponential:mu=1"),
        ("exponential", "margin:mu=1"),
        ("exponential", "product:rule=exponential:mu=0.5,by=exponential:mu=0.5"),
        ("squared-hinge", "power:rule=critical,exponent=0.5"),
        ("logistic", "critical"),
    ] {
        assert!(matches!(verdict(loss, rule, Claim::ConvexInScore), Verdict::Proved(_)), "{loss} {rule}");
    }
}

#[test]
fn a_calibrated_pair_has_a_link() {
    for (loss, rule) in [
        ("expr:exp(-s)", "critical"),
        ("expr:exp(-s)", "expr:exp(-abs(s))"),
        ("expr:exp(-s)+exp(-3*s)", "critical"),
        ("expr:cosh(s)-s", "threshold:gamma=1"),
    ] {
        let pair = Queried::parse(loss, rule).unwrap();
        assert!(matches!(certify(&pair).verdict(Claim::Calibrated), Verdict::Proved(_)), "{loss} {rule}");
        assert!(0.01 < Link::new(&pair).unwrap().value(1.0), "{loss} {rule}");
    }
}

/// Checks rules so narrow, or so distant from 0, that a careless quadrature would miss them.
#[test]
fn narrow_rules_are_not_missed() {
    let value = |loss: &str, rule: &str, s: f64| Queried::parse(loss, rule).unwrap().value(s);
    let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
    // ∫₀^∞ 2(1 − t)e^{−μt} dt = 2/μ − 2/μ².
    close(value("modified-huber", "exponential:mu=1000000", 0.0), 2e-6 - 2e-12);
    // ∫₀^∞ e^{−ct²}/2 dt = √(π/c)/4, up to the slope of the sigmoid.
    close(value("logistic", "expr:exp(-1e9*s^2)", 0.0), 0.25 * (std::f64::consts::PI / 1e9).sqrt());
    let far = ("expr:log(1+exp(-s/100))", "expr:exp(-(50^4)/(s^4+1e-9))");
    assert_eq!(value(far.0, far.1, 0.0), value(far.0, far.1, 1.0));
    assert!(0.4 < value(far.0, far.1, 0.0));
    close(value("expr:max(0,1-s)+5", "entropy", 0.9999999), 5.82203118412e-8);
}

#[test]
fn certificates_of_many_classes_are_fast() {
    for rule in ["entropy", "least-confidence", "top-two-margin"] {
        let certificate = certify_classes("softmax-cross-entropy", rule, 20_000).unwrap();
        assert!(matches!(certificate.verdict(Claim::Integrable), Verdict::Refuted(_)), "{rule}");
    }
    assert!(certify_classes("softmax-cross-entropy", "entropy", usize::MAX).is_err());
    // Products of products keep only a few bounds.
    let nested = (0..4).fold("entropy".to_owned(), |rule, _| format!("product:rule=({rule}),by=({rule})"));
    assert!(Queried::parse("logistic", &nested).is_ok());
}

/// A rule that is level where the two largest logits are close varies farther away: the curl is there.
#[test]
fn rules_with_a_plateau_have_curl() {
    for rule in ["boundary:reach=0.3,base=0.01,from=1.2", "boundary:reach=0.001,from=3", "boundary:reach=20,from=0.01"]
    {
        for classes in [3, 5] {
            let certificate = certify_classes("softmax-cross-entropy", rule, classes).unwrap();
            let verdict = certificate.verdict(Claim::Integrable);
            assert!(matches!(verdict, Verdict::Refuted(_)), "{rule}, {classes} classes: {verdict:?}");
        }
    }
}
