//! Comparison of the `OpenAPI` document with the routes.

mod common;

use common::TestServer;

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
