//! HTTP replies and their common headers.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode, header};
use serde::Serialize;

use crate::event_stream::EventStreamBody;
use crate::session_store::StoreProblem;
use crate::wire::replies::{ErrorDetails, ErrorReply};

pub(crate) type Body = Either<Full<Bytes>, EventStreamBody>;
pub(crate) type Reply = Response<Body>;

/// The content security policy of the page: no foreign content, no inline code, no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// The content security policy of files from items: they are shown, but run no code.
pub(crate) const SANDBOX: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// The headers of every reply.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Adds the common headers, except those that the reply already has.
pub(crate) fn finish(mut reply: Reply) -> Reply {
    for (name, value) in HEADERS {
        reply.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    reply
}

/// Creates a reply of a media type.
pub(crate) fn bytes(kind: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Either::Left(Full::new(body.into())));
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// Creates a JSON reply.
pub(crate) fn json(value: &impl Serialize) -> Reply {
    bytes("application/json", serde_json::to_vec(value).expect("replies are texts, numbers, lists and maps"))
}

/// An HTTP error: a status and a code for programs, a message and a hint for people.
#[derive(Debug)]
pub(crate) struct HttpError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: &'static str,
}

impl HttpError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>, hint: &'static str) -> Self {
        Self { status, code, message: message.into(), hint }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", message, "see /api/openapi.json")
    }

    pub(crate) fn missing() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "there is no such path", "see /api/openapi.json")
    }

    pub(crate) fn forbidden(code: &'static str, message: &str, hint: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message, hint)
    }

    /// Returns the error for a key that was already used for something else.
    pub(crate) fn conflict(key: &str) -> Self {
        let message = format!("the key `{key}` was already used for something else");
        let hint = "no answer of this request was saved; send it again with a new key";
        Self::new(StatusCode::CONFLICT, "key-conflict", message, hint)
    }

    /// Converts the error to a reply: JSON for the API, plain text otherwise.
    pub(crate) fn reply(self, is_api: bool) -> Reply {
        let Self { status, code, message, hint } = self;
        let mut reply = if is_api {
            json(&ErrorReply { error: ErrorDetails { code, message, hint } })
        } else {
            bytes("text/plain; charset=utf-8", format!("{message}\n{hint}\n"))
        };
        *reply.status_mut() = status;
        if status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::INSUFFICIENT_STORAGE {
            reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
        }
        reply
    }
}

impl From<StoreProblem> for HttpError {
    fn from(problem: StoreProblem) -> Self {
        let message = format!("answers cannot be saved: {}", problem.message);
        if problem.is_full {
            let hint = "free space on the disk; the page keeps unsent answers until then";
            return Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", message, hint);
        }
        let hint = "the operator must restart the server; the page keeps unsent answers until then";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store-read-only", message, hint)
    }
}
