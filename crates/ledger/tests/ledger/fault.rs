//! Files that are rejected on opening, each with its own message.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;

use querist_ledger::{Ledger, LedgerFault};
use rusqlite::Connection;

use crate::support::{batch, child, ledger_of, read_texts, said, texts, this_program};

/// Asserts that both ways of opening reject the file with this message.
fn assert_rejected(path: &Path, words: &str) {
    for found in [Ledger::open(path), Ledger::read(path)] {
        let message = found.expect_err(words).to_string();
        let expected = format!("{}: {words}", path.display());
        assert!(message.starts_with(&expected), "{message}\n{expected}");
    }
}

#[test]
fn files_that_are_not_ledgers_are_rejected_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert_rejected(&path("missing"), "the file does not exist\n  check the name");
    assert_rejected(folder.path(), "is not a file");
    fs::write(path("empty"), "").unwrap();
    assert_rejected(&path("empty"), "not a Querist ledger: an empty file\n  check the name");
    let text = "id,label\n".repeat(1000);
    fs::write(path("table.csv"), &text).unwrap();
    assert_rejected(&path("table.csv"), "not a Querist ledger: not an SQLite file\n  check the name");
    assert_eq!(fs::read_to_string(path("table.csv")).unwrap(), text);
    Connection::open(path("foreign"))
        .unwrap()
        .execute_batch("CREATE TABLE asks (time); PRAGMA user_version = 1")
        .unwrap();
    let before = fs::read(path("foreign")).unwrap();
    assert_rejected(&path("foreign"), "not a Querist ledger: an SQLite file of another program\n  check the name");
    assert_eq!(fs::read(path("foreign")).unwrap(), before);
}

#[test]
fn other_versions_and_altered_tables_are_rejected() {
    let table = [
        (
            "PRAGMA user_version = 4",
            "a ledger of version 4, but this program reads version 3\n  install a newer version of Querist",
        ),
        ("PRAGMA user_version = 0", "a ledger of version 0, but this program reads only version 3"),
        ("ALTER TABLE events ADD COLUMN more TEXT", "damaged: the table events is missing or altered"),
        ("DROP TABLE contents", "damaged: the table contents is missing or altered"),
        (
            "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM contents; END",
            "damaged: it has a trigger, t, which a ledger must not have",
        ),
        ("DELETE FROM header", "damaged: the header is missing"),
        ("INSERT INTO header VALUES ('{}')", "damaged: the header appears twice"),
        ("UPDATE header SET text = 'x'", "damaged: event 1 does not match the hash chain"),
        ("DELETE FROM head", "damaged: the head is missing"),
        ("UPDATE head SET sequence = 15", "damaged: 15 events were acknowledged, but 16 are stored"),
        ("UPDATE head SET sequence = -1", "damaged: a count is -1"),
        ("UPDATE head SET chain = zeroblob(32)", "damaged: the head does not match the hash chain"),
        ("UPDATE head SET chain = x'00'", "damaged: "),
        ("DELETE FROM events WHERE sequence = 16", "damaged: 16 events were acknowledged, but 15 are stored"),
        ("DELETE FROM events WHERE sequence = 6", "damaged: event 6 is missing; event 7 follows instead"),
        ("UPDATE events SET sequence = 0 WHERE sequence = 1", "damaged: event 1 is missing; event 2 follows instead"),
        ("UPDATE events SET kind = 'asked' WHERE sequence = 5", "damaged: event 5 does not match the hash chain"),
        (
            "UPDATE events SET fields = replace(fields, '-1.0', '1.0') WHERE sequence = 10",
            "damaged: event 10 does not match the hash chain",
        ),
        ("UPDATE events SET data = NULL WHERE sequence = 2", "damaged: event 2 does not match the hash chain"),
        ("UPDATE events SET data = x'' WHERE sequence = 5", "damaged: event 5 does not match the hash chain"),
        ("UPDATE events SET chain = x'' WHERE sequence = 3", "damaged: event 3 does not match the hash chain"),
        (
            "UPDATE events SET fields = replace(fields, 'none', 'x') WHERE kind = 'note'",
            "damaged: event 16 does not match the hash chain",
        ),
        (
            "UPDATE events SET sequence = 100 WHERE sequence = 2; UPDATE events SET sequence = 2 WHERE sequence = 3; \
             UPDATE events SET sequence = 3 WHERE sequence = 100",
            "damaged: event 2 does not match the hash chain",
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (number, (change, words)) in table.into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.ledger"));
        ledger_of(&path, 3);
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        assert_rejected(&path, words);
    }
}

#[test]
fn a_ledger_opened_for_reading_rejects_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 1);
    let mut ledger = Ledger::read(&path).unwrap();
    assert_eq!(ledger.append(&batch(1)).unwrap_err().fault, LedgerFault::OpenedForReading);
    assert_eq!(ledger.set_note("a", "b").unwrap_err().fault, LedgerFault::OpenedForReading);
    assert_eq!(ledger.purge_contents().unwrap_err().fault, LedgerFault::OpenedForReading);
    assert_eq!(read_texts(&ledger), (texts(1), None));
}

#[test]
fn create_never_overwrites_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 2);
    for taken in [path.as_path(), folder.path()] {
        let message = Ledger::create(taken, "{}").unwrap_err().to_string();
        assert!(message.contains("already exists\n  resume it, or choose another name"), "{message}");
    }
    assert_eq!(read_texts(&Ledger::read(&path).unwrap()), (texts(2), None));
    let missing = Ledger::create(folder.path().join("no/run.ledger"), "{}").unwrap_err();
    assert_eq!(missing.fault, LedgerFault::Missing);

    // SQLite would treat a log without its file as the new file's own.
    let log = folder.path().join("gone.ledger-wal");
    fs::write(&log, "frames").unwrap();
    let message = Ledger::create(folder.path().join("gone.ledger"), "{}").unwrap_err().to_string();
    assert!(message.contains("the log of a deleted file remains"), "{message}");
    assert!(!folder.path().join("gone.ledger").exists());
    assert_eq!(fs::read(&log).unwrap(), b"frames");

    // Incomplete files of a killed process do not prevent creation.
    fs::write(folder.path().join("half.ledger-new"), "half").unwrap();
    fs::write(folder.path().join("half.ledger-lock"), "1").unwrap();
    Ledger::create(folder.path().join("half.ledger"), "{}").unwrap().append(&batch(0)).unwrap();
}

#[test]
fn a_second_writer_is_rejected_with_the_process_id_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 1);
    let ledger = Ledger::open(&path).unwrap();
    let words = format!("process {} is writing to it\n  wait until it ends", std::process::id());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for name in [&path, &link] {
        let message = Ledger::open(name).unwrap_err().to_string();
        assert!(message.contains(&words), "{message}");
        assert_eq!(read_texts(&Ledger::read(name).unwrap()), (texts(1), None));
    }
    assert_eq!(
        run_child(&path, "open", None),
        format!("{}: {}, or stop it; you can still read the ledger", path.display(), words.replace('\n', " "))
    );
    assert_eq!(run_child(&path, "read", None), "1 batches, None");
    drop(ledger);
    assert_eq!(run_child(&path, "open", None), "opened 1 batches");

    let mut process = child(&this_program(), "append", &path).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.by_ref().find(|line| said(line).is_some()).unwrap();
    assert_eq!(Ledger::open(&path).unwrap_err().fault, LedgerFault::Locked { by: Some(process.id()) });
    let reader = Ledger::read(&path).unwrap();
    let (events, error) = read_texts(&reader);
    assert_eq!((events, error), (texts(crate::support::n_batches(&reader)), None));
    process.kill().unwrap();
    process.wait().unwrap();
    Ledger::open(&path).unwrap();
}

/// Runs a task in a child process, as this user or as one with fewer rights, and returns the line it prints.
fn run_child(path: &Path, task: &str, user: Option<(&Path, u32)>) -> String {
    let mut command = match user {
        Some((program, _)) => child(program, task, path),
        None => child(&this_program(), task, path),
    };
    if let Some((_, user)) = user {
        command.uid(user).gid(user).current_dir("/");
    }
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    output.lines().find_map(said).unwrap_or("nothing").to_owned()
}

#[test]
fn a_read_only_folder_can_be_read_but_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    allow(folder.path(), 0o755);
    let program = folder.path().join("program");
    fs::copy(this_program(), &program).unwrap();
    // Permissions do not restrict the superuser, so the child then runs as the user `nobody`.
    let user = match fs::metadata(&program).unwrap().uid() {
        0 => Some((program.as_path(), 65534)),
        _ => None,
    };
    let shelf = folder.path().join("shelf");
    fs::create_dir(&shelf).unwrap();
    let path = shelf.join("a b?c%d.ledger");
    ledger_of(&path, 2);
    allow(&path, 0o444);
    allow(&shelf, 0o555);
    let words = "the file or its folder is read-only   change its permissions, or copy it";
    assert_eq!(run_child(&path, "read", user), "2 batches, None");
    assert_eq!(run_child(&path, "open", user), format!("{}: {words}", path.display()));
    let new = shelf.join("new.ledger");
    assert_eq!(run_child(&new, "create", user), format!("{}: {words}", new.display()));

    // A ledger that was not closed, copied without SQLite's shared-memory file.
    allow(&shelf, 0o755);
    allow(&path, 0o644);
    let mut ledger = Ledger::open(&path).unwrap();
    ledger.append(&batch(2)).unwrap();
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let copy = other.join("run.ledger");
    for ending in ["", "-wal"] {
        let from = format!("{}{ending}", path.display());
        let to = format!("{}{ending}", copy.display());
        // `cp`, because closing a handle of ours would drop the locks that SQLite holds.
        assert!(std::process::Command::new("cp").args([&from, &to]).status().unwrap().success());
        allow(Path::new(&to), 0o444);
    }
    allow(&other, 0o555);
    let answer = run_child(&copy, "read", user);
    assert!(
        answer.contains("its last events are in the -wal file beside it") || answer == "3 batches, None",
        "{answer}"
    );
    allow(&other, 0o755);
    assert_eq!(run_child(&copy, "read", None), "3 batches, None");
}
