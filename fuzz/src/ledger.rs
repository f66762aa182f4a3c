//! Ledgers: any file is read or rejected, and a damaged one never reads as a different sequence of events.

use std::fs;
use std::sync::LazyLock;

use querist_ledger::{Ledger, Record};

use super::files;

const HEADER: &str = "{\"seed\": 7}";

/// The bytes of an intact ledger, and its events.
static INTACT: LazyLock<(Vec<u8>, Vec<Record>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.ledger");
    let event = |number: usize| Record {
        kind: ["asked", "answered", "considered"][number % 3].to_owned(),
        fields: format!("{{\"ask\":{number},\"by\":\"Ada\"}}"),
        data: (number % 3 == 2).then(|| vec![number as u8; 40]),
        content: None,
    };
    let events: Vec<Record> = (0..12).map(event).collect();
    let mut ledger = Ledger::create(&path, HEADER).expect("a new ledger");
    ledger.append(&events[..5]).expect("events");
    ledger.append(&events[5..]).expect("events");
    drop(ledger);
    (fs::read(&path).expect("the ledger"), events)
});

/// Checks one input: as a file, or as damage to an intact one.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Some((mode, content)) = data.split_first() else { return };
    match mode % 2 {
        0 => drop(events(content)),
        _ => damaged(content),
    }
}

/// Returns the header and the events of a file, if all of them can be read.
fn events(bytes: &[u8]) -> Option<(String, Vec<Record>)> {
    let path = files::write("run.ledger", bytes);
    let ledger = match Ledger::read(&path) {
        Ok(ledger) => ledger,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error without a reason");
            return None;
        }
    };
    let events: Result<Vec<Record>, _> = ledger.records().collect();
    Some((ledger.header().to_owned(), events.ok()?))
}

/// Checks a damaged ledger. The content is a length, then positions with the bits to flip there.
fn damaged(content: &[u8]) {
    let (mut bytes, intact) = INTACT.clone();
    let Some(([low, high], patches)) = content.split_first_chunk() else { return };
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    if 0 < length {
        bytes.truncate(length);
    }
    for [low, high, bits] in patches.as_chunks().0 {
        let position = usize::from(u16::from_le_bytes([*low, *high])) % bytes.len();
        bytes[position] ^= bits;
    }
    if let Some((header, events)) = events(&bytes) {
        assert_eq!(header, HEADER, "the header of a damaged ledger");
        assert_eq!(events, intact, "the events of a damaged ledger");
    }
}
