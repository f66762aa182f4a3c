//! `querist label` under kills, crashes and full disks: the export has every acknowledged answer exactly once.

#![allow(clippy::print_stderr, reason = "a test that cannot run here prints why")]

#[path = "../common/mod.rs"]
mod common;
mod crash;
mod disk;
mod power;
mod replay;
mod start;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::client::{LabelServer, TestClient};
use common::{Folder, error, querist};
use serde_json::{Value, json};

/// Writes short texts to label.
fn texts(path: &str, rows: usize) {
    let mut text = "id,body\n".to_owned();
    for row in 0..rows {
        let word = if row % 3 == 0 { "bad" } else { "good" };
        text.push_str(&format!("t{row},\"message {row}, {word} and {}\"\n", row % 17));
    }
    fs::write(path, text).unwrap();
}

fn arguments<'a>(data: &'a str, ledger: &'a str) -> Vec<&'a str> {
    let fixed = ["label", data, "--text", "body", "--labels", "no,yes", "--port", "0", "--no-browser", "--json"];
    fixed.into_iter().chain(["--ledger", ledger]).collect()
}

/// Creates a ledger with a server that is shut down cleanly.
fn made(data: &str, ledger: &str) {
    let mut server = LabelServer::start(&arguments(data, ledger));
    // A server that answers requests has installed its signal handlers.
    server.client().get("/api/status").unwrap();
    assert!(server.terminate());
}

/// Returns the lines of an export.
fn export(ledger: &str, more: &[&str]) -> Vec<Value> {
    let output = querist(&[&["export", ledger, "--format", "jsonl"], more].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns answers by number; panics if a number appears twice.
fn by_number(entries: &[Value]) -> BTreeMap<u64, (String, String)> {
    let mut found = BTreeMap::new();
    for entry in entries {
        let (id, label) = (entry["id"].as_str().unwrap(), entry["label"].as_str().unwrap());
        let again = found.insert(entry["answer"].as_u64().unwrap(), (id.to_owned(), label.to_owned()));
        assert!(again.is_none(), "twice: {entry}");
    }
    found
}

/// Returns the next items for an annotator. If everything is answered, returns their last answers, to be changed.
fn to_answer(client: &mut TestClient, name: &str) -> io::Result<Vec<Value>> {
    let items = client.next(name, 3)?;
    if !items.is_empty() {
        return Ok(items);
    }
    let (_, past) = client.get(&format!("/api/history?annotator={name}&n=10"))?;
    Ok(past.as_array().cloned().unwrap_or_default())
}

/// Answers as fast as possible until `over` is set, and records the acknowledged answers.
fn work(
    mut client: TestClient,
    name: &str,
    round: u64,
    over: &AtomicBool,
    acknowledged: &Mutex<Vec<(u64, String, String, u64)>>,
) {
    let mut count = 0;
    while !over.load(Ordering::Relaxed) {
        let Ok(items) = to_answer(&mut client, name) else { continue };
        for item in items {
            count += 1;
            let key = format!("{name}-{round}-{count}");
            let label = if count % 2 == 0 { "yes" } else { "no" };
            let answered = client.answer(name, &item["ask"], &key, label);
            if let Ok(number) = answered {
                let id = item["item"].as_str().unwrap().to_owned();
                acknowledged.lock().unwrap().push((number, id, label.to_owned(), round));
            }
        }
    }
}

/// Checks that no acknowledged answer is lost while clients answer and the server is killed `kills` times. All rounds
/// use the same ledger.
fn killed(name: &str, clients: usize, kills: u64) {
    let folder = Folder::new(name);
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 15_000);
    let acknowledged = Mutex::new(vec![]);
    let mut state = 99_u64;
    for kill in 0..kills {
        let mut server = LabelServer::start(&arguments(&data, &ledger));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for person in 0..clients {
                let (client, over, acknowledged) = (server.client(), &over, &acknowledged);
                scope.spawn(move || work(client, &format!("p{person}"), kill, over, acknowledged));
            }
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            thread::sleep(Duration::from_millis(5 + (state >> 33) % 150));
            server.kill();
            over.store(true, Ordering::Relaxed);
        });
    }
    let found = by_number(&export(&ledger, &["--all"]));
    let acknowledged = acknowledged.into_inner().unwrap();
    let mut seen = BTreeSet::new();
    for (number, id, label, _) in &acknowledged {
        assert!(seen.insert(number), "{number} was acknowledged twice");
        assert_eq!(found.get(number), Some(&(id.clone(), label.clone())), "answer {number} was acknowledged");
    }
    eprintln!("{kills} kills, {} acknowledged, {} found", acknowledged.len(), found.len());
    assert!(kills as usize <= acknowledged.len(), "only {} were acknowledged", acknowledged.len());
    // A server that dies before it answers any request tests nothing.
    let rounds: BTreeSet<u64> = acknowledged.iter().map(|answer| answer.3).collect();
    assert!(kills / 2 <= rounds.len() as u64, "in {} rounds somebody was answered", rounds.len());
    // Only answers that were in flight at a kill may be saved without an acknowledgment.
    assert!(found.len() <= acknowledged.len() + clients * kills as usize);
}

#[test]
fn a_hundred_kills_lose_nothing_acknowledged() {
    killed("label-kills", 32, 100);
}

#[cfg(feature = "long")]
#[test]
fn two_thousand_kills_lose_nothing_acknowledged() {
    killed("label-kills-long", 32, 2000);
}

/// A full disk gives status 507 and loses no acknowledged answer; saving resumes once there is space.
#[test]
fn saving_resumes_after_a_full_disk() {
    let folder = Folder::new("label-full");
    let disk = folder.path("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1200k", "tmpfs", &disk]).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("no file system can be mounted here: nothing tested");
        return;
    }
    let outcome = std::panic::catch_unwind(|| full_disk(&folder, &disk));
    assert!(Command::new("umount").args(["-l", &disk]).status().unwrap().success());
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

fn full_disk(folder: &Folder, disk: &str) {
    let (data, ledger) = (folder.path("texts.csv"), format!("{disk}/run.ledger"));
    texts(&data, 5000);
    let ballast = format!("{disk}/ballast");
    let server = LabelServer::start(&arguments(&data, &ledger));
    let mut client = server.client();
    let mut acknowledged = vec![];
    let mut unsaved = None;
    let mut count = 0;
    while unsaved.is_none() {
        count += 1;
        assert!(count < 5000, "the disk never filled");
        if count == 20 {
            fs::write(&ballast, vec![7; 400 << 10]).unwrap();
        }
        let Ok(items) = client.next("Ada", 1) else { break };
        let key = format!("k{count}");
        match client.answer("Ada", &items[0]["ask"], &key, "yes") {
            Ok(number) => acknowledged.push(number),
            Err(_) => unsaved = Some((items[0]["ask"].clone(), key)),
        }
    }
    let refused = match &unsaved {
        Some((ask, key)) => json!([{"ask": ask, "annotator": "Ada", "key": key, "label": "yes"}]),
        None => json!([{"ask": 1, "annotator": "Ada", "key": "again", "label": "no"}]),
    };
    let (status, reply) = client.post("/api/answers", &refused).unwrap();
    assert_eq!((status, reply["error"]["code"].as_str()), (507, Some("disk-full")), "{reply}");
    let (_, state) = client.get("/api/status").unwrap();
    assert_eq!(state["store"]["writable"], false);
    fs::remove_file(&ballast).unwrap();
    let mut saved = None;
    for _ in 0..100 {
        let (status, reply) = client.post("/api/answers", &refused).unwrap();
        if status == 200 {
            saved = Some(reply);
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let saved = saved.expect("it goes on when there is room");
    acknowledged.push(saved[0]["answer"].as_u64().unwrap_or_else(|| panic!("{saved}")));
    let found = by_number(&export(&ledger, &["--all"]));
    assert!(acknowledged.iter().all(|number| found.contains_key(number)));
}

/// After a failed sync the server answers 503, although the next sync would succeed. No acknowledged answer is lost.
#[test]
fn no_answer_is_acknowledged_after_a_failed_sync() {
    assert!(Command::new("strace").arg("-V").output().is_ok(), "this needs strace; ./check installs it");
    let folder = Folder::new("label-failing");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 400);
    // Create the ledger first, so that the first syncs are those of a session.
    made(&data, &ledger);
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync"]);
    command.args(["-e", "inject=fsync,fdatasync:error=EIO:when=20"]);
    command.arg(env!("CARGO_BIN_EXE_querist")).args(arguments(&data, &ledger));
    let server = LabelServer::from_command(command);
    let mut client = server.client();
    let mut acknowledged = vec![];
    for count in 0..40 {
        let Ok(items) = client.next("Ada", 1) else { break };
        match client.answer("Ada", &items[0]["ask"], &format!("k{count}"), "yes") {
            Ok(number) => acknowledged.push(number),
            Err(_) => break,
        }
    }
    assert!(2 < acknowledged.len() && acknowledged.len() < 40, "{acknowledged:?}");
    for count in 0..3 {
        let answer =
            json!([{"ask": 1, "annotator": "Ada", "key": format!("again {count}").replace(' ', "-"), "label": "no"}]);
        let (status, reply) = client.post("/api/answers", &answer).unwrap();
        assert_eq!((status, reply["error"]["code"].as_str()), (503, Some("store-read-only")), "{reply}");
    }
    let (status, _) = client.get("/api/status").unwrap();
    assert_eq!(status, 200, "reading goes on");
    let found = by_number(&export(&ledger, &["--all"]));
    assert!(acknowledged.iter().all(|number| found.contains_key(number)));
}

#[test]
fn the_same_command_resumes_and_reports_changes() {
    let folder = Folder::new("label-resume");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 30);
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    let mut client = server.client();
    let first = client.next("Ada", 3).unwrap();
    client.answer("Ada", &first[0]["ask"], "k", "yes").unwrap();
    // A second server on the same ledger is rejected, and its error names the first.
    let message = error(&arguments(&data, &ledger));
    assert!(message.contains("is writing to it"), "{message}");
    assert!(server.terminate(), "it ends in order");

    let changed = first[0]["item"].as_str().unwrap();
    let text = fs::read_to_string(&data).unwrap();
    let text: String = text
        .lines()
        .map(|line| {
            if line.starts_with(&format!("{changed},")) {
                format!("{changed},something else\n")
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    fs::write(&data, text + "t30,a new one\nt31,another new one\n").unwrap();
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    let mut client = server.client();
    let again: Vec<Value> = client.next("Ada", 2).unwrap().iter().map(|item| item["ask"].clone()).collect();
    assert_eq!(again, [first[1]["ask"].clone(), first[2]["ask"].clone()]);
    let (_, status) = client.get("/api/status").unwrap();
    assert_eq!((status["answered"].as_u64(), status["pool"].as_u64()), (Some(1), Some(32)));
    let (_, repeated) = client
        .post("/api/answers", &json!([{"ask": first[0]["ask"], "annotator": "Ada", "key": "k", "label": "yes"}]))
        .unwrap();
    assert_eq!(repeated[0]["status"], "repeated");
    let mut stderr = server.process.stderr.take().unwrap();
    server.kill();
    let mut words = String::new();
    io::Read::read_to_string(&mut stderr, &mut words).unwrap();
    assert!(words.contains("2 new items since the last time"), "{words}");
    assert!(words.contains(&format!("1 item has changed since being asked; training skips: {changed}")), "{words}");

    let other: Vec<&str> =
        arguments(&data, &ledger).into_iter().map(|word| if word == "no,yes" { "a,b" } else { word }).collect();
    assert!(error(&other).contains("its labels are no,yes, not a,b"));
}

/// After a file is deleted or replaced, the server rejects answers with a reason. It leaves a copy of the ledger with
/// all acknowledged answers.
#[test]
fn no_answer_is_acknowledged_after_the_ledger_is_deleted() {
    for (ending, is_replaced) in [("", false), ("", true), ("-wal", false)] {
        let folder = Folder::new("label-deleted");
        let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
        texts(&data, 60);
        made(&data, &ledger);
        fs::copy(&ledger, folder.path("backup")).unwrap();
        let mut server = LabelServer::start(&arguments(&data, &ledger));
        let mut client = server.client();
        let item = client.next("Ada", 1).unwrap().remove(0);
        let number = client.answer("Ada", &item["ask"], "first", "yes").unwrap();
        let item = client.next("Ada", 1).unwrap().remove(0);
        let file = format!("{ledger}{ending}");
        let done = if is_replaced { fs::rename(folder.path("backup"), &file) } else { fs::remove_file(&file) };
        done.unwrap();
        for key in ["second", "third"] {
            let answer = json!([{"ask": item["ask"], "annotator": "Ada", "key": key, "label": "no"}]);
            let (status, reply) = client.post("/api/answers", &answer).unwrap();
            assert_eq!((status, reply["error"]["code"].as_str()), (503, Some("store-read-only")), "{reply}");
            assert!(reply.to_string().contains("was deleted, moved or replaced"), "{reply}");
        }
        let (_, status) = client.get("/api/status").unwrap();
        assert_eq!(status["store"]["writable"], false);
        thread::sleep(Duration::from_secs(1));
        assert!(!server.terminate(), "the exit code is not 0");
        let mut words = String::new();
        io::Read::read_to_string(&mut server.process.stderr.take().unwrap(), &mut words).unwrap();
        assert_eq!(words.matches("warning: answers cannot be saved").count(), 1, "{words}");
        let copy = words.split("copied to ").nth(1).unwrap().split([';', '\n']).next().unwrap();
        assert!(by_number(&export(&folder.path(copy), &[])).contains_key(&number), "{words}");
    }
}

#[test]
fn a_signal_shuts_the_server_down_cleanly() {
    let folder = Folder::new("label-signal");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 3000);
    let acknowledged = Mutex::new(vec![]);
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for person in 0..8 {
            let (client, over, acknowledged) = (server.client(), &over, &acknowledged);
            scope.spawn(move || work(client, &format!("p{person}"), 0, over, acknowledged));
        }
        // An open event stream does not delay the shutdown.
        let mut watcher = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let head = format!(
            "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n",
            server.port, server.token
        );
        io::Write::write_all(&mut watcher, head.as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(300));
        assert!(server.terminate());
        over.store(true, Ordering::Relaxed);
    });
    let found = by_number(&export(&ledger, &["--all"]));
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.iter().all(|(number, id, label, _)| found.get(number) == Some(&(id.clone(), label.clone()))));
    assert!(!acknowledged.is_empty());
    assert!(!folder_has(&ledger, "-wal"), "everything is in the one file");
}

fn folder_has(ledger: &str, ending: &str) -> bool {
    fs::metadata(format!("{ledger}{ending}")).is_ok()
}
