//! The formats of requests, and their validation.

use std::sync::Arc;

use querist_engine::session::Response;
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::credentials::{CallerIdentity, new_token};
use crate::reply::HttpError;
use crate::views::Catalog;

/// A nonnegative integer in JSON; `2.0` is accepted too.
#[derive(Clone, Copy, Deserialize)]
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

/// The body of `POST /api/next`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Next {
    pub(crate) annotator: String,
    #[serde(default = "one")]
    pub(crate) n: JsonInteger,
}

fn one() -> JsonInteger {
    JsonInteger(1)
}

/// An element of the body of `POST /api/answers`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) ask: JsonInteger,
    pub(crate) annotator: String,
    pub(crate) key: Option<String>,
    pub(crate) label: Option<Value>,
    #[serde(default)]
    pub(crate) skip: bool,
    #[serde(default)]
    pub(crate) unsure: bool,
}

/// A well-formed answer whose annotator is its sender.
#[derive(PartialEq)]
pub(crate) struct CheckedAnswer {
    pub(crate) ask: u64,
    pub(crate) name: Arc<str>,
    pub(crate) key: Arc<str>,
    /// The response. An unknown label is NaN, which no session accepts.
    pub(crate) given: Response,
}

impl Answer {
    /// Validates the sender, the key and the form. Generates a key if there is none.
    pub(crate) fn check(&self, identity: &CallerIdentity, catalog: &Catalog) -> Result<CheckedAnswer, HttpError> {
        let name = name(&self.annotator, identity)?;
        let key = match &self.key {
            Some(text) => key(text)?,
            None => new_token().map_err(HttpError::bad)?.into(),
        };
        if !matches!(self.label, None | Some(Value::String(_) | Value::Number(_))) {
            return Err(HttpError::bad("a label is a string or a number"));
        }
        let given = match (&self.label, self.skip, self.unsure) {
            (Some(label), false, false) => Response::Label(catalog.code(label).unwrap_or(f64::NAN)),
            (None, true, false) => Response::Skip,
            (None, false, true) => Response::Unsure,
            _ => return Err(HttpError::bad("an answer has a label, or skip, or unsure")),
        };
        Ok(CheckedAnswer { ask: self.ask.0, name, key, given })
    }
}

/// The body of `POST /api/undo`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    pub(crate) annotator: String,
    pub(crate) key: String,
    pub(crate) answer: Option<JsonInteger>,
}

/// The body of `POST /api/heartbeat` and `POST /api/release`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asks {
    pub(crate) annotator: String,
    pub(crate) asks: Vec<JsonInteger>,
}

impl Asks {
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.asks.iter().map(|ask| ask.0).collect()
    }
}

/// The maximum number of items that an annotator can hold at once.
pub(crate) const MAX_ITEMS: usize = 100;
/// The maximum number of answers in one request.
pub(crate) const MAX_ANSWERS: usize = 1000;
/// The maximum length of an annotator's name, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 64;
/// The maximum length of a key, in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 100;

/// Parses the JSON of a request.
pub(crate) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, HttpError> {
    serde_json::from_slice(body).map_err(|error| HttpError::bad(format!("not the JSON that is wanted: {error}")))
}

/// Validates an annotator's name: it must be printable, and the sender must be allowed to use it.
pub(crate) fn name(name: &str, identity: &CallerIdentity) -> Result<Arc<str>, HttpError> {
    if name.trim().is_empty() || MAX_NAME_CHARS < name.chars().count() || name.chars().any(char::is_control) {
        return Err(HttpError::bad("an annotator has a name of 1 to 64 characters, none of them a control character"));
    }
    let name = name.trim();
    match &identity.name {
        Some(own) if own != name => {
            Err(HttpError::forbidden("not-you", "you are signed in under another name", "use your own name"))
        }
        _ => Ok(name.into()),
    }
}

/// Validates the form of a key.
pub(crate) fn key(key: &str) -> Result<Arc<str>, HttpError> {
    let is_valid = (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    if is_valid { Ok(key.into()) } else { Err(HttpError::bad("a key is 1 to 100 letters, digits or signs")) }
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
