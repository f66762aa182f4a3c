//! Power cuts: data that were not synced may be lost, torn or corrupted; acknowledged answers may not.
//!
//! A test traces a server through a session. It simulates a power cut at every disk call, and opens a possible state of
//! the disk after it.

use std::fs;
use std::path::Path;
use std::process::Command;

use querist_ledger::{Ledger, LedgerError, Record};
use serde_json::Value;

use super::common::Folder;
use super::common::client::LabelServer;
use super::crash::{Said, script};
use super::disk::{Disk, TestRng, Traced, read_trace};
use super::{arguments, texts};

/// The disk calls of a server and the answers it acknowledged.
struct Recorded {
    calls: Vec<Traced>,
    acknowledged: Vec<Said>,
    /// The events of the ledger at the end.
    events: Vec<Record>,
}

/// Traces two servers, one after the other, on one ledger: the first shuts down cleanly, the second is killed.
fn record(folder: &Folder, answers: usize) -> Recorded {
    assert!(Command::new("strace").arg("-V").output().is_ok(), "this needs strace; ./check installs it");
    let (data, place) = (folder.path("texts.csv"), folder.path("traced"));
    texts(&data, 4 * answers + 50);
    fs::create_dir(&place).unwrap();
    let ledger = fs::canonicalize(&place).unwrap().join("run.ledger");
    let name = ledger.to_str().unwrap();
    let (mut calls, mut acknowledged) = (vec![], vec![]);
    for (number, of_these) in [answers, 8].into_iter().enumerate() {
        let trace = folder.path(&format!("trace-{number}"));
        let mut command = Command::new("strace");
        command.args(["-D", "-f", "-ttt", "-y", "-xx", "-s", "70000", "-qqq", "-o", &trace]);
        command.args(["-e", "trace=openat,write,pwrite64,ftruncate,fsync,fdatasync,rename,unlink"]);
        command.args(["-e", "signal=none"]);
        command.arg(env!("CARGO_BIN_EXE_querist")).args(arguments(&data, name));
        let mut server = LabelServer::from_command(command);
        let keys = format!("{number}-");
        script(&mut server.client(), &keys, of_these, &mut acknowledged).unwrap();
        if number == 0 {
            assert!(server.terminate());
        } else {
            server.kill();
        }
        calls.extend(read_trace(&trace, &ledger));
    }
    let events = events(&ledger).unwrap_or_else(|error| panic!("{error}"));
    Recorded { calls, acknowledged, events }
}

fn events(ledger: &Path) -> Result<Vec<Record>, LedgerError> {
    Ledger::open(ledger)?.records().collect()
}

/// Returns the number of an answer or withdrawal.
fn number(record: &Record) -> Option<u64> {
    let fields: Value = serde_json::from_str(&record.fields).unwrap();
    match record.kind.as_str() {
        "answered" => fields["answer"].as_u64(),
        "withdrawn" => fields["number"].as_u64(),
        _ => None,
    }
}

/// Returns what is wrong with a ledger after a power cut at the time `before`.
fn fault(recorded: &Recorded, folder: &str, before: f64) -> Option<String> {
    let due = recorded.acknowledged.iter().filter(|answer| answer.at < before);
    let path = Path::new(folder).join("run.ledger");
    if !path.exists() {
        return (0 < due.count()).then(|| "the ledger is gone".to_owned());
    }
    let found = match events(&path) {
        Ok(found) => found,
        Err(error) => return Some(error.to_string()),
    };
    // The events are a prefix of the final events, bit for bit.
    if !recorded.events.starts_with(&found) {
        return Some("it holds what never happened".to_owned());
    }
    let numbers: Vec<u64> = found.iter().filter_map(number).collect();
    due.map(|answer| answer.number)
        .find(|number| !numbers.contains(number))
        .map(|number| format!("answer {number} is lost"))
}

/// Simulates a power cut at every `step`-th call; returns the number of cuts and the first fault.
fn cuts(folder: &Folder, recorded: &Recorded, mut disk: Disk, step: usize) -> (usize, Option<String>) {
    let (mut dice, mut tried) = (TestRng(7), 0);
    // On a file system in memory, opening a ledger does not wait for a real disk.
    let memory = Folder::within(Path::new("/dev/shm"), "label-power");
    for (place, Traced { at, call }) in recorded.calls.iter().enumerate() {
        if place % step == 0 {
            let image = memory.as_ref().unwrap_or(folder).path("image");
            fs::create_dir(&image).unwrap();
            disk.after_power_cut(&image, &mut dice);
            tried += 1;
            if let Some(fault) = fault(recorded, &image, *at) {
                return (tried, Some(format!("before call {place}: {fault}")));
            }
            fs::remove_dir_all(&image).unwrap();
        }
        disk.see(call);
    }
    (tried, None)
}

fn survive(name: &str, answers: usize, step: usize) -> usize {
    let folder = Folder::new(name);
    let recorded = record(&folder, answers);
    assert!(answers <= recorded.acknowledged.len());
    let (tried, fault) = cuts(&folder, &recorded, Disk::default(), step);
    eprintln!("{tried} power cuts in a session of {} answers", recorded.acknowledged.len());
    assert_eq!(fault, None, "power cut {tried}");
    // A disk that ignores these syncs loses data. So each of them is needed, and the test detects a missing one.
    for ending in ["-wal", "", "-new", "folder"] {
        let (_, fault) = cuts(&folder, &recorded, Disk::deaf_to(ending), 1);
        assert!(fault.is_some(), "nobody misses the waits for `run.ledger{ending}`");
    }
    tried
}

#[test]
fn a_power_cut_loses_nothing_acknowledged() {
    let tried = survive("label-power", 16, 1);
    assert!(300 < tried, "only {tried} power cuts");
}

/// The session is long enough for the journal to be checkpointed and restarted while answers arrive.
#[cfg(feature = "long")]
#[test]
fn power_cuts_at_every_call_lose_nothing_acknowledged() {
    let tried = survive("label-power-long", 1100, 1);
    assert!(10_000 <= tried, "only {tried} power cuts");
}
