//! Exhaustive damage: each flipped byte in use, swapped page or truncation of a small ledger is an error or harmless.
//!
//! `journal.rs` does the same for the journal; `crates/cli/tests/long/damage.rs` does it for the commands.

use std::fs;
use std::path::Path;

use querist_ledger::{Inspection, Ledger, salvage};

use crate::support::{batch, read_texts, record, texts};

const BATCHES: u64 = 2;
const PAGE: usize = 4096;

fn make(path: &Path) -> Vec<u8> {
    let mut ledger = Ledger::create(path, "{\"seed\": 1}").unwrap();
    for number in 0..BATCHES {
        ledger.append(&batch(number)).unwrap();
    }
    ledger.set_note("encoder", "none").unwrap();
    drop(ledger);
    fs::read(path).unwrap()
}

/// Reads a file that may be damaged and returns whether it was rejected. Otherwise asserts that all events were read.
fn is_rejected(path: &Path, bytes: &[u8], what: &str) -> bool {
    fs::write(path, bytes).unwrap();
    match Ledger::read(path) {
        Ok(ledger) => {
            assert_eq!(read_texts(&ledger), (texts(BATCHES), None), "{what}");
            assert_eq!((ledger.header(), ledger.note("encoder")), ("{\"seed\": 1}", Some("none")), "{what}");
            false
        }
        Err(error) => {
            let message = error.to_string();
            let words = ["damaged: ", "not a Querist ledger: ", "a ledger of version ", "missing: "];
            assert!(words.iter().any(|words| message.contains(words)), "{what}: {message}");
            true
        }
    }
}

#[test]
fn every_flipped_byte_is_rejected_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let intact = make(&folder.path().join("intact.ledger"));
    let path = folder.path().join("run.ledger");
    let mut rejected = 0;
    let mut bytes = intact.clone();
    // Most of a small ledger is the free space of pages, where every 16th byte is tried.
    for position in (0..intact.len()).filter(|position| intact[*position] != 0 || position % 16 == 0) {
        bytes[position] ^= 1 << (position % 8);
        rejected += u32::from(is_rejected(&path, &bytes, &format!("byte {position}")));
        bytes[position] = intact[position];
    }
    // The other bytes are free space or redundant, such as a page count that is also stored elsewhere.
    assert!(1000 < rejected, "{rejected} of {} rejected", intact.len());
}

#[test]
fn every_page_swap_is_rejected_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let intact = make(&folder.path().join("intact.ledger"));
    let path = folder.path().join("run.ledger");
    let pages = intact.len() / PAGE;
    for first in 0..pages {
        for second in first + 1..pages {
            let mut bytes = intact.clone();
            let (low, high) = bytes.split_at_mut(second * PAGE);
            low[first * PAGE..][..PAGE].swap_with_slice(&mut high[..PAGE]);
            is_rejected(&path, &bytes, &format!("pages {first} and {second}"));
        }
    }
}

#[test]
fn every_truncation_is_rejected_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let intact = make(&folder.path().join("intact.ledger"));
    let path = folder.path().join("run.ledger");
    for length in (0..intact.len()).filter(|length| length % 17 == 0 || length % PAGE < 2) {
        is_rejected(&path, &intact[..length], &format!("{length} bytes"));
    }
}

/// After any flipped byte, every salvaged event is an original one, and only few are missing.
#[test]
fn salvage_recovers_all_but_the_damaged_events() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("run.ledger"), folder.path().join("new.ledger"));
    let intact = make(&path);
    let all = texts(BATCHES);
    let (mut tried, mut recovered) = (0, 0);
    for position in (0..intact.len()).step_by(97) {
        let mut bytes = intact.clone();
        bytes[position] ^= 1 << (position % 8);
        fs::write(&path, &bytes).unwrap();
        let _ = fs::remove_file(&to);
        let Ok(found) = salvage(&path, &to) else { continue };
        let ledger = Ledger::read(&to).unwrap();
        let (events, error) = read_texts(&ledger);
        assert_eq!(error, None);
        assert!(events.iter().all(|event| all.contains(event)), "byte {position}");
        let missing: u64 = found.missing.iter().map(|(first, last)| last - first + 1).sum();
        assert_eq!(found.events + missing, all.len() as u64 + 1, "byte {position}: {found:?}");
        tried += 1;
        recovered += events.len();
    }
    assert!(100 < tried && 9 * all.len() * tried < 10 * recovered, "{recovered} events of {tried} ledgers");
}

/// A damaged header may have wrong names of labels, so salvage does not treat it as intact.
#[test]
fn salvage_reports_an_unverified_header() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("run.ledger"), folder.path().join("new.ledger"));
    let mut bytes = make(&path);
    let position = bytes.windows(7).position(|window| window == b"\"seed\":").unwrap();
    bytes[position + 8] = b'2';
    fs::write(&path, &bytes).unwrap();
    let found = salvage(&path, &to).unwrap();
    assert_eq!(found.missing, [(1, 1)]);
    assert!(found.problems.len() == 1 && found.problems[0].starts_with("the header is not proved"), "{found:?}");
    let ledger = Ledger::read(&to).unwrap();
    assert_eq!(ledger.note("salvaged"), Some(r#"{"missing":[[1,1]],"header":"not proved"}"#));
    let described = ledger.missing_events().unwrap();
    assert!(described.ends_with("missing events: 1; the header is not proved, so check the labels and settings"));
}

#[test]
fn salvage_reports_gaps_and_keeps_intact_events() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("run.ledger"), folder.path().join("new.ledger"));
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    for number in 0..20 {
        ledger
            .append(&[record("asked", &format!("{{\"n\":{number}}}")).with_content(format!("text {number}"))])
            .unwrap();
    }
    drop(ledger);
    let change = "UPDATE events SET fields = '{}' WHERE sequence = 7; DELETE FROM events WHERE sequence = 12; \
                  UPDATE contents SET body = 'x' WHERE body = 'text 3'";
    rusqlite::Connection::open(&path).unwrap().execute_batch(change).unwrap();
    let found = Inspection::of(&path).unwrap();
    assert_eq!((found.events, found.contents), (17, 19));
    let problems = [
        "event 7 is missing or damaged",
        "events 12 to 13 are missing or damaged",
        "1 stored content does not match its digest",
    ];
    assert_eq!(found.problems, problems);

    let salvaged = salvage(&path, &to).unwrap();
    assert_eq!((salvaged.events, salvaged.contents), (17, 19));
    // The event after a missing row cannot be verified, because the previous link is missing.
    assert_eq!(salvaged.missing, [(7, 7), (12, 13)]);
    let ledger = Ledger::read(&to).unwrap();
    assert_eq!(ledger.note("salvaged"), Some(r#"{"missing":[[7,7],[12,13]]}"#));
    let described = ledger.missing_events();
    assert_eq!(described.as_deref(), Some("salvaged from a damaged ledger; missing events: 7, 12 to 13"));
    let kept: Vec<String> = ledger.records().map(|record| record.unwrap().fields).collect();
    let expected: Vec<String> =
        (0..20).filter(|n| ![6, 11, 12].contains(n)).map(|n| format!("{{\"n\":{n}}}")).collect();
    assert_eq!(kept, expected);
    drop(ledger);
    assert!(Inspection::of(&to).unwrap().problems.is_empty());
    assert!(salvage(&path, &to).unwrap_err().to_string().contains("already exists"));
}
