//! A damaged, truncated or missing journal is reported with the number of lost events; the journal after a kill is not.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use querist_ledger::{EventLoss, Inspection, Ledger, LedgerFault, LossCause, Writer, salvage};

use crate::support::{batch, ledger_of, n_batches, read_texts, texts};

const BATCHES: u64 = 12;
const PER_BATCH: u64 = 5;

/// The files of a ledger whose process was killed: all events are still in the journal.
struct Killed {
    file: Vec<u8>,
    journal: Vec<u8>,
    mark: Vec<u8>,
}

impl Killed {
    fn new(folder: &Path) -> Self {
        let path = folder.join("live.ledger");
        let mut ledger = Ledger::create(&path, "{\"seed\": 1}").unwrap();
        for number in 0..BATCHES {
            ledger.append(&batch(number)).unwrap();
        }
        // `cp`, because closing a handle of ours would drop the locks that SQLite holds.
        let copy = |ending: &str| {
            let (from, to) = (format!("{}{ending}", path.display()), folder.join(format!("copy{ending}")));
            assert!(std::process::Command::new("cp").arg(from).arg(&to).status().unwrap().success());
            fs::read(to).unwrap()
        };
        Self { file: copy(""), journal: copy("-wal"), mark: copy("-mark") }
    }

    /// Writes these files under a new name and returns its path.
    fn write_files(&self, folder: &Path, journal: Option<&[u8]>, has_mark: bool) -> PathBuf {
        let path = folder.join("run.ledger");
        for ending in ["-wal", "-shm", "-mark"] {
            let _ = fs::remove_file(format!("{}{ending}", path.display()));
        }
        fs::write(&path, &self.file).unwrap();
        if let Some(journal) = journal {
            fs::write(folder.join("run.ledger-wal"), journal).unwrap();
        }
        if has_mark {
            fs::write(folder.join("run.ledger-mark"), &self.mark).unwrap();
        }
        path
    }
}

/// Opens a ledger both ways and returns its number of batches and its loss. Asserts that both ways agree on the loss,
/// that the events are an intact prefix, and that opening for writing fails if there is a loss.
fn examine(path: &Path) -> (u64, Option<EventLoss>) {
    let reader = Ledger::read(path).unwrap();
    let (n_found, loss) = (n_batches(&reader), reader.loss().cloned());
    assert_eq!(read_texts(&reader), (texts(n_found), None));
    drop(reader);
    match Ledger::open(path) {
        Ok(ledger) => assert_eq!((n_batches(&ledger), None), (n_found, loss.clone())),
        Err(error) => assert_eq!(error.fault, LedgerFault::Lost(loss.clone().unwrap())),
    }
    (n_found, loss)
}

#[test]
fn a_killed_ledger_loses_nothing_and_needs_no_confirmation() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Killed::new(folder.path());
    assert_eq!(examine(&killed.write_files(folder.path(), Some(&killed.journal), true)), (BATCHES, None));
    // An incompletely written frame: its append was not acknowledged.
    let torn = [&killed.journal[..], &killed.journal[32..1000]].concat();
    assert_eq!(examine(&killed.write_files(folder.path(), Some(&torn), true)), (BATCHES, None));
}

#[test]
fn a_ledger_copied_without_its_journal_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Killed::new(folder.path());
    let cause = LossCause::NoJournal;
    let lost = |missing| Some(EventLoss { recovered: 0, missing, cause });
    assert_eq!(examine(&killed.write_files(folder.path(), None, true)), (0, lost(Some(BATCHES * PER_BATCH))));
    let path = killed.write_files(folder.path(), None, false);
    assert_eq!(examine(&path), (0, lost(None)));
    let message = Ledger::open(&path).unwrap_err().to_string();
    let words = "acknowledged events may be missing: it was copied without its journal (-wal), or the journal was deleted; \
                 0 events are intact\n  restore a backup with its journal, or continue without them with --accept-loss";
    assert!(message.ends_with(words), "{message}");
    let problems = Inspection::of(&path).unwrap().problems;
    assert!(problems.len() == 1 && problems[0].contains("copied without its journal"), "{problems:?}");
}

#[test]
fn a_missing_watermark_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Killed::new(folder.path());
    let path = killed.write_files(folder.path(), Some(&killed.journal), false);
    let loss = EventLoss { recovered: BATCHES * PER_BATCH, missing: None, cause: LossCause::NoMark };
    assert_eq!(examine(&path), (BATCHES, Some(loss)));
}

/// Reading a ledger leaves no file beside it that could be mistaken for its journal.
#[test]
fn a_missing_journal_is_reported_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Killed::new(folder.path());
    let path = killed.write_files(folder.path(), None, false);
    for time in 0..3 {
        assert!(!Inspection::of(&path).unwrap().problems.is_empty(), "{time}");
        assert!(
            !salvage(&path, folder.path().join(format!("new-{time}.ledger"))).unwrap().problems.is_empty(),
            "{time}"
        );
        assert!(Ledger::read(&path).unwrap().loss().is_some(), "{time}");
        assert!(!folder.path().join("run.ledger-wal").exists(), "{time}");
    }
    // An empty journal, as SQLite creates it, counts as missing.
    fs::write(folder.path().join("run.ledger-wal"), "").unwrap();
    assert_eq!(examine(&path).1.map(|loss| loss.cause), Some(LossCause::NoJournal));
}

#[test]
fn an_old_journal_beside_a_closed_ledger_is_reported_and_never_used() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Killed::new(folder.path());
    let path = killed.write_files(folder.path(), Some(&killed.journal), true);
    let mut ledger = Ledger::open(&path).unwrap();
    ledger.append(&batch(BATCHES)).unwrap();
    drop(ledger);
    let whole = fs::read(&path).unwrap();
    fs::write(folder.path().join("run.ledger-wal"), &killed.journal).unwrap();
    for mark in [None, Some(&killed.mark)] {
        if let Some(mark) = mark {
            fs::write(folder.path().join("run.ledger-mark"), mark).unwrap();
        }
        let found = examine(&path);
        let lost = EventLoss { recovered: BATCHES * PER_BATCH, missing: Some(PER_BATCH), cause: LossCause::OldJournal };
        assert_eq!(found, (BATCHES, Some(lost)));
        let error = Ledger::open_accepting_loss(&path).unwrap_err().to_string();
        assert!(error.ends_with("move the journal to another folder, then try again"), "{error}");
        assert!(
            Inspection::of(&path).unwrap().problems.iter().any(|problem| problem.contains("older than the ledger"))
        );
    }
    assert_eq!(fs::read(&path).unwrap(), whole);
    for ending in ["-wal", "-shm", "-mark"] {
        let _ = fs::remove_file(format!("{}{ending}", path.display()));
    }
    assert_eq!(examine(&path), (BATCHES + 1, None));
}

/// Salvage reports the events lost with the journal, and records them in the new ledger.
#[test]
fn salvage_reports_events_lost_with_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Killed::new(folder.path());
    let to = folder.path().join("new.ledger");
    let cut = killed.journal.len() - 3000;
    let table = [(None, true, "60 acknowledged"), (None, false, "may be missing"), (Some(cut), true, "5 acknowledged")];
    for (journal, has_mark, words) in table {
        let path = killed.write_files(folder.path(), journal.map(|end| &killed.journal[..end]), has_mark);
        let _ = fs::remove_file(&to);
        let found = salvage(&path, &to).unwrap();
        assert!(found.problems.len() == 1 && found.problems[0].contains(words), "{found:?}");
        let new = Ledger::read(&to).unwrap();
        assert!(new.note("salvaged").is_some_and(|note| note.contains("\"journal\"")), "{:?}", new.note("salvaged"));
        let described = new.missing_events().unwrap();
        assert!(described.contains("missing after event") && !described.contains('{'), "{described}");
    }
    let path = killed.write_files(folder.path(), Some(&killed.journal), true);
    fs::remove_file(&to).unwrap();
    assert!(salvage(&path, &to).unwrap().problems.is_empty());
    assert_eq!(Ledger::read(&to).unwrap().missing_events(), None);
}

#[test]
fn an_accepted_loss_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Killed::new(folder.path());
    let path = killed.write_files(folder.path(), None, true);
    let mut ledger = Ledger::open_accepting_loss(&path).unwrap();
    assert_eq!(ledger.note("accepted-loss"), Some(r#"{"after":0,"missing":60}"#));
    ledger.append(&batch(0)).unwrap();
    drop(ledger);
    assert_eq!(examine(&path), (1, None));
    // Without a loss no note is added.
    let ledger = Ledger::open_accepting_loss(&path).unwrap();
    assert_eq!(ledger.counts()["note"], 1);
}

#[test]
fn every_damaged_byte_of_a_journal_is_harmless_or_reported() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Killed::new(folder.path());
    let mut reported = 0;
    // Every byte of the headers, and some of each page.
    let page = 4096 + 24;
    let positions = (0..killed.journal.len()).filter(|at| *at < 32 || (at - 32) % page < 24 || at % 509 == 0);
    for position in positions {
        let mut journal = killed.journal.clone();
        journal[position] ^= 1 << (position % 8);
        for has_mark in [true, false] {
            let (n_found, loss) = examine(&killed.write_files(folder.path(), Some(&journal), has_mark));
            assert!(
                loss.is_some() || n_found == BATCHES,
                "byte {position}: {n_found} batches, but no loss is reported"
            );
            if let (true, Some(loss)) = (has_mark, &loss) {
                let missing = PER_BATCH * (BATCHES - n_found);
                assert_eq!(loss.missing.unwrap_or(0), missing, "byte {position}");
            }
            reported += u64::from(loss.is_some());
        }
    }
    assert!(100 < reported, "{reported}");
}

#[test]
fn every_truncation_of_a_journal_is_reported_by_the_watermark() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Killed::new(folder.path());
    let page = 4096 + 24;
    for end in (0..=killed.journal.len()).filter(|end| *end < 40 || (*end - 32) % page < 2 || end % 1021 == 0) {
        let (n_found, loss) = examine(&killed.write_files(folder.path(), Some(&killed.journal[..end]), true));
        let missing = PER_BATCH * (BATCHES - n_found);
        assert_eq!(loss.and_then(|loss| loss.missing).unwrap_or(0), missing, "cut at {end}");
    }
}

#[test]
fn a_closed_ledger_has_no_watermark_and_can_be_copied_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.ledger"), folder.path().join("copy.ledger"));
    ledger_of(&path, 3);
    assert!(!folder.path().join("run.ledger-mark").exists());
    fs::copy(&path, &copy).unwrap();
    assert_eq!(examine(&copy), (3, None));
    // Opening without appending does not change that.
    drop(Ledger::open(&copy).unwrap());
    assert_eq!(examine(&copy), (3, None));
}

#[test]
fn an_idle_writer_checkpoints_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let writer = Writer::new(Ledger::create(&path, "{\"seed\": 1}").unwrap());
    let (sender, receiver) = channel();
    writer.append(batch(0), move |done| sender.send(done).unwrap());
    receiver.recv().unwrap().unwrap();
    let journal = folder.path().join("run.ledger-wal");
    // The checkpoint takes about a second; the test waits without a timeout.
    while fs::metadata(&journal).unwrap().len() != 0 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let copy = folder.path().join("copy.ledger");
    assert!(std::process::Command::new("cp").arg(&path).arg(&copy).status().unwrap().success());
    // The copy is complete, but nothing in it proves that.
    let reader = Ledger::read(&copy).unwrap();
    assert_eq!(read_texts(&reader), (texts(1), None));
    assert_eq!(reader.loss().map(|loss| loss.recovered), Some(5));
}
