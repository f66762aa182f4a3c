//! Comparison of the `OpenAPI` document with the routes and replies.

mod common;

use common::TestServer;
use serde_json::{Value, json};

fn status_of(reply: &str) -> u16 {
    reply.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

#[test]
fn the_document_describes_exactly_the_routes() {
    let host = TestServer::start();
    let (_, document) = host.get("/api/openapi.json");
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 11);
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let target = if path == "/api/history" { format!("{path}?annotator=a") } else { path.clone() };
            let body = if method == "post" {
                "Content-Type: application/json\r\nX-Querist: 1\r\nContent-Length: 1\r\n"
            } else {
                ""
            };
            let end = if method == "post" { "?" } else { "" };
            let reply = host.raw(&format!(
                "{} {target} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n{body}\r\n{end}",
                method.to_uppercase(),
                host.port,
                host.token
            ));
            // An existing route rejects the body `?` with 400.
            assert_eq!(status_of(&reply), if method == "post" { 400 } else { 200 }, "{method} {path}: {reply}");
            let other = if method == "post" { "GET" } else { "POST" };
            let wrong = format!("{other} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", host.port);
            assert!([404, 405].contains(&host.raw_status(&wrong)), "{other} {path}");
            assert!(operation["responses"]["200"].is_object() && operation["summary"].is_string());
        }
    }
    let references = document.to_string();
    for schema in references.split("#/components/schemas/").skip(1) {
        let name: String = schema.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        assert!(document["components"]["schemas"][&name].is_object(), "{name}");
    }
}

/// Returns the first violation of a schema, as far as the document uses JSON Schema.
fn violation(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let fails = |reason: &str| Some(format!("{reason}: {value} against {schema}"));
    let matches = |part: &Value| violation(document, part, value).is_none();
    if let Some(reference) = schema["$ref"].as_str() {
        let found = document.pointer(reference.trim_start_matches('#')).unwrap();
        return violation(document, found, value);
    }
    let is_type = |name: &Value| match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other}"),
    };
    match &schema["type"] {
        Value::String(name) if !is_type(&json!(name)) => return fails("type"),
        Value::Array(names) if !names.iter().any(is_type) => return fails("type"),
        _ => {}
    }
    if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value))
        || schema.get("const").is_some_and(|only| only != value)
    {
        return fails("enum");
    }
    if schema["anyOf"].as_array().is_some_and(|parts| !parts.iter().any(matches))
        || schema["oneOf"].as_array().is_some_and(|parts| parts.iter().filter(|part| matches(part)).count() != 1)
    {
        return fails("alternatives");
    }
    if let Value::Array(elements) = value {
        return elements.iter().find_map(|element| violation(document, schema.get("items")?, element));
    }
    let fields = value.as_object()?;
    if schema["required"]
        .as_array()
        .is_some_and(|names| names.iter().any(|name| value.get(name.as_str().unwrap()).is_none()))
    {
        return fails("required");
    }
    fields.iter().find_map(|(name, field)| match (schema["properties"].get(name), schema.get("additionalProperties")) {
        (Some(property), _) => violation(document, property, field),
        (None, Some(Value::Bool(false))) => fails(&format!("unknown property {name}")),
        (None, other) => violation(document, other?, field),
    })
}

#[track_caller]
fn assert_documented(document: &Value, (method, path): (&str, &str), (status, reply): &(u16, Value)) {
    let pointer = path.replace('/', "~1");
    let response = format!("/paths/{pointer}/{method}/responses/{status}/content/application~1json/schema");
    let schema = document.pointer(&response).unwrap_or_else(|| panic!("{response}"));
    assert_eq!(violation(document, schema, reply), None, "{method} {path}: {status}");
}

#[test]
fn replies_match_the_document() {
    let host = TestServer::start();
    let document = host.get("/api/openapi.json").1;
    let post = |path: &str, body: &Value, wanted: u16| {
        let reply = host.post(path, body);
        assert_eq!(reply.0, wanted, "{path} {body}: {}", reply.1);
        assert_documented(&document, ("post", path), &reply);
        reply.1
    };
    let get = |path: &str, query: &str| {
        let reply = host.get(&format!("{path}{query}"));
        assert_documented(&document, ("get", path), &reply);
        reply.1
    };
    let items = post("/api/next", &json!({"annotator": "Ada", "n": 3}), 200);
    let asks: Vec<&Value> = items["items"].as_array().unwrap().iter().map(|item| &item["ask"]).collect();
    let answers = json!([
        {"ask": asks[0], "annotator": "Ada", "key": "a", "label": "yes"},
        {"ask": asks[1], "annotator": "Ada", "key": "b", "skip": true},
        {"ask": asks[2], "annotator": "Ada", "unsure": true},
        {"ask": asks[0], "annotator": "Ada", "key": "c", "label": "no such label"},
    ]);
    let outcomes = post("/api/answers", &answers, 200);
    let statuses: Vec<&Value> = outcomes.as_array().unwrap().iter().map(|outcome| &outcome["status"]).collect();
    assert_eq!(statuses, ["saved", "saved", "saved", "refused"]);
    assert!(outcomes[0].get("why").is_none() && outcomes[3].get("answer").is_none(), "{outcomes}");
    assert_eq!(get("/api/history", "?annotator=Ada").as_array().unwrap().len(), 3);
    assert_eq!(post("/api/undo", &json!({"annotator": "Ada", "key": "u"}), 200)["undone"]["unsure"], true);
    assert!(post("/api/undo", &json!({"annotator": "Ben", "key": "v"}), 200)["undone"].is_null());
    post("/api/undo", &json!({"annotator": "Ada", "key": "w", "answer": 999}), 404);
    post("/api/next", &json!({"annotator": "Ada", "n": 0}), 400);
    assert_eq!(post("/api/heartbeat", &json!({"annotator": "Ada", "asks": [999]}), 200)["lost"], json!([999]));
    assert_eq!(post("/api/release", &json!({"annotator": "Ada", "asks": [1]}), 200), json!({}));
    let status = get("/api/status", "");
    assert!(status["you"].is_null() && status.get("you").is_some(), "{status}");
    get("/api/certificate", "");
}

#[test]
fn the_document_states_the_limits_of_requests() {
    let host = TestServer::start();
    let document = host.get("/api/openapi.json").1;
    let schemas = &document["components"]["schemas"];
    let next = &schemas["NextRequest"];
    assert_eq!((&next["required"], &next["additionalProperties"]), (&json!(["annotator"]), &json!(false)));
    let (n, name) = (&next["properties"]["n"], &next["properties"]["annotator"]);
    assert_eq!((&n["type"], &n["minimum"], &n["maximum"]), (&json!("integer"), &json!(1), &json!(100)));
    assert_eq!((&name["minLength"], &name["maxLength"]), (&json!(1), &json!(64)));
    assert!(name["pattern"].is_string());
    assert_eq!(schemas["AnswersRequest"]["maxItems"], 1000);
    let forms = schemas["AnswerRequest"]["oneOf"].as_array().unwrap();
    let required: Vec<&Value> = forms.iter().map(|form| &form["required"]).collect();
    assert_eq!(
        required,
        [
            &json!(["ask", "annotator", "label"]),
            &json!(["ask", "annotator", "skip"]),
            &json!(["ask", "annotator", "unsure"])
        ]
    );
    for form in forms {
        let ask = &form["properties"]["ask"];
        assert_eq!(
            (&ask["minimum"], &ask["maximum"], &form["additionalProperties"]),
            (&json!(0), &json!(u64::MAX), &json!(false))
        );
        assert_eq!(form["properties"]["key"]["maxLength"], 100);
    }
    let answer = |label: Value| json!({"ask": 1, "annotator": "Ada", "label": label});
    assert_eq!(violation(&document, &schemas["AnswerRequest"], &answer(json!("yes"))), None);
    assert!(violation(&document, &schemas["AnswerRequest"], &answer(json!(true))).is_some());
    let parameters = document["paths"]["/api/history"]["get"]["parameters"].as_array().unwrap();
    let queries: Vec<(&Value, &Value)> =
        parameters.iter().skip(1).map(|query| (&query["name"], &query["required"])).collect();
    assert_eq!(queries, [(&json!("annotator"), &json!(true)), (&json!("n"), &json!(false))]);
    assert_eq!(parameters[2]["schema"]["maximum"], 1000);
    assert!(!document.to_string().contains("$defs"));
}
