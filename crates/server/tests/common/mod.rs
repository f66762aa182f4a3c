//! A server with a small pool in this process, and raw sockets to it.

#![allow(dead_code)]

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use querist_engine::fit::Refit;
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::pool::{ColdDraws, Draw, Objective, RefitPool, RefitSettings, StartRows};
use querist_engine::rule;
use querist_engine::session::{LabelingPool, SessionSettings};
use querist_engine::step::{StepSize, Steps};
use querist_engine::stop::StopRule;
use querist_engine::stream::Rules;
use querist_engine::task::{self, Labels};
use querist_ledger::Ledger;
use querist_rows::{DenseRows, Rows};
use querist_run::labeling::Images;
use querist_server::{
    AccessSettings, Catalog, CertificateReply, Credential, DisplayedField, FieldKind, KeyFile, LabelingServer, Limits,
    OperatorEvent, Setup, StopHandle, new_token,
};
use serde_json::{Value, json};

/// A running server and a client for it.
pub(crate) struct TestServer {
    pub(crate) port: u16,
    pub(crate) token: String,
    pub(crate) tokens: Vec<String>,
    /// The one-time links, in the order of the names.
    pub(crate) links: Vec<String>,
    /// Events for the operator, as debug text.
    pub(crate) operator_events: Arc<Mutex<Vec<String>>>,
    pub(crate) folder: tempfile::TempDir,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

/// Creates a pool of items with one feature.
pub(crate) fn pool(items: usize, loss: &'static str) -> Arc<LabelingPool> {
    let values: Vec<f32> = (0..items).map(|item| item as f32 / items as f32).collect();
    let rows = Rows::Dense(DenseRows::from_values(1, values).unwrap());
    let learner = Box::new(move || {
        let task = || task::parse(loss, Labels::Binary).unwrap();
        let rule = rule::parse("margin:mu=1", loss, Labels::Binary).unwrap();
        let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
        let learner = Learner::new(task(), true, 1, optimizer, Steps::new(StepSize::Auto), None).unwrap();
        let refit = Refit::new(&*task(), true, Rows::Dense(DenseRows::new(1)), None, 1).unwrap();
        let (draw, objective, labels) = (Draw::Scan, Objective::AsAsked, Labels::Binary);
        let settings = RefitSettings { draw, seed: 1, refit, objective, labels };
        RefitPool::new(learner, Rules { warm: None, rule }, items, settings).unwrap()
    });
    let ids = (0..items).map(|item| format!("item {item}").into()).collect();
    let stop = StopRule::Gain { batch: 50, below: 0.01 };
    Arc::new(LabelingPool {
        rows,
        renumbered: None,
        ids,
        content: Box::new(|_| "content".to_owned()),
        fingerprints: vec![0; items],
        hidden: vec![],
        imported: vec![],
        changed_imports: vec![],
        draw: Draw::Scan,
        cold_draws: ColdDraws::Random,
        start: StartRows::default(),
        learner,
        stop,
    })
}

/// The options of a test server.
pub(crate) struct TestServerOptions<'a> {
    pub(crate) text: &'a str,
    pub(crate) names: &'a [&'a str],
    pub(crate) images: bool,
    pub(crate) loss: &'static str,
    pub(crate) limits: Limits,
    pub(crate) trusted_proxies: Vec<IpAddr>,
    pub(crate) secure_cookie: bool,
}

impl Default for TestServerOptions<'_> {
    fn default() -> Self {
        let (trusted_proxies, secure_cookie) = (vec![], false);
        let limits = Limits::of_total(2000);
        Self { text: "a text", names: &[], images: false, loss: "logistic", limits, trusted_proxies, secure_cookie }
    }
}

impl TestServer {
    pub(crate) fn start() -> Self {
        Self::new(TestServerOptions::default())
    }

    pub(crate) fn with_text(text: &str) -> Self {
        Self::new(TestServerOptions { text, ..TestServerOptions::default() })
    }

    pub(crate) fn with_people(names: &[&str]) -> Self {
        Self::new(TestServerOptions { names, ..TestServerOptions::default() })
    }

    pub(crate) fn with_images() -> Self {
        Self::new(TestServerOptions { images: true, ..TestServerOptions::default() })
    }

    pub(crate) fn with_loss(loss: &'static str) -> Self {
        Self::new(TestServerOptions { loss, ..TestServerOptions::default() })
    }

    pub(crate) fn new(options: TestServerOptions<'_>) -> Self {
        let loss = options.loss;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.ledger");
        let ledger = Ledger::create(&path, "{}").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let credential = |name: Option<String>| Credential { name, token: new_token().unwrap() };
        let credentials: Vec<Credential> = if options.names.is_empty() {
            vec![credential(None)]
        } else {
            options.names.iter().map(|name| credential(Some((*name).to_owned()))).collect()
        };
        let tokens: Vec<String> = credentials.iter().map(|credential| credential.token.clone()).collect();
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")).to_vec();
        let text = options.text.to_owned();
        let fields = Box::new(move |_| {
            vec![DisplayedField { name: "text".to_owned(), kind: FieldKind::Text, value: text.clone() }]
        });
        let labels = vec![("no".to_owned(), -1.0), ("yes".to_owned(), 1.0)];
        let catalog = Catalog {
            title: "items".to_owned(),
            labels,
            fields,
            certificate: Box::new(|_| CertificateReply::default()),
        };
        let images = if options.images { Images::of(&image_folder(&folder)).unwrap() } else { Images::default() };
        let (secure_cookie, trusted_proxies) = (options.secure_cookie, options.trusted_proxies);
        let key = KeyFile::open_or_create(&path).unwrap();
        let operator_events = Arc::new(Mutex::new(vec![]));
        let recorded = Arc::clone(&operator_events);
        let setup = Setup {
            listener,
            ledger,
            pool: pool(1000, loss),
            task: Box::new(move || task::parse(loss, Labels::Binary).unwrap()),
            settings: SessionSettings { labels: Labels::Binary, overlap: 1, budget: None, lease_ms: 300_000, seed: 1 },
            catalog,
            images: Arc::new(images),
            access: AccessSettings {
                credentials,
                key,
                hosts,
                numeric_hosts: false,
                port,
                secure_cookie,
                trusted_proxies,
            },
            limits: options.limits,
            on_event: Box::new(move |event: OperatorEvent<'_>| recorded.lock().unwrap().push(format!("{event:?}"))),
        };
        let server = LabelingServer::new(setup).unwrap();
        let (stop, links) = (server.stop_handle(), server.links());
        let thread = Some(thread::spawn(move || server.run().unwrap()));
        Self { port, token: tokens[0].clone(), tokens, links, operator_events, folder, stop, thread }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Sends bytes and returns all that is received, until the server closes the connection or is silent for 500 ms.
    pub(crate) fn raw(&self, bytes: &str) -> String {
        let mut stream = self.connect();
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(bytes.as_bytes());
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut received = vec![];
        let mut block = vec![0; 65536];
        loop {
            match stream.read(&mut block) {
                Ok(0) => break,
                Ok(read) => received.extend_from_slice(&block[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) if received.is_empty() && stream.take_error().ok().flatten().is_none() => break,
                Err(_) => break,
            }
        }
        String::from_utf8_lossy(&received).into_owned()
    }

    pub(crate) fn raw_status(&self, bytes: &str) -> u16 {
        let mut stream = self.connect();
        let _ = stream.write_all(bytes.as_bytes());
        let received = reply(&mut stream);
        received.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let mut stream = self.connect();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n",
            self.port, self.token
        );
        stream.write_all(request.as_bytes()).unwrap();
        parsed(&reply(&mut stream))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_as(&self.token, path, body)
    }

    pub(crate) fn post_as(&self, token: &str, path: &str, body: &Value) -> (u16, Value) {
        self.send(token, path, &body.to_string())
    }

    pub(crate) fn post_text(&self, path: &str, body: &str) -> (u16, Value) {
        self.send(&self.token, path, body)
    }

    fn send(&self, token: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = self.connect();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\nX-Querist: 1\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        parsed(&reply(&mut stream))
    }

    /// Requests one item for an annotator and returns its ask.
    pub(crate) fn ask(&self, name: &str) -> u64 {
        let (status, found) = self.post("/api/next", &json!({"annotator": name, "n": 1}));
        assert_eq!(status, 200, "{found}");
        found["items"][0]["ask"].as_u64().unwrap()
    }

    /// Follows a one-time link and returns the session cookie.
    pub(crate) fn sign_in(&self, link: &str) -> String {
        let received = self.raw(&format!("GET /?link={link} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port));
        let line = received.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        line.split(';').next().unwrap().to_owned()
    }

    /// Stops the server and returns its events for the operator.
    pub(crate) fn stop_and_take_events(mut self) -> Vec<String> {
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap();
        self.operator_events.lock().unwrap().clone()
    }

    /// Returns the key file, as another process would open it.
    pub(crate) fn key(&self) -> KeyFile {
        KeyFile::open(&self.folder.path().join("run.ledger")).unwrap()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads one reply, up to its declared length.
pub(crate) fn reply(stream: &mut TcpStream) -> String {
    let mut received: Vec<u8> = vec![];
    let mut block = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&received).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if length.unwrap_or(0) <= body.len() {
                return text;
            }
        }
        match stream.read(&mut block) {
            Ok(0) | Err(_) => return text,
            Ok(read) => received.extend_from_slice(&block[..read]),
        }
    }
}

fn parsed(received: &str) -> (u16, Value) {
    let status = received.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = received.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Creates a folder with images, and with files that must not be served.
fn image_folder(folder: &tempfile::TempDir) -> PathBuf {
    let images = folder.path().join("images");
    std::fs::create_dir_all(images.join("inner")).unwrap();
    let write = |name: &str, content: &str| std::fs::write(folder.path().join(name), content).unwrap();
    write("secret.png", "secret of the house");
    write("images/a.png", "an image");
    write("images/inner/b c.png", "an image");
    write("images/page.html", "secret of the house");
    write("images/picture.svg", "secret of the house");
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("secret.png"), images.join("link.png")).unwrap();
    images
}
