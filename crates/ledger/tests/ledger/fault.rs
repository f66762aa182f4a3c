//! Files that are not to be opened, each with its own words.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;

use querist_ledger::{Fault, Ledger};
use rusqlite::Connection;

use crate::support::{batch, child, ledger_of, read_texts, said, texts, this_program};

/// Both ways of opening refuse the file with these words.
fn refused(path: &Path, words: &str) {
    for found in [Ledger::open(path), Ledger::read(path)] {
        let message = found.expect_err(words).to_string();
        let expected = format!("{}: {words}", path.display());
        assert!(message.starts_with(&expected), "{message}\n{expected}");
    }
}

#[test]
fn other_files_are_refused_by_name_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    refused(&path("missing"), "no such file or folder\n  check the name");
    refused(folder.path(), "is not a file");
    fs::write(path("empty"), "").unwrap();
    refused(&path("empty"), "not a ledger of querist: an empty file\n  check the name");
    let text = "id,label\n".repeat(1000);
    fs::write(path("table.csv"), &text).unwrap();
    refused(&path("table.csv"), "not a ledger of querist: not an SQLite file\n  check the name");
    assert_eq!(fs::read_to_string(path("table.csv")).unwrap(), text);
    Connection::open(path("foreign"))
        .unwrap()
        .execute_batch("CREATE TABLE asks (time); PRAGMA user_version = 1")
        .unwrap();
    let before = fs::read(path("foreign")).unwrap();
    refused(&path("foreign"), "not a ledger of querist: an SQLite file of another program\n  check the name");
    assert_eq!(fs::read(path("foreign")).unwrap(), before);
}

#[test]
fn other_versions_and_altered_tables_are_refused() {
    let table = [
        ("PRAGMA user_version = 3", "a ledger of version 3, but this querist knows version 2\n  use a newer querist"),
        ("PRAGMA user_version = 0", "a ledger of version 0, but this querist knows version 2 only"),
        ("ALTER TABLE asks ADD COLUMN more TEXT", "damaged: the table asks is not as it was made"),
        ("DROP TABLE notes", "damaged: the table notes is not as it was made"),
        (
            "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM asks; END",
            "damaged: there is a trigger, t, which a ledger has not",
        ),
        ("DELETE FROM header", "damaged: the header is missing"),
        ("UPDATE header SET text = 'x'", "damaged: the header does not match its checksum"),
        ("DELETE FROM appends", "damaged: the last event is 16, but the last append ended with 0"),
        ("UPDATE appends SET asked = 7 WHERE sequence = 16", "damaged: row 16 of appends does not match its checksum"),
        ("DELETE FROM notes", "damaged: the last event is 15, but the last append ended with 16"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (number, (change, words)) in table.into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.ledger"));
        ledger_of(&path, 3);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {change}")).unwrap();
        drop(connection);
        refused(&path, words);
    }
}

#[test]
fn altered_rows_are_found_when_read() {
    let table = [
        ("UPDATE answers SET label = 1.0 WHERE sequence = 10", 9, "row 10 of answers does not match its checksum"),
        ("UPDATE answers SET by = NULL WHERE sequence = 5", 4, "row 5 of answers does not match its checksum"),
        ("UPDATE asks SET time = 99 WHERE sequence = 7", 6, "row 7 of asks does not match its checksum"),
        ("UPDATE asks SET probability = NULL WHERE sequence = 2", 1, "row 2 of asks does not match its checksum"),
        ("UPDATE asks SET extra = x'00' WHERE sequence = 8", 7, "1 bytes stand where numbers of 8 bytes should be"),
        ("UPDATE blocks SET count = 4 WHERE sequence = 6", 5, "row 6 of blocks has another count than probabilities"),
        ("UPDATE blocks SET first = -1 WHERE sequence = 6", 5, "-1 stands where no number below 0 can be"),
        ("UPDATE blocks SET totals = x'' WHERE sequence = 11", 10, "row 11 of blocks does not match its checksum"),
        ("DELETE FROM blocks WHERE sequence = 6", 5, "event 6 is missing"),
        ("DELETE FROM answers WHERE sequence = 5", 4, "event 5 is missing"),
        ("UPDATE notes SET value = 'x'", 15, ""),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (number, (change, good, words)) in table.into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.ledger"));
        ledger_of(&path, 3);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {change}")).unwrap();
        drop(connection);
        let ledger = Ledger::read(&path).unwrap();
        // One query reads up to 64 events, so the good ones before a bad one may be left out too.
        let (events, error) = read_texts(&ledger);
        assert!(events.len() <= good, "{change}");
        assert_eq!(events, texts(3)[..events.len()]);
        let message = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains(words), "{change}: {message}");
        let note = ledger.note("encoder").map_err(|error| error.to_string());
        assert_eq!(note.is_err(), change.contains("notes"), "{note:?}");
    }
}

#[test]
fn nothing_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 2);
    for taken in [path.as_path(), folder.path()] {
        let message = Ledger::create(taken, "{}").unwrap_err().to_string();
        assert!(message.contains("exists already\n  go on with it, or choose another name"), "{message}");
    }
    assert_eq!(read_texts(&Ledger::read(&path).unwrap()), (texts(2), None));
    let missing = Ledger::create(folder.path().join("no/run.ledger"), "{}").unwrap_err();
    assert_eq!(missing.fault, Fault::Missing);

    // A log without its file would be taken for the new file's own.
    let log = folder.path().join("gone.ledger-wal");
    fs::write(&log, "frames").unwrap();
    let message = Ledger::create(folder.path().join("gone.ledger"), "{}").unwrap_err().to_string();
    assert!(message.contains("the log of a deleted file is left"), "{message}");
    assert!(!folder.path().join("gone.ledger").exists());
    assert_eq!(fs::read(&log).unwrap(), b"frames");

    // What a killed process left half-made is no obstacle.
    fs::write(folder.path().join("half.ledger-new"), "half").unwrap();
    fs::write(folder.path().join("half.ledger-lock"), "1").unwrap();
    Ledger::create(folder.path().join("half.ledger"), "{}").unwrap().append(&batch(0)).unwrap();
}

#[test]
fn a_second_writer_is_refused_and_told_who_the_first_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 1);
    let ledger = Ledger::open(&path).unwrap();
    let words = format!("process {} is writing to it\n  wait until it has ended", std::process::id());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for name in [&path, &link] {
        let message = Ledger::open(name).unwrap_err().to_string();
        assert!(message.contains(&words), "{message}");
        assert_eq!(read_texts(&Ledger::read(name).unwrap()), (texts(1), None));
    }
    assert_eq!(
        ask(&path, "open", None),
        format!("{}: {}, or stop it; reading is possible", path.display(), words.replace('\n', " "))
    );
    assert_eq!(ask(&path, "read", None), "1 batches, None");
    drop(ledger);
    assert_eq!(ask(&path, "open", None), "opened 1 batches");

    let mut process = child(&this_program(), "append", &path).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.by_ref().find(|line| said(line).is_some()).unwrap();
    assert_eq!(Ledger::open(&path).unwrap_err().fault, Fault::Locked { by: Some(process.id()) });
    let reader = Ledger::read(&path).unwrap();
    let (events, error) = read_texts(&reader);
    assert_eq!((events, error), (texts(crate::support::n_batches(&reader)), None));
    process.kill().unwrap();
    process.wait().unwrap();
    Ledger::open(&path).unwrap();
}

/// What a child says, as this user or as a user with fewer rights.
fn ask(path: &Path, task: &str, user: Option<(&Path, u32)>) -> String {
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
    // Permissions do not bind the superuser, so the child is then nobody.
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
    assert_eq!(ask(&path, "read", user), "2 batches, None");
    assert_eq!(ask(&path, "open", user), format!("{}: {words}", path.display()));
    let new = shelf.join("new.ledger");
    assert_eq!(ask(&new, "create", user), format!("{}: {words}", new.display()));

    // A ledger that was not closed, without the memory that SQLite shares among processes.
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
    let answer = ask(&copy, "read", user);
    assert!(
        answer.contains("its last events stand in the -wal file beside it") || answer == "3 batches, None",
        "{answer}"
    );
    allow(&other, 0o755);
    assert_eq!(ask(&copy, "read", None), "3 batches, None");
}
