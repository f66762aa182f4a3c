//! The `OpenAPI` document of the API. Its schemas are derived from the types in [`crate::wire`].

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::routes::ROUTES;
use crate::wire::certificate::CertificateReply;
use crate::wire::replies::{
    Acknowledgement, ErrorReply, HeartbeatReply, HistoryEntry, NextReply, ReleaseReply, UndoReply,
};
use crate::wire::requests::{AnswersRequest, AsksRequest, HistoryQuery, NextRequest, UndoRequest};
use crate::wire::status::StatusReply;

/// Returns the document for this run and this name of the session cookie.
pub(crate) fn document(run: &str, cookie: &str) -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for (method, path, summary) in ROUTES {
        let body = request_body(path, &mut schemas);
        let mut operation = json!({
            "operationId": format!("{}{}", method.to_lowercase(), path.replace(['/', '.'], "_")),
            "summary": summary,
            "parameters": parameters(path, run, body.is_some()),
            "responses": responses(path, body.is_some(), &mut schemas),
        });
        if let Some(schema) = body {
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
            "description": "Annotators label the items that the engine asks for. An answer is acknowledged after it is on disk.",
        },
        "security": [{"bearer": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": cookie},
            },
            "schemas": schemas.into_definitions(),
        },
    })
}

/// The schemas of requests and of replies. They differ in which properties are required.
struct Schemas {
    requests: SchemaGenerator,
    replies: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let settings = settings.with_transform(RecursiveTransform(tighten as fn(&mut Schema)));
        Self {
            requests: settings.clone().for_deserialize().into_generator(),
            replies: settings.for_serialize().into_generator(),
        }
    }

    fn request<T: JsonSchema>(&mut self) -> Value {
        self.requests.subschema_for::<T>().to_value()
    }

    fn reply<T: JsonSchema>(&mut self) -> Value {
        self.replies.subschema_for::<T>().to_value()
    }

    /// Returns the schemas by name.
    fn into_definitions(mut self) -> Map<String, Value> {
        let mut definitions = self.requests.take_definitions(true);
        definitions.extend(self.replies.take_definitions(true));
        definitions
    }
}

/// Makes a schema exact: an object has no other properties, and an unsigned integer has a maximum. Removes the formats of
/// numbers, which state nothing more.
fn tighten(schema: &mut Schema) {
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    if is_object && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    let format = schema.get("format").and_then(Value::as_str).map(str::to_owned);
    if matches!(format.as_deref(), Some("uint" | "uint64")) && schema.get("maximum").is_none() {
        schema.insert("maximum".to_owned(), u64::MAX.into());
    }
    if matches!(format.as_deref(), Some("uint" | "uint64" | "double")) {
        schema.remove("format");
    }
}

fn parameters(path: &str, run: &str, has_body: bool) -> Value {
    let mut parameters = vec![];
    if path.starts_with("/api/") {
        parameters.push(json!({
            "name": "X-Querist-Run", "in": "header", "required": false, "schema": {"type": "string", "enum": [run]},
            "description": "The `run` of the status. If the server has another ledger, the request gets the status 409.",
        }));
    }
    if has_body {
        parameters.push(json!({"name": "X-Querist", "in": "header", "required": true,
            "schema": {"type": "string", "enum": ["1"]}}));
    }
    if path == "/api/history" {
        parameters.extend(query_parameters::<HistoryQuery>());
    }
    Value::Array(parameters)
}

/// Returns the fields of a type as query parameters.
fn query_parameters<T: JsonSchema>() -> Vec<Value> {
    let schema = Schemas::new().requests.root_schema_for::<T>();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let parameter = |(name, schema): (String, Value)| {
        let is_required = required.contains(&Value::from(name.as_str()));
        json!({"name": name, "in": "query", "required": is_required, "schema": schema})
    };
    properties.into_iter().map(parameter).collect()
}

/// Returns the schema of the request body, or `None` if the request has no body.
fn request_body(path: &str, schemas: &mut Schemas) -> Option<Value> {
    Some(match path {
        "/api/next" => schemas.request::<NextRequest>(),
        "/api/answers" => schemas.request::<AnswersRequest>(),
        "/api/undo" => schemas.request::<UndoRequest>(),
        "/api/heartbeat" | "/api/release" => schemas.request::<AsksRequest>(),
        _ => return None,
    })
}

/// The errors of any request.
const COMMON_ERRORS: [(&str, &str); 7] = [
    ("400", "The request is malformed"),
    ("401", "Not signed in"),
    ("403", "Not allowed"),
    ("409", "The server has another ledger: `other-run`; or the key was used for another answer: `key-conflict`"),
    ("421", "The host name is not one of this server"),
    ("429", "Too many wrong tokens"),
    ("503", "Too many connections: `busy`; see `Retry-After`"),
];
/// The errors of requests with a body.
const BODY_ERRORS: [(&str, &str); 4] = [
    ("408", "The body did not arrive in time"),
    ("411", "The body has no `Content-Length`"),
    ("413", "The body is too large"),
    ("415", "The body is not plain JSON"),
];
/// The errors of requests that write.
const WRITE_ERRORS: [(&str, &str); 2] = [
    ("503", "Too many connections: `busy`, or the store is read-only: not acknowledged"),
    ("507", "The disk is full: not acknowledged"),
];

fn responses(path: &str, has_body: bool, schemas: &mut Schemas) -> Value {
    let content = match path {
        "/health" => json!({"text/plain": {"schema": {"type": "string", "enum": ["ok"]}}}),
        "/api/events" => json!({"text/event-stream": {
            "schema": {"type": "string"},
            "x-event-status": schemas.reply::<StatusReply>(),
            "x-event-patch": "JSON Patch (RFC 6902) of the previous status",
        }}),
        _ => json!({"application/json": {"schema": reply_body(path, schemas)}}),
    };
    let mut responses = json!({"200": {"description": "Done", "content": content}});
    if path == "/health" {
        let error = json!({"text/plain": {"schema": {"type": "string"}}});
        for (status, description) in COMMON_ERRORS.into_iter().filter(|(status, _)| ["400", "421"].contains(status)) {
            responses[status] = json!({"description": description, "content": error});
        }
    }
    if path.starts_with("/api/") {
        let error = json!({"application/json": {"schema": schemas.reply::<ErrorReply>()}});
        let writes = ["/api/next", "/api/answers", "/api/undo"].contains(&path);
        let of_body = BODY_ERRORS.into_iter().filter(|_| has_body);
        let of_writes = WRITE_ERRORS.into_iter().filter(|_| writes);
        for (status, description) in COMMON_ERRORS.into_iter().chain(of_body).chain(of_writes) {
            responses[status] = json!({"description": description, "content": error});
        }
        if path == "/api/undo" {
            responses["404"] = json!({"description": "There is no such answer: `unknown-answer`", "content": error});
        }
    }
    responses
}

/// Returns the schema of the reply to a successful request.
fn reply_body(path: &str, schemas: &mut Schemas) -> Value {
    match path {
        "/api/next" => schemas.reply::<NextReply>(),
        "/api/answers" => schemas.reply::<Vec<Acknowledgement>>(),
        "/api/undo" => schemas.reply::<UndoReply>(),
        "/api/heartbeat" => schemas.reply::<HeartbeatReply>(),
        "/api/release" => schemas.reply::<ReleaseReply>(),
        "/api/history" => schemas.reply::<Vec<HistoryEntry>>(),
        "/api/status" => schemas.reply::<StatusReply>(),
        "/api/certificate" => schemas.reply::<CertificateReply>(),
        _ => json!({"type": "object"}),
    }
}
