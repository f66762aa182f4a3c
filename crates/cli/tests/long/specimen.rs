//! Small ledgers of a labeling session, as bytes that can be damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use querist_engine::session::SessionEvent;
use querist_ledger::{Ledger, Record};
use rusqlite::Connection;
use serde_json::json;

use crate::common::client::{LabelServer, TestClient};
use crate::common::querist;

/// SQLite's smallest page, so that a ledger of a few answers has many pages and few unused bytes.
pub(crate) const PAGE: usize = 512;
/// A page in the journal, with its header.
pub(crate) const FRAME: usize = PAGE + 24;
/// The header of the journal.
pub(crate) const JOURNAL_HEADER: usize = 32;

/// The name of the ledger in the folder where commands run.
pub(crate) const LEDGER: &str = "run.ledger";
const DATA: &str = "data.csv";
/// The files of a ledger: itself, its journal, its watermark.
const ENDINGS: [&str; 3] = ["", "-wal", "-mark"];

/// The command that starts or continues the session.
pub(crate) const LABEL: [&str; 12] =
    ["label", DATA, "--text", "t", "--labels", "n,y", "--ledger", LEDGER, "--port", "0", "--json", "--no-browser"];

/// The bytes of a ledger's files.
#[derive(Clone)]
pub(crate) struct Specimen {
    pub(crate) name: &'static str,
    /// The ledger, its journal and its watermark.
    pub(crate) files: [Option<Vec<u8>>; 3],
}

impl Specimen {
    /// Reads the files of a ledger, even of an open one: closing a file handle of this process would drop SQLite's
    /// locks.
    fn of(name: &'static str, path: &Path) -> Self {
        let files = ENDINGS.map(|ending| {
            let from = beside(path, ending);
            let copy = path.with_extension("copy");
            let is_copied = from.exists() && Command::new("cp").args([&from, &copy]).status().unwrap().success();
            is_copied.then(|| fs::read(&copy).unwrap())
        });
        Self { name, files }
    }

    pub(crate) fn file(&self) -> &[u8] {
        self.files[0].as_deref().unwrap_or_default()
    }

    pub(crate) fn journal(&self) -> &[u8] {
        self.files[1].as_deref().unwrap_or_default()
    }

    /// Returns the same ledger with other bytes in one of its files.
    pub(crate) fn with(&self, file: usize, bytes: Vec<u8>) -> Self {
        let mut changed = self.clone();
        changed.files[file] = Some(bytes);
        changed
    }

    /// Writes the files to a folder, and removes whatever else is beside them.
    pub(crate) fn lay(&self, folder: &Path) {
        let path = folder.join(LEDGER);
        for (ending, bytes) in ENDINGS.iter().zip(&self.files) {
            match bytes {
                Some(bytes) => fs::write(beside(&path, ending), bytes).unwrap(),
                None => remove(&beside(&path, ending)),
            }
        }
        for ending in ["-shm", "-lock", "-key", "-journal"] {
            remove(&beside(&path, ending));
        }
    }

    /// Returns whether the ledger and its journal in a folder still have these bytes. SQLite may create an empty
    /// journal.
    pub(crate) fn is_unchanged(&self, folder: &Path) -> bool {
        let found = |ending: &str| fs::read(beside(&folder.join(LEDGER), ending)).unwrap_or_default();
        found("") == self.file() && found("-wal") == self.journal()
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Writes the data of the session.
pub(crate) fn write_data(folder: &Path) {
    let words = ["ice", "sun", "sea", "ink", "oak", "elm", "fig", "rye"];
    let rows: Vec<String> = words.iter().enumerate().map(|(row, word)| format!("i{row},{word} {row}\n")).collect();
    fs::write(folder.join(DATA), format!("id,t\n{}", rows.concat())).unwrap();
}

/// Starts a server, lets a client act, and shuts the server down.
fn serve(folder: &Path, act: impl FnOnce(&mut TestClient)) {
    let mut command = querist(&LABEL);
    command.current_dir(folder);
    let mut server = LabelServer::from_command(command);
    act(&mut server.client());
    assert!(server.terminate());
}

fn answer(client: &mut TestClient, key: &str, label: &str) {
    let item = client.next("ann", 1).unwrap().remove(0);
    client.answer("ann", &item["ask"], key, label).unwrap();
}

/// Labels a few items, and returns the ledger of a closed session and that of a killed one.
///
/// The closed one has everything in its file. The killed one has the first answers in its file and the others in its
/// journal.
pub(crate) fn make(folder: &Path) -> [Specimen; 2] {
    write_data(folder);
    let path = folder.join(LEDGER);
    serve(folder, |client| {
        answer(client, "a", "y");
        answer(client, "b", "n");
    });
    let first = folder.join("first.ledger");
    fs::copy(&path, &first).unwrap();
    serve(folder, |client| {
        answer(client, "c", "n");
        answer(client, "d", "y");
        assert_eq!(client.post("/api/undo", &json!({"annotator": "ann", "key": "e"})).unwrap().0, 200);
        let item = client.next("ann", 1).unwrap().remove(0);
        let skip = json!([{"ask": item["ask"], "annotator": "ann", "key": "f", "skip": true}]);
        assert_eq!(client.post("/api/answers", &skip).unwrap().0, 200);
    });
    let all = records(&path);
    let n_before = records(&first).len();
    shrink_pages(&path);
    shrink_pages(&first);
    let closed = Specimen::of("closed", &path);
    let mut ledger = Ledger::open(&first).unwrap();
    for commit in all[n_before..].chunks(2) {
        ledger.append(commit).unwrap();
    }
    let killed = Specimen::of("killed", &first);
    assert!(closed.files[1].is_none() && killed.files[1].is_some() && killed.files[2].is_some());
    [closed, killed]
}

/// Reads the events of a session, with the contents that they name.
fn records(path: &Path) -> Vec<Record> {
    let ledger = Ledger::read(path).unwrap();
    let with_content = |record: Record| match record.decode().unwrap() {
        SessionEvent::Asked { content: Some(digest), .. } => {
            record.with_content(ledger.content(&digest.0).unwrap().unwrap())
        }
        _ => record,
    };
    ledger.records().map(|record| with_content(record.unwrap())).collect()
}

/// Rewrites a ledger in small pages.
fn shrink_pages(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", "DELETE").unwrap();
    connection.pragma_update(None, "page_size", PAGE as u32).unwrap();
    connection.execute_batch("VACUUM").unwrap();
    drop(connection);
    // Opening a ledger to write restores its journal mode.
    drop(Ledger::open(path).unwrap());
    assert_eq!(fs::metadata(path).unwrap().len() as usize % PAGE, 0);
}
