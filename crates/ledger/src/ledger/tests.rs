//! Tests that need the connection: its settings, and a full disk, simulated by a limit on `SQLite`'s pages.

use super::*;

/// A kill leaves the operating system running, so no integration test can observe whether commits are synced.
#[test]
fn commits_are_synced_to_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    drop(Ledger::create(&path, "{}").unwrap());
    let ledger = Ledger::open(&path).unwrap();
    for (name, value) in [("synchronous", 2), ("fullfsync", 1), ("checkpoint_fullfsync", 1), ("secure_delete", 1)] {
        let found: i64 = ledger.connection.pragma_query_value(None, name, |row| row.get(0)).unwrap();
        assert_eq!(found, value, "{name}");
    }
    let mode: String = ledger.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn a_full_disk_loses_nothing_and_stops_all_writing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    let block = |first: u64| Record {
        kind: "block".to_owned(),
        fields: format!("{{\"first\":{first}}}"),
        data: Some(vec![5; 8000]),
        content: None,
    };
    ledger.append(&[block(0)]).unwrap();
    let pages: i64 = ledger.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let limit = ledger.connection.pragma_update_and_check(None, "max_page_count", pages, |row| row.get::<_, i64>(0));
    assert_eq!(limit.unwrap(), pages);

    let error = ledger.append(&[block(1000), block(2000)]).unwrap_err();
    assert_eq!(error.fault, LedgerFault::Full);
    assert!(error.to_string().contains("the disk is full\n  acknowledged events are saved"), "{error}");
    let poisoned = LedgerFault::Poisoned { because: "the disk is full".to_owned() };
    assert_eq!(ledger.append(&[]).unwrap_err().fault, poisoned);
    assert_eq!(ledger.set_note("finished", "no").unwrap_err().fault, poisoned);
    assert_eq!(ledger.count("block"), 1);
    assert_eq!(ledger.records().collect::<Result<Vec<_>, _>>().unwrap(), [block(0)]);
    assert_eq!(Ledger::open(&path).unwrap_err().fault, LedgerFault::Locked { by: Some(std::process::id()) });
    drop(ledger);

    let mut ledger = Ledger::open(&path).unwrap();
    ledger.append(&[block(1000)]).unwrap();
    assert_eq!(ledger.records().collect::<Result<Vec<_>, _>>().unwrap(), [block(0), block(1000)]);
}
