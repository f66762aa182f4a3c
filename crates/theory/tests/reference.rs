//! Every number of a table computed at 60 to 700 digits, against this crate in double precision.
//!
//! `tables/README.md` describes the table and the required accuracy.

use querist_theory::bound::{self, BoundInputs};
use querist_theory::coordinate::Label;
use querist_theory::equivalent::Queried;
use querist_theory::integrability;
use querist_theory::link::Link;
use querist_theory::loss::Loss;
use querist_theory::numeric::dilogarithm::dilogarithm;
use querist_theory::vector;
use serde_json::Value;

const EPS: f64 = f64::EPSILON;

/// A sequence of comparisons that counts them and reports all failures at once.
#[derive(Default)]
struct Comparisons {
    compared: usize,
    wrong: Vec<String>,
    worst: f64,
}

impl Comparisons {
    /// Compares `found` with a decimal string, within `ulps` eps relative plus `absolute`.
    fn compare(&mut self, what: &dyn Fn() -> String, found: f64, expected: &Value, ulps: f64, absolute: f64) {
        let Some(text) = expected.as_str() else {
            assert!(expected.is_null(), "{} holds {expected}", what());
            return;
        };
        self.compared += 1;
        let expected: f64 = text.parse().unwrap();
        // A decimal beyond the double range parses to ±inf or to 0, the correct double result.
        let tiny = expected.abs() < f64::MIN_POSITIVE;
        let tolerance = if tiny { absolute.max(1e-307) } else { ulps * EPS * expected.abs() + absolute };
        let error = (found - expected).abs();
        let fine = found == expected || error <= tolerance;
        if !tiny && expected.is_finite() && error > absolute {
            self.worst = self.worst.max((error - absolute) / (EPS * expected.abs()) / ulps);
        }
        if !fine {
            let distance = error / (EPS * expected.abs());
            self.wrong.push(format!("{}: found {found:e}, expected {text}, {distance:.1} eps off", what()));
        }
    }

    #[expect(clippy::print_stdout, reason = "the accuracy is worth reporting")]
    fn assert_all_close(self, at_least: usize) {
        let shown: Vec<_> = self.wrong.iter().take(40).collect();
        assert!(self.wrong.is_empty(), "{} of {} wrong:\n{:#?}", self.wrong.len(), self.compared, shown);
        assert!(at_least <= self.compared, "only {} numbers compared", self.compared);
        println!("{} numbers, worst at {:.2} of its tolerance", self.compared, self.worst);
    }
}

fn table() -> Value {
    serde_json::from_str(include_str!("tables/values.json")).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key}"))
}

fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().unwrap(),
        Value::Number(number) => number.as_f64().unwrap(),
        other => panic!("not a number: {other}"),
    }
}

/// Converts the names of the table to names of this crate.
fn names(row: &Value) -> (String, String) {
    let loss = row["loss"].as_str().unwrap().replace('_', "-");
    let param = |key: &str| row["params"][key].as_str().unwrap_or_else(|| panic!("no {key}")).to_owned();
    let rule = match row["rule"].as_str().unwrap() {
        "entropy" => "entropy".to_owned(),
        "entropy_bits" => "entropy:base=2".to_owned(),
        "least_confidence" => "least-confidence".to_owned(),
        "least_confidence_2" => "least-confidence:scale=2".to_owned(),
        "half_floor" => "critical".to_owned(),
        "constant" => format!("constant:p={}", param("c")),
        "threshold" => format!("threshold:gamma={}", param("gamma")),
        rule @ ("margin" | "exponential") => format!("{rule}:mu={}", param("mu")),
        other => panic!("unknown rule {other}"),
    };
    (loss, rule)
}

/// Returns the largest k in any factor e^{−k|s|} of a pair's numbers.
fn exponent(loss: &str, rule: &str) -> f64 {
    let of_loss: f64 = if loss == "logistic" || loss == "exponential" { 1.0 } else { 0.0 };
    let of_rule = match rule.split_once("exponential:mu=") {
        Some((_, mu)) => mu.parse().unwrap(),
        None if rule.starts_with("entropy") || rule.starts_with("least") || rule == "critical" => 1.0,
        None => 0.0,
    };
    of_loss + of_rule
}

#[test]
fn margins() {
    let mut comparisons = Comparisons::default();
    for row in list(&table(), "margin") {
        let (loss, rule) = names(row);
        let pair = Queried::parse(&loss, &rule).unwrap();
        for point in list(row, "points") {
            let s = number(&point["s"]);
            let ulps = 16.0 + exponent(&loss, &rule) * s.abs();
            let mut check = |key: &str, found: f64, absolute: f64| {
                let what = || format!("{loss} {rule} s={s} {key}");
                comparisons.compare(&what, found, &point[key], ulps, absolute);
            };
            check("U", pair.rule().at(s), 0.0);
            check("loss", pair.loss().value(s), 0.0);
            check("dloss", pair.loss().slope(s), 0.0);
            check("equiv", pair.value(s), 0.0);
            check("equiv0", pair.above_infimum(s).unwrap(), 0.0);
            check("dequiv", pair.slope(s), 0.0);
            // Where the curvature changes sign, it is only as accurate as its terms.
            check("d2equiv", pair.curvature(s), 4.0 * EPS);
            assert_eq!(pair.curvature_at(s).is_none(), point["d2equiv"].is_null(), "{loss} {rule} kink at {s}");
        }
    }
    comparisons.assert_all_close(15_000);
}

#[test]
fn margins_by_quadrature() {
    // Pairs without a closed form guarantee a relative error of 1e-12; here all pairs must meet it.
    let mut comparisons = Comparisons::default();
    for row in list(&table(), "margin") {
        let (loss, rule) = names(row);
        let parsed = Queried::parse(&loss, &rule).unwrap();
        let pair = Queried::by_quadrature(parsed.loss().clone(), parsed.rule().clone());
        for point in list(row, "points") {
            let s = number(&point["s"]);
            let what = || format!("{loss} {rule} s={s} by quadrature");
            comparisons.compare(&what, pair.value(s), &point["equiv0"], 1e-12 / EPS, 0.0);
        }
    }
    comparisons.assert_all_close(2_000);
}

#[test]
fn probabilities() {
    let mut comparisons = Comparisons::default();
    for row in list(&table(), "probability") {
        let rule = row["rule"].as_str().unwrap().replace('_', "-");
        let pair = Queried::parse("cross-entropy", &rule).unwrap();
        for point in list(row, "points") {
            let q = number(&point["q"]);
            let label = if number(&point["y"]) == 1.0 { Label::Plus } else { Label::Minus };
            let at = pair.at_probability(q, label);
            let mut check = |key: &str, found: f64| {
                comparisons.compare(&|| format!("{rule} q={q} {label:?} {key}"), found, &point[key], 16.0, 0.0);
            };
            check("U", at.uncertainty);
            check("loss", at.loss);
            check("dloss_dq", at.loss_slope);
            check("equiv", at.equivalent);
            check("dequiv_dq", at.equivalent_slope);
            if let Some(curvature) = at.equivalent_curvature {
                check("d2equiv_dq2", curvature);
            } else {
                assert!(point["d2equiv_dq2"].is_null(), "{rule} kink at {q}");
            }
        }
    }
    comparisons.assert_all_close(450);
}

/// The number of inaccurate entries in the table itself, which is off by 165 eps there.
///
/// They are ψ of `margin` and `exponential` with the logistic loss and ψ′ of `margin` with the exponential loss at
/// z ≤ 1e-100, where its quadrature ran out of digits. There the first term of the expansion at 0 is exact to far more
/// than double precision, since the next is smaller by a factor of μz.
const INACCURATE_ENTRIES: usize = 12;

#[test]
fn links() {
    let mut comparisons = Comparisons::default();
    let mut off = 0;
    for row in list(&table(), "links") {
        let (loss, rule) = names(row);
        let pair = Queried::parse(&loss, &rule).unwrap();
        let link = Link::new(&pair).unwrap();
        let name = |what: &str, at: f64| format!("{loss} {rule} {what} at {at} ({:?})", link.method());
        comparisons.compare(&|| name("psi", 1.0), link.value(1.0), &row["psi_at_1"], 16.0, 0.0);
        for point in list(row, "psi") {
            let z = number(&point["z"]);
            let start = link.start().unwrap();
            let leading = start.coefficient * z.powi(i32::from(start.power));
            let leading_slope = f64::from(start.power) * leading / z;
            for (key, found, leading) in [("psi", link.value(z), leading), ("dpsi", link.slope(z), leading_slope)] {
                let expected = &point[key];
                if 0.0 < z && z < 1e-90 && 100.0 * EPS * leading < (number(expected) - leading).abs() {
                    off += 1;
                    assert!((found - leading).abs() <= 4.0 * EPS * leading, "{}", name(key, z));
                } else {
                    comparisons.compare(&|| name(key, z), found, expected, 16.0, 0.0);
                }
            }
            if point["dpsi"].is_null() {
                assert_eq!(link.slope(z), f64::INFINITY, "{}", name("dpsi", z));
            }
        }
        for point in list(row, "inverse") {
            let u = number(&point["u"]);
            comparisons.compare(&|| name("inverse", u), link.inverse(u), &point["z"], 16.0, 0.0);
        }
    }
    assert_eq!(off, INACCURATE_ENTRIES, "a corrected table needs no exception");
    comparisons.assert_all_close(2_000);
}

#[test]
fn links_by_the_identity() {
    // ψ″ = U(s*)·ψ₀″ integrated, also where a closed form exists.
    let mut comparisons = Comparisons::default();
    for row in list(&table(), "links") {
        let (loss, rule) = names(row);
        let pair = Queried::parse(&loss, &rule).unwrap();
        let link = Link::by_identity(&pair).unwrap();
        for point in list(row, "psi") {
            let z = number(&point["z"]);
            let what = || format!("{loss} {rule} psi by identity at {z}");
            comparisons.compare(&what, link.value(z), &point["psi"], 1e-12 / EPS, 0.0);
        }
    }
    comparisons.assert_all_close(800);
}

#[test]
fn dilogarithms() {
    let mut comparisons = Comparisons::default();
    for point in list(&table(), "dilog") {
        let x = number(&point["x"]);
        comparisons.compare(&|| format!("Li2({x})"), dilogarithm(x), &point["li2"], 16.0, 0.0);
    }
    comparisons.assert_all_close(20);
}

#[test]
fn bounds() {
    let mut comparisons = Comparisons::default();
    for row in list(&table(), "bounds") {
        let input = |key: &str| number(&row[key]);
        let setting = BoundInputs {
            distance: input("D"),
            gradient: input("G"),
            horizon: input("T"),
            rate: input("mean_query_rate"),
            u_max: input("u_max"),
        };
        let (c, h2, rho) = (input("c"), input("neg_H2_half"), setting.rho());
        let outputs = [
            ("step", setting.step(c)),
            ("equiv_risk_bound", setting.equivalent_risk(c).total()),
            ("bound_feasible", setting.equivalent_risk(setting.feasible_c()).total()),
            ("bound_oracle", setting.equivalent_risk(setting.oracle_c()).total()),
            ("bound_weak_moment", setting.weak_moment_risk(c).total()),
            ("leading_excess_risk", setting.leading_risk(c, h2)),
            ("passive_leading_excess_risk", setting.passive_leading_risk(h2)),
            ("ratio", setting.matched_ratio(c)),
            ("ratio_feasible", bound::feasible_ratio(rho)),
            ("ratio_oracle", bound::oracle_ratio(rho)),
            ("ratio_weak_feasible", bound::weak_feasible_ratio(rho)),
            ("budget_ratio_feasible", bound::feasible_budget_ratio(rho)),
            ("budget_ratio_oracle", bound::oracle_budget_ratio(rho)),
            ("inflation", bound::inflation(input("rate_estimate"), setting.rate)),
            ("pool_bound", setting.pool_risk()),
        ];
        for (key, found) in outputs {
            comparisons.compare(&|| format!("bound {key}"), found, &row[key], 16.0, 0.0);
        }
    }
    comparisons.assert_all_close(300);
}

#[test]
fn classes() {
    let mut comparisons = Comparisons::default();
    for row in list(&table(), "multiclass") {
        let logits: Vec<f64> = list(row, "logits").iter().map(number).collect();
        let label = number(&row["label"]) as usize;
        let p = vector::softmax(&logits);
        // The logits have magnitudes up to a few units, so their exponentials have errors of a few eps.
        let mut check = |what: String, found: f64, expected: &Value| {
            comparisons.compare(&|| what.clone(), found, expected, 64.0, 4.0 * EPS);
        };
        check("loss".into(), vector::cross_entropy(&logits, label), &row["loss"]);
        for (k, expected) in list(row, "prob").iter().enumerate() {
            check(format!("p{k}"), p[k], expected);
        }
        for (k, expected) in list(row, "grad").iter().enumerate() {
            check(format!("grad{k}"), vector::cross_entropy_gradient(&p, label)[k], expected);
        }
        for (name, expected) in row["scores"].as_object().unwrap() {
            let ours = match name.as_str() {
                "entropy_normalised" => format!("entropy:base={}", logits.len()),
                other => other.replace('_', "-"),
            };
            let score = vector::parse(&ours).unwrap();
            check(format!("{ours} U"), score.at(&p), &expected["U"]);
            for (k, slope) in list(expected, "grad_U").iter().enumerate() {
                check(format!("{ours} dU{k}"), score.gradient(&p)[k], slope);
            }
            for (plane, curl) in expected["curl"].as_object().unwrap() {
                let (i, j) = plane.split_once(',').unwrap();
                let (i, j) = (i.parse().unwrap(), j.parse().unwrap());
                let found = integrability::curl(&*score.object, &logits, label, i, j);
                check(format!("{ours} curl {plane}"), found, curl);
            }
        }
    }
    comparisons.assert_all_close(300);
}
