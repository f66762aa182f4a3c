//! The equivalent loss and the update whose mean it describes (§3.1 and Appendix "Equivalent Loss").

use std::f64::consts::{LN_2, PI};

use querist_theory::coordinate::Label;
use querist_theory::loss::Loss;
use querist_theory::momentum::Landscape;
use querist_theory::numeric::dilogarithm::dilogarithm;

use crate::support::{FinitePopulation, PAPER_PAIRS, dot, name, near, norm, pair, plus};

/// Parameters and a feature; neither their score nor that of a noisy feature is at a kink of the paper's pairs.
const POINTS: [([f64; 2], [f64; 2]); 4] =
    [([0.31, -0.43], [1.2, 0.5]), ([0.93, 0.21], [0.7, -0.3]), ([-1.13, 0.87], [1.5, 0.4]), ([2.03, 1.07], [1.4, 0.6])];

#[test]
fn eq_key_ode() {
    // The rule depends on the score alone, the loss also on the label.
    // U must be even for one function of y·score to exist.
    for (loss, rule) in PAPER_PAIRS {
        let pair = pair(loss, rule);
        for (theta, x) in POINTS {
            for y in [-1.0, 1.0] {
                let score = dot(theta, x);
                let weight = pair.rule().at(score) * pair.loss().slope(y * score) * y;
                for (j, e) in [[1.0, 0.0], [0.0, 1.0]].into_iter().enumerate() {
                    let h = 1e-5;
                    let at = |t: f64| pair.value(y * dot(plus(theta, t, e), x));
                    let numeric = (at(h) - at(-h)) / (2.0 * h);
                    near(&format!("{loss} by {rule}, y = {y}, score {score}"), numeric, weight * x[j], 1e-9);
                }
            }
        }
    }
}

#[test]
fn eq_key_ode_in_the_probability() {
    // q = σ(θ·x): the chain rule through q must give the same gradient as through the margin.
    for rule in ["entropy", "least-confidence"] {
        let (by_q, by_s) = (pair("cross-entropy", rule), pair("logistic", rule));
        for (theta, x) in POINTS {
            let score = dot(theta, x);
            let q = 1.0 / (1.0 + (-score).exp());
            for (label, y) in [(Label::Plus, 1.0), (Label::Minus, -1.0)] {
                let at = by_q.at_probability(q, label);
                near("ℓ̃", at.equivalent, by_s.value(y * score), 1e-13);
                near("dℓ̃/dscore", at.equivalent_slope * q * (1.0 - q), y * by_s.slope(y * score), 1e-13);
            }
        }
    }
}

#[test]
fn prop_sgd_equiv() {
    let eta = 0.1;
    for (loss, rule) in PAPER_PAIRS {
        let pair = pair(loss, rule);
        let problem = FinitePopulation::noisy(&pair);
        for (theta, _) in POINTS {
            let mut mean_update = [0.0; 2];
            for &outcome in &problem.outcomes {
                let u = pair.rule().at(dot(theta, outcome.x));
                let queried = plus(theta, -eta, problem.loss_gradient(theta, outcome));
                // Two outcomes of the draw: queried with probability U, otherwise nothing moves.
                let after = plus(plus([0.0; 2], u, queried), 1.0 - u, theta);
                let s = outcome.label * dot(theta, outcome.x);
                let step = plus([0.0; 2], -eta * outcome.label * pair.slope(s), outcome.x);
                let gap = norm(plus(plus(after, -1.0, theta), -1.0, step));
                assert!(gap < 1e-14 * (1.0 + norm(queried)), "{loss} by {rule}: off by {gap}");
                mean_update = plus(mean_update, outcome.mass, plus(after, -1.0, theta));
            }
            // Averaged over feature and label too, it is a step down the mean equivalent loss (eq:history-gradient).
            let gradient = problem.difference_gradient(theta);
            let gap = norm(plus(mean_update, eta, gradient));
            assert!(gap < 1e-8 * (1.0 + norm(gradient)), "{}: mean update off by {gap}", name(&pair));
        }
    }
}

#[test]
fn eq_pool_mean() {
    // A pool draws a feature with probability U_i/ΣU: its mean gradient is the mean equivalent gradient over S.
    for (loss, rule) in PAPER_PAIRS {
        let pair = pair(loss, rule);
        let problem = FinitePopulation::noisy(&pair);
        let theta = [0.43, -0.31];
        let total = problem.rate(&theta);
        let mean = problem.outcomes.iter().fold([0.0; 2], |sum, &outcome| {
            let drawn = outcome.mass * pair.rule().at(dot(theta, outcome.x)) / total;
            plus(sum, drawn, problem.loss_gradient(theta, outcome))
        });
        let gap = norm(plus(mean, -1.0 / total, problem.difference_gradient(theta)));
        assert!(gap < 1e-8, "{loss} by {rule}: off by {gap}");
    }
}

#[test]
fn apd_equiv_loss() {
    // The formulas in their textbook form, at margins where they do not cancel.
    let margins = [-2.6, -1.3, -0.4, 0.0, 0.2, 0.7, 0.95, 1.6];
    let sigmoid = |s: f64| 1.0 / (1.0 + (-s).exp());
    let entropy = pair("logistic", "entropy");
    let least = pair("logistic", "least-confidence");
    for s in margins {
        let r = sigmoid(s);
        let by_hand = r * r.ln() + (1.0 - r) * (1.0 - r).ln() - dilogarithm(r) + PI * PI / 6.0;
        near("entropy", entropy.value(s), by_hand, 1e-13);
        let by_hand = if r < 0.5 { LN_2 - r } else { -(2.0 * r).ln() - (1.0 - r) + LN_2 };
        near("least confidence", least.value(s), by_hand, 1e-13);
        for gamma in [0.5, 2.0] {
            let by_hand = (1.0 + (-s.clamp(-gamma, gamma)).exp()).ln();
            near("threshold", pair("logistic", &format!("threshold:gamma={gamma}")).value(s), by_hand, 1e-13);
        }
        for mu in [0.3, 1.0, 4.0_f64] {
            let c = 2.0 / mu * (1.0 / mu + 1.0) * mu.ln_1p() - 2.0 / mu;
            let by_hand = if s <= 0.0 {
                -2.0 / mu * (1.0 / mu - 1.0) * (1.0 - mu * s).ln() - 2.0 / mu * s + c
            } else if s < 1.0 {
                -2.0 / mu * (1.0 / mu + 1.0) * (1.0 + mu * s).ln() + 2.0 / mu * s + c
            } else {
                0.0
            };
            near("squared hinge", pair("squared-hinge", &format!("margin:mu={mu}")).value(s), by_hand, 1e-12);
            let by_hand = if s <= 0.0 {
                ((1.0 + mu).ln() + (1.0 - mu * s).ln()) / mu
            } else if s < 1.0 {
                ((1.0 + mu).ln() - (1.0 + mu * s).ln()) / mu
            } else {
                0.0
            };
            near("hinge", pair("hinge", &format!("margin:mu={mu}")).value(s), by_hand, 1e-12);
        }
    }
}

#[test]
fn eg_exponential() {
    for mu in [0.0, 0.25, 0.5, 0.9_f64] {
        let pair = pair("exponential", &format!("exponential:mu={mu}"));
        for s in [-3.0, -1.1, -0.2, 0.0, 0.4, 2.5] {
            let by_hand = if 0.0 <= s {
                ((-(1.0 + mu) * s).exp() + mu) / (1.0 + mu)
            } else {
                ((-(1.0 - mu) * s).exp() - mu) / (1.0 - mu)
            };
            near(&format!("mu = {mu}, s = {s}"), pair.value(s), by_hand, 1e-13);
        }
        // On a compact interval the curvature is at least the smaller of its values at the two ends.
        let reach = 4.0;
        let floor = ((1.0 + mu) * (-(1.0 + mu) * reach).exp()).min(1.0 - mu);
        for i in 0..=800 {
            let s = -reach + f64::from(i) * 0.01;
            assert!(floor * (1.0 - 1e-12) <= pair.curvature(s), "mu = {mu}, s = {s}");
        }
    }
}
