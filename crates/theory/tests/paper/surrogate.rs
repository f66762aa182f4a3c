//! Links between equivalent and 0–1 risk (§2, §3.3, §4.3 and Appendix "Surrogate Property").

use std::f64::consts::{LN_2, PI};

use querist_theory::certificate::{Claim, Verdict, certify};
use querist_theory::coordinate::Bias;
use querist_theory::equivalent::Queried;
use querist_theory::link::{Link, Method};
use querist_theory::loss::{self, Loss};
use querist_theory::numeric::dilogarithm::dilogarithm;
use querist_theory::numeric::quadrature::integrate;
use querist_theory::pair::PAIRS;
use querist_theory::risk::{Risk, conditional_risk};
use querist_theory::uncertainty::{self, UNCERTAINTIES};

use crate::support::{RandomStream, every_classification_pair, name, near, pair};

/// The costs of a random prediction at a random feature.
struct Predicted {
    /// |P(+1) − P(−1)| if the prediction is on the wrong side, else 0.
    zero_one: f64,
    /// The conditional equivalent risk.
    paid: f64,
    /// Its excess over the minimal risk.
    excess: f64,
}

fn random_prediction(pair: &Queried, risk: &Risk<'_>, stream: &mut RandomStream) -> Predicted {
    let p = stream.unit();
    let bias = 2.0 * p - 1.0;
    // Most predictions are small and on the wrong side, where the inequality is tight; 0 counts as wrong.
    let side = if stream.unit() < 0.8 { -bias.signum() } else { bias.signum() };
    let s = if stream.unit() < 0.3 { 0.0 } else { side * stream.unit() * stream.between(0.0, 6.0) };
    let (paid, best) = (conditional_risk(pair, p, s), risk.bayes(p));
    assert!(best <= paid + 1e-10 * paid.abs(), "{}: H({p}) = {best} but C({s}) = {paid}", name(pair));
    Predicted { zero_one: if s * bias <= 0.0 { bias.abs() } else { 0.0 }, paid, excess: paid - best }
}

/// Checks the inequality on random distributions of a few features with random predictions.
fn try_the_inequality(pair: &Queried, link: &Link<'_>, risk: &Risk<'_>, stream: &mut RandomStream) {
    let features: Vec<Predicted> = (0..6).map(|_| random_prediction(pair, risk, stream)).collect();
    for _ in 0..10 {
        // Cubes of random numbers: some features have nearly no weight, some nearly all.
        let weights: Vec<f64> = features.iter().map(|_| stream.unit().powi(3) + 1e-9).collect();
        let total: f64 = weights.iter().sum();
        let mean = |of: fn(&Predicted) -> f64| -> f64 {
            features.iter().zip(&weights).map(|(feature, weight)| weight / total * of(feature)).sum()
        };
        let (zero_one, excess, scale) = (mean(|f| f.zero_one), mean(|f| f.excess), mean(|f| f.paid.abs()));
        let needed = link.value(zero_one);
        assert!(
            needed <= excess + 1e-10 * (1.0 + scale),
            "{}: 0–1 excess {zero_one} needs {needed}, found {excess}",
            name(pair)
        );
    }
}

/// Checks tightness on two features of biases a ≤ ζ ≤ b with mean bias ζ, both predicted on the wrong side.
fn try_to_be_tight(pair: &Queried, link: &Link<'_>, risk: &Risk<'_>) {
    let epsilon = 1e-6;
    let biases: Vec<f64> = (0..=6).map(|i| f64::from(i) / 6.0).collect();
    let losses = [0.0, 1e-6, 0.5, 4.0].map(|a| (pair.value(-a), pair.value(a)));
    let cost = |z: &f64| {
        let p = 0.5 * (1.0 + z);
        let paid = losses.map(|(likely, unlikely)| p * likely + (1.0 - p) * unlikely);
        paid.into_iter().fold(f64::INFINITY, f64::min) - risk.bayes(p)
    };
    let costs: Vec<f64> = biases.iter().map(cost).collect();
    for (k, zeta) in biases.iter().enumerate() {
        let mut least = costs[k];
        for (a, b) in (0..k).flat_map(|a| (k + 1..biases.len()).map(move |b| (a, b))) {
            let share = (zeta - biases[a]) / (biases[b] - biases[a]);
            least = least.min((1.0 - share) * costs[a] + share * costs[b]);
        }
        let psi = link.value(*zeta);
        let what = || format!("{} at {zeta}: link {psi}, least excess {least}", name(pair));
        assert!(psi <= least + 1e-10 && least <= psi + epsilon, "{}", what());
    }
}

fn try_pairs(from_expressions: bool, at_least: usize) {
    let mut stream = RandomStream::new(1);
    let mut pairs = every_classification_pair();
    pairs.retain(|pair| pair.loss().name.starts_with("expr") == from_expressions);
    assert!(at_least < pairs.len(), "only {}", pairs.len());
    for pair in &pairs {
        let (link, risk) = (Link::new(pair).unwrap(), Risk::new(pair));
        try_the_inequality(pair, &link, &risk, &mut stream);
        try_to_be_tight(pair, &link, &risk);
    }
}

#[test]
fn thm_bartlett() {
    try_pairs(false, 190);
}

#[test]
fn thm_bartlett_for_losses_given_as_expressions() {
    // No facts are known about these losses, and their risks are searched.
    try_pairs(true, 110);
}

#[test]
fn thm_bartlett_calibrated_exactly_if_the_link_is_positive() {
    for pair in &closed_pairs() {
        let link = Link::new(pair).unwrap();
        assert!(matches!(certify(pair).verdict(Claim::Calibrated), Verdict::Proved(_)), "{}", name(pair));
        assert!((1..=20).all(|i| 0.0 < link.value(f64::from(i) / 20.0)), "{}", name(pair));
    }
    // Nothing is queried on |s| < 1, where the hinge has its slope, so a wrong prediction there costs nothing.
    // A loss that rises with the margin rewards the wrong side.
    for (loss, rule) in [("hinge", "expr:max(0,abs(s)-1)/(1+abs(s))"), ("expr:sigmoid(s)", "constant")] {
        let pair = pair(loss, rule);
        assert_eq!(Link::new(&pair).unwrap().value(0.5), 0.0, "{loss} by {rule}");
        assert!(matches!(certify(&pair).verdict(Claim::Calibrated), Verdict::Refuted(_)), "{loss} by {rule}");
    }
}

/// Returns all pairs with a closed form for a built-in loss, at every sample of the rule.
fn closed_pairs() -> Vec<Queried> {
    let mut found = Vec::new();
    for entry in PAIRS {
        let all = ["logistic", "cross-entropy", "hinge", "squared-hinge", "exponential"];
        let losses = if entry.losses.is_empty() { &all[..] } else { entry.losses };
        for loss in losses {
            let loss = loss::parse(loss).unwrap();
            let rules = UNCERTAINTIES.iter().filter(|rule| rule.name == entry.rule).flat_map(|rule| rule.samples);
            found.extend(rules.map(|rule| Queried::new(loss.clone(), uncertainty::parse(rule, &loss).unwrap())));
        }
    }
    found
}

#[test]
fn thm_bartlett_construction() {
    // H⁻ − H by search and its convex hull, without known facts, against the closed form.
    let pairs = closed_pairs();
    let mut closed = 0;
    for pair in &pairs {
        let (link, general) = (Link::new(pair).unwrap(), Link::general(pair));
        assert_eq!(general.method(), Method::General);
        closed += usize::from(link.method() == Method::ClosedForm);
        for z in [0.0, 0.013, 0.2, 0.5, 0.77, 0.95, 1.0] {
            near(&format!("{} at {z}", name(pair)), general.value(z), link.value(z), 1e-7);
        }
    }
    assert!(65 < closed, "{closed} of {} have a closed link", pairs.len());
}

/// A link in its textbook form.
type Formula<'a> = &'a dyn Fn(f64) -> f64;

#[test]
fn prop_link_calculate() {
    let ln1p_sum = |z: f64| 0.5 * ((1.0 + z) * z.ln_1p() + (1.0 - z) * (-z).ln_1p());
    let spence = |z: f64| {
        let (p, q) = (0.5 * (1.0 + z), 0.5 * (1.0 - z));
        p * dilogarithm(p) + q * dilogarithm(q) - dilogarithm(0.5)
    };
    let gamma = 1.5_f64;
    let edge = (0.5 * gamma).tanh();
    let rows: [(&str, &str, f64, f64, Formula<'_>); 5] = [
        ("logistic", "entropy", 0.5 * LN_2, PI * PI / 12.0 + 0.5 * LN_2 * LN_2 - LN_2, &|z| spence(z) - ln1p_sum(z)),
        ("logistic", "least-confidence", 0.25, LN_2 - 0.5, &|z| 0.5 * ((1.0 + z) * z.ln_1p() - z)),
        ("squared-hinge", "margin:mu=1", 1.0, 4.0 * LN_2 - 2.0, &|z| 2.0 * ((1.0 + z) * z.ln_1p() - z)),
        ("squared-hinge", "margin:mu=3", 1.0, 2.0 / 9.0 * (4.0 * 4_f64.ln() - 3.0), &|z| {
            2.0 / 9.0 * ((1.0 + 3.0 * z) * (3.0 * z).ln_1p() - 3.0 * z)
        }),
        ("logistic", "threshold:gamma=1.5", 0.5, LN_2 - (-gamma).exp().ln_1p(), &|z| {
            if z <= edge { ln1p_sum(z) } else { LN_2 - gamma.exp().ln_1p() + 0.5 * gamma * (1.0 + z) }
        }),
    ];
    for (loss, rule, coefficient, at_one, formula) in rows {
        let pair = pair(loss, rule);
        let link = Link::new(&pair).unwrap();
        // The next term of ψ is of order z³, so the quotient has an error of order z.
        let z = 1e-7;
        near(&format!("{rule}: ψ/z²"), link.value(z) / (z * z), coefficient, 4e-7);
        near(&format!("{rule}: ψ(1)"), link.value(1.0), at_one, 1e-14);
        let constants = certify(&pair).constants;
        near(&format!("{rule}: certified ψ/z²"), constants.psi_coefficient.unwrap(), coefficient, 1e-15);
        assert_eq!(constants.psi_power, Some(2), "{rule}");
        for z in [0.1, 0.4, 0.63, 0.64, 0.9, 0.999] {
            near(&format!("{rule}: ψ({z})"), link.value(z), formula(z), 1e-13);
        }
        assert!(matches!(certify(&pair).verdict(Claim::Calibrated), Verdict::Proved(_)), "{rule}");
    }
    near("entropy's ψ(1)", rows[0].3, 0.369546359823, 1e-11);
}

#[test]
fn eg_hinge() {
    for mu in [0.5, 1.0, 10.0_f64] {
        let pair = pair("hinge", &format!("margin:mu={mu}"));
        let link = Link::new(&pair).unwrap();
        for z in [0.01, 0.3, 0.8, 1.0] {
            near(&format!("mu = {mu}, z = {z}"), link.value(z), z * mu.ln_1p() / mu, 1e-14);
        }
        assert_eq!(certify(&pair).constants.psi_power, Some(1));
    }
}

#[test]
fn eg_exponential_link() {
    for mu in [0.0, 0.5, 0.9, 1.0, 2.0] {
        let pair = pair("exponential", &format!("exponential:mu={mu}"));
        let link = Link::new(&pair).unwrap();
        near("ψ/z²", link.value(1e-7) / 1e-14, 0.5, 1e-6);
        near("ψ(1)", link.value(1.0), 1.0 / (1.0 + mu), 1e-15);
        for z in [0.2, 0.5, 0.8_f64] {
            let by_hand = if mu == 1.0 {
                0.5 * (z - (1.0 - z) * z.atanh())
            } else {
                let powers = (1.0 - z).powf(0.5 * (1.0 + mu)) * (1.0 + z).powf(0.5 * (1.0 - mu));
                (1.0 - mu * z - powers) / (1.0 - mu * mu)
            };
            near(&format!("mu = {mu}, z = {z}"), link.value(z), by_hand, 1e-13);
        }
    }
}

#[test]
fn apd_surrogate_beyond_the_examples() {
    let margin_exponential = |t: f64| (1.0 - t * t).powf(-1.5) / (1.0 + 0.5 * t.atanh());
    let rows: [(&str, &str, Formula<'_>); 11] = [
        ("logistic", "least-confidence:scale=2", &|z| (1.0 + z) * z.ln_1p() - z),
        // ψ(z) = ∫₀ᶻ ψ′ with ψ′ = log(1 + 2μ artanh z)/(2μ).
        ("logistic", "margin:mu=1", &|z| integrate(&|t| 0.5 * (2.0 * t.atanh()).ln_1p(), 0.0, z, &[])),
        ("logistic", "exponential:mu=0.5", &|z| integrate(&|t| 1.0 - ((1.0 - t) / (1.0 + t)).sqrt(), 0.0, z, &[])),
        ("hinge", "threshold:gamma=0.5", &|z| 0.5 * z),
        ("hinge", "threshold:gamma=1.5", &|z| z),
        ("squared-hinge", "threshold:gamma=0.5", &|z| if z <= 0.5 { z * z } else { z - 0.25 }),
        ("squared-hinge", "threshold:gamma=1.5", &|z| z * z),
        ("hinge", "exponential:mu=0.5", &|z| -z * (-0.5_f64).exp_m1() / 0.5),
        ("squared-hinge", "exponential:mu=0.5", &|z| 8.0 * (0.5 * z + (-0.5 * z).exp_m1())),
        ("exponential", "margin:mu=0.5", &|z| integrate(&|t| (z - t) * margin_exponential(t), 0.0, z, &[])),
        ("logistic", "critical", &|z| 0.5 * (z - (1.0 - z) * z.atanh())),
    ];
    for (loss, rule, formula) in rows {
        let pair = pair(loss, rule);
        let link = Link::new(&pair).unwrap();
        for z in [0.05, 0.3, 0.5, 0.7, 0.9] {
            near(&format!("{loss} by {rule} at {z}"), link.value(z), formula(z), 1e-12);
        }
    }
    // Multiplying a rule by a constant multiplies its link.
    let (nats, bits) = (pair("logistic", "entropy"), pair("logistic", "entropy:base=2"));
    let (nats, bits) = (Link::new(&nats).unwrap(), Link::new(&bits).unwrap());
    near("entropy in bits", bits.value(0.6) * LN_2, nats.value(0.6), 1e-14);
    let (once, third) = (pair("exponential", "constant"), pair("exponential", "constant:p=0.3"));
    let (once, third) = (Link::new(&once).unwrap(), Link::new(&third).unwrap());
    near("a constant rule", third.value(0.6), 0.3 * once.value(0.6), 1e-14);
}

/// Returns f″ by differences at h and h/2, extrapolated.
fn second_difference(f: &dyn Fn(f64) -> f64, x: f64, h: f64) -> f64 {
    let at = |h: f64| (f(x + h) - 2.0 * f(x) + f(x - h)) / (h * h);
    (4.0 * at(0.5 * h) - at(h)) / 3.0
}

#[test]
fn prop_equiv_surrogate() {
    for (loss, own_curvature) in [("logistic", 4.0), ("squared-hinge", 8.0), ("exponential", 4.0)] {
        let plain = pair(loss, "constant");
        let own = Risk::new(&plain);
        near(&format!("{loss}: −H″(1/2)"), -second_difference(&|p| own.bayes(p), 0.5, 4e-3), own_curvature, 1e-6);
        for rule in ["entropy", "least-confidence", "margin:mu=0.5", "exponential:mu=2", "expr:1/(1+s^2)", "critical"] {
            let pair = pair(loss, rule);
            let (risk, link) = (Risk::new(&pair), Link::new(&pair).unwrap());
            let what = name(&pair);
            let u_max = pair.rule().at(0.0);
            for p in [0.12, 0.35, 0.62, 0.9] {
                let u = pair.rule().at(risk.minimizer(p));
                let (changed, unchanged) =
                    (second_difference(&|p| risk.bayes(p), p, 4e-3), second_difference(&|p| own.bayes(p), p, 4e-3));
                near(&format!("{what}: H̃″ against U(s*)·H″ at {p}"), changed, u * unchanged, 1e-6);
                let z = (2.0 * p - 1.0).abs();
                let slope = (link.slope(z + 1e-4) - link.slope(z - 1e-4)) / 2e-4;
                let own_link = pair.loss().link(Bias::new(z)).unwrap();
                near(&format!("{what}: ψ̃″ against U(s*)·ψ″ at {z}"), slope, u * own_link.curvature, 1e-5);
            }
            let z = 1e-6;
            let quotient = link.value(z) / pair.loss().link(Bias::new(z)).unwrap().value;
            near(&format!("{what}: ψ̃/ψ"), quotient, u_max, 1e-5);
            let constants = certify(&pair).constants;
            near(&what, constants.psi_coefficient.unwrap(), u_max * own_curvature / 8.0, 1e-14);
            near(&what, constants.neg_h2_half.unwrap(), own_curvature, 1e-14);
        }
    }
}
