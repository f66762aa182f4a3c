//! Severity A: formulas that would break a program that copied them.

use std::f64::consts::LN_2;

use querist_theory::certificate::{Claim, certify};
use querist_theory::coordinate::{Label, Probability};
use querist_theory::link::Link;
use querist_theory::loss::Loss;
use querist_theory::numeric::search::maximum;
use querist_theory::risk::{Risk, conditional_risk};

use crate::{
    BY_DIFFERENCES, ByQuadrature, CLOSE, assert_apart, assert_close, derivative, exponential_slope, hinge_slope,
    is_proved, logistic_slope, pair, squared_hinge_slope,
};

#[test]
fn erratum_01_threshold_bayes_risk() {
    // as printed
    fn printed(gamma: f64) -> f64 {
        gamma.exp().ln_1p() - gamma * gamma.exp() / (1.0 + gamma.exp())
    }
    let gamma = 1.5;
    let slope = |s: f64| if s.abs() <= gamma { logistic_slope(s) } else { 0.0 };
    let by_hand = ByQuadrature { slope: &slope, kinks: &[-gamma, gamma] };
    let pair = pair("logistic", "threshold:gamma=1.5");
    // Both forms agree where the branches meet, at p = σ(γ); a constant cannot follow the branch from there.
    for p in [0.85, 0.9, 0.95, 0.999] {
        let right = LN_2 + by_hand.bayes(p);
        assert_close("H", Risk::new(&pair).bayes(p), right, CLOSE);
        assert_close("H by search", Risk::by_search(&pair).bayes(p), right, CLOSE);
        assert_close("log(1 + e^γ) − pγ", gamma.exp().ln_1p() - p * gamma, right, CLOSE);
        assert_apart("H", printed(gamma), right);
    }
}

#[test]
fn erratum_02_threshold_link() {
    // as printed
    fn printed_edge(gamma: f64) -> f64 {
        2.0 / ((gamma / (1.0 + gamma.exp())).exp() + (-gamma / (1.0 + (-gamma).exp())).exp()) - 1.0
    }
    // as printed
    fn printed(gamma: f64, z: f64) -> f64 {
        let flat_at = printed_edge(gamma).min(z);
        0.5 * ((1.0 + z) * flat_at.ln_1p() + (1.0 - z) * (-flat_at).ln_1p())
    }
    for gamma in [0.25, 1.5, 2.0, 5.0] {
        let slope = |s: f64| if s.abs() <= gamma { logistic_slope(s) } else { 0.0 };
        let by_hand = ByQuadrature { slope: &slope, kinks: &[-gamma, gamma] };
        let pair = pair("logistic", &format!("threshold:gamma={gamma}"));
        let link = Link::new(&pair).unwrap();
        let found: Vec<f64> = (0..=20).map(|i| by_hand.link(f64::from(i) / 20.0)).collect();
        for (i, right) in found.iter().enumerate() {
            assert_close("ψ", link.value(i as f64 / 20.0), *right, CLOSE);
        }
        // Already convex, so the hull that the paper takes changes nothing.
        assert!(found.windows(3).all(|three| three[1] <= 0.5 * (three[0] + three[2]) + CLOSE), "γ = {gamma}");
        let edge = (0.5 * gamma).tanh();
        assert_close("ψ′ from the left", link.slope(edge - 1e-13), 0.5 * gamma, 1e-9);
        assert_close("ψ′ from the right", link.slope(edge + 1e-13), 0.5 * gamma, 1e-9);
        assert_apart("edge", printed_edge(gamma), edge);
        assert_apart("ψ(1)", printed(gamma, 1.0), found[20]);
        // A smaller link is still valid: it guarantees less than is true.
        assert!(found.iter().enumerate().all(|(i, right)| printed(gamma, i as f64 / 20.0) <= right + CLOSE));
    }
}

#[test]
fn erratum_03_exponential_signs() {
    // as printed
    fn printed(mu: f64, s: f64) -> f64 {
        if 0.0 <= s {
            -(-(1.0 + mu) * s).exp() / (1.0 + mu) + mu / (1.0 + mu)
        } else {
            -(-(1.0 - mu) * s).exp() / (1.0 - mu) - mu / (1.0 - mu)
        }
    }
    let (mu, p) = (0.5, 0.8_f64);
    let slope = |s: f64| (-mu * s.abs()).exp() * exponential_slope(s);
    let by_hand = ByQuadrature { slope: &slope, kinks: &[0.0] };
    let pair = pair("exponential", "exponential:mu=0.5");
    for s in [-4.0, -1.0, -0.1, 0.0, 0.3, 2.0] {
        let right = 1.0 + by_hand.rise(s);
        assert_close("ℓ̃", pair.value(s), right, CLOSE);
        assert_apart("ℓ̃", printed(mu, s), right);
    }
    // The printed loss rises with the margin: a better prediction would cost more.
    assert!(printed(mu, 0.5) < printed(mu, 1.0));
    let minimizer = 0.5 * (p / (1.0 - p)).ln();
    let right = 1.0 + by_hand.bayes(p);
    assert_close("H", Risk::new(&pair).bayes(p), right, CLOSE);
    assert_close("H", right, 0.820914, 1e-6);
    assert_apart("H", p * printed(mu, minimizer) + (1.0 - p) * printed(mu, -minimizer), right);
}

#[test]
fn erratum_04_exponential_rule_without_mu() {
    // as printed
    fn printed(s: f64) -> f64 {
        (-s.abs()).exp()
    }
    // The paper's own equivalent loss, main text.
    fn example(mu: f64, s: f64) -> f64 {
        let (side, sign) = if 0.0 <= s { (1.0 + mu, 1.0) } else { (1.0 - mu, -1.0) };
        (-side * s).exp() / side + sign * mu / side
    }
    for mu in [0.25, 0.5, 0.9] {
        let pair = pair("exponential", &format!("exponential:mu={mu}"));
        for s in [-3.0, -1.0, 0.5, 2.0] {
            let implied = derivative(&|t| example(mu, t), s, 1e-3) / exponential_slope(s);
            assert_close("U", pair.rule().at(s), implied, BY_DIFFERENCES);
            assert_apart("U", printed(s), implied);
            let of_printed = ByQuadrature { slope: &|t| printed(t) * exponential_slope(t), kinks: &[0.0] };
            assert_close("ℓ̃", pair.value(s), example(mu, s), CLOSE);
            assert_apart("ℓ̃", 1.0 + of_printed.rise(s), example(mu, s));
        }
    }
}

#[test]
fn erratum_05_exponential_curvature_branches() {
    // as printed
    fn printed(mu: f64, s: f64) -> f64 {
        let side = if s < 0.0 { 1.0 + mu } else { 1.0 - mu };
        side * (-side * s).exp()
    }
    for mu in [0.5, 0.9, 3.0] {
        let slope = |s: f64| (-mu * s.abs()).exp() * exponential_slope(s);
        let pair = pair("exponential", &format!("exponential:mu={mu}"));
        for s in [-2.0, -1.0, -0.25, 0.25, 1.0, 2.0] {
            let right = derivative(&slope, s, 1e-3);
            assert_close("ℓ̃″", pair.curvature(s), right, BY_DIFFERENCES);
            assert_apart("ℓ̃″", printed(mu, s), right);
        }
    }
}

#[test]
fn erratum_06_squared_hinge_constant() {
    // as printed
    fn printed_constant(mu: f64) -> f64 {
        2.0 / mu - 2.0 / mu * (1.0 / mu + 1.0) * mu.ln_1p()
    }
    // as printed
    fn printed(mu: f64, s: f64) -> f64 {
        2.0 / mu * s - 2.0 / mu * (1.0 / mu + 1.0) * (mu * s).ln_1p() + printed_constant(mu)
    }
    for mu in [0.25, 0.5, 1.0, 3.0] {
        let slope = |s: f64| squared_hinge_slope(s) / (1.0 + mu * s.abs());
        let by_hand = ByQuadrature { slope: &slope, kinks: &[0.0, 1.0] };
        let pair = pair("squared-hinge", &format!("margin:mu={mu}"));
        for s in [0.0, 0.25, 0.75, 1.0] {
            let right = by_hand.rise(s) - by_hand.rise(1.0);
            assert_close("ℓ̃", pair.value(s), right, CLOSE);
            assert_apart("ℓ̃", printed(mu, s), right);
        }
        // The text chooses the constant so that the loss ends at 0.
        assert_close("ℓ̃(1)", pair.value(1.0), 0.0, 0.0);
        assert_close("printed ℓ̃(1)", printed(mu, 1.0), 2.0 * printed_constant(mu), CLOSE);
    }
    assert_close("printed ℓ̃(1)", printed(0.5, 1.0), -1.7312, 1e-4);
}

#[test]
fn erratum_07_hinge_wrong_side_risk() {
    // as printed
    fn printed(mu: f64) -> f64 {
        2.0 / mu * mu.ln_1p()
    }
    for mu in [0.5, 1.0, 10.0] {
        let slope = |s: f64| hinge_slope(s) / (1.0 + mu * s.abs());
        let by_hand = ByQuadrature { slope: &slope, kinks: &[0.0, 1.0] };
        let pair = pair("hinge", &format!("margin:mu={mu}"));
        let at_zero = -by_hand.rise(1.0);
        for p in [0.6, 0.75, 0.95] {
            let (at, beyond) = by_hand.wrong_side(p);
            let right = at_zero + beyond;
            assert_close("best wrong prediction", at, 0.0, 0.0);
            assert_close("H⁻", Risk::new(&pair).wrong_side(p), right, CLOSE);
            assert_close("H⁻ by search", Risk::by_search(&pair).wrong_side(p), right, CLOSE);
            assert_apart("H⁻", printed(mu), right);
            // "Any prediction in [−1, 0]" costs the same only at p = 1/2.
            for s in [-1.0, -0.5, -0.25] {
                assert_close("C", conditional_risk(&pair, p, s), at_zero + by_hand.cost(p, s), CLOSE);
                assert!(right + 1e-2 < conditional_risk(&pair, p, s));
            }
            assert_close("C at 1/2", conditional_risk(&pair, 0.5, -0.5), at_zero, CLOSE);
            // The printed H⁻ contradicts the printed link, which is right.
            let z = 2.0 * p - 1.0;
            assert_close("ψ", Link::new(&pair).unwrap().value(z), by_hand.link(z), CLOSE);
            assert_apart("ψ", printed(mu) - (1.0 - p) * printed(mu), by_hand.link(z));
        }
    }
}

#[test]
fn erratum_08_entropy_curvature_in_prediction() {
    fn uncertainty(prediction: f64) -> f64 {
        let (q, other) = (0.5 * (1.0 + prediction), 0.5 * (1.0 - prediction));
        -q * q.ln() - other * other.ln()
    }
    fn loss_slope(prediction: f64) -> f64 {
        -1.0 / (1.0 + prediction)
    }
    // as printed
    fn printed(prediction: f64) -> f64 {
        derivative(&uncertainty, prediction, 1e-3) * loss_slope(prediction)
    }
    let pair = pair("cross-entropy", "entropy");
    for prediction in [-0.9, -0.5, -0.1, 0.3, 0.8] {
        let right = derivative(&|t| uncertainty(t) * loss_slope(t), prediction, 1e-4);
        // The crate differentiates in q = (1 + Ŷ)/2.
        let at = Probability::of_label(0.5 * (1.0 + prediction), Label::Plus);
        assert_close("ℓ̃″", 0.25 * pair.curvature_in_probability(at), right, BY_DIFFERENCES);
        assert!(0.0 < right);
        assert_apart("ℓ̃″", printed(prediction), right);
    }
    // The printed formula would show the opposite of what the paper uses it for.
    assert_close("printed", printed(-0.5), -1.0986, 1e-4);
    assert!(is_proved(&pair, Claim::ConvexInProbability));
}

#[test]
fn erratum_09_squared_hinge_lipschitz_constant() {
    // as printed
    fn printed(mu: f64) -> f64 {
        2.0 / mu
    }
    // The supremum is attained at 0 or approached at −∞.
    let points: Vec<f64> = (0..=600).map(|i| -10_f64.powf(15.0 - f64::from(i) / 20.0)).chain([0.0, 0.5, 1.0]).collect();
    for mu in [0.25, 0.5, 1.0, 2.0, 10.0] {
        let steepness = |s: f64| squared_hinge_slope(s).abs() / (1.0 + mu * s.abs());
        let (_, right) = maximum(&steepness, &points).unwrap();
        let found = certify(&pair("squared-hinge", &format!("margin:mu={mu}"))).constants.lipschitz.unwrap();
        assert_close("sup |ℓ̃′|", found, right, CLOSE);
        assert_close("max(2, 2/μ)", 2_f64.max(2.0 / mu), right, CLOSE);
        if 1.0 < mu {
            assert_apart("sup |ℓ̃′|", printed(mu), right);
            assert!(printed(mu) < steepness(0.0), "no bound at all");
        }
    }
}
