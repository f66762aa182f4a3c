//! The `OpenAPI` document of the API.

use serde_json::{Map, Value, json};

use crate::routes::ROUTES;
use crate::wire::{MAX_ANSWERS, MAX_ITEMS};

mod schemas;

use schemas::{key, list, name, object, or_null, reference, text, whole};

/// Returns the document for this run and this name of the session cookie.
pub(crate) fn document(run: &str, cookie: &str) -> Value {
    let mut paths = Map::new();
    for (method, path, summary) in ROUTES {
        let mut operation = json!({
            "operationId": format!("{}{}", method.to_lowercase(), path.replace(['/', '.'], "_")),
            "summary": summary,
            "parameters": parameters(path, run),
            "responses": responses(path),
        });
        if let Some(schema) = request(path) {
            operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
        }
        if path == "/health" {
            operation["security"] = json!([]);
        }
        paths.insert(path.to_owned(), json!({method.to_lowercase(): operation}));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "querist label",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "People label what the engine asks for. An answer is acknowledged after it is on disk.",
        },
        "security": [{"bearer": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": cookie},
            },
            "schemas": schemas::all(),
        },
    })
}

fn parameters(path: &str, run: &str) -> Value {
    let mut parameters = vec![];
    if path.starts_with("/api/") {
        parameters.push(json!({
            "name": "X-Querist-Run", "in": "header", "required": false, "schema": {"type": "string", "enum": [run]},
            "description": "The `run` of the status: where another ledger is served, nothing is done and 409 is the answer",
        }));
    }
    if request(path).is_some() {
        parameters.push(json!({"name": "X-Querist", "in": "header", "required": true,
            "schema": {"type": "string", "enum": ["1"]}}));
    }
    if path == "/api/history" {
        parameters.push(json!({"name": "annotator", "in": "query", "required": true, "schema": name()}));
        parameters.push(json!({"name": "n", "in": "query", "required": false,
            "schema": {"type": "integer", "minimum": 1, "maximum": 1000}}));
    }
    Value::Array(parameters)
}

/// Returns the schema of the request body, or `None` if the request has no body.
fn request(path: &str) -> Option<Value> {
    let asks = object(&[("annotator", name()), ("asks", list(whole()))], 2);
    Some(match path {
        "/api/next" => {
            object(&[("annotator", name()), ("n", json!({"type": "integer", "minimum": 1, "maximum": MAX_ITEMS}))], 1)
        }
        "/api/answers" => {
            let mut answers = list(reference("Answer"));
            answers["maxItems"] = MAX_ANSWERS.into();
            answers
        }
        "/api/undo" => object(&[("annotator", name()), ("key", key()), ("answer", or_null(whole()))], 2),
        "/api/heartbeat" | "/api/release" => asks,
        _ => return None,
    })
}

/// The errors of any request.
const ALWAYS: [(&str, &str); 7] = [
    ("400", "Not understood"),
    ("401", "Not signed in"),
    ("403", "Not allowed"),
    ("409", "Another ledger is served here: `other-run`; or the key was used for something else: `key-conflict`"),
    ("421", "This server has another name"),
    ("429", "Too many wrong tokens"),
    ("503", "Too many connections: `busy`; see `Retry-After`"),
];
/// The errors of requests with a body.
const WITH_BODY: [(&str, &str); 4] = [
    ("408", "The body did not come in time"),
    ("411", "The body does not say how long it is"),
    ("413", "The body is too long"),
    ("415", "The body is not plain JSON"),
];
/// The errors of requests that write.
const WRITING: [(&str, &str); 2] = [
    ("503", "Too many connections: `busy`, or the store is read-only: not acknowledged"),
    ("507", "The disk is full: not acknowledged"),
];

fn responses(path: &str) -> Value {
    let content = match path {
        "/health" => json!({"text/plain": {"schema": {"type": "string", "enum": ["ok"]}}}),
        "/api/events" => json!({"text/event-stream": {"schema": text(), "x-event-status": reference("Status"),
            "x-event-patch": "JSON Patch (RFC 6902) of the status before"}}),
        _ => json!({"application/json": {"schema": response(path)}}),
    };
    let mut responses = json!({"200": {"description": "Done", "content": content}});
    if path == "/health" {
        let error = json!({"text/plain": {"schema": text()}});
        for (status, description) in ALWAYS.into_iter().filter(|(status, _)| ["400", "421"].contains(status)) {
            responses[status] = json!({"description": description, "content": error});
        }
    }
    if path.starts_with("/api/") {
        let error = json!({"application/json": {"schema": reference("Error")}});
        let has_body = request(path).is_some();
        let writes = ["/api/next", "/api/answers", "/api/undo"].contains(&path);
        let with_body = WITH_BODY.into_iter().filter(|_| has_body);
        for (status, description) in ALWAYS.into_iter().chain(with_body).chain(WRITING.into_iter().filter(|_| writes)) {
            responses[status] = json!({"description": description, "content": error});
        }
        if path == "/api/undo" {
            responses["404"] = json!({"description": "There is no such answer: `unknown-answer`", "content": error});
        }
    }
    responses
}

fn response(path: &str) -> Value {
    match path {
        "/api/next" => object(
            &[
                ("items", list(reference("Item"))),
                ("left", reference("Left")),
                ("reason", json!({"enum": [null, "finished", "yours-done", "all-leased", "budget"]})),
            ],
            3,
        ),
        "/api/answers" => list(reference("Acknowledgement")),
        "/api/undo" => object(&[("undone", or_null(reference("Undone"))), ("items", list(reference("Item")))], 2),
        "/api/heartbeat" => object(&[("held", list(whole())), ("lost", list(whole()))], 2),
        "/api/release" => object(&[], 0),
        "/api/history" => list(reference("Remembered")),
        "/api/status" => reference("Status"),
        "/api/certificate" => reference("Certificate"),
        _ => json!({"type": "object"}),
    }
}
