//! Reading a truncated or corrupted file gives an error or the original events, never other events.

use std::fs;
use std::path::Path;

use querist_ledger::{Inspection, Ledger, salvage};

use crate::support::{batch, ledger_of, read_texts, record, texts};

const BATCHES: u64 = 60;

/// Opens the damaged file both ways and returns whether an error was reported. The events read must be a prefix of the
/// original ones. Missing events must be reported, unless `may_end_early` because the log is truncated.
fn examine(path: &Path, may_end_early: bool) -> bool {
    let all = texts(BATCHES);
    let mut is_reported = false;
    for (index, opened) in [Ledger::read(path), Ledger::open(path)].into_iter().enumerate() {
        let Ok(mut ledger) = opened else {
            is_reported = true;
            continue;
        };
        assert_eq!(ledger.header(), "{\"seed\": 1}");
        let (events, error) = read_texts(&ledger);
        assert!(events.len() <= all.len());
        assert_eq!(events, all[..events.len()]);
        match error {
            Some(_) => is_reported = true,
            None if may_end_early => assert_eq!(events.len() % batch(0).len(), 0, "half a batch"),
            None => assert_eq!(events.len(), all.len(), "events are missing, but no error is reported"),
        }
        let note = ledger.note("encoder");
        assert!(note == Some("none") || (may_end_early && note.is_none()));
        if !is_reported && !may_end_early && index == 1 {
            ledger.append(&batch(BATCHES)).unwrap();
            assert_eq!(read_texts(&ledger), (texts(BATCHES + 1), None));
        }
    }
    is_reported
}

/// Returns variants of a file: truncated, with a flipped bit, with a corrupted range, with a zeroed sector.
fn variants(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let position = move |number: usize, of: usize| bytes.len() * number / of;
    let cut = (0..80).map(move |number| bytes[..position(number, 80)].to_vec());
    let flip = (0..300).map(move |number| {
        let mut bytes = bytes.to_vec();
        let position = position(number, 300) + number % 13;
        bytes[position] ^= 1 << (number % 8);
        bytes
    });
    let garble = (0..150).map(move |number| {
        let mut bytes = bytes.to_vec();
        let start = position(number, 150);
        let end = (start + 1 + 7 * number).min(bytes.len());
        for (offset, byte) in bytes[start..end].iter_mut().enumerate() {
            *byte = (offset * 151 + number * 31) as u8;
        }
        bytes
    });
    let sectors = bytes.len() / 512;
    let zeros = (0..sectors).step_by(1 + sectors / 100).map(move |sector| {
        let mut bytes = bytes.to_vec();
        bytes[512 * sector..512 * (sector + 1)].fill(0);
        bytes
    });
    cut.chain(flip).chain(garble).chain(zeros)
}

#[test]
fn a_damaged_file_never_gives_wrong_events() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.ledger");
    ledger_of(&whole, BATCHES);
    let bytes = fs::read(&whole).unwrap();
    let (mut tried, mut reported) = (0, 0);
    for variant in variants(&bytes) {
        let path = folder.path().join(format!("{tried}.ledger"));
        fs::write(&path, variant).unwrap();
        tried += 1;
        reported += u32::from(examine(&path, false));
    }
    // The other variants change unused bytes in the free space of pages.
    assert!(500 < tried && tried < 3 * reported, "{reported} of {tried} reported");
}

/// Cuts a ledger at every half page. Every event of a page that remains is recovered, unless its link cannot be checked
/// because the row before it is lost.
#[test]
fn salvage_recovers_the_events_of_a_truncated_file() {
    const PAGE: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.ledger");
    ledger_of(&whole, BATCHES);
    let bytes = fs::read(&whole).unwrap();
    let all = texts(BATCHES);
    let mut recovered = vec![];
    for half in 0..2 * bytes.len() / PAGE {
        let (cut, target) =
            (folder.path().join(format!("{half}.ledger")), folder.path().join(format!("{half}.salvaged")));
        fs::write(&cut, &bytes[..half * PAGE / 2]).unwrap();
        let salvaged = match salvage(&cut, &target) {
            Ok(salvaged) => salvaged,
            Err(error) => {
                assert!(!error.to_string().contains("querist salvage"), "{half}: {error}");
                recovered.push(0);
                continue;
            }
        };
        assert!(!salvaged.missing.is_empty() || !salvaged.problems.is_empty(), "{half}: nothing was reported");
        let (events, error) = read_texts(&Ledger::read(&target).unwrap());
        assert_eq!(error, None);
        let mut rest = all.iter();
        assert!(events.iter().all(|event| rest.any(|original| original == event)), "{half}: an event is not original");
        recovered.push(events.len());
    }
    assert!(recovered.is_sorted(), "{recovered:?}");
    assert!(recovered.iter().filter(|events| 0 < **events).count() > recovered.len() / 2, "{recovered:?}");
    assert!(all.len() * 3 / 4 < *recovered.last().unwrap(), "{recovered:?}");
}

#[test]
fn a_damaged_log_yields_whole_batches() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.ledger");
    let mut ledger = Ledger::create(&whole, "{\"seed\": 1}").unwrap();
    ledger.set_note("encoder", "none").unwrap();
    for number in 0..BATCHES {
        ledger.append(&batch(number)).unwrap();
    }
    let copy = |ending: &str| {
        let to = folder.path().join(format!("copy{ending}"));
        let from = format!("{}{ending}", whole.display());
        assert!(std::process::Command::new("cp").arg(from).arg(&to).status().unwrap().success());
        fs::read(to).unwrap()
    };
    let (file, log) = (copy(""), copy("-wal"));
    assert!(file.len() < log.len());
    for (number, variant) in variants(&log).step_by(4).enumerate() {
        let path = folder.path().join(format!("{number}.ledger"));
        fs::write(&path, &file).unwrap();
        fs::write(folder.path().join(format!("{number}.ledger-wal")), variant).unwrap();
        examine(&path, true);
    }
}

/// If any stored content has a wrong digest, a content that is missing under its digest counts as damaged, not as
/// purged.
/// SQLite deletes the journal of a file that it takes for an empty one.
#[test]
fn opening_a_truncated_ledger_keeps_its_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let journal = folder.path().join("run.ledger-wal");
    ledger_of(&path, 2);
    for length in 0..120 {
        fs::write(&path, vec![0x53; length]).unwrap();
        fs::write(&journal, b"the journal").unwrap();
        let target = folder.path().join(format!("{length}.salvaged"));
        assert!(Ledger::read(&path).is_err() && salvage(&path, target).is_err() && Inspection::of(&path).is_err());
        assert!(Ledger::open(&path).is_err(), "{length} bytes");
        assert_eq!(fs::read(&journal).unwrap(), b"the journal", "{length} bytes");
    }
}

#[test]
fn a_content_with_a_wrong_digest_is_not_reported_as_purged() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.ledger"), folder.path().join("copy.ledger"));
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    for text in ["one", "two"] {
        ledger.append(&[record("asked", "{}").with_content(text.to_owned())]).unwrap();
    }
    drop(ledger);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let digest = |text: &str| -> [u8; 32] {
        connection.query_row("SELECT digest FROM contents WHERE body = ?1", [text], |row| row.get(0)).unwrap()
    };
    let (one, two) = (digest("one"), digest("two"));
    let mut other = one;
    other[31] ^= 1;
    connection.execute("UPDATE contents SET digest = ?1 WHERE body = 'one'", [other]).unwrap();
    drop(connection);
    let ledger = Ledger::read(&path).unwrap();
    assert_eq!(ledger.content(&two).unwrap().as_deref(), Some("two"));
    for error in [ledger.content(&one).unwrap_err(), ledger.backup(&copy).unwrap_err()] {
        assert!(error.to_string().contains("a stored content does not match its digest"), "{error}");
    }
    drop(ledger);
    // A purge removes all contents, so the damage is gone too.
    Ledger::open(&path).unwrap().purge_contents().unwrap();
    assert_eq!(Ledger::read(&path).unwrap().content(&one).unwrap(), None);
}
