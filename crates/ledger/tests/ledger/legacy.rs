//! Ledgers of older versions are read without changes, and migrated when opened for writing.

use std::fs;
use std::path::{Path, PathBuf};

use querist_ledger::{Ledger, LedgerFault, Record};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::record;

/// Copies a fixture to a folder. Each was written by a release whose newest version was the fixture's.
fn fixture(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name), &path).unwrap();
    path
}

fn records(ledger: &Ledger) -> Vec<Record> {
    ledger.records().map(Result::unwrap).collect()
}

fn version(path: &Path) -> i64 {
    Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn version_1_is_read_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = fixture(folder.path(), "version-1.ledger");
    let before = {
        let ledger = Ledger::read(&path).unwrap();
        assert_eq!((ledger.header(), ledger.note("encoder")), (r#"{"command": "stream", "seed": 7}"#, Some("none")));
        records(&ledger)
    };
    assert_eq!(version(&path), 1, "reading changes nothing");
    let kinds: Vec<&str> = before.iter().map(|record| record.kind.as_str()).collect();
    assert_eq!(kinds, ["considered", "asked", "asked", "answered"]);
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.note("encoder"), Some("none"));
    ledger.append(&[record("asked", "{}")]).unwrap();
    drop(ledger);
    assert_eq!(version(&path), 3);
    let after = records(&Ledger::read(&path).unwrap());
    assert_eq!(after[..4], before);
    assert_eq!(after[4..], [record("asked", "{}")]);
}

const VERSION_2: [&str; 4] =
    ["version-2-label.ledger", "version-2-stream.ledger", "version-2-pool.ledger", "version-2-refit.ledger"];

#[test]
fn version_2_is_read_and_continued() {
    for name in VERSION_2 {
        let folder = tempfile::tempdir().unwrap();
        let path = fixture(folder.path(), name);
        let before = Ledger::read(&path).unwrap();
        let (header, counts, events) = (before.header().to_owned(), before.counts().clone(), records(&before));
        drop(before);
        assert_eq!(version(&path), 2, "reading changes nothing");
        assert!(10 < events.len(), "{name}");
        let opened = Ledger::open(&path).unwrap();
        assert_eq!((opened.header(), opened.counts(), records(&opened)), (header.as_str(), &counts, events.clone()));
        drop(opened);
        assert_eq!(version(&path), 3);
        let read = Ledger::read(&path).unwrap();
        assert_eq!((read.header(), read.counts(), records(&read)), (header.as_str(), &counts, events));
        let tables =
            "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name)";
        let tables: String = Connection::open(&path).unwrap().query_row(tables, [], |row| row.get(0)).unwrap();
        assert_eq!(tables, "contents events head header");
    }
}

/// Every number of the old tables is in the events, bit for bit.
#[test]
fn version_2_keeps_every_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = fixture(folder.path(), "version-2-label.ledger");
    let ledger = Ledger::read(&path).unwrap();
    let events: Vec<(String, Value)> = records(&ledger)
        .into_iter()
        .map(|record| (record.kind, serde_json::from_str(&record.fields).unwrap()))
        .collect();
    let asked: Vec<&Value> = events.iter().filter(|(kind, _)| kind == "asked").map(|(_, fields)| fields).collect();
    let connection = Connection::open(&path).unwrap();
    let query = "SELECT ask, id, probability, numbers, by, at FROM draws ORDER BY sequence";
    let mut statement = connection.prepare(query).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut found = 0;
    while let Some(row) = rows.next().unwrap() {
        let fields = asked[found];
        found += 1;
        let bytes: Vec<u8> = row.get(3).unwrap();
        let numbers: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        let of_odds = |name: &str| fields["odds"][name].as_f64().unwrap().to_bits();
        assert_eq!(fields["ask"].as_i64().unwrap(), row.get::<_, i64>(0).unwrap());
        assert_eq!(fields["id"].as_str().unwrap(), row.get::<_, String>(1).unwrap());
        assert_eq!(fields["probability"].as_f64().unwrap().to_bits(), row.get::<_, f64>(2).unwrap().to_bits());
        assert_eq!(fields["fingerprint"].as_f64().unwrap(), numbers[0]);
        assert_eq!(of_odds("uncertainty"), numbers[1].to_bits());
        assert_eq!(of_odds("total"), numbers[2].to_bits());
        assert_eq!(fields["odds"]["left"].as_f64().unwrap(), numbers[3]);
        assert_eq!(of_odds("least"), numbers[4].to_bits());
        assert_eq!(fields["guess"]["labels"].as_f64().unwrap(), numbers[5]);
        let guessed = fields["guess"]["likeliest"].as_array().unwrap();
        assert_eq!(guessed.len(), (numbers.len() - 6) / 2);
        for (guess, pair) in guessed.iter().zip(numbers[6..].as_chunks::<2>().0) {
            assert_eq!(*guess, json!({"label": pair[0], "probability": pair[1]}));
        }
        assert_eq!(fields["annotator"].as_str().unwrap(), row.get::<_, String>(4).unwrap());
        assert_eq!(fields["at"].as_i64().unwrap(), row.get::<_, i64>(5).unwrap());
    }
    assert_eq!(found, asked.len());
    let kinds: std::collections::BTreeSet<&str> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    let all = ["answered", "asked", "assigned", "fitted", "measured", "started", "withdrawn"];
    assert!(all.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
}

#[test]
fn damage_in_an_old_ledger_is_reported_before_migration() {
    let changes = [
        "UPDATE acts SET label = -label WHERE sequence = (SELECT max(sequence) FROM acts WHERE kind = 'label')",
        "UPDATE acts SET by = 'Eve' WHERE sequence = (SELECT min(sequence) FROM acts WHERE kind = 'label')",
        "UPDATE draws SET id = 'x' WHERE ask = 3",
        "DELETE FROM acts WHERE sequence = (SELECT min(sequence) FROM acts WHERE kind = 'label')",
        "UPDATE header SET text = 'x'",
        "DELETE FROM appends",
        "UPDATE appends SET asked = 1 WHERE sequence = (SELECT max(sequence) FROM appends)",
        "UPDATE notes SET value = 'x'",
        "DROP TABLE blocks",
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = fixture(folder.path(), "version-2-label.ledger");
    let intact = fs::read(&path).unwrap();
    for change in changes {
        fs::write(&path, &intact).unwrap();
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        for opened in [Ledger::read(&path), Ledger::open(&path)] {
            let fault = opened.expect_err(change).fault;
            assert!(matches!(fault, LedgerFault::Corrupt { .. }), "{change}: {fault}");
        }
        assert_eq!(version(&path), 2, "{change}");
    }
}
