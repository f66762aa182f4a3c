//! Hard cases for certificates: what must not be proved, what must not be refuted, what must not be lost in rounding.

use querist_theory::certificate::{Claim, Verdict, certify, certify_classes};
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::loss::Loss;

fn verdict(loss: &str, rule: &str, claim: Claim) -> Verdict {
    let pair = Queried::parse(loss, rule).unwrap_or_else(|error| panic!("{error}"));
    certify(&pair).verdict(claim).clone()
}

/// False claims that rounding, underflow or a sampled maximum could make look true.
#[test]
fn what_is_false_is_not_proved() {
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

/// True claims that noise could make look false.
#[test]
fn what_is_true_is_not_refuted() {
    let cases = [
        ("expr:-log(sigmoid(s))", "constant", Claim::ConvexInScore),
        ("expr:log(2*cosh(s))-s", "constant", Claim::ConvexInScore),
        ("expr:log(2*cosh(s))-s", "constant", Claim::ConvexInProbability),
        ("expr:max(0,1-s)", "constant:p=1e-12", Claim::Calibrated),
        ("expr:sigmoid(-s)", "constant:p=1e-13", Claim::Calibrated),
        ("expr:sqrt(1+s^2)-s", "margin:mu=1", Claim::Calibrated),
        ("expr:cosh(s)-s", "critical", Claim::Calibrated),
        ("squared", "expr:1-exp(-s^2)", Claim::Calibrated),
    ];
    for (loss, rule, claim) in cases {
        assert!(!matches!(verdict(loss, rule, claim), Verdict::Refuted(_)), "{loss} {rule} {}", claim.name());
    }
}

/// Equalities on the edge of a proof: nothing may be lost by rounding outward.
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

/// Rules so narrow, or so far out, that a careless quadrature would miss them.
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
fn many_classes_take_no_time() {
    for rule in ["entropy", "least-confidence", "top-two-margin"] {
        let certificate = certify_classes("softmax-cross-entropy", rule, 20_000).unwrap();
        assert!(matches!(certificate.verdict(Claim::Integrable), Verdict::Refuted(_)), "{rule}");
    }
    assert!(certify_classes("softmax-cross-entropy", "entropy", usize::MAX).is_err());
    // Products of products keep a few bounds, not all of them.
    let nested = (0..4).fold("entropy".to_owned(), |rule, _| format!("product:rule=({rule}),by=({rule})"));
    assert!(Queried::parse("logistic", &nested).is_ok());
}
