//! After a file of an open ledger is deleted or replaced, nothing more is acknowledged, and a copy keeps all events.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use querist_ledger::{Ledger, LedgerFault};

use crate::support::{batch, n_batches, read_texts, texts};

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Replaces a file with a copy. Uses `cp`, because closing a handle in this process would drop SQLite's locks.
fn replace(path: &Path) {
    let copy = beside(path, "-copy");
    assert!(Command::new("cp").arg(path).arg(&copy).status().unwrap().success());
    fs::rename(copy, path).unwrap();
}

#[test]
fn appends_fail_after_a_file_was_deleted_or_replaced() {
    for ending in ["", "-wal", "-shm"] {
        for is_replaced in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().canonicalize().unwrap().join("run.ledger");
            let mut ledger = Ledger::create(&path, "{}").unwrap();
            ledger.append(&batch(0)).unwrap();
            let file = beside(&path, ending);
            if is_replaced {
                replace(&file);
            } else {
                fs::remove_file(&file).unwrap();
            }
            let fault = ledger.append(&batch(1)).unwrap_err().fault;
            let LedgerFault::Replaced { file: found, copy: Some(copy) } = fault else { panic!("{ending}: {fault}") };
            assert_eq!(found, file);
            assert!(matches!(ledger.append(&batch(2)).unwrap_err().fault, LedgerFault::Poisoned { .. }));
            drop(ledger);
            let copy = Ledger::open(copy).unwrap();
            assert_eq!((n_batches(&copy), read_texts(&copy)), (2, (texts(2), None)), "{ending}");
        }
    }
}

#[test]
fn an_idle_ledger_can_be_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    ledger.check_files().unwrap();
    ledger.append(&batch(0)).unwrap();
    ledger.checkpoint().unwrap();
    ledger.check_files().unwrap();
    fs::remove_file(&path).unwrap();
    assert!(matches!(ledger.check_files().unwrap_err().fault, LedgerFault::Replaced { copy: Some(_), .. }));
}

#[test]
fn names_beside_a_ledger_are_reserved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("run.ledger");
    drop(Ledger::create(&path, "{}").unwrap());
    for ending in ["-wal", "-shm", "-mark", "-lock", "-key"] {
        let name = beside(&path, ending);
        assert_eq!(Ledger::create(&name, "{}").unwrap_err().fault, LedgerFault::Reserved(path.clone()));
        assert_eq!(Ledger::read(&path).unwrap().backup(&name).unwrap_err().fault, LedgerFault::Reserved(path.clone()));
        assert_eq!(querist_ledger::owning_ledger(&name), Some(path.clone()));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&name, &link).unwrap();
        assert_eq!(querist_ledger::owning_ledger(&link), Some(path.clone()), "a link to a file that may not exist");
        fs::remove_file(link).unwrap();
    }
    assert_eq!(querist_ledger::owning_ledger(&path), Some(path.clone()));
    assert_eq!(querist_ledger::owning_ledger(folder.path().join("other-wal")), None);
}
