//! Load test of answers: throughput and latency with many annotators, compared with the sync rate of the disk.
//!
//! `cargo run --release -p querist-server --example label_load [FOLDER] [ROWS] [SECONDS]`. With 0 rows it only opens a
//! large ledger.

#![allow(clippy::print_stdout, reason = "this program prints a table")]
#![allow(clippy::disallowed_methods, reason = "this program measures time")]

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use querist_engine::session::{
    AnswerId, AskId, DrawTerms, LabelValue, ModelPrediction, PredictedLabel, Response, RowId, SessionEvent,
    SessionSettings, SessionTime,
};
use querist_engine::task::{self, Labels};
use querist_ledger::{Ledger, Record};
use querist_rows::Digest;
use querist_run::labeling::restore::restore;
use querist_server::Limits;
use serde_json::{Value, json};

use common::{FEATURES, RunningServer, pool, serve};

/// A persistent connection.
struct BlockingClient {
    stream: BufReader<TcpStream>,
    head: String,
}

impl BlockingClient {
    fn new(running: &RunningServer) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", running.port)).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        let head = format!(
            "HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nX-Querist: 1\r\nContent-Type: application/json",
            running.port, running.token
        );
        Self { stream: BufReader::new(stream), head }
    }

    fn post(&mut self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let request = format!("POST {path} {}\r\nContent-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(request.as_bytes()).expect("a server");
        let (mut line, mut length) = (String::new(), 0);
        self.stream.read_line(&mut line).expect("a reply");
        assert!(line.contains("200"), "{line}");
        while line.trim() != "" {
            line.clear();
            self.stream.read_line(&mut line).expect("a reply");
            if let Some(found) = line.trim().strip_prefix("content-length: ") {
                length = found.parse().expect("a length");
            }
        }
        let mut content = vec![0; length];
        self.stream.read_exact(&mut content).expect("a reply");
        serde_json::from_slice(&content).expect("JSON")
    }

    /// Requests an item and answers it; returns both latencies.
    fn round(&mut self, name: &str, count: usize, held: usize) -> (Duration, Duration) {
        let start = Instant::now();
        let next = self.post("/api/next", &json!({"annotator": name, "n": held}));
        let (got, ask) = (start.elapsed(), next["items"][0]["ask"].clone());
        let start = Instant::now();
        let answer = json!([{"ask": ask, "annotator": name, "key": format!("{name}-{count}"), "label": "yes"}]);
        let reply = self.post("/api/answers", &answer);
        assert_eq!(reply[0]["status"], "saved");
        (got, start.elapsed())
    }

    /// Answers items that were fetched in batches; returns the latency of each answer.
    fn answers(&mut self, name: &str, until: Instant) -> Vec<Duration> {
        let (mut times, mut count) = (vec![], 0);
        while Instant::now() < until {
            let next = self.post("/api/next", &json!({"annotator": name, "n": 50}));
            for item in next["items"].as_array().expect("items") {
                let start = Instant::now();
                count += 1;
                let key = format!("{name}-{count}");
                let answer = json!([{"ask": item["ask"], "annotator": name, "key": key, "label": "yes"}]);
                let reply = self.post("/api/answers", &answer);
                assert_eq!(reply[0]["status"], "saved");
                times.push(start.elapsed());
            }
        }
        times
    }
}

/// Returns the number of syncs to disk per second, with 200 bytes each.
fn raw_rate(folder: &Path, seconds: f64) -> f64 {
    let mut file = File::create(folder.join("raw")).expect("a file");
    let (start, mut count) = (Instant::now(), 0.0);
    while start.elapsed().as_secs_f64() < seconds {
        file.write_all(&[7; 200]).and_then(|()| file.sync_data()).expect("a disk");
        count += 1.0;
    }
    count / start.elapsed().as_secs_f64()
}

fn print_percentiles(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| 1e3 * times[((times.len() - 1) as f64 * share) as usize].as_secs_f64();
    println!("{what:28} p50 {:7.2} ms  p99 {:7.2} ms  worst {:7.2} ms", at(0.5), at(0.99), at(1.0));
}

/// Measures the time to open a ledger with `answers` answers and to restore its session.
fn reopen(folder: &Path, answers: u64) {
    let pool = pool(answers as usize);
    let path = folder.join("large.ledger");
    let mut ledger = Ledger::create(&path, "{}").expect("a ledger");
    let name: Arc<str> = "Ada".into();
    for first in (1..=answers).step_by(10_000) {
        let events = (first..(first + 10_000).min(answers + 1)).flat_map(|ask| {
            let odds = DrawTerms { uncertainty: 1.0, total: Some(answers as f64), left: answers as usize, least: 1.0 };
            let predicted = |label, probability| PredictedLabel { label: LabelValue(label), probability };
            let guess = ModelPrediction { likeliest: vec![predicted(1.0, 0.6), predicted(-1.0, 0.4)], labels: 100 };
            let (id, annotator) = (Arc::clone(&pool.ids[ask as usize - 1]), Arc::clone(&name));
            let key: Arc<str> = format!("00000000-0000-4000-8000-{ask:012}").into();
            let drawn = SessionEvent::Asked {
                ask: AskId::new(ask),
                id,
                content: Some(Digest::of((pool.content)(RowId(0)).as_bytes())),
                features: Some(Digest::of((pool.content)(RowId(0)).as_bytes())),
                hidden: None,
                fingerprint: None,
                probability: odds.probability(),
                odds,
                guess,
                annotator: Arc::clone(&annotator),
                at: ask,
            };
            let response = Response::Label(LabelValue(1.0));
            [
                drawn,
                SessionEvent::Answered {
                    answer: AnswerId::new(ask),
                    ask: AskId::new(ask),
                    response,
                    annotator,
                    key,
                    at: ask,
                },
            ]
        });
        let records: Vec<_> = events.map(|event| Record::encode(&event).expect("an event")).collect();
        ledger.append(&records).expect("a disk");
    }
    drop(ledger);
    let start = Instant::now();
    let ledger = Ledger::open(&path).expect("a ledger");
    let opened = start.elapsed().as_secs_f64();
    let settings = SessionSettings { labels: Labels::Binary, overlap: 1, budget: None, lease_ms: 300_000, seed: 1 };
    let task = task::parse("logistic", Labels::Binary).expect("a loss");
    let session = restore(&ledger, &pool, task, settings, SessionTime::default()).expect("a session");
    let took = start.elapsed().as_secs_f64();
    let answered = session.status(0).answered;
    println!("a ledger of {answered} answers verified in {opened:.2} s, restored after {took:.2} s");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rows: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let seconds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(20);
    let folder = folder.join(format!("querist-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");

    reopen(&folder, 1_000_000);
    if rows == 0 {
        std::fs::remove_dir_all(&folder).expect("a folder");
        return;
    }
    let before = raw_rate(&folder, 3.0);
    let running = serve(&folder.join("closed.ledger"), pool(200_000), Limits::of_total(4000));
    let start = Instant::now();
    let until = start + Duration::from_secs(seconds);
    let clients: Vec<_> = (0..64)
        .map(|person| {
            let mut client = BlockingClient::new(&running);
            thread::spawn(move || client.answers(&format!("p{person}"), until))
        })
        .collect();
    let times: Vec<Duration> = clients.into_iter().flat_map(|client| client.join().expect("a client")).collect();
    let rate = times.len() as f64 / start.elapsed().as_secs_f64();
    running.stop();
    let raw = f64::midpoint(before, raw_rate(&folder, 3.0));
    println!("waits for the disk           {raw:.0} a second");
    println!("64 people, as fast as can be {rate:.0} answers a second, {:.1} times that", rate / raw);
    print_percentiles("  an answer", times);

    let running = serve(&folder.join("open.ledger"), pool(rows), Limits::of_total(4000));
    let start = Instant::now();
    let people: Vec<_> = (0..200_u32)
        .map(|person| {
            let mut client = BlockingClient::new(&running);
            thread::spawn(move || {
                let mut times = vec![];
                for count in 0..seconds as u32 / 2 {
                    let due = Duration::from_millis(10) * person + Duration::from_secs(2) * count;
                    thread::sleep(due.saturating_sub(start.elapsed()));
                    times.push(client.round(&format!("p{person}"), count as usize, 3));
                }
                times
            })
        })
        .collect();
    let times: Vec<_> = people.into_iter().flat_map(|person| person.join().expect("a person")).collect();
    println!("200 people, an answer in 2 s, {rows} rows of {FEATURES} features, {} answers", times.len());
    print_percentiles("  the next item", times.iter().map(|times| times.0).collect());
    print_percentiles("  an answer", times.iter().map(|times| times.1).collect());
    running.stop();
    std::fs::remove_dir_all(&folder).expect("a folder");
}
