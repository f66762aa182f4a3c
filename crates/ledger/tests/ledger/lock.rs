//! A ledger has one writer, even if its lock file is deleted or it is opened under another name.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use querist_ledger::{Ledger, LedgerFault};

use crate::support::{batch, child, n_batches, read_texts, said, texts, this_program};

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Opens the ledger in another process and returns the line that it prints.
fn open_in_child(path: &Path) -> String {
    let output = child(&this_program(), "open", path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(said).unwrap().to_owned()
}

#[test]
fn a_second_writer_is_rejected_after_the_lock_file_was_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    for number in 0..5 {
        ledger.append(&batch(number)).unwrap();
        fs::remove_file(beside(&path, "-lock")).unwrap();
        assert_eq!(Ledger::open(&path).unwrap_err().fault, LedgerFault::Locked { by: None }, "in this process");
        let rejected = open_in_child(&path);
        assert!(rejected.contains("another process is writing to it"), "{rejected}");
        // Recreated, so that each iteration starts from the same state.
        fs::write(beside(&path, "-lock"), "").unwrap();
    }
    drop(ledger);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!((n_batches(&ledger), read_texts(&ledger)), (5, (texts(5), None)));
}

/// The writer is another process here; a rejected attempt must not disturb it.
#[test]
fn a_rejected_attempt_does_not_disturb_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    drop(Ledger::create(&path, "{}").unwrap());
    let mut process = child(&this_program(), "append", &path).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut acknowledged = || {
        let number = |line: String| said(&line)?.strip_prefix("acknowledged ")?.parse::<u64>().ok();
        lines.by_ref().find_map(number).unwrap()
    };
    for _ in 0..5 {
        let before = acknowledged();
        let _ = fs::remove_file(beside(&path, "-lock"));
        assert!(matches!(Ledger::open(&path).unwrap_err().fault, LedgerFault::Locked { .. }));
        assert!(before < acknowledged());
    }
    let last = acknowledged();
    process.kill().unwrap();
    process.wait().unwrap();
    let ledger = Ledger::open(&path).unwrap();
    assert!(last < n_batches(&ledger));
    assert_eq!(read_texts(&ledger), (texts(n_batches(&ledger)), None));
}

#[test]
fn a_ledger_with_two_hard_links_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("run.ledger"), folder.path().join("other.ledger"));
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    ledger.append(&batch(0)).unwrap();
    fs::hard_link(&path, &other).unwrap();
    let error = Ledger::open(&other).unwrap_err();
    assert_eq!(error.fault, LedgerFault::Linked { names: 2 }, "while it is written to");
    assert!(error.to_string().contains("has 2 names (hard links)"), "{error}");
    assert!(!beside(&other, "-wal").exists() && !beside(&other, "-lock").exists(), "nothing is left behind");
    ledger.append(&batch(1)).unwrap();
    drop(ledger);
    for name in [&path, &other] {
        assert_eq!(Ledger::open(name).unwrap_err().fault, LedgerFault::Linked { names: 2 });
    }
    fs::remove_file(&other).unwrap();
    assert_eq!(n_batches(&Ledger::open(&path).unwrap()), 2);
}
