//! Regression tests over loopback: keys and conflicts, undo, changed images, probabilities, and the event stream.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use common::TestServer;
use serde_json::{Value, json};

fn answer(ask: u64, key: &str, label: &str) -> Value {
    json!({"ask": ask, "annotator": "Ada", "key": key, "label": label})
}

fn asks(host: &TestServer, name: &str, n: usize) -> Vec<u64> {
    let (status, found) = host.post("/api/next", &json!({"annotator": name, "n": n}));
    assert_eq!(status, 200, "{found}");
    found["items"].as_array().unwrap().iter().map(|item| item["ask"].as_u64().unwrap()).collect()
}

#[test]
fn a_key_with_another_label_is_a_conflict_and_saves_nothing() {
    let host = TestServer::start();
    let asks = asks(&host, "Ada", 3);
    let post = |answers: &[Value]| host.post("/api/answers", &json!(answers));
    let first = answer(asks[0], "k", "yes");
    assert_eq!(post(std::slice::from_ref(&first)).1[0]["status"], "saved");
    let again = post(std::slice::from_ref(&first));
    assert_eq!((again.0, &again.1[0]["status"], &again.1[0]["answer"]), (200, &json!("repeated"), &json!(1)));

    let skip = json!({"ask": asks[0], "annotator": "Ada", "key": "k", "skip": true});
    let other_name = json!({"ask": asks[0], "annotator": "Eve", "key": "k", "label": "yes"});
    let others = [answer(asks[0], "k", "no"), answer(asks[1], "k", "yes"), answer(asks[0], "k", "?"), skip, other_name];
    for other in others {
        // A good answer in the same request is not saved either: the sender repeats it without the bad one.
        let (status, reply) = post(&[answer(asks[1], "good", "yes"), other.clone()]);
        assert_eq!((status, &reply["error"]["code"]), (409, &json!("key-conflict")), "{other}: {reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert_eq!(message, "the key `k` was already used for something else");
        assert!(reply["error"]["hint"].as_str().unwrap().contains("no answer of this request was saved"));
    }
    let twice = [answer(asks[1], "new", "yes"), answer(asks[1], "new", "no")];
    assert_eq!(post(&twice).0, 409, "within one request");
    let history = host.get("/api/history?annotator=Ada").1;
    assert_eq!(history.as_array().unwrap().len(), 1, "{history}");
    assert_eq!(history[0]["label"], "yes");

    let same = post(&[answer(asks[1], "new", "yes"), answer(asks[1], "new", "yes")]).1;
    assert_eq!((&same[0]["status"], &same[1]["status"]), (&json!("saved"), &json!("repeated")));
    let undo = |key: &str, of: Value| host.post("/api/undo", &json!({"annotator": "Ada", "key": key, "answer": of}));
    assert_eq!(undo("k", json!(1)).0, 409, "the key of an answer");
    assert_eq!(undo("u", json!(1)).0, 200);
    assert_eq!(undo("u", json!(1)).1["undone"]["answer"], 1, "the same once more");
    assert_eq!(undo("u", json!(2)).0, 409, "the key of another undo");
    assert_eq!(post(&[answer(asks[2], "u", "yes")]).0, 409, "the key of an undo");
}

#[test]
fn undo_of_someone_elses_answer_is_always_forbidden() {
    let host = TestServer::start();
    let ask = host.ask("Ada");
    assert_eq!(host.post("/api/answers", &json!([answer(ask, "k", "yes")])).0, 200);
    let undo = |name: &str, key: &str| host.post("/api/undo", &json!({"annotator": name, "key": key, "answer": 1}));
    let assert_forbidden = |(status, reply): (u16, Value), case: &str| {
        assert_eq!((status, &reply["error"]["code"]), (403, &json!("not-yours")), "{case}: {reply}");
    };
    assert_forbidden(undo("Eve", "new"), "a name that was never counters");
    let eves = host.ask("Eve");
    assert_forbidden(undo("Eve", "new"), "a name with an item");
    let eve = json!({"ask": eves, "annotator": "Eve", "key": "e", "label": "no"});
    host.post("/api/answers", &json!([eve]));
    assert_forbidden(undo("Eve", "new"), "a name with an answer");
    assert_forbidden(undo("Eve", "k"), "with the key of that answer");
    assert_eq!(host.post("/api/undo", &json!({"annotator": "Eve", "key": "own"})).0, 200);
    assert_forbidden(undo("Eve", "own"), "with the key of her own undo");
    assert_eq!(undo("Ada", "mine").0, 200);
    assert_forbidden(undo("Eve", "new"), "an answer that was withdrawn");
    assert_forbidden(undo("Eve", "mine"), "with the key of its undo");
    let unknown = host.post("/api/undo", &json!({"annotator": "Ada", "key": "none", "answer": 999}));
    assert_eq!((unknown.0, &unknown.1["error"]["code"]), (404, &json!("unknown-answer")));
}

/// Found by schemathesis: `1.0` is an integer in JSON, a label is a string or a number, 405 names the right method.
#[test]
fn requests_are_parsed_as_documented() {
    let host = TestServer::start();
    let next = host.post_text("/api/next", r#"{"annotator":"Ada","n":2.0}"#);
    assert_eq!((next.0, next.1["items"].as_array().unwrap().len()), (200, 2));
    assert_eq!(host.post_text("/api/heartbeat", r#"{"annotator":"Ada","asks":[1.0,2]}"#).1["held"], json!([1, 2]));
    for n in ["1.5", "-1.0", "1e30", "18446744073709551616", "\"1\""] {
        assert_eq!(host.post_text("/api/next", &format!(r#"{{"annotator":"Ada","n":{n}}}"#)).0, 400, "{n}");
    }
    for label in ["true", "[]", "{}"] {
        let body = format!(r#"[{{"ask":1,"annotator":"Ada","key":"k","label":{label}}}]"#);
        assert_eq!(host.post_text("/api/answers", &body).0, 400, "{label}");
    }
    let wrong =
        host.raw(&format!("PUT /api/next HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", host.port));
    assert!(wrong.starts_with("HTTP/1.1 405") && wrong.to_lowercase().contains("allow: post"), "{wrong}");
}

#[cfg(unix)]
#[test]
fn an_image_that_became_a_link_is_not_followed() {
    use std::fs;
    use std::os::unix::fs::symlink;

    let host = TestServer::with_images();
    let images = host.folder.path().join("images");
    let get = |path: &str| {
        let head =
            format!("Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n", host.port, host.token);
        host.raw(&format!("GET {path} HTTP/1.1\r\n{head}\r\n"))
    };
    let is_hidden = |path: &str, case: &str| {
        let reply = get(path);
        assert!(reply.starts_with("HTTP/1.1 404") && !reply.contains("secret"), "{case}: {reply}");
    };
    for path in ["/images/a.png", "/images/inner/b%20c.png"] {
        assert!(get(path).starts_with("HTTP/1.1 200"), "{path}");
    }
    let secret = host.folder.path().join("secret.png");
    fs::remove_file(images.join("a.png")).unwrap();
    symlink(&secret, images.join("a.png")).unwrap();
    is_hidden("/images/a.png", "a link to a file outside");
    fs::remove_file(images.join("a.png")).unwrap();
    symlink("inner/b c.png", images.join("a.png")).unwrap();
    is_hidden("/images/a.png", "a link to a file inside");

    let outside = host.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::copy(&secret, outside.join("b c.png")).unwrap();
    fs::rename(images.join("inner"), images.join("moved")).unwrap();
    symlink(&outside, images.join("inner")).unwrap();
    is_hidden("/images/inner/b%20c.png", "a folder that became a link");
    fs::remove_file(images.join("inner")).unwrap();
    fs::rename(images.join("moved"), images.join("inner")).unwrap();
    assert!(get("/images/inner/b%20c.png").starts_with("HTTP/1.1 200"), "the folder itself again");

    fs::remove_file(images.join("a.png")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(images.join("a.png")).status().unwrap().success());
    is_hidden("/images/a.png", "a pipe, which must not block");

    // The server uses the image folder that it opened at the start, even if another one replaces it.
    fs::rename(&images, host.folder.path().join("old")).unwrap();
    symlink(&outside, &images).unwrap();
    fs::create_dir(outside.join("inner")).unwrap();
    fs::copy(&secret, outside.join("inner/b c.png")).unwrap();
    let reply = get("/images/inner/b%20c.png");
    assert!(reply.ends_with("an image"), "{reply}");
}

/// Answers until there is a model, and returns the explanation of the next item.
fn explanation(host: &TestServer) -> String {
    for round in 0..200 {
        let (_, found) = host.post("/api/next", &json!({"annotator": "Ada", "n": 1}));
        let item = &found["items"][0];
        let why = item["why"].as_str().unwrap().to_owned();
        if why.starts_with("model: ") {
            return why;
        }
        let position: u64 = item["item"].as_str().unwrap().trim_start_matches("item ").parse().unwrap();
        let label = if position < 500 { "no" } else { "yes" };
        let ask = item["ask"].as_u64().unwrap();
        host.post("/api/answers", &json!([answer(ask, &format!("k{round}"), label)]));
        // The model is fitted on another thread; its state is in the status.
        while 4 < round && host.get("/api/status").1["model"]["fitting"] == true {
            std::thread::yield_now();
        }
    }
    panic!("no model after 200 answers");
}

#[test]
fn a_loss_without_probabilities_shows_none() {
    let shown = explanation(&TestServer::with_loss("squared-hinge"));
    assert!(["model: yes", "model: no"].contains(&&*shown), "{shown}");
    let shown = explanation(&TestServer::with_loss("logistic"));
    assert_eq!(shown.matches('%').count(), 2, "{shown}");
}

/// Opens an event stream and iterates over the names and data of its events.
fn open_stream(host: &TestServer) -> impl Iterator<Item = (String, Value)> + use<> {
    let mut stream: TcpStream = host.connect();
    let head = format!("Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n", host.port, host.token);
    stream.write_all(format!("GET /api/events HTTP/1.1\r\n{head}\r\n").as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    std::iter::from_fn(move || {
        let name = lines.find_map(|line| line.strip_prefix("event: ").map(str::to_owned))?;
        let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned))?;
        Some((name, serde_json::from_str(&data).unwrap()))
    })
}

/// Applies a JSON Patch (RFC 6902), as far as the stream uses it, with the pointers of `serde_json`.
fn apply(status: &mut Value, operations: &Value) {
    for operation in operations.as_array().unwrap() {
        let (path, value) = (operation["path"].as_str().unwrap(), operation["value"].clone());
        let (parent, last) = path.rsplit_once('/').unwrap();
        let last = last.replace("~1", "/").replace("~0", "~");
        match (operation["op"].as_str().unwrap(), status.pointer_mut(parent).unwrap()) {
            ("replace", _) => *status.pointer_mut(path).unwrap() = value,
            ("add", Value::Array(array)) if last == "-" => array.push(value),
            ("add", Value::Object(object)) => assert!(object.insert(last, value).is_none()),
            ("remove", Value::Array(array)) => assert_eq!(array.len(), last.parse::<usize>().unwrap() + 1, "{array:?}"),
            ("remove", Value::Object(object)) => assert!(object.remove(&last).is_some()),
            (other, at) => panic!("{other} at {path}: {at}"),
        }
    }
}

/// Removes the fields that change with time alone, and the annotators that the stream omits.
fn without_volatile_fields(mut status: Value) -> Value {
    let fields = status.as_object_mut().unwrap();
    for name in ["rate_per_minute", "seconds_left", "you"] {
        fields.remove(name);
    }
    if let Some(Value::Array(annotators)) = fields.get_mut("annotators") {
        annotators.truncate(30);
    }
    status
}

#[test]
fn the_event_stream_sends_changes_only() {
    let host = TestServer::start();
    for person in 0..200 {
        host.ask(&format!("person {person}"));
    }
    let whole = host.get("/api/status").1;
    assert_eq!(whole["annotators"].as_array().unwrap().len(), 200);
    assert_eq!(whole["annotator_count"], 200);
    let mut events = open_stream(&host);
    let (name, mut status) = events.next().unwrap();
    assert_eq!((name.as_str(), status["annotators"].as_array().unwrap().len()), ("status", 30));
    for round in 0..12_u64 {
        let person = format!("person {}", 15 * round);
        let ask = asks(&host, &person, 1)[0];
        let given = json!({"ask": ask, "annotator": person, "key": format!("k{round}"), "label": if round % 2 == 0 { "yes" } else { "no" }});
        assert_eq!(host.post("/api/answers", &json!([given])).1[0]["status"], "saved");
        while status["answered"] != round + 1 {
            let (name, operations) = events.next().unwrap();
            assert_eq!(name, "patch");
            // Estimates change with each model; counts change with each answer.
            let is_count = |operation: &&Value| {
                let path = operation["path"].as_str().unwrap();
                !["/estimate", "/twin", "/curve", "/stop"].iter().any(|start| path.starts_with(start))
            };
            let counts = operations.as_array().unwrap().iter().filter(is_count);
            let bytes: usize = counts.map(|operation| operation.to_string().len()).sum();
            assert!(bytes < 700, "{bytes} bytes: {operations}");
            assert!(operations.to_string().len() < whole.to_string().len() / 2, "{operations}");
            apply(&mut status, &operations);
        }
    }
    // A model may still be fitted, so patches follow until the stream agrees with the plain status.
    while without_volatile_fields(status.clone()) != without_volatile_fields(host.get("/api/status").1) {
        apply(&mut status, &events.next().unwrap().1);
    }
    let late = open_stream(&host).next().unwrap();
    assert_eq!((late.0.as_str(), without_volatile_fields(late.1)), ("status", without_volatile_fields(status)));
}
