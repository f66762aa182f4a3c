//! Differences between JSON documents, as a JSON Patch (RFC 6902).

use serde_json::{Value, json};

/// Returns the operations that turn one document into another: `replace`, `remove`, and `add` of a member or at the end
/// of an array. An object or array is replaced as a whole if that is shorter.
pub(crate) fn difference(before: &Value, after: &Value) -> Vec<Value> {
    compare("", before, after)
}

fn compare(path: &str, before: &Value, after: &Value) -> Vec<Value> {
    let changes: Vec<Value> = match (before, after) {
        _ if before == after => return vec![],
        (Value::Object(old), Value::Object(new)) => {
            let removed = old.keys().filter(|name| !new.contains_key(*name)).map(|name| remove(&member(path, name)));
            let updated = new.iter().flat_map(|(name, value)| match old.get(name) {
                Some(old) => compare(&member(path, name), old, value),
                None => vec![json!({"op": "add", "path": member(path, name), "value": value})],
            });
            removed.chain(updated).collect()
        }
        (Value::Array(old), Value::Array(new)) => {
            let both = old.iter().zip(new).enumerate();
            let changed = both.flat_map(|(index, (old, new))| compare(&format!("{path}/{index}"), old, new));
            let added = new.iter().skip(old.len());
            let added = added.map(|value| json!({"op": "add", "path": format!("{path}/-"), "value": value}));
            let removed = (new.len()..old.len()).rev().map(|index| remove(&format!("{path}/{index}")));
            changed.chain(added).chain(removed).collect()
        }
        _ => return vec![replace(path, after)],
    };
    let whole = replace(path, after);
    if length(&whole) < changes.iter().map(length).sum() { vec![whole] } else { changes }
}

fn length(operation: &Value) -> usize {
    operation.to_string().len()
}

fn replace(path: &str, value: &Value) -> Value {
    json!({"op": "replace", "path": path, "value": value})
}

fn remove(path: &str) -> Value {
    json!({"op": "remove", "path": path})
}

fn member(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}
