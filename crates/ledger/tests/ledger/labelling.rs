//! Labelling sessions: every bit comes back, many share a commit, and a ledger of the first version goes on.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;

use querist_ledger::{Event, Fault, Kind, Ledger, Writer};

fn draw(ask: u64) -> Event {
    let numbers = vec![ask as f64, -0.0, f64::MIN_POSITIVE / 8.0];
    Event::Drawn { ask, id: format!("item {ask}"), probability: 0.1, numbers, by: "Ada".into(), at: 1000 + ask }
}

fn act(kind: Kind, number: u64) -> Event {
    Event::Acted {
        kind,
        number,
        about: number,
        label: (kind == Kind::Label).then_some(-0.0),
        numbers: vec![0.5; usize::from(kind == Kind::Measure)],
        key: format!("key {number}"),
        by: "Bén 🙂".into(),
        at: 7,
    }
}

const KINDS: [Kind; 8] =
    [Kind::Label, Kind::Skip, Kind::Unsure, Kind::Undo, Kind::Lease, Kind::First, Kind::Measure, Kind::Grow];

fn labelling(ledger: &Ledger) -> Vec<String> {
    let mut found = vec![];
    ledger
        .labelling(|event| {
            found.push(format!("{event:?}"));
            Ok(())
        })
        .unwrap();
    found
}

#[test]
fn what_people_do_comes_back_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    let mut all = vec![];
    for number in 1..=8 {
        let events = [draw(number), act(KINDS[number as usize - 1], number)];
        ledger.append(&events).unwrap();
        all.extend(events);
        ledger.set_note("note", "between").unwrap();
    }
    let texts: Vec<String> = all.iter().map(|event| format!("{event:?}")).collect();
    assert_eq!(labelling(&ledger), texts);
    let events: Result<Vec<Event>, _> = ledger.events().collect();
    assert_eq!(events.unwrap(), all);
    drop(ledger);
    let ledger = Ledger::read(&path).unwrap();
    assert_eq!(labelling(&ledger), texts);
    assert_eq!((ledger.counts().asked, ledger.counts().answered), (8, 8));
    let stopped = ledger.labelling(|_| Err("enough".to_owned())).unwrap_err();
    assert_eq!(stopped.fault, Fault::Corrupt { found: "enough".to_owned() });
}

#[test]
fn an_altered_act_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for (number, change) in [
        "UPDATE acts SET label = 1.0 WHERE sequence = 2",
        "UPDATE acts SET kind = 'skip' WHERE sequence = 2",
        "UPDATE acts SET kind = 'other' WHERE sequence = 2",
        "UPDATE acts SET by = 'Eve' WHERE sequence = 2",
        "UPDATE draws SET id = 'x' WHERE sequence = 1",
        "DELETE FROM acts WHERE sequence = 2",
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{number}.ledger"));
        let mut ledger = Ledger::create(&path, "{}").unwrap();
        ledger.append(&[draw(1), act(Kind::Label, 1), draw(2), act(Kind::Label, 2)]).unwrap();
        drop(ledger);
        rusqlite::Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let ledger = Ledger::read(&path).unwrap();
        assert!(ledger.labelling(|_| Ok(())).is_err(), "{change}");
        assert!(ledger.events().any(|event| event.is_err()), "{change}");
    }
}

#[test]
fn many_writers_share_commits_and_all_is_there_in_each_ones_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let writer = Writer::new(Ledger::create(&path, "{}").unwrap());
    thread::scope(|scope| {
        for person in 0..16_u64 {
            let writer = &writer;
            scope.spawn(move || {
                for number in 0..100 {
                    let (sender, receiver) = channel();
                    writer
                        .append(vec![act(Kind::Label, 1000 * person + number)], move |done| sender.send(done).unwrap());
                    receiver.recv().unwrap().unwrap();
                }
            });
        }
    });
    let ledger = writer.close().unwrap();
    let mut found = vec![vec![]; 16];
    ledger
        .labelling(|event| {
            let Event::Acted { number, .. } = event else { return Err("an act".to_owned()) };
            found[number as usize / 1000].push(number % 1000);
            Ok(())
        })
        .unwrap();
    assert!(found.iter().all(|numbers| *numbers == (0..100).collect::<Vec<_>>()));
    drop(ledger);
    let commits = "SELECT count(*) FROM appends";
    let commits: i64 = rusqlite::Connection::open(&path).unwrap().query_row(commits, [], |row| row.get(0)).unwrap();
    assert!(commits < 1600, "{commits} commits for 1600 answers");
}

#[test]
fn an_event_that_cannot_be_recorded_is_refused_alone() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(Ledger::create(folder.path().join("run.ledger"), "{}").unwrap());
    let (sender, receiver) = channel();
    let bad = Event::Drawn { ask: 1, id: "x".into(), probability: f64::NAN, numbers: vec![], by: String::new(), at: 0 };
    for (place, event) in [draw(1), bad, draw(2)].into_iter().enumerate() {
        let sender = sender.clone();
        writer.append(vec![event], move |done| sender.send((place, done.is_ok())).unwrap());
    }
    let mut done: Vec<(usize, bool)> = receiver.iter().take(3).collect();
    done.sort_unstable();
    assert_eq!(done, [(0, true), (1, false), (2, true)]);
    assert_eq!(writer.close().unwrap().counts().asked, 2);
}

/// The fixture was made by the program that knew version 1 only.
#[test]
fn a_ledger_of_the_first_version_is_read_and_goes_on() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-1.ledger");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.ledger");
    fs::copy(fixture, &path).unwrap();
    let before = {
        let ledger = Ledger::read(&path).unwrap();
        assert_eq!(labelling(&ledger), [""; 0]);
        ledger.events().collect::<Result<Vec<_>, _>>().unwrap()
    };
    assert_eq!(before.len(), 4);
    let version = |path: &Path| -> i64 {
        rusqlite::Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    assert_eq!(version(&path), 1, "reading changes nothing");
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.note("encoder").unwrap().as_deref(), Some("none"));
    ledger.append(&[draw(1), act(Kind::Label, 1)]).unwrap();
    drop(ledger);
    assert_eq!(version(&path), 2);
    let events: Vec<Event> = Ledger::open(&path).unwrap().events().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(events[..4], before);
    assert_eq!(events[4..], [draw(1), act(Kind::Label, 1)]);
}
