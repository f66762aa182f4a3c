//! Bodies and queries of HTTP requests, sent to a real server by an authenticated client.

use std::cell::RefCell;
use std::io::Write;
use std::net::TcpStream;
use std::sync::LazyLock;

use serde_json::Value;

/// The server of the server crate's own tests.
#[path = "../../crates/server/tests/common/mod.rs"]
mod host;

use host::{TestServer, reply};

/// The methods and paths to which a body is sent or a query is appended.
const ROUTES: [(&str, &str); 6] = [
    ("POST", "/api/next"),
    ("POST", "/api/answers"),
    ("POST", "/api/undo"),
    ("POST", "/api/heartbeat"),
    ("POST", "/api/release"),
    ("GET", "/api/history?"),
];

/// Checks one input: a route, then a body or a query.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Some((route, content)) = data.split_first() else { return };
    let (method, path) = ROUTES[usize::from(*route) % ROUTES.len()];
    // A query is part of the request line, which allows only some bytes.
    let is_query = method == "GET";
    if is_query && !content.iter().all(u8::is_ascii_graphic) {
        return;
    }
    let (query, body) = if is_query { (content, &[][..]) } else { (&[][..], content) };
    let (status, value) = send(method, path, query, body);
    assert!([200, 400, 403, 404, 409, 413, 414, 431].contains(&status), "{method} {path} was answered with {status}");
    match (status, path) {
        (200, "/api/answers") => judge(&value, body),
        (200, _) => assert!(value.is_object() || value.is_array(), "{value}"),
        (414 | 431, _) => {}
        // The HTTP library rejects bytes that are invalid in a query, with an empty reply body.
        (400, _) if is_query && value.is_null() => {}
        _ => assert!(value["error"]["message"].is_string(), "{status}: {value}"),
    }
}

/// Checks that there is one outcome for each answer, in the same order.
fn judge(outcomes: &Value, body: &[u8]) {
    let sent: Value = serde_json::from_slice(body).expect("JSON, since it was accepted");
    let (sent, outcomes) = (sent.as_array().expect("a list"), outcomes.as_array().expect("a list"));
    assert_eq!(sent.len(), outcomes.len(), "an outcome for each answer");
    for (sent, outcome) in sent.iter().zip(outcomes) {
        assert_eq!(sent["ask"], outcome["ask"], "outcomes in the order of the answers");
        let status = outcome["status"].as_str().unwrap_or_default();
        match status {
            "saved" | "late" | "repeated" => assert!(outcome["answer"].is_u64(), "{outcome}"),
            _ => assert!(outcome["why"].is_string(), "{outcome}"),
        }
    }
}

/// Sends a request and returns the status and the JSON of the reply.
fn send(method: &str, path: &str, query: &[u8], body: &[u8]) -> (u16, Value) {
    static HOST: LazyLock<TestServer> = LazyLock::new(TestServer::start);
    thread_local! {
        static CONNECTION: RefCell<Option<TcpStream>> = const { RefCell::new(None) };
    }
    let mut request = format!("{method} {path}").into_bytes();
    request.extend_from_slice(query);
    request.extend_from_slice(
        format!(
            " HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nX-Querist: 1\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            HOST.port,
            HOST.token,
            body.len()
        )
        .as_bytes(),
    );
    request.extend_from_slice(body);
    CONNECTION.with_borrow_mut(|connection| {
        let mut stream = connection.take().unwrap_or_else(|| HOST.connect());
        // The server may have closed a kept-alive connection.
        let mut text = stream.write_all(&request).map(|()| reply(&mut stream)).unwrap_or_default();
        if text.is_empty() {
            stream = HOST.connect();
            stream.write_all(&request).expect("a server that takes the request");
            text = reply(&mut stream);
        }
        assert!(!text.is_empty(), "no reply to {method} {path}");
        let (head, json) = text.split_once("\r\n\r\n").expect("a reply with a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        if !head.to_lowercase().contains("connection: close") {
            *connection = Some(stream);
        }
        (status, serde_json::from_str(json).unwrap_or(Value::Null))
    })
}
