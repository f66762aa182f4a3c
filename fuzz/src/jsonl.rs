//! JSON lines: compared with `serde_json`'s own values, in pieces, and on both paths to rows.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use super::loading::{input, load_checked};
use super::reading::{Transcript, Value, read_twice};
use super::reference::lines;
use super::settings::{Group, Settings};

/// Checks one input.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Some((settings, content)) = Settings::split(data) else { return };
    match settings.group {
        Group::Reading => judge(&read_twice("jsonl", content, &settings), content, settings.skip_bad_rows),
        Group::Loading => load_checked(&input(content), &settings.options("jsonl"), &settings),
    }
}

/// An object with all its keys, including duplicates.
pub struct Object(pub Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut keys = vec![];
                while let Some(entry) = map.next_entry()? {
                    keys.push(entry);
                }
                Ok(Object(keys))
            }
        }
        json.deserialize_map(Keys)
    }
}

fn judge(transcript: &Transcript, content: &[u8], skips: bool) {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let mut records = transcript.records.iter();
    let mut faults = 0;
    for line in lines(content).into_iter().filter(|line| !line.trim_ascii().is_empty()) {
        let object: Result<Object, _> = match std::str::from_utf8(line) {
            Ok(text) if !text.contains('\0') => serde_json::from_str(text),
            _ => serde_json::from_str(""),
        };
        match object {
            // Skipped values may be nested more deeply than those that are parsed.
            Err(error) if error.to_string().contains("recursion limit") => return,
            Ok(Object(keys)) if !repeats(&keys) => {
                let record = records.next().unwrap_or_else(|| panic!("{keys:?} was not read"));
                assert_same_record(transcript, record, &keys);
            }
            _ if !skips => {
                assert!(transcript.error.is_some(), "a fault was accepted");
                break;
            }
            _ => faults += 1,
        }
    }
    assert_eq!(records.next(), None, "records that are not in the file");
    assert_eq!(transcript.skipped, faults, "rejected records");
}

/// Returns whether a key appears twice.
pub fn repeats(keys: &[(String, Json)]) -> bool {
    keys.iter().enumerate().any(|(place, (key, _))| keys[..place].iter().any(|(other, _)| other == key))
}

/// Compares a record with the keys of an object.
///
/// # Panics
///
/// If they differ.
pub fn assert_same_record(transcript: &Transcript, record: &[(usize, Value)], keys: &[(String, Json)]) {
    assert_eq!(record.len(), keys.len(), "cells of {keys:?}");
    for ((column, value), (key, json)) in record.iter().zip(keys) {
        assert_eq!(transcript.columns[*column], *key, "the column of a cell");
        assert!(is_same(value, json), "{value:?} was read from {json}");
    }
}

/// Returns whether a cell holds a JSON value.
fn is_same(value: &Value, json: &Json) -> bool {
    match (value, json) {
        (Value::Missing, Json::Null) => true,
        (Value::Boolean(value), Json::Bool(json)) => value == json,
        (Value::Text(value), Json::String(json)) => value == json,
        (Value::Integer(value), Json::Number(json)) => json.as_i64() == Some(*value),
        (Value::Unsigned(value), Json::Number(json)) => json.as_i64().is_none() && json.as_u64() == Some(*value),
        (Value::Number(bits), Json::Number(json)) => {
            json.as_u64().is_none() && json.as_i64().is_none() && json.as_f64().map(f64::to_bits) == Some(*bits)
        }
        (Value::Vector(values), Json::Array(json)) => {
            let feature = |json: &Json| json.as_f64().map(|value| (value as f32).to_bits());
            let expected: Option<Vec<u32>> = json.iter().map(feature).collect();
            expected.as_ref() == Some(values)
        }
        (Value::Unread(_), Json::Array(json)) => {
            !json.iter().all(|value| value.as_f64().is_some_and(|value| (value as f32).is_finite()))
        }
        (Value::Unread(_), Json::Object(_)) => true,
        _ => false,
    }
}
