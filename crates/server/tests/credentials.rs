//! Links, tokens, cookies and revocations, over HTTP.

mod common;

use std::io::{Read, Write};

use common::{TestServer, TestServerOptions};

fn get(host: &TestServer, path: &str, headers: &str) -> (u16, String) {
    let reply = host.raw(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{headers}\r\n", host.port));
    (reply.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), reply)
}

fn status_with(host: &TestServer, header: &str) -> u16 {
    get(host, "/api/status", &format!("{header}\r\n")).0
}

#[test]
fn links_and_api_tokens_are_different_credentials() {
    let host = TestServer::with_people(&["Ada", "Ben"]);
    for link in &host.links {
        assert_eq!(status_with(&host, &format!("Authorization: Bearer {link}")), 401, "before its use");
    }
    for token in &host.tokens {
        assert_eq!(get(&host, &format!("/?link={token}"), "").0, 401);
        assert_eq!(status_with(&host, &format!("Authorization: Bearer {token}")), 200);
    }
    let cookie = host.sign_in(&host.links[0]);
    assert_eq!(status_with(&host, &format!("Cookie: {cookie}")), 200);
    let next = host.operator_events.lock().unwrap()[0].clone();
    let next = next.split('"').nth(1).unwrap();
    for link in [host.links[0].as_str(), next] {
        assert_eq!(status_with(&host, &format!("Authorization: Bearer {link}")), 401, "after its use");
    }
    let value = cookie.split_once('=').unwrap().1;
    assert_eq!(status_with(&host, &format!("Authorization: Bearer {value}")), 401, "a cookie is no token");
    assert_eq!(get(&host, &format!("/?link={value}"), "").0, 401);
    assert_eq!(get(&host, &format!("/?link={next}"), "").0, 303);
}

#[test]
fn two_servers_on_one_host_use_separate_cookies() {
    let (first, second) = (TestServer::start(), TestServer::start());
    let cookies = format!("Cookie: {}; {}", first.sign_in(&first.links[0]), second.sign_in(&second.links[0]));
    let names: Vec<&str> = cookies.split([' ', '=']).filter(|part| part.starts_with("querist-")).collect();
    assert_eq!(names.len(), 2);
    assert_ne!(names[0], names[1], "the second sign-in would replace the first");
    assert_eq!((status_with(&first, &cookies), status_with(&second, &cookies)), (200, 200));
}

#[test]
fn cookies_are_secure_behind_a_tls_proxy() {
    let host = TestServer::new(TestServerOptions { secure_cookie: true, ..TestServerOptions::default() });
    let (status, reply) = get(&host, &format!("/?link={}", host.links[0]), "");
    assert_eq!(status, 303);
    let line = reply.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(line.starts_with("__Host-querist-") && line.ends_with("; Path=/; Secure"), "{line}");
    let cookie = line.split(';').next().unwrap();
    assert_eq!(status_with(&host, &format!("Cookie: {cookie}")), 200);
    let plain = cookie.trim_start_matches("__Host-");
    assert_eq!(status_with(&host, &format!("Cookie: {plain}")), 401, "a name that other hosts could set");
}

/// Waits until `count` operator events start with a text, and returns them. They follow what they report.
fn wait_for(host: &TestServer, start: &str, count: usize) -> Vec<String> {
    loop {
        let operator_events = host.operator_events.lock().unwrap();
        let found: Vec<String> = operator_events.iter().filter(|event| event.starts_with(start)).cloned().collect();
        if count <= found.len() {
            return found;
        }
        drop(operator_events);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_revocation_signs_out_one_annotator() {
    let host = TestServer::with_people(&["Ada", "Ben"]);
    let ada = format!("Cookie: {}", host.sign_in(&host.links[0]));
    let ben = format!("Cookie: {}", host.sign_in(&host.links[1]));
    let mut events = host.connect();
    let request = format!("GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{ada}\r\n\r\n", host.port);
    events.write_all(request.as_bytes()).unwrap();
    assert!(0 < events.read(&mut [0; 64]).unwrap());
    let unused = wait_for(&host, "LinkUsed", 2);
    host.key().revoke(Some("Ada")).unwrap();
    let replaced = wait_for(&host, "LinkReplaced", 1);
    assert_eq!(wait_for(&host, "Revoked", 1), ["Revoked { connections: 1 }"]);
    assert_eq!((status_with(&host, &ada), status_with(&host, &ben)), (401, 200));
    // Ada's event stream ends.
    let mut rest = vec![];
    let ended = events.read_to_end(&mut rest);
    assert!(ended.is_ok() || ended.unwrap_err().kind() == std::io::ErrorKind::ConnectionReset);
    // Ada's old link no longer works, her new one does, and Ben's still does.
    let token = |event: &String| event.split('"').nth(1).unwrap().to_owned();
    let link = |event: &String| get(&host, &format!("/?link={}", token(event)), "").0;
    assert_eq!((link(&unused[0]), link(&replaced[0]), link(&unused[1])), (401, 303, 303));
}

#[test]
fn a_revocation_signs_out_everyone_but_keeps_api_tokens() {
    let host = TestServer::start();
    let cookie = format!("Cookie: {}", host.sign_in(&host.links[0]));
    assert_eq!(status_with(&host, &cookie), 200);
    host.key().revoke(None).unwrap();
    let replaced = wait_for(&host, "LinkReplaced", 1);
    assert_eq!(status_with(&host, &cookie), 401);
    assert_eq!(host.get("/api/status").0, 200);
    let again = format!("Cookie: {}", host.sign_in(replaced[0].split('"').nth(1).unwrap()));
    assert_eq!(status_with(&host, &again), 200);
}
