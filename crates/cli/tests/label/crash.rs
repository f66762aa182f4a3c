//! The server dies at its N-th disk call, for every N of a session: no acknowledged answer is lost or counted twice.

use std::fs;
use std::io::{self, BufRead};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::common::client::{LabelServer, TestClient};
use super::common::{Folder, querist};
use super::{arguments, by_number, export, made, texts};

/// An acknowledged answer.
pub(super) struct Said {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) label: String,
    /// The time of the acknowledgment, in seconds since 1970.
    pub(super) at: f64,
    request: Value,
}

/// Plays a fixed session of `answers` answers, with skipped items and changed and withdrawn answers. Returns an error
/// when the server ends.
pub(super) fn script(
    client: &mut TestClient,
    keys: &str,
    answers: usize,
    acknowledged: &mut Vec<Said>,
) -> io::Result<()> {
    for count in 0..answers {
        let name = ["Ada", "Ben"][count % 2];
        let items = client.next(name, 2)?;
        let label = ["yes", "no"][count / 2 % 2];
        send_answer(client, name, &items[0], &format!("{keys}k{count}"), label, acknowledged)?;
        if count % 8 == 5 {
            let skipped =
                json!([{"ask": items[1]["ask"], "annotator": name, "key": format!("{keys}s{count}"), "skip": true}]);
            client.post("/api/answers", &skipped)?;
        }
        if count % 8 == 6 {
            // A second answer to the same item replaces the first, which stays in the ledger.
            send_answer(client, name, &items[0], &format!("{keys}c{count}"), "yes", acknowledged)?;
        }
        if count % 8 == 7 {
            let (status, _) =
                client.post("/api/undo", &json!({"annotator": name, "key": format!("{keys}u{count}")}))?;
            assert_eq!(status, 200);
        }
    }
    Ok(())
}

fn send_answer(
    client: &mut TestClient,
    name: &str,
    item: &Value,
    key: &str,
    label: &str,
    acknowledged: &mut Vec<Said>,
) -> io::Result<()> {
    let number = client.answer(name, &item["ask"], key, label)?;
    let request = json!([{"ask": item["ask"], "annotator": name, "key": key, "label": label}]);
    let id = item["item"].as_str().unwrap().to_owned();
    #[expect(clippy::disallowed_methods, reason = "strace records the times of calls by this clock")]
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    acknowledged.push(Said { number, id, label: label.to_owned(), at, request });
    Ok(())
}

/// Starts a server; returns `None` if it ends before it prints its address.
fn started(mut command: Command) -> Option<LabelServer> {
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    io::BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let Ok(announced) = serde_json::from_str::<Value>(&line) else {
        process.wait().unwrap();
        return None;
    };
    let port =
        announced["url"].as_str().unwrap().split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    Some(LabelServer { process, port, token: announced["token"].as_str().unwrap().to_owned() })
}

/// Runs the script on a server that is killed on entering the n-th of these calls; returns whether it was killed.
fn crash(data: &str, ledger: &str, calls: &str, n: usize, paths: &[String], answers: usize) -> bool {
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-qqq", "-o", "/dev/null", "-e"]).arg(format!("trace={calls}"));
    for path in paths {
        command.args(["-P", path]);
    }
    command.arg("-e").arg(format!("inject={calls}:signal=KILL:when={n}"));
    command.arg(env!("CARGO_BIN_EXE_querist")).args(arguments(data, ledger));
    let mut acknowledged = vec![];
    let survived = started(command).is_some_and(|mut server| {
        // An error means that the server was killed, as intended.
        let done = script(&mut server.client(), "", answers, &mut acknowledged).is_ok();
        server.terminate() && done
    });
    check(data, ledger, &acknowledged, &format!("{calls} {n}"));
    !survived
}

/// Checks that the same command resumes the session and recognizes all acknowledged answers, and that the export has
/// each of them once.
fn check(data: &str, ledger: &str, acknowledged: &[Said], when: &str) {
    if Path::new(ledger).exists() {
        found(ledger, acknowledged, when);
    } else {
        assert!(acknowledged.is_empty(), "{when}: the ledger is gone");
    }
    let mut server = LabelServer::start(&arguments(data, ledger));
    let mut client = server.client();
    for answer in acknowledged {
        let (_, reply) = client.post("/api/answers", &answer.request).unwrap();
        let expected = (Some("repeated"), Some(answer.number));
        assert_eq!((reply[0]["status"].as_str(), reply[0]["answer"].as_u64()), expected, "{when}: {reply}");
    }
    assert!(!client.next("Cy", 1).unwrap().is_empty(), "{when}: it goes on");
    server.kill();
    found(ledger, acknowledged, when);
}

fn found(ledger: &str, acknowledged: &[Said], when: &str) {
    // Skipped items are exported without a label.
    let entries = export(ledger, &["--all"]);
    let labeled: Vec<Value> = entries.into_iter().filter(|entry| entry["label"].is_string()).collect();
    let found = by_number(&labeled);
    for Said { number, id, label, .. } in acknowledged {
        assert_eq!(found.get(number), Some(&(id.clone(), label.clone())), "{when}: answer {number}");
    }
    assert!(found.len() <= acknowledged.len() + 1, "{when}: more than was under way");
}

/// Kills the server at every `step`-th of these calls in turn; returns the number of kills.
fn crashes(folder: &Folder, template: Option<&str>, calls: &str, step: usize, answers: usize) -> usize {
    let (next, points) = (AtomicUsize::new(1), AtomicUsize::new(0));
    let data = folder.path("texts.csv");
    let work = || {
        loop {
            let n = next.fetch_add(step, Ordering::Relaxed);
            let kind = if template.is_some() { "session" } else { "start" };
            let place = folder.path(&format!("{kind}-{}-{n}", calls.split(',').next().unwrap()));
            fs::create_dir(&place).unwrap();
            let ledger = format!("{place}/run.ledger");
            let mut paths = vec![];
            if let Some(template) = template {
                for ending in ["", "-key"] {
                    fs::copy(format!("{template}{ending}"), format!("{ledger}{ending}")).unwrap();
                }
                // In a session only the writer thread uses these files, so calls are counted from its first.
                paths.extend(["", "-wal"].map(|ending| format!("{ledger}{ending}")));
            }
            if !crash(&data, &ledger, calls, n, &paths, answers) {
                return;
            }
            points.fetch_add(1, Ordering::Relaxed);
            fs::remove_dir_all(&place).unwrap();
        }
    };
    thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
    points.into_inner()
}

/// Crashes the server at the start of a new ledger and in a resumed session; a smaller step means more crashes.
/// Returns the number of crashes.
fn every_call(name: &str, step: usize, answers: usize) -> usize {
    assert!(Command::new("strace").arg("-V").output().is_ok(), "this needs strace; ./check installs it");
    let folder = Folder::new(name);
    texts(&folder.path("texts.csv"), 200);
    let template = folder.path("template.ledger");
    made(&folder.path("texts.csv"), &template);
    let mut points = 0;
    for (calls, step) in [
        ("fsync,fdatasync", step.min(3)),
        ("pwrite64", step),
        ("write", 1),
        ("rename", 1),
        ("ftruncate", 1),
        ("unlink", 1),
    ] {
        points += crashes(&folder, None, calls, step, 1);
    }
    for (calls, step) in [("fsync,fdatasync", step), ("pwrite64", 4 * step - 3), ("unlink", 1)] {
        points += crashes(&folder, Some(&template), calls, step, answers);
    }
    points
}

#[test]
fn a_crash_at_a_disk_call_loses_nothing() {
    let points = every_call("label-crash", 7, 16);
    assert!(40 < points, "only {points} crashes");
}

#[cfg(feature = "long")]
#[test]
fn a_crash_at_every_call_to_the_disk_loses_nothing() {
    let points = every_call("label-crash-long", 1, 32);
    eprintln!("{points} crashes");
    assert!(500 <= points, "only {points} crashes");
}

/// A power cut during the creation of the cookie key must not lock annotators out.
#[test]
fn an_empty_key_file_is_replaced() {
    let folder = Folder::new("label-key");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 10);
    made(&data, &ledger);
    fs::write(format!("{ledger}-key"), "").unwrap();
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    assert_eq!(server.client().next("Ada", 1).unwrap().len(), 1);
    assert!(server.terminate());
    assert!(querist(&["export", &ledger]).output().unwrap().status.success());
}
