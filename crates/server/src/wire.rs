//! The formats of requests and replies. The `OpenAPI` document is derived from these types.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::reply::HttpError;

pub(crate) mod certificate;
pub(crate) mod replies;
pub(crate) mod requests;
pub(crate) mod status;

/// The maximum number of items that an annotator can hold at once.
pub(crate) const MAX_ITEMS: usize = 100;
/// The maximum number of answers in one request.
pub(crate) const MAX_ANSWERS: usize = 1000;
/// The maximum number of answers in one reply to `GET /api/history`.
pub(crate) const MAX_HISTORY: usize = 1000;
/// The maximum length of an annotator's name, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 64;
/// The maximum length of a key, in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 100;

/// A nonnegative integer in JSON; `2.0` is accepted too.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(try_from = "Number")]
pub(crate) struct JsonInteger(pub(crate) u64);

impl TryFrom<Number> for JsonInteger {
    type Error = String;

    fn try_from(number: Number) -> Result<Self, String> {
        // 2^64, the smallest float that is too large.
        let beyond = 18_446_744_073_709_551_616.0;
        let float = || number.as_f64().filter(|value| value.fract() == 0.0 && (0.0..beyond).contains(value));
        let found = number.as_u64().or_else(|| float().map(|value| value as u64));
        found.map(Self).ok_or_else(|| format!("{number} is not a whole number from 0 to 2^64 - 1"))
    }
}

impl JsonSchema for JsonInteger {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "JsonInteger".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 0, "maximum": u64::MAX})
    }
}

/// A label: the name of a class, or a number.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged, expecting = "a label is a string or a number")]
pub(crate) enum WireLabel {
    Text(String),
    Number(f64),
}

impl fmt::Display for WireLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number:?}"),
        }
    }
}

impl JsonSchema for WireLabel {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "WireLabel".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number"]})
    }
}

/// Parses the JSON of a request.
pub(crate) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, HttpError> {
    serde_json::from_slice(body).map_err(|error| HttpError::bad(format!("the request is invalid: {error}")))
}

/// Returns the percent-decoded value of a query parameter.
pub(crate) fn query(text: Option<&str>, wanted: &str) -> Option<String> {
    let pairs = text.unwrap_or_default().split('&').take(100);
    let mut found = pairs.filter_map(|pair| pair.split_once('=')).filter(|(name, _)| *name == wanted);
    found.next().and_then(|(_, value)| decode(&value.replace('+', " ")))
}

/// Decodes percent escapes once; returns `None` if an escape is invalid or the result is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (vec![], text.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}
