//! The options in which two runs differ, as users write them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Lists the options in which a run differs from an earlier one: `with --seed 0, not 3` or `without --rule`. Both are
/// headers or parts of them.
pub(crate) fn differing(before: &Value, now: &Value) -> Vec<String> {
    let names = [before, now].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    names.into_iter().flat_map(|name| of_option(name, &before[name], &now[name])).collect()
}

fn of_option(name: &str, before: &Value, now: &Value) -> Vec<String> {
    if before.is_object() || now.is_object() {
        return differing(before, now);
    }
    let option = if name == "file" { "the data".to_owned() } else { format!("--{}", name.replace('_', "-")) };
    // A setting that is not stored is null, as if it had not been set.
    match (shown(before), shown(now)) {
        (before, now) if before == now => vec![],
        (None, _) => vec![format!("without {option}")],
        (Some(before), Some(now)) if !before.is_empty() && !now.is_empty() => {
            vec![format!("with {option} {before}, not {now}")]
        }
        (Some(before), _) => vec![format!("with {option} {before}").trim_end().to_owned()],
    }
}

/// Formats the value of an option: `None` if it is not set, "" for a flag without a value.
fn shown(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null | Value::Bool(false) => return None,
        Value::Array(parts) if parts.is_empty() => return None,
        Value::Bool(true) => return Some(String::new()),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    };
    Some(if text.contains([' ', ',']) { format!("`{text}`") } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_are_written_as_on_the_command_line() {
        for (before, now, expected) in [
            (json!({"seed": 0}), json!({"seed": 0}), &[][..]),
            (json!({"seed": 0}), json!({"seed": 3}), &["with --seed 0, not 3"]),
            (json!({"warm_up": null}), json!({"warm_up": 10}), &["without --warm-up"]),
            (json!({}), json!({"settings": {"rule": "entropy"}}), &["without --rule"]),
            (json!({"files": {"text": ["a", "b"]}}), json!({"files": {"text": []}}), &["with --text `a,b`"]),
            (json!({"repeat": true}), json!({"repeat": false}), &["with --repeat"]),
            (json!({"repeat": false}), json!({"repeat": true}), &["without --repeat"]),
            (json!({"start_with": "a, b"}), json!({"start_with": "c"}), &["with --start-with `a, b`, not c"]),
            (
                json!({"data": {"file": "a.csv"}, "budget": 5}),
                json!({"data": {"file": "b.csv"}, "budget": 6}),
                &["with --budget 5, not 6", "with the data a.csv, not b.csv"],
            ),
        ] {
            assert_eq!(differing(&before, &now), expected, "{before} {now}");
        }
    }
}
