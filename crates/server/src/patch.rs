//! Differences between JSON documents, as a JSON Patch (RFC 6902).

use serde::Serialize;
use serde_json::Value;

/// An operation of a JSON Patch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum PatchOperation {
    Add { path: String, value: Value },
    Remove { path: String },
    Replace { path: String, value: Value },
}

impl PatchOperation {
    /// Returns the length of the operation as JSON, in bytes.
    fn json_bytes(&self) -> usize {
        serde_json::to_string(self).map_or(0, |text| text.len())
    }
}

/// Returns the operations that turn one document into another: `replace`, `remove`, and `add` of a member or at the end
/// of an array. An object or array is replaced as a whole if that is shorter.
pub(crate) fn difference(before: &Value, after: &Value) -> Vec<PatchOperation> {
    compare("", before, after)
}

fn compare(path: &str, before: &Value, after: &Value) -> Vec<PatchOperation> {
    let changes: Vec<PatchOperation> = match (before, after) {
        _ if before == after => return vec![],
        (Value::Object(old), Value::Object(new)) => {
            let removed = old.keys().filter(|name| !new.contains_key(*name));
            let removed = removed.map(|name| PatchOperation::Remove { path: member(path, name) });
            let updated = new.iter().flat_map(|(name, value)| match old.get(name) {
                Some(old) => compare(&member(path, name), old, value),
                None => vec![PatchOperation::Add { path: member(path, name), value: value.clone() }],
            });
            removed.chain(updated).collect()
        }
        (Value::Array(old), Value::Array(new)) => {
            let both = old.iter().zip(new).enumerate();
            let changed = both.flat_map(|(index, (old, new))| compare(&format!("{path}/{index}"), old, new));
            let added = new.iter().skip(old.len());
            let added = added.map(|value| PatchOperation::Add { path: format!("{path}/-"), value: value.clone() });
            let removed = (new.len()..old.len()).rev();
            let removed = removed.map(|index| PatchOperation::Remove { path: format!("{path}/{index}") });
            changed.chain(added).chain(removed).collect()
        }
        _ => return vec![replace(path, after)],
    };
    let whole = replace(path, after);
    if whole.json_bytes() < changes.iter().map(PatchOperation::json_bytes).sum() { vec![whole] } else { changes }
}

fn replace(path: &str, value: &Value) -> PatchOperation {
    PatchOperation::Replace { path: path.to_owned(), value: value.clone() }
}

/// Returns the path of a member of an object, with its name escaped.
fn member(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}
