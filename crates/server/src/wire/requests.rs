//! The bodies and queries of requests, and their validation.

use std::sync::Arc;

use querist_engine::session::{AskId, LabelValue, Response};
use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{JsonInteger, MAX_ANSWERS, MAX_HISTORY, MAX_ITEMS, MAX_KEY_BYTES, MAX_NAME_CHARS, WireLabel, query};
use crate::catalog::Catalog;
use crate::credentials::{CallerIdentity, new_token};
use crate::reply::HttpError;

/// The form of an annotator's name: not only spaces, no control characters.
const NAME_PATTERN: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";
/// The form of a key: printable ASCII characters without spaces.
const KEY_PATTERN: &str = "^[!-~]+$";

/// The body of `POST /api/next`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NextRequest {
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = NAME_PATTERN))]
    pub(crate) annotator: String,
    /// The number of items that the annotator should hold.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MAX_ITEMS))]
    pub(crate) n: JsonInteger,
}

fn one() -> JsonInteger {
    JsonInteger(1)
}

impl NextRequest {
    /// Returns the number of items that the annotator should hold, if it is within the limits.
    pub(crate) fn item_count(&self) -> Result<usize, HttpError> {
        let n = usize::try_from(self.n.0).ok().filter(|n| (1..=MAX_ITEMS).contains(n));
        n.ok_or_else(|| HttpError::bad(format!("n must be 1 to {MAX_ITEMS}")))
    }
}

/// The body of `POST /api/answers`.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("maxItems" = MAX_ANSWERS))]
pub(crate) struct AnswersRequest(pub(crate) Vec<AnswerRequest>);

/// An answer to an ask: a label, `skip`, or `unsure`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = require_one_response)]
pub(crate) struct AnswerRequest {
    pub(crate) ask: JsonInteger,
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = NAME_PATTERN))]
    pub(crate) annotator: String,
    /// Identifies the answer, so that a repeated request saves it once. Generated if absent.
    #[schemars(length(min = 1, max = MAX_KEY_BYTES), regex(pattern = KEY_PATTERN))]
    pub(crate) key: Option<String>,
    pub(crate) label: Option<WireLabel>,
    #[serde(default)]
    pub(crate) skip: bool,
    #[serde(default)]
    pub(crate) unsure: bool,
}

/// Replaces the schema of an answer by three: with a label, with `skip`, and with `unsure`.
fn require_one_response(schema: &mut Schema) {
    let form = |given: &str| {
        let mut form = schema.as_value().clone();
        let (null, no, yes) = (json!({"type": "null"}), json!({"const": false}), json!({"const": true}));
        let label = json!({"type": ["string", "number"]});
        for (name, absent, present) in [("label", &null, &label), ("skip", &no, &yes), ("unsure", &no, &yes)] {
            form["properties"][name] = if name == given { present.clone() } else { absent.clone() };
        }
        if let Some(Value::Array(required)) = form.get_mut("required") {
            required.push(given.into());
        }
        form
    };
    *schema = json_schema!({"oneOf": [form("label"), form("skip"), form("unsure")]});
}

/// A well-formed answer whose annotator is its sender.
#[derive(PartialEq)]
pub(crate) struct CheckedAnswer {
    pub(crate) ask: AskId,
    pub(crate) name: Arc<str>,
    pub(crate) key: Arc<str>,
    /// The response. An unknown label is NaN, which no session accepts.
    pub(crate) response: Response,
}

impl AnswersRequest {
    /// Validates the number of answers and each of them.
    pub(crate) fn check(&self, identity: &CallerIdentity, catalog: &Catalog) -> Result<Vec<CheckedAnswer>, HttpError> {
        if MAX_ANSWERS < self.0.len() {
            return Err(HttpError::bad(format!("more than {MAX_ANSWERS} answers in one request")));
        }
        self.0.iter().map(|answer| answer.check(identity, catalog)).collect()
    }
}

impl AnswerRequest {
    /// Validates the sender, the key and the form. Generates a key if there is none.
    fn check(&self, identity: &CallerIdentity, catalog: &Catalog) -> Result<CheckedAnswer, HttpError> {
        let name = check_name(&self.annotator, identity)?;
        let key = match &self.key {
            Some(text) => check_key(text)?,
            None => new_token().map_err(|error| HttpError::bad(error.to_string()))?.into(),
        };
        let response = match (&self.label, self.skip, self.unsure) {
            (Some(label), false, false) => Response::Label(LabelValue(catalog.code(label).unwrap_or(f64::NAN))),
            (None, true, false) => Response::Skip,
            (None, false, true) => Response::Unsure,
            _ => return Err(HttpError::bad("an answer has exactly one of label, skip and unsure")),
        };
        Ok(CheckedAnswer { ask: AskId::new(self.ask.0), name, key, response })
    }
}

/// The body of `POST /api/undo`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoRequest {
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = NAME_PATTERN))]
    pub(crate) annotator: String,
    #[schemars(length(min = 1, max = MAX_KEY_BYTES), regex(pattern = KEY_PATTERN))]
    pub(crate) key: String,
    /// The answer to withdraw; the annotator's last one if absent.
    pub(crate) answer: Option<JsonInteger>,
}

/// The body of `POST /api/heartbeat` and `POST /api/release`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AsksRequest {
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = NAME_PATTERN))]
    pub(crate) annotator: String,
    pub(crate) asks: Vec<JsonInteger>,
}

impl AsksRequest {
    pub(crate) fn ids(&self) -> Vec<AskId> {
        self.asks.iter().map(|ask| AskId::new(ask.0)).collect()
    }
}

/// The query of `GET /api/history`.
#[derive(JsonSchema)]
pub(crate) struct HistoryQuery {
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = NAME_PATTERN))]
    pub(crate) annotator: String,
    /// The maximum number of answers.
    #[schemars(default = "ten", range(min = 1, max = MAX_HISTORY))]
    pub(crate) n: usize,
}

fn ten() -> usize {
    10
}

impl HistoryQuery {
    /// Parses the query of a request.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, HttpError> {
        let annotator =
            query(text, "annotator").ok_or_else(|| HttpError::bad("the parameter `annotator` is missing"))?;
        let n = query(text, "n").map_or(Ok(ten()), |n| n.parse::<usize>());
        let n = n.ok().filter(|n| (1..=MAX_HISTORY).contains(n));
        let n = n.ok_or_else(|| HttpError::bad(format!("n must be 1 to {MAX_HISTORY}")))?;
        Ok(Self { annotator, n })
    }
}

/// Validates an annotator's name: it must be printable, and the sender must be allowed to use it.
pub(crate) fn check_name(name: &str, identity: &CallerIdentity) -> Result<Arc<str>, HttpError> {
    if name.trim().is_empty() || MAX_NAME_CHARS < name.chars().count() || name.chars().any(char::is_control) {
        return Err(HttpError::bad("a name has 1 to 64 characters and no control characters"));
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
pub(crate) fn check_key(key: &str) -> Result<Arc<str>, HttpError> {
    let is_valid = (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    if is_valid {
        Ok(key.into())
    } else {
        Err(HttpError::bad("a key has 1 to 100 printable ASCII characters and no spaces"))
    }
}
