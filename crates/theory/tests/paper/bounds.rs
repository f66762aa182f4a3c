//! Steps, bounds and ratios as formulas, and their constants (§4.1, §4.3, Appendices on steps and slopes).

use std::f64::consts::LN_2;

use querist_theory::bound::{
    BoundInputs, feasible_budget_ratio, feasible_ratio, inflation, oracle_budget_ratio, oracle_ratio,
};
use querist_theory::certificate::certify;
use querist_theory::coordinate::Probability;
use querist_theory::link::Link;
use querist_theory::loss::Loss;

use crate::support::{near, pair};

/// Returns settings with mean rates from far below the largest up to the largest.
fn settings() -> Vec<BoundInputs> {
    let mut settings = Vec::new();
    for u_max in [0.2, 0.5, LN_2, 1.0] {
        for rho in [0.01, 0.2, 0.7, 0.99, 1.0] {
            let rate = rho * u_max;
            settings.push(BoundInputs { distance: 1.7, gradient: 3.2, horizon: 5e3, rate, u_max });
        }
    }
    settings
}

/// Returns step constants around 1, spaced evenly in their logarithm.
fn constants() -> impl Iterator<Item = f64> {
    (-300..=300).map(|i| (f64::from(i) * 0.01).exp())
}

#[test]
fn rem_choosing_c() {
    for setting in settings() {
        let BoundInputs { distance, gradient, horizon, rate, u_max } = setting;
        let unit = distance * gradient / horizon.sqrt();
        let feasible = setting.equivalent_risk(setting.feasible_c());
        near("feasible", feasible.total(), 0.5 * unit * u_max.sqrt() * (1.0 + rate / u_max), 1e-14);
        let oracle = setting.equivalent_risk(setting.oracle_c());
        near("the oracle's terms balance", oracle.start, oracle.noise, 1e-14);
        near("oracle", oracle.total(), unit * rate.sqrt(), 1e-14);
        near("oracle by labels", oracle.total(), distance * gradient * rate / setting.expected_labels().sqrt(), 1e-14);
        assert!(oracle.total() <= feasible.total() * (1.0 + 1e-14));
        // No other constant is better at this rate, and none has a better worst case over rates.
        let worst = |c: f64| BoundInputs { rate: u_max, ..setting }.equivalent_risk(c).total();
        for c in constants() {
            assert!(oracle.total() <= setting.equivalent_risk(c).total() * (1.0 + 1e-14), "c = {c}");
            assert!(worst(setting.feasible_c()) <= worst(c) * (1.0 + 1e-14), "c = {c}");
            assert!(setting.equivalent_risk(c).total() <= worst(c) * (1.0 + 1e-14), "c = {c}");
        }
        near("step", setting.step(setting.feasible_c()), distance / (gradient * (u_max * horizon).sqrt()), 1e-14);
    }
}

#[test]
fn coro_final_sample_complexity() {
    for setting in settings() {
        let rho = setting.rho();
        for c in [0.3, 1.0, setting.feasible_c(), setting.oracle_c()] {
            let quotient = setting.leading_risk(c, 8.0) / setting.passive_leading_risk(8.0);
            near("ratio", quotient, setting.matched_ratio(c), 1e-13);
        }
        near("feasible", setting.matched_ratio(setting.feasible_c()), feasible_ratio(rho), 1e-13);
        near("oracle", setting.matched_ratio(setting.oracle_c()), oracle_ratio(rho), 1e-13);
        assert!(feasible_ratio(rho) <= 1.0 + 1e-15);
        assert!(rho == 1.0 || feasible_ratio(rho) < 1.0);
        assert!(oracle_ratio(rho) <= feasible_ratio(rho) + 1e-15);
        // Risks fall as labels^(−1/4), so budgets are proportional to the fourth power of risks.
        near("feasible budget", feasible_budget_ratio(rho), feasible_ratio(rho).powi(4), 1e-14);
        near("oracle budget", oracle_budget_ratio(rho), oracle_ratio(rho).powi(4), 1e-14);
    }
    assert_eq!(feasible_ratio(1.0), 1.0);
}

#[test]
fn coro_final_sample_complexity_worst_case() {
    // Over all rates up to the largest, the worst ratio is minimal, and equals 1, at c = U_max^(−1/2).
    for u_max in [0.2, 0.5, 1.0] {
        let worst = |c: f64| {
            let ratio = |i: u32| {
                let rate = u_max * f64::from(i) / 200.0;
                BoundInputs { distance: 1.0, gradient: 1.0, horizon: 100.0, rate, u_max }.matched_ratio(c)
            };
            (1..=200).map(ratio).fold(0.0, f64::max)
        };
        let feasible = u_max.powf(-0.5);
        near("worst case", worst(feasible), 1.0, 1e-14);
        for c in constants() {
            assert!(1.0 <= worst(c) * (1.0 + 1e-14), "c = {c}");
            let spread = c * u_max.sqrt();
            near("squared worst case", worst(c).powi(2), 0.5 * (spread + 1.0 / spread), 1e-13);
        }
    }
}

#[test]
fn eq_fixed_c_classification() {
    // For small bounds the inverse link of the pair equals the leading term, including constants.
    for (loss, rule, curvature) in [
        ("squared-hinge", "margin:mu=1", 8.0),
        ("exponential", "exponential:mu=0.5", 4.0),
        ("logistic", "critical", 4.0),
        ("logistic", "entropy", 4.0),
    ] {
        let pair = pair(loss, rule);
        let link = Link::new(&pair).unwrap();
        let u_max = pair.rule_facts().max;
        let setting = BoundInputs { distance: 1.3, gradient: 2.0, horizon: 1e18, rate: 0.4 * u_max, u_max };
        let exact = link.inverse(setting.equivalent_risk(1.1).total());
        near(&format!("{loss} by {rule}"), exact / setting.leading_risk(1.1, curvature), 1.0, 1e-4);
        near(&format!("{loss}: passive"), certify(&pair).constants.neg_h2_half.unwrap(), curvature, 1e-14);
    }
}

#[test]
fn apd_step_calibration() {
    for setting in settings() {
        let rate = setting.rate;
        let oracle = setting.equivalent_risk(setting.oracle_c()).total();
        for factor in [0.1, 0.5, 1.0, 1.7, 4.0_f64] {
            let estimate = factor * rate;
            let found = setting.equivalent_risk(estimate.powf(-0.5)).total() / oracle;
            near("inflation", inflation(estimate, rate), found, 1e-13);
            near("it does not matter on which side", inflation(rate, estimate), found, 1e-13);
        }
        // An estimate within a factor K inflates by at most (√K + 1/√K)/2.
        for factor in [1.0, 1.5, 4.0, 9.0_f64] {
            let limit = 0.5 * (factor.sqrt() + 1.0 / factor.sqrt());
            for i in 0..=40 {
                let estimate = rate * factor.powf(f64::from(i) / 20.0 - 1.0);
                assert!(inflation(estimate, rate) <= limit * (1.0 + 1e-14), "{estimate} against {rate}");
            }
        }
    }
    near("a factor of 4", inflation(4.0, 1.0), 1.25, 1e-15);
}

fn greatest_slope(loss: &str, rule: &str) -> f64 {
    certify(&pair(loss, rule)).constants.lipschitz.unwrap()
}

#[test]
fn apd_lipschitz() {
    near("entropy", greatest_slope("logistic", "entropy"), 0.42763621273212492, 1e-15);
    near("least confidence", greatest_slope("logistic", "least-confidence"), 0.25, 1e-15);
    for mu in [0.1, 0.5, 1.0, 2.0, 10.0_f64] {
        // Below 1 the constant is the limit at −∞, above 1 the slope at 0.
        let found = greatest_slope("squared-hinge", &format!("margin:mu={mu}"));
        near(&format!("squared hinge, mu = {mu}"), found, (2.0 / mu).max(2.0), 1e-15);
        near("hinge", greatest_slope("hinge", &format!("margin:mu={mu}")), 1.0, 1e-15);
    }
    for gamma in [0.5, 2.0, 8.0_f64] {
        let found = greatest_slope("logistic", &format!("threshold:gamma={gamma}"));
        near(&format!("gamma = {gamma}"), found, 1.0 / (1.0 + (-gamma).exp()), 1e-14);
    }
    // The exponential pair: bounded from mu = 1 on, else only on s ≥ −M.
    near("mu = 1", greatest_slope("exponential", "exponential:mu=1"), 1.0, 1e-15);
    near("mu = 3", greatest_slope("exponential", "exponential:mu=3"), 1.0, 1e-15);
    assert_eq!(greatest_slope("exponential", "exponential:mu=0.5"), f64::INFINITY);
    let half = pair("exponential", "exponential:mu=0.5");
    let steepest = (0..=3000).map(|i| half.slope(-3.0 + 0.001 * f64::from(i)).abs()).fold(0.0, f64::max);
    near("mu = 0.5 on s ≥ −3", steepest, 1.5_f64.exp(), 1e-14);
}

#[test]
fn apd_lipschitz_in_the_probability() {
    // Least confidence has constant 1 in q; entropy has none, because −U/r grows like −log r.
    near("least confidence", greatest_slope("cross-entropy", "least-confidence"), 1.0, 1e-14);
    assert_eq!(greatest_slope("cross-entropy", "entropy"), f64::INFINITY);
    let entropy = pair("cross-entropy", "entropy");
    let slope = |r: f64| entropy.slope_in_probability(Probability { right: r, wrong: 1.0 - r });
    // −U/r = log r − (1 − r)/r·(−log(1 − r)) → log r − 1.
    near("as r → 0", slope(1e-9), 1e-9_f64.ln() - 1.0, 1e-8);
}
