//! Known attacks over raw sockets: none gets access, changes anything, or blocks other clients.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use common::{TestServer, reply};
use serde_json::{Value, json};

/// Returns the number of answered items, which no attack may change.
fn answered(host: &TestServer) -> u64 {
    host.get("/api/status").1["answered"].as_u64().unwrap()
}

fn status_of(reply: &str) -> u16 {
    reply.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// 1: a page whose host name resolves to this machine.
#[test]
fn dns_rebinding_is_rejected_first() {
    let host = TestServer::start();
    let port = host.port;
    let own = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        format!("[::1]:{port}"),
    ];
    for name in own {
        assert_eq!(host.raw_status(&format!("GET /health HTTP/1.1\r\nHost: {name}\r\n\r\n")), 200, "{name}");
    }
    let names = [
        "evil.test".to_owned(),
        format!("evil.test:{port}"),
        format!("localhost.evil.test:{port}"),
        format!("localhost.:{port}"),
        format!("127.0.0.1.:{port}"),
        format!("[::2]:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port.wrapping_add(1)),
        format!("192.168.1.5:{port}"),
        format!("user@127.0.0.1:{port}"),
        String::new(),
    ];
    for name in names {
        for path in ["/health", "/", "/api/status"] {
            let status = host.raw_status(&format!(
                "GET {path} HTTP/1.1\r\nHost: {name}\r\nAuthorization: Bearer {}\r\n\r\n",
                host.token
            ));
            assert!([400, 421].contains(&status), "{name} {path}: {status}");
        }
    }
    assert_eq!(host.raw_status("GET /health HTTP/1.1\r\n\r\n"), 400, "no host at all");
    let two = format!("GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.test\r\n\r\n");
    assert_eq!(host.raw_status(&two), 400);
    let absolute = format!("GET http://evil.test/health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    assert!([400, 421].contains(&host.raw_status(&absolute)));
}

/// 2, 3, 4: another site's page in the same browser, which sends the cookie.
#[test]
fn other_sites_cannot_change_or_read_anything() {
    let host = TestServer::start();
    let cookie = host.sign_in(&host.links[0]);
    let ask = host.ask("Ada");
    let body = json!([{"ask": ask, "annotator": "Ada", "key": "k", "label": "yes"}]).to_string();
    let post = |headers: &str| {
        host.raw_status(&format!(
            "POST /api/answers HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {cookie}\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            host.port,
            body.len()
        ))
    };
    let json_type = "Content-Type: application/json\r\n";
    let mark = "X-Querist: 1\r\n";
    let rejected = [
        format!("Content-Type: text/plain\r\n{mark}"),
        format!("Content-Type: application/x-www-form-urlencoded\r\n{mark}"),
        format!("Content-Type: multipart/form-data; boundary=x\r\n{mark}"),
        mark.to_owned(),
        json_type.to_owned(),
        format!("{json_type}X-Querist: 0\r\n"),
        format!("{json_type}{mark}Origin: null\r\n"),
        format!("{json_type}{mark}Origin: http://evil.test\r\n"),
        format!("{json_type}{mark}Origin: http://127.0.0.1:1\r\n"),
        format!("{json_type}{mark}Origin: http://127.0.0.1:{}.evil.test\r\n", host.port),
        format!("{json_type}{mark}Sec-Fetch-Site: cross-site\r\n"),
        format!("{json_type}{mark}Sec-Fetch-Site: same-site\r\n"),
    ];
    for headers in rejected {
        let status = post(&headers);
        assert!([400, 403, 415].contains(&status), "{headers}: {status}");
    }
    for path in ["/api/answers", "/api/next", "/api/undo", "/api/release"] {
        let get =
            format!("GET {path}?annotator=Ada HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {cookie}\r\n\r\n", host.port);
        assert_eq!(host.raw_status(&get), 405, "{path}");
    }
    for path in ["/api/events", "/api/status"] {
        let foreign = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {cookie}\r\nOrigin: http://evil.test\r\n\r\n",
            host.port
        );
        assert_eq!(host.raw_status(&foreign), 403, "{path}");
    }
    assert_eq!(answered(&host), 0);
    let preflight = format!(
        "OPTIONS /api/answers HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nOrigin: http://evil.test\r\n\
         Access-Control-Request-Method: POST\r\n\r\n",
        host.port
    );
    let reply = host.raw(&preflight);
    assert_eq!(status_of(&reply), 405);
    assert!(!reply.to_lowercase().contains("access-control"), "{reply}");
    let own = format!("{json_type}{mark}Origin: http://127.0.0.1:{}\r\nSec-Fetch-Site: same-origin\r\n", host.port);
    assert_eq!(post(&own), 200, "the page itself");
    assert_eq!(answered(&host), 1);
}

/// 5 to 8: text from users and files is data, never markup: it is sent as JSON, which no browser renders as a page.
#[test]
fn hostile_text_is_returned_as_json_data() {
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(1)></textarea>{{7*7}}\u{202e}";
    let host = TestServer::with_text(hostile);
    let (status, found) = host.post("/api/next", &json!({"annotator": "<b>Eve</b>", "n": 1}));
    assert_eq!(status, 200);
    assert_eq!(found["items"][0]["fields"][0]["value"], hostile);
    let reply = host.raw(&format!(
        "GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n",
        host.port, host.token
    ));
    assert!(reply.contains("content-type: application/json"), "{reply}");
    assert!(reply.contains("x-content-type-options: nosniff"), "{reply}");
}

/// 9, 36: errors are plain text or JSON, without the input and without internals of the server.
#[test]
fn errors_contain_no_input_and_no_internals() {
    let host = TestServer::start();
    for path in ["/%3Cscript%3Ealert(1)%3C/script%3E", "/api/%3Cscript%3E", "/images/%3Cscript%3E", "/x'\"--"] {
        let reply = host.raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n",
            host.port, host.token
        ));
        assert_eq!(status_of(&reply), 404, "{path}");
        assert!(!reply.contains("script") || reply.contains("script-src"), "{reply}");
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(!body.contains("script"), "{body}");
        assert!(head.contains("text/plain") || head.contains("application/json"), "{head}");
    }
    let (status, found) = host.post("/api/next", &json!({"annotator": 7}));
    assert_eq!(status, 400);
    let found = found.to_string();
    for secret in ["/src/", ".rs", "panicked", "tmp", env!("CARGO_PKG_VERSION"), "hyper"] {
        assert!(!found.contains(secret), "{found}");
    }
    assert!(!host.raw("GET /health HTTP/1.0\r\n\r\n").to_lowercase().contains("server:"));
}

/// 10, 11, 45: the headers of every reply.
#[test]
fn every_reply_has_the_security_headers() {
    let host = TestServer::start();
    let bearer = format!("Authorization: Bearer {}\r\n", host.token);
    for (path, auth) in [("/", ""), ("/health", ""), ("/api/status", ""), ("/api/status", &*bearer), ("/nothing", "")] {
        let reply =
            host.raw(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{auth}\r\n", host.port)).to_lowercase();
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "x-frame-options: deny",
        ] {
            assert!(reply.contains(header), "{path}: {header}\n{reply}");
        }
        assert!(!reply.contains("unsafe-inline") && !reply.contains("access-control"), "{reply}");
    }
}

/// 12 to 15: path traversal out of the image folder.
#[test]
fn files_outside_the_image_folder_are_not_served() {
    let host = TestServer::with_images();
    let get = |path: &str| {
        host.raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n",
            host.port, host.token
        ))
    };
    let image = get("/images/a.png");
    assert_eq!(status_of(&image), 200);
    assert!(image.contains("content-disposition: attachment") && image.contains("sandbox"), "{image}");
    assert_eq!(status_of(&get("/images/inner/b%20c.png")), 200);
    for path in [
        "/images/../secret.png",
        "/images/..%2fsecret.png",
        "/images/%2e%2e%2fsecret.png",
        "/images/%2e%2e/secret.png",
        "/images/%252e%252e%252fsecret.png",
        "/images/..%5csecret.png",
        "/images../secret.png",
        "/images/inner/../../secret.png",
        "/images//etc/passwd",
        "/images/%2fetc%2fpasswd",
        "/images/a.png%00.html",
        "/images/%c0%ae%c0%ae/secret.png",
        "/images/link.png",
        "/images/page.html",
        "/images/picture.svg",
        "/images/",
        "/images/inner",
        "/assets/../Cargo.toml",
        "/assets/%2e%2e/Cargo.toml",
        "//etc/passwd",
        "/..",
    ] {
        let reply = get(path);
        assert!([400, 404].contains(&status_of(&reply)), "{path}: {reply}");
        assert!(!reply.contains("secret of the house"), "{path}");
    }
    let unauthenticated = format!("GET /images/a.png HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", host.port);
    assert_eq!(host.raw_status(&unauthenticated), 401);
}

/// 17, 21, 44: the link works once, sets a cookie with its flags, and redirects nowhere else.
#[test]
fn a_link_signs_in_once() {
    let host = TestServer::start();
    let get = |path: &str, headers: &str| {
        host.raw(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{headers}\r\n", host.port))
    };
    let run = host.get("/api/status").1["run"].as_str().unwrap()[..16].to_owned();
    let planted = format!("Cookie: querist-{run}=planted\r\n");
    let reply = get(&format!("/?link={}&next=//evil.test", host.links[0]), &planted);
    assert_eq!(status_of(&reply), 303);
    assert!(reply.contains("location: /\r\n"), "{reply}");
    let cookie = reply.lines().find(|line| line.starts_with("set-cookie: ")).unwrap();
    for flag in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(flag), "{cookie}");
    }
    assert!(cookie.contains(&format!("querist-{run}=")) && !cookie.contains("Secure"), "{cookie}");
    for secret in [&host.links[0], &host.token, "planted"] {
        assert!(!cookie.contains(secret), "{cookie}");
    }
    assert_ne!(status_of(&get(&format!("/?link={}", host.links[0]), "")), 303, "a second time");
    assert_eq!(status_of(&get("/api/status", &planted)), 401);
    let value = cookie.trim_start_matches("set-cookie: ").split(';').next().unwrap();
    assert_eq!(status_of(&get("/api/status", &format!("Cookie: {value}\r\n"))), 200);
    assert_eq!(status_of(&get("/api/status", &format!("Cookie: a=b; {value}; c=d\r\n"))), 200);
    assert_eq!(status_of(&get(&format!("/api/status?link={}", host.links[0]), "")), 401, "only the page takes links");
}

/// 18: guessing tokens.
#[test]
fn guessed_tokens_are_rejected_and_rate_limited() {
    let host = TestServer::start();
    let mut last = 0;
    let mut stream = host.connect();
    for guess in 0..10_000_u64 {
        let token = format!("{:032x}", guess.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let request = format!(
            "GET /api/history?annotator=a HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\n\r\n",
            host.port
        );
        stream.write_all(request.as_bytes()).unwrap();
        last = status_of(&reply(&mut stream));
        assert!([401, 429].contains(&last), "{last}");
    }
    assert_eq!(last, 429, "guesses are rate limited");
    assert_eq!(host.get("/api/status").0, 200, "valid tokens are not");
    for token in ["", " ", "Bearer", &host.token[..31], &format!("{}0", host.token), &host.token.to_uppercase()] {
        let request = format!(
            "GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\n\r\n",
            host.port
        );
        let status = host.raw_status(&request);
        assert!([401, 429].contains(&status) || token == host.token.to_uppercase() && token == host.token, "{token}");
    }
}

/// 22: another annotator's answers, items and name.
#[test]
fn annotators_cannot_act_for_others() {
    let host = TestServer::with_people(&["Ada", "Eve"]);
    let (ada, eve) = (host.tokens[0].clone(), host.tokens[1].clone());
    let post = |token: &str, path: &str, body: &Value| host.post_as(token, path, body);
    let (_, items) = post(&ada, "/api/next", &json!({"annotator": "Ada", "n": 1}));
    let ask = items["items"][0]["ask"].clone();
    let answer = |name: &str, key: &str| json!([{"ask": ask, "annotator": name, "key": key, "label": "yes"}]);
    assert_eq!(post(&eve, "/api/answers", &answer("Ada", "x")).0, 403, "under a forged name");
    let own = post(&eve, "/api/answers", &answer("Eve", "y")).1;
    assert_eq!(
        (own[0]["status"].as_str(), own[0]["why"].as_str()),
        (Some("refused"), Some("this item was not put to you"))
    );
    let saved = post(&ada, "/api/answers", &answer("Ada", "z")).1;
    assert_eq!(saved[0]["status"], "saved");
    let undo = json!({"annotator": "Eve", "key": "u", "answer": saved[0]["answer"]});
    post(&eve, "/api/next", &json!({"annotator": "Eve", "n": 1}));
    assert_eq!(post(&eve, "/api/undo", &undo).0, 403);
    assert_eq!(post(&eve, "/api/undo", &json!({"annotator": "Ada", "key": "u"})).0, 403);
    assert_eq!(post(&eve, "/api/next", &json!({"annotator": "Ada"})).0, 403);
    let history =
        format!("/api/history?annotator=Ada HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {eve}", host.port);
    assert_eq!(host.raw_status(&format!("GET {history}\r\n\r\n")), 403);
    let (_, beat) = post(&eve, "/api/heartbeat", &json!({"annotator": "Eve", "asks": [ask, 2, 999]}));
    assert!(!beat["held"].as_array().unwrap().contains(&ask));
    post(&eve, "/api/release", &json!({"annotator": "Eve", "asks": [1, 2, 3]}));
    assert_eq!(answered(&host), 1);
}

/// 23, 30, 31: invalid JSON, numbers and names.
#[test]
fn malformed_bodies_are_rejected() {
    let host = TestServer::start();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let malformed = [
        "",
        "{",
        "null",
        "[1]",
        deep.as_str(),
        r#"{"annotator":"a","annotator":"b"}"#,
        r#"{"annotator":"a","n":1e999}"#,
        r#"{"annotator":"a","n":-1}"#,
        r#"{"annotator":"a","n":0}"#,
        r#"{"annotator":"a","n":1000000000000}"#,
        r#"{"annotator":"a","n":9223372036854775808}"#,
        r#"{"annotator":"a","n":99999999999999999999999}"#,
        r#"{"annotator":"a","n":"1; DROP TABLE acts"}"#,
        r#"{"annotator":"\ud800"}"#,
        r#"{"annotator":""}"#,
        r#"{"annotator":"a\u0000b"}"#,
        r#"{"annotator":"a\u001b[31m"}"#,
        r#"{"annotator":"a\r\nSet-Cookie: x=y"}"#,
        r#"{"annotator":"a","order":"password"}"#,
        "{\"annotator\":\"\u{0}\"}",
    ];
    for body in malformed {
        let (status, _) = host.post_text("/api/next", body);
        assert_eq!(status, 400, "{}", &body[..body.len().min(60)]);
    }
    let long = format!(r#"{{"annotator":"{}"}}"#, "x".repeat(65));
    assert_eq!(host.post_text("/api/next", &long).0, 400);
    assert_eq!(host.raw_status(&format!("GET /api/history?annotator=a&n=10000000000000 HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n", host.port, host.token)), 400);
    for ask in ["-1", "9223372036854775808", "1.5", "\"1\""] {
        let body = format!(r#"[{{"ask":{ask},"annotator":"a","key":"k","label":"yes"}}]"#);
        let (status, found) = host.post_text("/api/answers", &body);
        assert!(status == 400 || found[0]["status"] == "refused", "{ask}: {found}");
    }
    let meta = json!([{"ask": 1, "annotator": "'; DROP TABLE acts;--", "key": "k", "label": "yes' OR 1=1"}]);
    assert_eq!(host.post("/api/answers", &meta).1[0]["status"], "refused");
    assert_eq!(answered(&host), 0);
}

/// 32: the same request repeatedly, also after the answer was withdrawn.
#[test]
fn replayed_requests_count_once() {
    let host = TestServer::start();
    let ask = host.ask("Ada");
    let body = json!([{"ask": ask, "annotator": "Ada", "key": "k", "label": "yes"}]);
    assert_eq!(host.post("/api/answers", &body).1[0]["status"], "saved");
    let undo = json!({"annotator": "Ada", "key": "u"});
    let first = host.post("/api/undo", &undo).1;
    for _ in 0..100 {
        let again = host.post("/api/answers", &body).1;
        assert_eq!((again[0]["status"].as_str(), again[0]["answer"].as_u64()), (Some("repeated"), Some(1)));
        assert_eq!(host.post("/api/undo", &undo).1["undone"], first["undone"]);
    }
    assert_eq!(answered(&host), 0);
}

/// 25, 27, 28, 29: bodies that are too large, heads that are too long, two requests in one.
#[test]
fn oversized_and_smuggled_requests_are_rejected() {
    let host = TestServer::start();
    let head = |more: &str| {
        format!(
            "POST /api/answers HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nX-Querist: 1\r\n\
             Content-Type: application/json\r\n{more}\r\n",
            host.port, host.token
        )
    };
    assert_eq!(host.raw_status(&head("Content-Length: 10737418240\r\n")), 413);
    assert_eq!(host.raw_status(&head("Content-Length: 1048577\r\n")), 413);
    assert_eq!(host.raw_status(&format!("{}ffffffff\r\n", head("Transfer-Encoding: chunked\r\n"))), 411);
    assert_eq!(host.raw_status(&head("Content-Encoding: gzip\r\nContent-Length: 2\r\n")), 415);
    // Bytes after the first request are never parsed as a second one.
    let hidden = format!(
        "GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n",
        host.port, host.token
    );
    for more in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: 4, 5\r\n",
        "Content-Length: +4\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "X-Folded: a\r\n b: c\r\nContent-Length: 4\r\n",
        "Content-Length : 4\r\n",
    ] {
        let reply = host.raw(&format!("{}0\r\n\r\n{hidden}", head(more)));
        assert!([400, 411].contains(&status_of(&reply)), "{more}: {reply}");
        assert_eq!(reply.matches("HTTP/1.1 ").count(), 1, "{more}: {reply}");
    }
    let bomb = format!("GET /health HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}\r\n", host.port, "X: y\r\n".repeat(20_000));
    assert!([400, 431].contains(&host.raw_status(&bomb)));
    let url = format!("GET /{} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", "a".repeat(100_000), host.port);
    assert!([400, 414, 431].contains(&host.raw_status(&url)));
    let arguments =
        format!("GET /api/history?{} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", "a=b&".repeat(100_000), host.port);
    assert!([400, 414, 431].contains(&host.raw_status(&arguments)));
    let two = format!("{}{}", hidden, hidden.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    assert_eq!(host.raw(&two).matches("HTTP/1.1 200").count(), 2, "requests one after the other are fine");
    assert_eq!(host.get("/api/status").0, 200);
}

/// 26: clients that send nothing, or only part of a request.
#[test]
fn idle_and_slow_connections_do_not_block_others() {
    let host = TestServer::start();
    let mut idle = vec![];
    for index in 0..1500 {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", host.port)) else { break };
        if index % 3 == 0 {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
        }
        if index % 3 == 1 {
            let head =
                format!("POST /api/answers HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 100\r\n\r\n[", host.port);
            let _ = stream.write_all(head.as_bytes());
        }
        idle.push(stream);
    }
    assert!(1000 < idle.len(), "{}", idle.len());
    for count in 0..20 {
        let ask = host.ask("Ada");
        let body = json!([{"ask": ask, "annotator": "Ada", "key": format!("k{count}"), "label": "yes"}]);
        assert_eq!(host.post("/api/answers", &body).1[0]["status"], "saved");
    }
    // The first connection was closed to admit later ones.
    idle[0].set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    let read = idle[0].read(&mut [0; 1]);
    assert!(
        read.as_ref().map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |read| *read == 0),
        "{read:?}"
    );
    assert_eq!(answered(&host), 20);
}

/// 24: the server never opens an outgoing connection.
#[test]
fn no_request_makes_the_server_connect_elsewhere() {
    let canary = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    canary.set_nonblocking(true).unwrap();
    let url = format!("http://{}/", canary.local_addr().unwrap());
    let host = TestServer::with_text(&url);
    let ask = host.ask(&url);
    host.post("/api/answers", &json!([{"ask": ask, "annotator": url, "key": "k", "label": url}]));
    for path in [format!("/images/{url}"), format!("/?next={url}"), url.clone()] {
        let authority = format!("Host: 127.0.0.1:{}\r\nReferer: {url}\r\nX-Forwarded-Host: {url}\r\n", host.port);
        host.raw(&format!("GET {path} HTTP/1.1\r\n{authority}Authorization: Bearer {}\r\n\r\n", host.token));
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(canary.accept().is_err(), "the server opened a connection");
}

/// 43: unauthenticated clients learn that the server runs, and nothing else.
#[test]
fn unauthenticated_clients_learn_only_that_the_server_runs() {
    let host = TestServer::start();
    let get = |path: &str| host.raw(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", host.port));
    assert!(get("/health").ends_with("\r\n\r\nok"));
    for path in ["/api/status", "/api/events", "/api/history?annotator=a", "/api/certificate", "/api/openapi.json"] {
        assert_eq!(status_of(&get(path)), 401, "{path}");
    }
    for path in ["/metrics", "/version", "/debug", "/.git/config", "/api", "/api/"] {
        assert_eq!(status_of(&get(path)), 404, "{path}");
    }
}
