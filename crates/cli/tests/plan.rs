//! `querist plan`: rules whose maximum is not at 0, losses of unbounded slope, and recommended rules.

mod common;

use common::json;
use serde_json::Value;

fn plan(loss: &str, rule: &str, more: &[&str]) -> Value {
    let fixed = ["plan", "--loss", loss, "--rule", rule, "--distance", "1", "--gradient", "1", "--json"];
    json(&[&fixed[..], more].concat())
}

fn is(found: &Value, expected: f64, what: &str) {
    let found = found.as_f64().unwrap();
    assert!((found / expected - 1.0).abs() < 1e-9, "{what}: {found} instead of {expected}");
}

/// ψ starts as U(0)/2·z² for the logistic loss. The excess error at which ψ, integrated with 60 digits, is the bound is 0.05991.
#[test]
fn leading_terms_depend_on_u_at_0() {
    let found = plan("logistic", "expr:1-0.5*exp(-s^2)", &["--horizon", "1e6", "--rate", "0.8", "--c", "1"]);
    assert_eq!((&found["u_at_zero"], &found["u_max_is"]), (&0.5.into(), &"found by search".into()));
    is(&found["leading_excess_risk"], 0.06, "leading risk");
    is(&found["excess_error_bound"], 0.059_910_477_626_002_594, "the bound itself");
    is(&found["ratio"], 1.268_845_516_128_676_9, "ratio");
    is(&found["ratio_oracle"], 1.264_911_064_067_351_7, "oracle's ratio");
    is(&found["budget_ratio_oracle"], 2.56, "oracle's labels");
    // A rule with its maximum at 0 gives the usual values.
    let usual = plan("logistic", "margin:mu=1", &["--horizon", "1e6", "--rate", "0.25", "--c", "1"]);
    is(&usual["leading_excess_risk"], (2.0 * 0.625e-3_f64).sqrt(), "leading risk");
    is(&usual["ratio_oracle"], 0.5, "oracle's ratio");
    assert_eq!(usual["u_max_is"], "attained");
    // A rule that is 0 at 0 has no quadratic link.
    let zero = plan("logistic", "expr:1-exp(-s^2)", &["--horizon", "1e6", "--rate", "0.5"]);
    assert!(zero.get("leading_excess_risk").is_none() && zero.get("ratio").is_none(), "{zero}");
}

#[test]
fn a_bound_reports_that_g_needs_a_bounded_set() {
    for (loss, needs) in [
        ("logistic", false),
        ("cross-entropy", false),
        ("hinge", false),
        ("squared-hinge", true),
        ("exponential", true),
    ] {
        let found = plan(loss, "constant", &["--horizon", "1e6", "--rate", "1"]);
        for key in ["equiv_risk_bound", "bound_weak_moment", "pool_bound"] {
            let assumes = found["assumes"][key].as_str().unwrap();
            assert_eq!(assumes.contains("iterates stay in Θ"), needs, "{loss}: {assumes}");
        }
    }
}

#[test]
fn only_rules_that_exist_for_a_loss_are_recommended() {
    for (loss, recommended) in [("logistic", true), ("squared-hinge", true), ("expr:sigmoid(-s)", false)] {
        let found = plan(loss, "exponential:mu=5", &["--horizon", "1e6", "--rate", "0.5"]);
        let warning = found["warning"].as_str().unwrap();
        assert_eq!(warning.contains("--rule critical"), recommended, "{loss}: {warning}");
        let certified = json(&["certify", loss, "exponential:mu=5", "--json"]).to_string();
        assert_eq!(certified.contains("`critical` is the sharpest"), recommended, "{loss}: {certified}");
    }
}

#[test]
fn the_boundary_rule_is_planned_at_a_named_scale() {
    let found = plan("logistic", "boundary:reach=2,base=0.1", &["--horizon", "1e6", "--rate", "0.5"]);
    assert!(found["note"].as_str().unwrap().contains("reach = 2 and base = 0.1"), "{found}");
    assert_eq!(plan("logistic", "entropy", &["--horizon", "1e6", "--rate", "0.5"])["note"], Value::Null);
}
