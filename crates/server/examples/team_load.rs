//! Load test of a team: annotators with open pages, each with an event stream, who answer every two seconds.
//!
//! `cargo run --release -p querist-server --example team_load [FOLDER] [ANNOTATORS] [SECONDS] [ROWS]`. Prints latencies
//! and errors; the exit code is 1 if there was an error or the 99th percentile is above 250 ms.

#![allow(clippy::print_stdout, reason = "this program prints a table")]
#![allow(clippy::disallowed_methods, reason = "this program measures time")]

mod common;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use querist_server::Limits;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time;

use common::{FEATURES, RunningServer, pool, serve};

/// The time between two answers of an annotator.
const PAUSE: Duration = Duration::from_secs(2);
/// The target for the 99th percentile of the latency.
const TARGET: Duration = Duration::from_millis(250);
/// The time over which the pages are opened.
const ARRIVAL: Duration = Duration::from_secs(10);

/// A persistent connection.
struct AsyncClient {
    stream: BufReader<TcpStream>,
    head: String,
}

impl AsyncClient {
    async fn open(running: &RunningServer) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", running.port)).await?;
        stream.set_nodelay(true)?;
        let head = format!(
            "HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nX-Querist: 1\r\nContent-Type: application/json",
            running.port, running.token
        );
        Ok(Self { stream: BufReader::new(stream), head })
    }

    /// Sends a request and reads the head of the reply; returns the length of its body.
    async fn send(&mut self, method: &str, path: &str, body: &str) -> io::Result<usize> {
        let request = format!("{method} {path} {}\r\nContent-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        let (mut line, mut length) = (String::new(), 0);
        self.stream.read_line(&mut line).await?;
        if !line.starts_with("HTTP/1.1 200") {
            return Err(io::Error::other(format!("{path}: {}", line.trim())));
        }
        while !line.trim().is_empty() {
            line.clear();
            self.stream.read_line(&mut line).await?;
            if let Some(found) = line.trim().strip_prefix("content-length: ") {
                length = found.parse().map_err(io::Error::other)?;
            }
        }
        Ok(length)
    }

    async fn request(&mut self, method: &str, path: &str, body: &str) -> io::Result<Vec<u8>> {
        let length = self.send(method, path, body).await?;
        let mut content = vec![0; length];
        self.stream.read_exact(&mut content).await?;
        Ok(content)
    }

    async fn post(&mut self, path: &str, body: &Value) -> io::Result<Value> {
        serde_json::from_slice(&self.request("POST", path, &body.to_string()).await?).map_err(io::Error::other)
    }
}

/// The errors and events that the annotators received.
#[derive(Default)]
struct LoadCounters {
    errors: AtomicU64,
    event_bytes: AtomicU64,
}

impl LoadCounters {
    fn check<T>(&self, result: io::Result<T>) -> Option<T> {
        result
            .inspect_err(|error| {
                // Print only the first few errors.
                if self.errors.fetch_add(1, Ordering::Relaxed) < 5 {
                    println!("error: {error}");
                }
            })
            .ok()
    }
}

/// Reads events until the end of the measurement.
async fn watch(mut client: AsyncClient, counters: &LoadCounters, until: Instant) -> io::Result<()> {
    client.send("GET", "/api/events", "").await?;
    let mut block = vec![0; 16384];
    while let Ok(read) = time::timeout_at(until.into(), client.stream.read(&mut block)).await {
        match read? {
            0 => return Err(io::Error::other("the stream of events ended")),
            read => counters.event_bytes.fetch_add(read as u64, Ordering::Relaxed),
        };
    }
    Ok(())
}

/// Opens the page, then answers; returns the latencies of each next item and each answer.
async fn annotate(
    running: &RunningServer,
    name: &str,
    counters: &LoadCounters,
    until: Instant,
) -> io::Result<Vec<(Duration, Duration)>> {
    let mut client = AsyncClient::open(running).await?;
    for path in ["/", "/assets/style.css", "/assets/main.js", "/api/status"] {
        client.request("GET", path, "").await?;
    }
    let mut times = vec![];
    let mut due = Instant::now();
    let mut count = 0;
    while due < until {
        time::sleep_until(due.into()).await;
        due += PAUSE;
        let start = Instant::now();
        let next = client.post("/api/next", &json!({"annotator": name, "n": 3})).await?;
        let got = start.elapsed();
        let ask = next["items"][0]["ask"].clone();
        let start = Instant::now();
        let answer = json!([{"ask": ask, "annotator": name, "key": format!("{name}-{count}"), "label": "yes"}]);
        let reply = client.post("/api/answers", &answer).await?;
        if reply[0]["status"] != "saved" {
            counters.check::<()>(Err(io::Error::other(reply.to_string())));
        }
        times.push((got, start.elapsed()));
        count += 1;
    }
    Ok(times)
}

fn print_percentiles(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let ms = |share: f64| 1e3 * at(share).as_secs_f64();
    println!("{what:16} p50 {:7.2} ms  p99 {:7.2} ms  worst {:7.2} ms", ms(0.5), ms(0.99), ms(1.0));
    at(0.99)
}

async fn measure(
    running: Arc<RunningServer>,
    annotators: u32,
    seconds: u64,
) -> (Vec<(Duration, Duration)>, Arc<LoadCounters>) {
    let counters = Arc::new(LoadCounters::default());
    let start = Instant::now();
    let until = start + ARRIVAL + Duration::from_secs(seconds);
    let people: Vec<_> = (0..annotators)
        .map(|person| {
            let (running, counters) = (Arc::clone(&running), Arc::clone(&counters));
            tokio::spawn(async move {
                time::sleep(ARRIVAL * person / annotators).await;
                let watching = async {
                    let client = AsyncClient::open(&running).await?;
                    watch(client, &counters, until).await
                };
                let name = format!("annotator-{person}");
                let (watched, times) = tokio::join!(watching, annotate(&running, &name, &counters, until));
                counters.check(watched);
                counters.check(times).unwrap_or_default()
            })
        })
        .collect();
    let mut times = vec![];
    for person in people {
        times.extend(person.await.expect("a person"));
    }
    (times, counters)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let mut number = |default: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (annotators, seconds, rows) = (number(1000), number(30), number(200_000));
    let folder = folder.join(format!("querist-team-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    // Both ends of every connection are in this process.
    let wanted = 8192 + 64 + 2 * annotators + 64;
    let files = rlimit::increase_nofile_limit(wanted).expect("a limit on open files");
    println!("{annotators} annotators, an answer every {} s, {rows} rows of {FEATURES} features", PAUSE.as_secs());
    println!("{files} open files allowed");
    let running = Arc::new(serve(&folder.join("team.ledger"), pool(rows as usize), Limits::of_total(8192)));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
    let (times, counters) = runtime.block_on(measure(Arc::clone(&running), annotators as u32, seconds));
    let errors = counters.errors.load(Ordering::Relaxed);
    println!(
        "{} answers, {errors} errors, {} MB of events",
        times.len(),
        counters.event_bytes.load(Ordering::Relaxed) >> 20
    );
    let next = print_percentiles("the next item", times.iter().map(|times| times.0).collect());
    let answer = print_percentiles("an answer", times.iter().map(|times| times.1).collect());
    if let Some(running) = Arc::into_inner(running) {
        running.stop();
    }
    std::fs::remove_dir_all(&folder).expect("a folder");
    let is_met = errors == 0 && next.max(answer) <= TARGET;
    println!("target {}: 0 errors, p99 within {} ms", if is_met { "met" } else { "missed" }, TARGET.as_millis());
    ExitCode::from(u8::from(!is_met))
}
