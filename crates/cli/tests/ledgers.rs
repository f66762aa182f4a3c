//! The maintenance commands for ledgers (verify, backup, salvage, purge), and every command after a loss.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::client::LabelServer;
use common::{Folder, json, querist, table};
use querist_ledger::Ledger;

fn fixture(folder: &Folder, name: &str) -> String {
    let path = folder.path("run.ledger");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ledger/tests/fixtures");
    fs::copy(fixtures.join(name), &path).unwrap();
    path
}

/// Returns the path of a labeling session's ledger in the current version.
fn session(folder: &Folder) -> String {
    let path = fixture(folder, "version-2-label.ledger");
    drop(Ledger::open(&path).unwrap());
    path
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = querist(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Flips a byte in the middle of an event.
fn damage(path: &str) {
    let mut bytes = fs::read(path).unwrap();
    let text = b"\"id\":\"sms";
    let place = bytes.windows(text.len()).rposition(|window| window == text).unwrap();
    bytes[place + text.len()] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn an_intact_ledger_is_verified_and_copied() {
    let folder = Folder::new("ledgers-intact");
    let (ledger, copy) = (session(&folder), folder.path("copy.ledger"));
    let found = json(&["verify", &ledger, "--json"]);
    assert_eq!((&found["version"], &found["counts"]["asked"]), (&3.into(), &62.into()), "{found}");
    assert!(found["problems"].as_array().unwrap().is_empty());
    let (code, text, _) = run(&["verify", &ledger]);
    assert!(code == Some(0) && text.contains("run.ledger: intact") && text.contains("answered"), "{text}");
    let (code, text, error) = run(&["backup", &ledger, &copy]);
    assert!(code == Some(0) && text.contains("events copied to") && text.contains("and verified"), "{text} {error}");
    let export = |path: &str| run(&["export", path, "--all"]);
    assert_eq!(export(&ledger), export(&copy));
    assert!(run(&["backup", &ledger, &copy]).2.contains("already exists"));
}

#[test]
fn a_damaged_ledger_is_rejected_by_every_command_and_salvaged() {
    let folder = Folder::new("ledgers-damaged");
    let (ledger, new) = (session(&folder), folder.path("new.ledger"));
    let before = json(&["verify", &ledger, "--json"])["events"].as_u64().unwrap();
    damage(&ledger);
    for command in [
        &["export", &ledger][..],
        &["replay", &ledger],
        &["report", &ledger, "--out", &folder.path("report")],
        &["backup", &ledger, &folder.path("copy.ledger")],
        &["label", "--demo", "--ledger", &ledger, "--seed", "3", "--no-browser"],
        &["purge", &ledger],
    ] {
        let (code, text, error) = run(command);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{command:?}: {error}");
        assert!(error.contains("does not match the hash chain") && error.contains("querist salvage"), "{error}");
    }
    let (code, text, error) = run(&["verify", &ledger]);
    assert_eq!(code, Some(1));
    assert!(text.contains("run.ledger: damaged") && text.contains("is missing or damaged"), "{text}");
    assert!(error.contains("is damaged"), "{error}");

    let (code, text, error) = run(&["salvage", &ledger, &new]);
    assert_eq!(code, Some(1), "{error}");
    assert!(text.contains(&format!("{} events and 0 contents recovered", before - 1)), "{text}");
    assert!(text.contains("missing: event "), "{text}");
    assert!(json(&["verify", &new, "--json"])["problems"].as_array().unwrap().is_empty());
}

/// A session that lost an ask cannot continue. The error says what to do instead, and that works.
#[test]
fn a_salvaged_session_without_an_ask_says_what_to_do() {
    let folder = Folder::new("ledgers-salvaged");
    let (ledger, new) = (session(&folder), folder.path("new.ledger"));
    let mut bytes = fs::read(&ledger).unwrap();
    let text = b"\"ask\":7,\"id\":\"sms";
    let place = bytes.windows(text.len()).position(|window| window == text).unwrap();
    bytes[place + text.len()] ^= 1;
    fs::write(&ledger, bytes).unwrap();
    assert_eq!(run(&["salvage", &ledger, &new]).0, Some(1));
    let (copy, labels, last) = (folder.path("copy"), folder.path("labels.csv"), folder.path("last.ledger"));
    let label = ["label", "--demo", "--port", "0", "--no-browser", "--json", "--seed", "3", "--ledger"];
    for command in [
        &[&label[..], &[&new]].concat()[..],
        &["export", &new, "--model", &copy],
        &["replay", &new],
        &["plan", "--pilot", &new],
    ] {
        let (code, _, error) = run(command);
        assert_eq!(code, Some(2), "{command:?}: {error}");
        assert!(error.contains("and ask 7 is missing, so the session cannot continue"), "{command:?}: {error}");
        assert!(error.contains(&format!("querist export {new} --out labels.csv")), "{command:?}: {error}");
    }
    let (code, _, error) = run(&["export", &new, "--out", &labels]);
    assert_eq!(code, Some(3), "{error}");
    let n_labels =
        fs::read_to_string(&labels).unwrap().lines().skip(1).filter(|line| line.contains(",label,")).count() as u64;
    let mut server = LabelServer::start(&[&label[..], &[&last, "--import", &labels]].concat());
    let status = server.client().get("/api/status").unwrap().1;
    assert!(10 < n_labels && status["pool"].as_u64().unwrap() + n_labels == 5574, "{n_labels} labels, {status}");
    assert!(server.terminate());
}

#[test]
fn contents_are_purged() {
    let folder = Folder::new("ledgers-purge");
    let ledger = session(&folder);
    let record =
        querist_ledger::Record { kind: "grown".to_owned(), fields: "{\"asks\":0}".to_owned(), ..Default::default() };
    Ledger::open(&ledger).unwrap().append(&[record.with_content("a secret".to_owned())]).unwrap();
    assert_eq!(json(&["verify", &ledger, "--json"])["contents"], 1);
    let (code, text, error) = run(&["purge", &ledger]);
    assert!(code == Some(0) && text.contains("1 content removed"), "{text} {error}");
    assert_eq!(json(&["verify", &ledger, "--json"])["contents"], 0);
}

#[test]
fn a_ledger_without_its_journal_is_reported_and_continued_only_on_demand() {
    let folder = Folder::new("ledgers-alone");
    let (data, live, alone) = (folder.path("data.csv"), folder.path("live"), folder.path("alone"));
    table(&data, 400);
    let stream = |ledger: &str| json(&["stream", &data, "--label", "label", "--json", "--ledger", ledger]);
    stream(&live);
    // A process that appends and is killed leaves the last events in its journal.
    let mut ledger = Ledger::open(&live).unwrap();
    ledger.set_note("killed", "here").unwrap();
    assert!(std::process::Command::new("cp").args([&live, &alone]).status().unwrap().success());
    drop(ledger);

    let (code, text, error) = run(&["replay", &alone, "--json"]);
    assert_eq!(code, Some(3), "{error}");
    assert!(text.contains("\"same_model\":true"), "{text}");
    assert!(error.contains("acknowledged events may be missing: it was copied without its journal"), "{error}");
    let resume = ["stream", &data, "--label", "label", "--json", "--ledger", &alone, "--resume"];
    let (code, _, error) = run(&resume);
    assert_eq!(code, Some(2));
    assert!(error.contains("--accept-loss"), "{error}");
    let accepted = [&resume[..], &["--accept-loss"]].concat();
    let (code, text, error) = run(&accepted);
    assert_eq!(code, Some(0), "{text} {error}");
    let ledger = Ledger::read(&alone).unwrap();
    assert!(ledger.note("accepted-loss").unwrap().contains("\"missing\":null"));
    assert_eq!(ledger.loss(), None);
}
