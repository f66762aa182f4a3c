//! A `querist label` server in its own process, and a minimal HTTP client.

#![allow(dead_code)]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// A running server.
pub(crate) struct LabelServer {
    pub(crate) process: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
}

impl LabelServer {
    /// Starts `querist label` with these arguments, and waits until it prints its address.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::from_command(super::querist(arguments))
    }

    /// Starts a server from a command, for example one that wraps `querist label`.
    pub(crate) fn from_command(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Ok(announced) = serde_json::from_str::<Value>(&line) else {
            let mut error = String::new();
            process.stderr.take().unwrap().read_to_string(&mut error).unwrap();
            panic!("the server said `{line}` and {error}");
        };
        let url = announced["url"].as_str().unwrap();
        let port = url.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
        Self { process, port, token: announced["token"].as_str().unwrap().to_owned() }
    }

    pub(crate) fn client(&self) -> TestClient {
        TestClient::new(self.port, &self.token)
    }

    /// Kills the server with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends SIGTERM; returns whether the server exited with code 0.
    pub(crate) fn terminate(&mut self) -> bool {
        // A server that answers has installed its signal handlers.
        let _ = self.client().get("/api/status");
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.process.wait().unwrap().success()
    }
}

impl Drop for LabelServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client with a persistent connection; it reconnects after errors.
pub(crate) struct TestClient {
    port: u16,
    pub(crate) token: String,
    /// The `Host` header, if it is not the address.
    pub(crate) host: Option<String>,
    stream: Option<BufReader<TcpStream>>,
}

impl TestClient {
    pub(crate) fn new(port: u16, token: &str) -> Self {
        Self { port, token: token.to_owned(), host: None, stream: None }
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        let body = body.to_string();
        let head = format!("Content-Type: application/json\r\nX-Querist: 1\r\nContent-Length: {}\r\n", body.len());
        self.request("POST", path, &head, &body)
    }

    pub(crate) fn get(&mut self, path: &str) -> io::Result<(u16, Value)> {
        self.request("GET", path, "", "")
    }

    /// Sends a request with the lines `more` in its head.
    pub(crate) fn request(&mut self, method: &str, path: &str, more: &str, body: &str) -> io::Result<(u16, Value)> {
        let done = self.try_request(method, path, more, body);
        if done.is_err() {
            self.stream = None;
        }
        done
    }

    fn try_request(&mut self, method: &str, path: &str, more: &str, body: &str) -> io::Result<(u16, Value)> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = TcpStream::connect(("127.0.0.1", self.port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(Duration::from_secs(20)))?;
                none.insert(BufReader::new(stream))
            }
        };
        let host = self.host.clone().unwrap_or_else(|| format!("127.0.0.1:{}", self.port));
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\n{more}\r\n", self.token);
        stream.get_mut().write_all(format!("{head}{body}").as_bytes())?;
        let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        let (mut length, mut close) = (0, false);
        loop {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Err(broken());
            }
            let lower = line.trim().to_lowercase();
            if let Some(found) = lower.strip_prefix("content-length: ") {
                length = found.parse().map_err(|_| broken())?;
            }
            close |= lower == "connection: close";
            if lower.is_empty() {
                break;
            }
        }
        let mut content = vec![0; length];
        stream.read_exact(&mut content)?;
        if close {
            self.stream = None;
        }
        let text = String::from_utf8_lossy(&content).into_owned();
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }

    /// Returns up to `n` items for an annotator.
    pub(crate) fn next(&mut self, name: &str, n: usize) -> io::Result<Vec<Value>> {
        let (status, found) = self.post("/api/next", &json!({"annotator": name, "n": n}))?;
        if status != 200 {
            return Err(io::Error::other(format!("{status} {found}")));
        }
        Ok(found["items"].as_array().cloned().unwrap_or_default())
    }

    /// Answers an ask; returns the number of the acknowledged answer.
    pub(crate) fn answer(&mut self, name: &str, ask: &Value, key: &str, label: &str) -> io::Result<u64> {
        let answer = json!([{"ask": ask, "annotator": name, "key": key, "label": label}]);
        let (status, found) = self.post("/api/answers", &answer)?;
        match found[0]["answer"].as_u64() {
            Some(number) if status == 200 => Ok(number),
            _ => Err(io::Error::other(format!("{status} {found}"))),
        }
    }
}
