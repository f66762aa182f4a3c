//! Connection limits: clients with a credential are served, regardless of connections without one.

mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use common::{TestServer, TestServerOptions, reply};
use querist_server::Limits;
use serde_json::json;
use socket2::{Domain, Socket, Type};

/// Connects from another loopback address.
fn connect_from(host: &TestServer, last: u8) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0)).into()).unwrap();
    socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, host.port)).into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn request(host: &TestServer, path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{headers}\r\n", host.port)
}

fn bearer(host: &TestServer) -> String {
    format!("Authorization: Bearer {}\r\n", host.token)
}

/// Sends a request on an open connection and returns the head and body of the reply, or nothing if it was closed.
fn send(stream: &mut TcpStream, request: &str) -> String {
    if stream.write_all(request.as_bytes()).is_err() {
        return String::new();
    }
    reply(stream)
}

fn status(reply: &str) -> u16 {
    reply.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// Reads until the end and returns whether the server closed the connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = [0; 4096];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

/// Labels a few items, each over a new connection.
fn label(host: &TestServer, round: usize) {
    for count in 0..3 {
        let ask = host.ask("Ada");
        let key = format!("k{round}-{count}");
        let body = json!([{"ask": ask, "annotator": "Ada", "key": key, "label": "yes"}]);
        assert_eq!(host.post("/api/answers", &body).1[0]["status"], "saved");
    }
}

/// Returns requests without a valid credential, all of which keep the connection open.
fn hostile_requests(host: &TestServer) -> Vec<String> {
    vec![
        request(host, "/", ""),
        request(host, "/assets/main.js", ""),
        request(host, "/health", ""),
        request(host, "/api/status", ""),
        request(host, "/api/events", "Authorization: Bearer 00000000000000000000000000000000\r\n"),
        request(host, "/nothing", "Cookie: querist-0000000000000000=a.0..b\r\n"),
        format!("POST /api/answers HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 100\r\n\r\n[", host.port),
        "GET / HTTP/1.1\r\nHost: ".to_owned(),
        String::new(),
    ]
}

/// Holds `connections` connections open from `addresses` addresses, sends requests on them, and labels in between.
fn campaign(connections: usize, addresses: u8, rounds: usize) {
    let host = TestServer::start();
    let hostile = hostile_requests(&host);
    let open = |index: usize| connect_from(&host, 2 + (index % usize::from(addresses)) as u8);
    let mut held: Vec<TcpStream> = (0..connections).map(open).collect();
    for round in 0..rounds {
        for (index, stream) in held.iter_mut().enumerate() {
            // The server may have closed it; then the attacker connects again.
            if stream.write_all(hostile[(index + round) % hostile.len()].as_bytes()).is_err() {
                *stream = open(index);
            }
        }
        label(&host, round);
    }
    assert_eq!(host.get("/api/status").1["answered"], 3 * rounds);
}

/// The attack of a security report: connections that are kept alive by loading the page.
#[test]
fn connections_that_load_the_page_do_not_block_others() {
    let host = TestServer::start();
    let mut held: Vec<TcpStream> = (0..2100).map(|_| host.connect()).collect();
    for round in 0..3 {
        for stream in &mut held {
            if send(stream, &request(&host, "/", "")).is_empty() {
                *stream = host.connect();
            }
        }
        label(&host, round);
    }
}

#[test]
fn hostile_connections_from_many_addresses_do_not_block_others() {
    campaign(1200, 20, 4);
}

#[cfg(feature = "long")]
#[test]
fn a_long_campaign_of_hostile_connections_does_not_block_others() {
    for addresses in [1, 2, 20, 200] {
        campaign(5000, addresses, 40);
    }
}

const SMALL: Limits = Limits { authenticated: 4, unauthenticated: 6, unauthenticated_per_address: 3 };

fn small() -> TestServer {
    TestServer::new(TestServerOptions { limits: SMALL, ..TestServerOptions::default() })
}

#[test]
fn an_address_loses_its_own_oldest_connection() {
    let host = small();
    let mut other = connect_from(&host, 9);
    assert_eq!(status(&send(&mut other, &request(&host, "/health", ""))), 200);
    let mut held: Vec<TcpStream> = (0..5).map(|_| connect_from(&host, 2)).collect();
    assert!(is_closed(&mut held[0]) && is_closed(&mut held[1]));
    for stream in &mut held[2..] {
        assert_eq!(status(&send(stream, &request(&host, "/", ""))), 200);
    }
    assert_eq!(status(&send(&mut other, &request(&host, "/health", ""))), 200);
}

#[test]
fn the_address_with_the_most_connections_loses_one_when_all_are_taken() {
    let host = small();
    let mut single = connect_from(&host, 2);
    let mut pair = [connect_from(&host, 3), connect_from(&host, 3)];
    let mut triple = [(); 3].map(|()| connect_from(&host, 4));
    let mut newcomer = connect_from(&host, 5);
    assert!(is_closed(&mut triple[0]));
    for stream in triple[1..].iter_mut().chain(&mut pair).chain([&mut single, &mut newcomer]) {
        assert_eq!(status(&send(stream, &request(&host, "/health", ""))), 200);
    }
}

#[test]
fn only_the_latest_request_authenticates_a_connection() {
    let host = small();
    let mut first = connect_from(&host, 2);
    assert_eq!(status(&send(&mut first, &request(&host, "/", &bearer(&host)))), 200);
    // It does not count toward the three unauthenticated connections of this address.
    let mut held = [(); 3].map(|()| connect_from(&host, 2));
    for stream in &mut held {
        assert_eq!(status(&send(stream, &request(&host, "/", ""))), 200);
    }
    assert_eq!(status(&send(&mut first, &request(&host, "/api/status", &bearer(&host)))), 200);
    assert_eq!(status(&send(&mut first, &request(&host, "/", ""))), 200);
    assert!(is_closed(&mut held[0]), "the first one is the newest without a credential");
    assert_eq!(status(&send(&mut first, &request(&host, "/api/status", &bearer(&host)))), 200);
}

#[test]
fn a_full_server_answers_503_and_reports_it() {
    let host = small();
    let mut held = [(); 4].map(|()| host.connect());
    for stream in &mut held {
        assert_eq!(status(&send(stream, &request(&host, "/api/status", &bearer(&host)))), 200);
    }
    let mut late = host.connect();
    let rejected = send(&mut late, &request(&host, "/api/status", &bearer(&host))).to_lowercase();
    assert_eq!(status(&rejected), 503);
    assert!(rejected.contains("retry-after: ") && rejected.contains("connection: close"), "{rejected}");
    assert!(rejected.contains("--max-connections"), "{rejected}");
    assert!(is_closed(&mut late));
    for stream in &mut held {
        assert_eq!(status(&send(stream, &request(&host, "/api/status", &bearer(&host)))), 200, "nobody was evicted");
    }
    drop(held);
    while host.get("/api/status").0 != 200 {}
    let operator_events = host.stop_and_take_events();
    let overload: Vec<&String> = operator_events.iter().filter(|event| event.starts_with("Overload")).collect();
    assert!(!overload.is_empty() && overload[0].contains("rejected: "), "{operator_events:?}");
}

/// All clients of a proxy have its address; `X-Forwarded-For` distinguishes them, but is trusted only from the proxy.
#[test]
fn a_trusted_proxy_names_its_clients() {
    let trusted_proxies = vec![IpAddr::from([127, 0, 0, 7])];
    // Enough for all connections at once, so that only the limit per address applies.
    let limits = Limits { unauthenticated: 20, ..SMALL };
    let host = TestServer::new(TestServerOptions { limits, trusted_proxies, ..TestServerOptions::default() });
    let slow = |forwarded: &str| {
        // The body is not sent yet, so the request stays pending.
        let more = format!("{}X-Querist: 1\r\nContent-Type: application/json\r\n", bearer(&host));
        format!(
            "POST /api/next HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX-Forwarded-For: {forwarded}\r\nContent-Length: 9\r\n{more}\r\n",
            host.port
        )
    };
    // More than the limit of an address, but none has sent a request yet.
    let mut held = [(); 5].map(|()| connect_from(&host, 7));
    for (client, stream) in held.iter_mut().enumerate() {
        let headers = format!("X-Forwarded-For: 10.0.0.1, 198.51.100.{client}\r\n");
        let answered = send(stream, &request(&host, "/", &headers)).to_lowercase();
        assert_eq!(status(&answered), 200);
        assert!(answered.contains("connection: close"), "its next request could be another client's: {answered}");
    }
    // Other peers are not trusted, so the four connections count for one address.
    let mut direct = [(); 4].map(|()| connect_from(&host, 8));
    for (client, stream) in direct[1..].iter_mut().enumerate() {
        let headers = format!("X-Forwarded-For: 198.51.100.{client}\r\n");
        assert_eq!(status(&send(stream, &request(&host, "/", &headers))), 200);
    }
    assert!(is_closed(&mut direct[0]));
    // Authenticated requests do not count against an address.
    let mut pending = [(); 4].map(|()| connect_from(&host, 7));
    for stream in &mut pending {
        stream.write_all(slow("198.51.100.1").as_bytes()).unwrap();
    }
    for stream in &mut pending {
        stream.write_all(b"{\"n\":1.0}").unwrap();
        assert_eq!(status(&reply(stream)), 400, "it was not evicted");
    }
}

#[test]
fn a_burst_of_authenticated_connections_is_served() {
    let host = TestServer::new(TestServerOptions { limits: Limits::of_total(4000), ..TestServerOptions::default() });
    let request = request(&host, "/api/status", &bearer(&host));
    // More than an address can have without a credential, all open at the same time at the end.
    let served: usize = thread::scope(|scope| {
        let burst = || {
            let open = |_| {
                let mut stream = host.connect();
                stream.write_all(request.as_bytes()).unwrap();
                stream
            };
            let mut streams: Vec<TcpStream> = (0..100).map(open).collect();
            streams.iter_mut().map(|stream| usize::from(status(&reply(stream)) == 200)).sum::<usize>()
        };
        let bursts: Vec<_> = (0..8).map(|_| scope.spawn(burst)).collect();
        bursts.into_iter().map(|burst| burst.join().unwrap()).sum()
    });
    assert_eq!(served, 800);
}
