//! Appended events are read back byte for byte and in order, also after closing and reopening.

use proptest::prelude::*;
use querist_ledger::{Ledger, Record};
use serde::{Deserialize, Serialize};

use crate::support::{batch, ledger_of, n_batches, read_texts, record, texts};

fn records() -> impl Strategy<Value = Vec<Record>> {
    let kind = prop::sample::select(vec!["considered", "asked", "answered", "K∞"]);
    let fields = any::<String>().prop_map(|text| serde_json::json!({"text": text, "number": -0.0}).to_string());
    let data = prop::option::of(prop::collection::vec(any::<u8>(), 0..60));
    let event = (kind, fields, data).prop_map(|(kind, fields, data)| Record { data, ..record(kind, &fields) });
    prop::collection::vec(event, 0..100)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn events_round_trip_byte_for_byte(
        appends in prop::collection::vec(records(), 0..5),
        header in any::<String>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b?c%d.ledger");
        let mut ledger = Ledger::create(&path, &header).unwrap();
        let mut expected = vec![];
        for records in &appends {
            ledger.append(records).unwrap();
            expected.extend(records.iter().map(|record| format!("{record:?}")));
            prop_assert_eq!(read_texts(&ledger), (expected.clone(), None));
            prop_assert_eq!(read_texts(&Ledger::read(&path).unwrap()), (expected.clone(), None));
            drop(ledger);
            ledger = Ledger::open(&path).unwrap();
        }
        prop_assert_eq!(ledger.header(), &header);
        let asked = appends.iter().flatten().filter(|record| record.kind == "asked").count() as u64;
        prop_assert_eq!(ledger.count("asked"), asked);
        prop_assert_eq!(ledger.counts().values().sum::<u64>(), expected.len() as u64);
    }
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum RoundTripEvent {
    Drawn { ask: u64, label: f64, id: Option<String> },
    PoolGrown { asks: Vec<u64> },
}

#[test]
fn enum_variants_round_trip_through_records() {
    let drawn = RoundTripEvent::Drawn { ask: u64::MAX, label: 0.1 + 0.2, id: Some("a\"\\\0é".to_owned()) };
    let record = Record::encode(&drawn).unwrap();
    assert_eq!(record.kind, "drawn");
    assert_eq!(record.fields, r#"{"ask":18446744073709551615,"label":0.30000000000000004,"id":"a\"\\\u0000é"}"#);
    assert_eq!(record.decode::<RoundTripEvent>().unwrap(), drawn);
    let grown = RoundTripEvent::PoolGrown { asks: vec![] };
    let record = Record::encode(&grown).unwrap();
    assert_eq!((record.kind.as_str(), record.fields.as_str()), ("pool-grown", r#"{"asks":[]}"#));
    assert_eq!(record.decode::<RoundTripEvent>().unwrap(), grown);

    let message = |record: Record| record.decode::<RoundTripEvent>().unwrap_err().to_string();
    let unknown = message(crate::support::record("deleted", "{}"));
    assert!(unknown.contains("kind `deleted`") && unknown.contains("expected `drawn` or `pool-grown`"), "{unknown}");
    let missing = message(crate::support::record("pool-grown", "{}"));
    assert!(missing.contains("missing field `asks`"), "{missing}");
    assert!(message(crate::support::record("pool-grown", "{\"asks\":[]} ?")).contains("trailing"));
    for other in [Record::encode(&7).unwrap_err(), Record::encode(&"text").unwrap_err()] {
        assert!(other.to_string().contains("not an enum variant with named fields"), "{other}");
    }
}

#[test]
fn one_file_is_left_after_closing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 3);
    drop(Ledger::read(&path).unwrap());
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["run.ledger"]);
}

#[test]
fn a_note_returns_its_last_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    assert_eq!(ledger.note("finished"), None);
    ledger.set_note("finished", "no").unwrap();
    ledger.set_note("encoder", "α\0").unwrap();
    ledger.set_note("finished", "yes").unwrap();
    drop(ledger);
    let ledger = Ledger::read(&path).unwrap();
    assert_eq!(ledger.note("finished"), Some("yes"));
    assert_eq!(ledger.note("encoder"), Some("α\0"));
    assert_eq!(ledger.note(""), None);
}

#[test]
fn a_reader_sees_a_snapshot_and_does_not_block_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 40);
    let mut ledger = Ledger::open(&path).unwrap();
    let reader = Ledger::read(&path).unwrap();
    let mut events = reader.records();
    let first = events.next().unwrap().unwrap();
    // More than the checkpoint limit, so that the log is checkpointed while the reader is active.
    let long = record("long", "{}").with_data(vec![5; 9_600_000]);
    for number in 40..44 {
        ledger.append(&batch(number)).unwrap();
        ledger.append(std::slice::from_ref(&long)).unwrap();
    }
    let rest = events.map(|event| event.unwrap());
    let seen: Vec<String> = std::iter::once(first).chain(rest).map(|event| format!("{event:?}")).collect();
    assert_eq!(seen, texts(40));
    assert_eq!(n_batches(&reader), 40);
    drop((reader, ledger));
    let events: Vec<Record> = Ledger::read(&path).unwrap().records().map(Result::unwrap).collect();
    assert_eq!(events.iter().filter(|event| **event == long).count(), 4);
    let short: Vec<String> = events.iter().filter(|event| **event != long).map(|event| format!("{event:?}")).collect();
    assert_eq!(short, texts(44));
}

#[test]
fn a_backup_can_be_continued() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.ledger"), folder.path().join("copy.ledger"));
    ledger_of(&path, 5);
    let mut ledger = Ledger::open(&path).unwrap();
    ledger.append(&batch(5)).unwrap();
    ledger.backup(&copy).unwrap();
    ledger.append(&batch(6)).unwrap();
    let taken = ledger.backup(&copy).unwrap_err().to_string();
    assert!(taken.contains("copy.ledger: already exists"), "{taken}");
    let mut copied = Ledger::open(&copy).unwrap();
    assert_eq!((copied.header(), copied.note("encoder")), ("{\"seed\": 1}", Some("none")));
    assert_eq!(read_texts(&copied), (texts(6), None));
    copied.append(&batch(6)).unwrap();
    assert_eq!(read_texts(&copied), (texts(7), None));
    Ledger::read(&path).unwrap().backup(folder.path().join("third.ledger")).unwrap();
    assert_eq!(read_texts(&Ledger::read(folder.path().join("third.ledger")).unwrap()), (texts(7), None));
}

#[test]
fn contents_are_stored_with_their_event_and_can_be_purged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let secret = "a secret text that only annotators may see";
    let digest: [u8; 32] = <sha2::Sha256 as sha2::Digest>::digest(secret.as_bytes()).into();
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    for number in 0..200 {
        let text = if number == 100 { secret.to_owned() } else { format!("text {number}") };
        ledger
            .append(&[record("asked", "{}").with_content(text.clone()), record("asked", "{}").with_content(text)])
            .unwrap();
    }
    assert_eq!(ledger.content(&digest).unwrap().as_deref(), Some(secret));
    let missing = ledger.content(&[0; 32]).unwrap_err().to_string();
    assert!(missing.contains("missing, and was not purged"), "{missing}");
    drop(ledger);
    let holds = |path: &std::path::Path| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
    };
    assert!(holds(&path));
    assert_eq!(Ledger::read(&path).unwrap().content(&digest).unwrap().as_deref(), Some(secret));

    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.purge_contents().unwrap(), 200);
    assert_eq!(ledger.content(&digest).unwrap(), None);
    drop(ledger);
    assert!(!holds(&path), "the text is still in the file");
    let ledger = Ledger::read(&path).unwrap();
    assert_eq!((ledger.count("asked"), ledger.content(&digest).unwrap()), (400, None));
}

#[test]
fn an_altered_content_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    ledger.append(&[record("asked", "{}").with_content("text".to_owned())]).unwrap();
    drop(ledger);
    let alter = "UPDATE contents SET body = 'test'";
    rusqlite::Connection::open(&path).unwrap().execute_batch(alter).unwrap();
    let digest: [u8; 32] = <sha2::Sha256 as sha2::Digest>::digest(b"text").into();
    let message = Ledger::read(&path).unwrap().content(&digest).unwrap_err().to_string();
    assert!(message.contains("damaged: a stored content does not match its digest"), "{message}");
}

/// Computes the chain as `docs/reference/ledger.md` describes it.
#[test]
fn the_chain_matches_the_documentation() {
    use sha2::{Digest, Sha256};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 2);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let mut link = Sha256::digest(b"{\"seed\": 1}").to_vec();
    let mut statement = connection.prepare("SELECT kind, fields, data, chain FROM events ORDER BY sequence").unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut sequence = 0_u64;
    while let Some(row) = rows.next().unwrap() {
        sequence += 1;
        let (kind, fields): (String, String) = (row.get(0).unwrap(), row.get(1).unwrap());
        let data: Option<Vec<u8>> = row.get(2).unwrap();
        let mut bytes = link.clone();
        bytes.extend(sequence.to_le_bytes());
        bytes.extend((kind.len() as u64).to_le_bytes());
        bytes.extend(kind.bytes());
        bytes.extend((fields.len() as u64).to_le_bytes());
        bytes.extend(fields.bytes());
        bytes.extend(data.as_ref().map_or(u64::MAX, |data| data.len() as u64).to_le_bytes());
        bytes.extend(data.unwrap_or_default());
        link = Sha256::digest(&bytes).to_vec();
        assert_eq!(row.get::<_, Vec<u8>>(3).unwrap(), link, "event {sequence}");
    }
    assert_eq!(sequence, 11);
    let head: (i64, Vec<u8>) =
        connection.query_row("SELECT sequence, chain FROM head", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(head, (11, link));
}

#[test]
fn only_the_owner_can_read_a_ledger_its_journal_and_its_backups() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    ledger.append(&batch(0)).unwrap();
    ledger.backup(folder.path().join("copy.ledger")).unwrap();
    let mut seen = vec![];
    for entry in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if !name.ends_with("-lock") {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{name}");
            seen.push(name);
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, ["copy.ledger", "run.ledger", "run.ledger-mark", "run.ledger-shm", "run.ledger-wal"]);
}
