//! The objective of a session, for the page.

use querist_engine::session::Settings;
use querist_engine::task::Labels;
use querist_theory::certificate::{Certificate, certify, certify_classes};
use querist_theory::equivalent::Queried;
use serde_json::{Value, json};

use crate::certificate;

/// What is known of the loss and the rule in use.
pub(super) fn json(loss: &str, rule: &str, settings: &Settings) -> Value {
    let (certificate, of) = certified(loss, rule, settings.labels);
    let mut objective = format!(
        "All answers are fitted with the same weight: what is made small is {loss} on the items that were asked, and those are \
         asked by {rule}. Every draw is kept with its probability, so the estimates are of the whole pool all the same."
    );
    if let Some(of) = of.filter(|of| of != rule) {
        objective += &format!(
            " The rule is in units of the pool, which change as it learns; the claims are of {of}, which it is at a fixed scale."
        );
    }
    let claims = certificate.as_ref().map_or_else(|| json!([]), |found| plain(&certificate::as_json(found)["claims"]));
    json!({"loss": loss, "rule": rule, "objective": objective, "claims": claims})
}

/// A certificate, and the rule it is of.
fn certified(loss: &str, rule: &str, labels: Labels) -> (Option<Certificate>, Option<String>) {
    let fixed = if rule.starts_with("margin:share") { "expr:exp(-abs(s))" } else { rule };
    let found = match labels {
        Labels::Binary => Queried::parse(loss, fixed).ok().map(|pair| certify(&pair)),
        Labels::Classes(classes) => {
            certify_classes("softmax-cross-entropy", if fixed == rule { fixed } else { "margin" }, classes).ok()
        }
        Labels::Numbers => None,
    };
    let of = found.as_ref().map(|certificate| certificate.rule.clone());
    (found, of)
}

/// Claims with a verdict in a word and a sentence why.
fn plain(claims: &Value) -> Value {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" · "),
        other => other.to_string(),
    };
    let claims = claims.as_array().into_iter().flatten();
    claims.map(|claim| json!({"claim": claim["claim"], "verdict": text(&claim["verdict"]), "because": text(&claim["because"])})).collect()
}
