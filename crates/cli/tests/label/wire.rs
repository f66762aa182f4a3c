//! The `OpenAPI` document against the server's responses: every field of a response is in the document, and every
//! field of the document is in some response.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::common::client::{LabelServer, TestClient};
use super::common::{Folder, json as said};
use super::texts;

/// Checks values against the schemas of a document, and records which parts were used.
struct Wire {
    document: Value,
    /// Paths in the document: properties and statuses that occurred in responses.
    seen: BTreeSet<String>,
}

impl Wire {
    /// Checks a response against the document; panics if they differ.
    fn hold(&mut self, method: &str, path: &str, status: u16, body: &Value) {
        let path = path.split('?').next().unwrap();
        let place = format!("/paths/{}/{method}/responses/{status}", path.replace('/', "~1"));
        let content =
            &self.document.pointer(&place).unwrap_or_else(|| panic!("{method} {path}: {status} {body}"))["content"];
        let schema = content["application/json"]["schema"].clone();
        self.seen.insert(status.to_string());
        self.check(&schema, &format!("{method} {path} {status}"), body)
            .unwrap_or_else(|wrong| panic!("{wrong}\n{body}"));
    }

    /// Checks a value against a schema; returns what is wrong.
    fn check(&mut self, schema: &Value, place: &str, value: &Value) -> Result<(), String> {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap().to_owned();
            let schema = self.document["components"]["schemas"][&name].clone();
            return self.check(&schema, &name, value);
        }
        if let Some(choices) = choices(schema) {
            let mut wrongs = vec![];
            for choice in choices.clone() {
                match self.check(&choice, place, value) {
                    Ok(()) => return Ok(()),
                    Err(wrong) => wrongs.push(wrong),
                }
            }
            return Err(wrongs.join("; "));
        }
        if let Some(allowed) = schema["enum"].as_array() {
            return if allowed.contains(value) { Ok(()) } else { Err(format!("{place} is {value}")) };
        }
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.clone(),
            kind => vec![kind.clone()],
        };
        let kind = kinds.iter().find(|kind| is_of(value, kind.as_str().unwrap()));
        if kind.is_none() {
            return Err(format!("{place} is {value}, not {}", schema["type"]));
        }
        for part in value.as_array().into_iter().flatten() {
            self.check(&schema["items"].clone(), &format!("{place}[]"), part)?;
        }
        value.as_object().map_or(Ok(()), |fields| self.fields(schema, place, fields))
    }

    fn fields(&mut self, schema: &Value, place: &str, fields: &serde_json::Map<String, Value>) -> Result<(), String> {
        for name in schema["required"].as_array().into_iter().flatten() {
            if !fields.contains_key(name.as_str().unwrap()) {
                return Err(format!("{place} has no {name}"));
            }
        }
        for (name, value) in fields {
            let inner = format!("{place}.{name}");
            let (known, others) = (schema["properties"][name].clone(), schema["additionalProperties"].clone());
            if known.is_object() {
                self.check(&known, &inner, value)?;
                self.seen.insert(inner);
            } else if others.is_object() {
                self.check(&others, &inner, value)?;
            } else if others == false {
                return Err(format!("{inner} is not in the document"));
            }
        }
        Ok(())
    }

    /// Returns the properties and statuses of the document that no response had.
    fn unseen(&self) -> Vec<String> {
        let mut all = vec![];
        for (path, methods) in self.document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let schema = &response["content"]["application/json"]["schema"];
                    properties(schema, &format!("{method} {path} {status}"), &mut all);
                    all.push(status.clone());
                }
            }
        }
        for (name, schema) in self.document["components"]["schemas"].as_object().unwrap() {
            // The server itself checks requests against their schema.
            if !name.ends_with("Request") {
                properties(schema, name, &mut all);
            }
        }
        all.retain(|place| !self.seen.contains(place));
        all.sort();
        all.dedup();
        all
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("what is {other}?"),
    }
}

/// Returns the alternatives of a schema, one of which a value must match.
fn choices(schema: &Value) -> Option<&Vec<Value>> {
    schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())
}

fn properties(schema: &Value, place: &str, found: &mut Vec<String>) {
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let inner_place = format!("{place}.{name}");
        properties(inner, &inner_place, found);
        found.push(inner_place);
    }
    for choice in choices(schema).into_iter().flatten() {
        properties(choice, place, found);
    }
    if schema["items"].is_object() {
        properties(&schema["items"], &format!("{place}[]"), found);
    }
}

/// A client that checks every response against the document.
struct CheckedClient<'a> {
    client: TestClient,
    wire: &'a mut Wire,
}

impl CheckedClient<'_> {
    fn post(&mut self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.client.post(path, body).unwrap();
        self.wire.hold("post", path, status, &answer);
        answer
    }

    fn get(&mut self, path: &str) -> Value {
        let (status, answer) = self.client.get(path).unwrap();
        self.wire.hold("get", path, status, &answer);
        answer
    }

    fn with(&mut self, method: &str, path: &str, head: &str, body: &str) -> u16 {
        let (status, answer) = self.client.request(method, path, head, body).unwrap();
        self.wire.hold(&method.to_lowercase(), path, status, &answer);
        status
    }
}

/// Does everything that annotators do: two of them label the same items, skip, change and withdraw.
fn everything(held: &mut CheckedClient<'_>, labels: &[Value; 2], rounds: usize) {
    for round in 0..rounds {
        for name in ["Ada", "Ben"] {
            let handed = held.post("/api/next", &json!({"annotator": name, "n": 2}));
            for (place, item) in handed["items"].as_array().unwrap().iter().enumerate() {
                let bad = item["fields"].to_string().contains("bad");
                let key = format!("{name}-{round}-{place}");
                let mut answer = json!({"ask": item["ask"], "annotator": name, "key": key});
                match round * 2 + place {
                    5 => answer["skip"] = true.into(),
                    7 => answer["unsure"] = true.into(),
                    _ => answer["label"] = labels[usize::from(bad)].clone(),
                }
                held.post("/api/answers", &json!([answer]));
            }
        }
    }
    held.post("/api/next", &json!({"annotator": "Ada"}));
    let wrong = json!([{"ask": 1, "annotator": "Ada", "key": "w", "label": "nothing known"}]);
    assert_eq!(held.post("/api/answers", &wrong)[0]["status"], "refused");
    held.post("/api/undo", &json!({"annotator": "Ada", "key": "u"}));
    held.post("/api/undo", &json!({"annotator": "Nobody", "key": "v"}));
    held.post("/api/heartbeat", &json!({"annotator": "Ada", "asks": [1, 999_999]}));
    held.post("/api/release", &json!({"annotator": "Ada", "asks": [1]}));
    held.get("/api/history?annotator=Ada");
    for _ in 0..1000 {
        if held.get("/api/status")["model"]["fitting"] == false {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    held.get("/api/certificate");
    // When nothing else is left, skipped items come back, marked as skipped.
    held.post("/api/next", &json!({"annotator": "Ada", "n": 3}));
}

/// Sends requests that fail in every way.
fn failing_requests(held: &mut CheckedClient<'_>) {
    let json = "Content-Type: application/json\r\nX-Querist: 1\r\n";
    let run = held.get("/api/status")["run"].as_str().unwrap().to_owned();
    for path in ["/api/status", "/api/certificate", "/api/history?annotator=Ada"] {
        assert_eq!(held.with("GET", path, &format!("X-Querist-Run: {run}\r\n"), ""), 200);
        assert_eq!(held.with("GET", path, "X-Querist-Run: another\r\n", ""), 409);
        assert_eq!(held.with("GET", path, "Origin: http://evil.test\r\n", ""), 403);
    }
    for path in ["/api/next", "/api/answers", "/api/undo", "/api/heartbeat", "/api/release"] {
        let post = |held: &mut CheckedClient<'_>, head: &str, body: &str| held.with("POST", path, head, body);
        assert_eq!(post(held, &format!("{json}X-Querist-Run: another\r\nContent-Length: 2\r\n"), "{}"), 409);
        assert_eq!(post(held, &format!("{json}Content-Length: 1\r\n"), "?"), 400);
        assert_eq!(post(held, "Content-Type: application/json\r\nContent-Length: 2\r\n", "{}"), 403);
        assert_eq!(post(held, "Content-Type: text/plain\r\nX-Querist: 1\r\nContent-Length: 2\r\n", "{}"), 415);
        assert_eq!(post(held, &format!("{json}Content-Length: 99000000\r\n"), ""), 413);
        assert_eq!(post(held, &format!("{json}Transfer-Encoding: chunked\r\n"), "0\r\n\r\n"), 411);
    }
    let unknown = json!({"annotator": "Ada", "key": "of-an-unknown-answer", "answer": 1_000_000}).to_string();
    let head = format!("{json}Content-Length: {}\r\n", unknown.len());
    assert_eq!(held.with("POST", "/api/undo", &head, &unknown), 404);
    held.client.host = Some("evil.test".to_owned());
    assert_eq!(held.with("GET", "/api/status", "", ""), 421);
    held.client.host = None;
    held.client.token = "x".repeat(32);
    assert_eq!(held.with("GET", "/api/status", "", ""), 401);
    while held.with("POST", "/api/next", &format!("{json}Content-Length: 2\r\n"), "{}") != 429 {}
}

#[test]
fn the_document_and_the_responses_have_the_same_fields() {
    let folder = Folder::new("label-wire");
    let data = folder.path("texts.csv");
    texts(&data, 120);
    let started = |name: &str, more: &[&str]| {
        let ledger = folder.path(name);
        let fixed = ["label", &data, "--text", "body", "--port", "0", "--no-browser", "--json", "--ledger", &ledger];
        LabelServer::start(&[&fixed[..], more].concat())
    };
    // With random draws, the random twin has enough answers however slowly models are fitted.
    let binary = started("binary.ledger", &["--labels", "no,yes", "--overlap", "2", "--cold-start", "random"]);
    let (_, document) = binary.client().get("/api/openapi.json").unwrap();
    let mut wire = Wire { document, seen: BTreeSet::new() };
    let mut held = CheckedClient { client: binary.client(), wire: &mut wire };
    everything(&mut held, &[json!("yes"), json!("no")], 20);
    failing_requests(&mut held);
    let classes = started("classes.ledger", &["--labels", "no,yes,perhaps", "--budget", "10"]);
    everything(&mut CheckedClient { client: classes.client(), wire: &mut wire }, &[json!("yes"), json!("no")], 5);
    let numbers = started("numbers.ledger", &["--number"]);
    everything(&mut CheckedClient { client: numbers.client(), wire: &mut wire }, &[json!(1.5), json!("-2")], 5);
    // Only a requested status, not one in the event stream, names the annotator.
    let (_, status) = numbers.client().get("/api/status").unwrap();
    assert!(status.get("you").is_some());

    // Slow bodies and full or failing disks have their own tests.
    let mut unseen = wire.unseen();
    unseen.retain(|place| !["408", "503", "507"].contains(&place.as_str()));
    assert_eq!(unseen, Vec::<String>::new(), "in the document, and in no answer");
}

/// The page names the certified pair and a command with the same result.
#[test]
fn the_certificate_is_that_of_the_named_pair() {
    let folder = Folder::new("label-certificate");
    let data = folder.path("texts.csv");
    texts(&data, 300);
    for (name, labels, cold, warm) in [
        ("two", "no,yes", "constant:p=1", "boundary:reach="),
        ("three", "no,yes,perhaps", "constant:p=1", "boundary:reach="),
    ] {
        let ledger = folder.path(name);
        let fixed = ["label", &data, "--text", "body", "--port", "0", "--no-browser", "--json", "--ledger", &ledger];
        let server = LabelServer::start(&[&fixed[..], &["--labels", labels]].concat());
        let mut client = server.client();
        certified(&client.get("/api/certificate").unwrap().1, cold);
        let labels: Vec<&str> = labels.split(',').collect();
        for count in 0..30 {
            let item = client.next("Ada", 1).unwrap()[0].clone();
            client.answer("Ada", &item["ask"], &format!("k{count}"), labels[count % labels.len()]).unwrap();
        }
        let shown = loop {
            let (_, status) = client.get("/api/status").unwrap();
            if status["model"]["fitting"] == false {
                break client.get("/api/certificate").unwrap().1;
            }
        };
        certified(&shown, warm);
        // The objective names the same pair in words.
        assert!(shown["objective"].as_str().unwrap().contains("e^(−"), "{shown}");
    }
    let ledger = folder.path("numbers");
    let fixed = ["label", &data, "--text", "body", "--port", "0", "--no-browser", "--json", "--ledger", &ledger];
    let server = LabelServer::start(&[&fixed[..], &["--number"]].concat());
    let (_, shown) = server.client().get("/api/certificate").unwrap();
    assert_eq!((&shown["certified"], &shown["claims"]), (&Value::Null, &json!([])));
    assert_eq!(shown["why_not"], "certificates exist only for classes, not for numbers");
    fs::metadata(&ledger).unwrap();
}

fn certified(shown: &Value, rule: &str) {
    let pair = &shown["certified"];
    assert!(pair["rule"].as_str().unwrap().starts_with(rule), "{shown}");
    let command = pair["command"].as_str().unwrap();
    let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches('\'')).collect();
    assert_eq!(words[0], "querist");
    let printed = said(&[&words[1..], &["--json"]].concat());
    for field in ["claims", "constants", "advice"] {
        assert_eq!(shown[field], printed[field], "{field} of {command}");
    }
    assert!(!shown["claims"].as_array().unwrap().is_empty());
}
