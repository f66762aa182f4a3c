//! Access to a labeling server: links, browsers, addresses, limits and revocations, with the real command.

#![cfg(unix)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::client::LabelServer;
use common::{Folder, error, querist};
use serde_json::Value;

fn texts(path: &str) {
    let rows: Vec<String> = (0..20).map(|row| format!("{row},text number {row}")).collect();
    fs::write(path, format!("id,body\n{}\n", rows.join("\n"))).unwrap();
}

/// Returns the arguments of a server on any port.
fn label<'a>(data: &'a str, ledger: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["label", data, "--text", "body", "--labels", "no,yes", "--port", "0", "--ledger", ledger];
    [&fixed[..], more].concat()
}

/// Sends a request for a URL of the server and returns the whole reply.
fn get(url: &str, headers: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

fn status(reply: &str) -> u16 {
    reply.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

fn cookie(reply: &str) -> String {
    let line = reply.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    format!("Cookie: {}\r\n", line.split(';').next().unwrap())
}

/// A server whose standard output and error are read line by line.
struct Printing {
    process: Child,
    out: BufReader<std::process::ChildStdout>,
    err: BufReader<std::process::ChildStderr>,
}

impl Printing {
    fn start(mut command: Command) -> Self {
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut process = spawned.unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let err = BufReader::new(process.stderr.take().unwrap());
        Self { process, out, err }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    /// Returns the next line on standard error that contains a text.
    fn error_with(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(0 < self.err.read_line(&mut line).unwrap(), "the server ended before it printed `{text}`");
        }
        line
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Creates fake `xdg-open` and `open` programs that record their arguments; returns their folder and the record.
fn fake_openers(folder: &Folder) -> (PathBuf, PathBuf) {
    let (tools, written) = (PathBuf::from(folder.path("tools")), PathBuf::from(folder.path("opened")));
    fs::create_dir(&tools).unwrap();
    for name in ["xdg-open", "open"] {
        let script = tools.join(name);
        let (to, part) = (written.display(), written.with_extension("part"));
        let part = part.display();
        fs::write(&script, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{part}'\nmv '{part}' '{to}'\n")).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    }
    (tools, written)
}

fn wait_until(is_true: impl Fn() -> bool) {
    while !is_true() {
        thread::sleep(Duration::from_millis(20));
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_browser_is_opened_without_a_secret_in_its_arguments() {
    let folder = Folder::new("access-browser");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data);
    let (tools, opened) = fake_openers(&folder);
    let mut command = querist(&label(&data, &ledger, &[]));
    let path = std::env::var_os("PATH").unwrap();
    let paths = std::iter::once(tools).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(paths).unwrap());
    let mut server = Printing::start(command);
    let printed = server.line();
    let url = printed.trim().strip_prefix("Label here: ").unwrap().to_owned();
    let token = url.split_once("?link=").unwrap().1.to_owned();
    wait_until(|| opened.exists());
    let arguments = fs::read_to_string(&opened).unwrap();
    assert!(!arguments.contains(&token) && arguments.lines().count() == 1, "{arguments}");
    let file = PathBuf::from(arguments.trim());
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains(&format!("content=\"0; url={url}\"")), "{page}");
    assert_eq!(status(&get(&url, "")), 303);
    // The link was used, so the redirect is removed.
    wait_until(|| !file.parent().unwrap().exists());
    assert!(server.error_with("a link was used").contains("for another browser: http://127.0.0.1:"));
}

#[test]
fn an_unused_redirect_is_removed_when_the_server_stops() {
    let folder = Folder::new("access-unused");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data);
    let mut command = querist(&label(&data, &ledger, &[]));
    // There is no opener.
    command.env("PATH", folder.path("nothing"));
    let mut server = Printing::start(command);
    let url = server.line().trim().strip_prefix("Label here: ").unwrap().to_owned();
    let health = url.replace("?link=", "health?");
    assert_eq!(status(&get(&health, "")), 200, "it serves, and so handles signals");
    assert!(folder_of(&ledger, "querist-open-").is_some());
    let id = server.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(server.process.wait().unwrap().success());
    assert_eq!(folder_of(&ledger, "querist-open-"), None);
}

/// Returns the path beside the ledger whose name begins with `start`.
fn folder_of(ledger: &str, start: &str) -> Option<PathBuf> {
    let beside = fs::read_dir(Path::new(ledger).parent().unwrap()).unwrap();
    beside
        .map(|entry| entry.unwrap())
        .find(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
}

#[test]
fn a_link_is_not_an_api_token() {
    let folder = Folder::new("access-link");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data);
    let mut server = Printing::start(querist(&label(&data, &ledger, &["--json"])));
    let announced: Value = serde_json::from_str(&server.line()).unwrap();
    let (url, token) = (announced["url"].as_str().unwrap(), announced["token"].as_str().unwrap());
    let (base, link) = url.split_once("?link=").unwrap();
    let status_as =
        |token: &str| status(&get(&format!("{base}api/status"), &format!("Authorization: Bearer {token}\r\n")));
    assert_eq!((status_as(link), status_as(token)), (401, 200));
    assert_eq!(status(&get(&format!("{base}?link={token}"), "")), 401);
    assert_eq!(status(&get(url, "")), 303);
    assert_eq!(status_as(link), 401);
    assert_eq!(status(&get(url, "")), 401);
    // The next link is a line of JSON.
    let next: Value = serde_json::from_str(&server.line()).unwrap();
    assert_eq!(next["annotator"], Value::Null);
    assert_eq!(status(&get(next["url"].as_str().unwrap(), "")), 303);
}

#[test]
fn revoke_signs_out_on_a_running_server() {
    let folder = Folder::new("access-revoke");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data);
    assert!(error(&["revoke", &ledger]).contains("run.ledger"));
    let mut server = Printing::start(querist(&label(&data, &ledger, &["--json", "--annotators", "Ada,Ben"])));
    let announced: Value = serde_json::from_str(&server.line()).unwrap();
    let url = |index: usize| announced["annotators"][index]["url"].as_str().unwrap();
    let cookies = [0, 1].map(|index| cookie(&get(url(index), "")));
    let base = url(0).split_once("?link=").unwrap().0;
    let statuses = || [0, 1].map(|index| status(&get(&format!("{base}api/status"), &cookies[index])));
    assert_eq!(statuses(), [200, 200]);

    let wrong = error(&["revoke", &ledger, "--annotator", "ada"]);
    assert!(wrong.contains("expected one of Ada, Ben"), "{wrong}");
    let output = querist(&["revoke", &ledger, "--annotator", "Ada"]).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("Ada must sign in again."));
    let next = server.error_with("the link printed before no longer works");
    assert_eq!(statuses(), [401, 200]);
    assert_eq!(status(&get(next.trim().rsplit(' ').next().unwrap(), "")), 303);

    assert!(querist(&["revoke", &ledger]).output().unwrap().status.success());
    server.error_with("for Ben, in another browser");
    assert_eq!(statuses(), [401, 401]);
}

#[test]
fn revoke_without_named_annotators_or_sessions_is_an_error() {
    let folder = Folder::new("access-nobody");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data);
    let mut server = LabelServer::start(&label(&data, &ledger, &["--json"]));
    assert!(server.terminate());
    let message = error(&["revoke", &ledger, "--annotator", "Ada"]);
    assert!(message.contains("never served with --annotators"), "{message}");
    fs::remove_file(format!("{ledger}-key")).unwrap();
    assert!(error(&["revoke", &ledger]).contains("no sessions to revoke"));
}

#[test]
fn a_session_revoked_while_the_server_is_stopped_stays_revoked() {
    let folder = Folder::new("access-stopped");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data);
    let start = || {
        let mut server = Printing::start(querist(&label(&data, &ledger, &["--json"])));
        let announced: Value = serde_json::from_str(&server.line()).unwrap();
        (server, announced["url"].as_str().unwrap().to_owned())
    };
    let is_signed_in = |url: &str, cookie: &str| {
        let base = url.split_once("?link=").unwrap().0;
        status(&get(&format!("{base}api/status"), cookie)) == 200
    };
    let (server, url) = start();
    let session = cookie(&get(&url, ""));
    drop(server);
    let (server, url) = start();
    assert!(is_signed_in(&url, &session), "a restart does not sign out");
    drop(server);
    assert!(querist(&["revoke", &ledger]).output().unwrap().status.success());
    let (_server, url) = start();
    assert!(!is_signed_in(&url, &session));
}

#[test]
fn a_server_on_all_interfaces_prints_an_address_that_works() {
    let folder = Folder::new("access-host");
    let (data, ledger, token) = (folder.path("texts.csv"), folder.path("run.ledger"), folder.path("token"));
    texts(&data);
    fs::write(&token, "q7Jx0ZtA9mKc2VbN4sLw8RfE").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let public = ["--host", "0.0.0.0", "--token-file", &token, "--no-browser"];
    let mut server = Printing::start(querist(&label(&data, &ledger, &public)));
    let url = server.line().trim().strip_prefix("Label here: ").unwrap().to_owned();
    assert!(!url.contains("0.0.0.0") && !url.contains("q7Jx0ZtA9mKc2VbN4sLw8RfE"), "{url}");
    let others = server.line();
    if let Some(others) = others.strip_prefix("The server is also at ") {
        assert!(!url.contains("//127."), "an address for others comes first: {url}");
        for other in others.trim().trim_end_matches('.').split(", ").filter(|other| !other.contains('[')) {
            assert_eq!(status(&get(&format!("{other}/health"), "")), 200, "{other}");
        }
    }
    assert_eq!(status(&get(&url, "")), 303);
}

#[test]
fn a_tls_proxy_gets_links_with_its_name() {
    let folder = Folder::new("access-tls");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data);
    assert!(error(&label(&data, &ledger, &["--secure-cookie"])).contains("--allow-host"));
    let tls = ["--secure-cookie", "--allow-host", "labels.example.org", "--json"];
    let mut server = Printing::start(querist(&label(&data, &ledger, &tls)));
    let announced: Value = serde_json::from_str(&server.line()).unwrap();
    let link = announced["url"].as_str().unwrap().strip_prefix("https://labels.example.org/?link=").unwrap();
    let base = announced["addresses"][1].as_str().unwrap();
    let reply = get(&format!("{base}/?link={link}"), "");
    assert!(reply.contains("set-cookie: __Host-querist-") && reply.contains("; Secure"), "{reply}");
}

/// Runs a server under limits on open files; returns its soft limit.
fn open_files(folder: &Folder, limits: &str, name: &str) -> String {
    let (data, ledger) = (folder.path("texts.csv"), folder.path(name));
    let mut command = Command::new("sh");
    let script = format!("{limits} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_querist")]).args(label(&data, &ledger, &["--json"]));
    let server = LabelServer::from_command(command);
    assert_eq!(server.client().get("/api/status").unwrap().0, 200);
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.process.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).unwrap().to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn the_limit_on_open_files_is_raised() {
    let folder = Folder::new("access-files");
    texts(&folder.path("texts.csv"));
    assert_eq!(open_files(&folder, "ulimit -Sn 100 && ulimit -Hn 1000", "low.ledger"), "1000");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("many.ledger"));
    let arguments = label(&data, &ledger, &["--json", "--max-connections", "1000000"]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 1000 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_querist")]).args(arguments);
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(message.contains("the limit of 1000 open files leaves 936") && message.contains("ulimit"), "{message}");
    assert!(error(&label(&data, &ledger, &["--max-connections", "3"])).contains("need 24 to 1048576"));
}
