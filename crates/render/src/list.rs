//! The list of losses, rules, and pairs with a closed form.

use querist_engine::rule::RUN_RULES;
use querist_theory::loss::LOSSES;
use querist_theory::pair::PAIRS;
use querist_theory::registry::{Entry, ParamKind};
use querist_theory::uncertainty::UNCERTAINTIES;
use querist_theory::vector::SCORES;
use serde_json::{Value, json};

use crate::table::entries;

/// Renders the list for people.
pub fn as_text() -> String {
    let pairs: Vec<(String, String)> = PAIRS
        .iter()
        .map(|pair| {
            let losses = if pair.losses.is_empty() { "any loss".to_owned() } else { pair.losses.join(", ") };
            (format!("{losses} × {}", pair.rule), pair.form.to_owned())
        })
        .collect();
    let of_runs: Vec<(String, String)> = RUN_RULES
        .iter()
        .map(|rule| {
            let params: Vec<String> = rule.params.iter().map(|param| format!("[{param}=]")).collect();
            (named(rule.name, &params), rule.summary.to_owned())
        })
        .collect();
    format!(
        "Losses, functions of the margin s\n{}\nRules, probabilities of asking at score v\n{}\n\
         Pairs with a closed form; any other pair is integrated numerically\n{}\n\
         Rules for K classes, with softmax-cross-entropy and --classes K\n{}\n\
         Rules of a run, which need more than the scores of an item\n{}",
        entries(&described(LOSSES)),
        entries(&described(UNCERTAINTIES)),
        entries(&pairs),
        entries(&described(SCORES)),
        entries(&of_runs),
    )
}

fn described<T: ?Sized>(list: &[Entry<T>]) -> Vec<(String, String)> {
    list.iter().map(|entry| (written(entry), entry.summary.to_owned())).collect()
}

/// Formats an entry like `margin:mu=`, with optional parameters in brackets.
fn written<T: ?Sized>(entry: &Entry<T>) -> String {
    let params: Vec<String> = entry
        .params
        .iter()
        .map(|param| match param.kind {
            ParamKind::Number(Some(_)) | ParamKind::Derived => format!("[{}=]", param.name),
            ParamKind::Number(None) | ParamKind::Rule => format!("{}=", param.name),
            ParamKind::Expression => "EXPRESSION".to_owned(),
        })
        .collect();
    named(entry.name, &params)
}

fn named(name: &str, params: &[String]) -> String {
    match params {
        [] => name.to_owned(),
        optional if optional.iter().all(|param| param.starts_with('[')) => {
            let names: Vec<&str> = optional.iter().map(|param| param.trim_matches(['[', ']'])).collect();
            format!("{name}[:{}]", names.join(","))
        }
        _ => format!("{name}:{}", params.join(",")),
    }
}

/// Renders the list for programs.
pub fn as_json() -> Value {
    fn listed<T: ?Sized>(list: &[Entry<T>]) -> Vec<Value> {
        list.iter()
            .map(|entry| {
                let params: Vec<&str> = entry.params.iter().map(|param| param.name).collect();
                json!({"name": entry.name, "summary": entry.summary, "params": params, "source": entry.source})
            })
            .collect()
    }
    let of_runs = RUN_RULES
        .iter()
        .map(|rule| json!({"name": rule.name, "summary": rule.summary, "params": rule.params, "source": rule.source}));
    let pairs: Vec<Value> =
        PAIRS.iter().map(|pair| json!({"losses": pair.losses, "rule": pair.rule, "form": pair.form})).collect();
    json!({
        "losses": listed(LOSSES),
        "rules": listed(UNCERTAINTIES).into_iter().chain(of_runs.clone()).collect::<Vec<_>>(),
        "pairs": pairs,
        "class_rules": listed(SCORES).into_iter().chain(of_runs).collect::<Vec<_>>(),
    })
}
