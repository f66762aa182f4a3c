//! What programs can ask for, as an `OpenAPI` document.

use serde_json::{Map, Value, json};

use crate::routes::ROUTES;

/// The document.
pub(crate) fn document() -> Value {
    let mut paths = Map::new();
    for (method, path, summary) in ROUTES {
        let mut operation = json!({
            "operationId": format!("{}{}", method.to_lowercase(), path.replace(['/', '.'], "_")),
            "summary": summary,
            "responses": responses(path),
        });
        if let Some(schema) = request(path) {
            operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
            operation["parameters"] = json!([{"name": "X-Querist", "in": "header", "required": true,
                "schema": {"type": "string", "enum": ["1"]}}]);
        }
        if path == "/api/history" {
            operation["parameters"] = json!([
                {"name": "annotator", "in": "query", "required": true, "schema": {"type": "string"}},
                {"name": "n", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000}},
            ]);
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
                "cookie": {"type": "apiKey", "in": "cookie", "name": "querist"},
            },
            "schemas": schemas(),
        },
    })
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// What a request brings, where it brings something.
fn request(path: &str) -> Option<Value> {
    let asks = object(&[("annotator", json!({"type": "string"})), ("asks", list(json!({"type": "integer"})))], 2);
    Some(match path {
        "/api/next" => object(
            &[
                ("annotator", json!({"type": "string"})),
                ("n", json!({"type": "integer", "minimum": 1, "maximum": 100})),
            ],
            1,
        ),
        "/api/answers" => list(reference("Answer")),
        "/api/undo" => object(
            &[
                ("annotator", json!({"type": "string"})),
                ("key", json!({"type": "string"})),
                ("answer", json!({"type": "integer"})),
            ],
            2,
        ),
        "/api/heartbeat" | "/api/release" => asks,
        _ => return None,
    })
}

fn responses(path: &str) -> Value {
    let content = match path {
        "/health" => json!({"text/plain": {"schema": {"type": "string", "enum": ["ok"]}}}),
        "/api/events" => json!({"text/event-stream": {"schema": {"type": "string"}}}),
        _ => json!({"application/json": {"schema": response(path)}}),
    };
    let mut responses = json!({"200": {"description": "Done", "content": content}});
    if path.starts_with("/api/") {
        let error = json!({"application/json": {"schema": reference("Error")}});
        let writes =
            [("503", "The store is read-only: not acknowledged"), ("507", "The disk is full: not acknowledged")];
        let all = [("400", "Not understood"), ("401", "Not signed in"), ("403", "Not allowed")];
        for (status, description) in all.into_iter().chain(writes.into_iter().filter(|_| request(path).is_some())) {
            responses[status] = json!({"description": description, "content": error});
        }
    }
    responses
}

fn response(path: &str) -> Value {
    match path {
        "/api/next" => object(
            &[
                ("items", list(reference("Item"))),
                ("left", json!({"type": "object"})),
                ("reason", json!({"enum": [null, "finished", "all-leased", "budget"]})),
            ],
            3,
        ),
        "/api/answers" => list(reference("Acknowledgement")),
        "/api/undo" => {
            object(&[("undone", json!({"type": ["object", "null"]})), ("items", list(reference("Item")))], 2)
        }
        "/api/heartbeat" => {
            object(&[("held", list(json!({"type": "integer"}))), ("lost", list(json!({"type": "integer"})))], 2)
        }
        "/api/history" => list(json!({"type": "object"})),
        _ => json!({"type": "object"}),
    }
}

fn schemas() -> Value {
    let text = || json!({"type": "string"});
    let whole = || json!({"type": "integer"});
    json!({
        "Answer": object(&[
            ("ask", whole()), ("annotator", text()), ("key", text()),
            ("label", json!({"type": ["string", "number"]})),
            ("skip", json!({"type": "boolean"})), ("unsure", json!({"type": "boolean"})),
        ], 2),
        "Acknowledgement": object(&[
            ("ask", whole()), ("key", text()),
            ("status", json!({"enum": ["saved", "repeated", "late", "refused"]})),
            ("answer", whole()), ("why", text()),
        ], 3),
        "Item": object(&[
            ("ask", whole()), ("item", text()), ("probability", json!({"type": ["number", "null"]})), ("why", text()),
            ("fields", list(object(&[("name", text()),
                ("kind", json!({"enum": ["text", "number", "category", "image"]})), ("value", text())], 3))),
            ("lease_seconds", whole()), ("mine", json!({"type": ["object", "null"]})),
        ], 7),
        "Error": object(&[("error", object(&[("code", text()), ("message", text()), ("hint", text())], 3))], 1),
    })
}

/// An object with these properties, of which the first so many are required.
fn object(properties: &[(&str, Value)], required: usize) -> Value {
    let names: Vec<&str> = properties.iter().take(required).map(|(name, _)| *name).collect();
    let all: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": all, "required": names})
}

fn list(items: Value) -> Value {
    let mut list = json!({"type": "array"});
    list["items"] = items;
    list
}
