//! The reader of ledgers of versions 1 and 2: a table per kind of event, positional numbers, a CRC-32 per row.
//!
//! These formats are frozen. Rows are converted to the [`Record`]s that the same run would write today.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, Value, json};

use crate::chain;
use crate::error::LedgerFault;
use crate::record::Record;
use crate::schema::{self, Head, Table, signed, unsigned};

/// The number of tables in version 1; version 2 adds those of labeling sessions.
const VERSION_1_TABLES: usize = 6;
/// The number of sequence numbers that are fetched at a time.
const WINDOW: u64 = 64;

const TABLES: [Table; 8] = [
    ("header", "CREATE TABLE header (text TEXT NOT NULL, crc32 INTEGER NOT NULL) STRICT"),
    (
        "notes",
        "CREATE TABLE notes (sequence INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL, \
         crc32 INTEGER NOT NULL) STRICT",
    ),
    (
        "appends",
        "CREATE TABLE appends (sequence INTEGER PRIMARY KEY, considered INTEGER NOT NULL, asked INTEGER NOT NULL, \
         answered INTEGER NOT NULL, noted INTEGER NOT NULL, crc32 INTEGER NOT NULL) STRICT",
    ),
    (
        "blocks",
        "CREATE TABLE blocks (sequence INTEGER PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL, \
         probabilities BLOB NOT NULL, totals BLOB NOT NULL, crc32 INTEGER NOT NULL) STRICT",
    ),
    (
        "asks",
        "CREATE TABLE asks (sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL UNIQUE, id TEXT NOT NULL, \
         probability ANY, tries INTEGER, features BLOB NOT NULL, extra BLOB NOT NULL, crc32 INTEGER NOT NULL) STRICT",
    ),
    (
        "answers",
        "CREATE TABLE answers (sequence INTEGER PRIMARY KEY, ask INTEGER NOT NULL REFERENCES asks (time), \
         label ANY NOT NULL, at INTEGER NOT NULL, by TEXT, crc32 INTEGER NOT NULL) STRICT",
    ),
    (
        "draws",
        "CREATE TABLE draws (sequence INTEGER PRIMARY KEY, ask INTEGER NOT NULL, id TEXT NOT NULL, \
         probability ANY NOT NULL, numbers BLOB NOT NULL, by TEXT NOT NULL, at INTEGER NOT NULL, \
         crc32 INTEGER NOT NULL) STRICT",
    ),
    (
        "acts",
        "CREATE TABLE acts (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, number INTEGER NOT NULL, \
         about INTEGER NOT NULL, label ANY, numbers BLOB NOT NULL, key TEXT NOT NULL, by TEXT NOT NULL, \
         at INTEGER NOT NULL, crc32 INTEGER NOT NULL) STRICT",
    ),
];

/// A function that converts a row to a record.
type Convert = fn(&Row<'_>) -> Result<Record, LedgerFault>;

/// The tables with events, and the functions that convert their rows.
const EVENTS: [(&str, Convert); 6] =
    [("notes", note), ("blocks", block), ("asks", ask), ("answers", answer), ("draws", draw), ("acts", act)];

/// Returns the tables of an old version.
pub(crate) fn tables(version: i64) -> &'static [Table] {
    if version == 1 { &TABLES[..VERSION_1_TABLES] } else { &TABLES }
}

/// Reads the header and verifies its checksum.
pub(crate) fn header(connection: &Connection) -> Result<String, LedgerFault> {
    let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
    let found = connection.query_row("SELECT text, crc32 FROM header", [], row).optional()?;
    let (text, crc) = found.ok_or_else(|| LedgerFault::corrupt("the header is missing"))?;
    // The checksum covers it as note 0 with an empty key.
    let mut bytes = b"notes".to_vec();
    for value in [ValueRef::Integer(0), ValueRef::Text(b""), ValueRef::Text(text.as_bytes())] {
        push(&mut bytes, value);
    }
    if i64::from(crc32fast::hash(&bytes)) == crc {
        Ok(text)
    } else {
        Err(LedgerFault::corrupt("the header does not match its checksum"))
    }
}

/// The counts after the last append.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct LegacyCounts {
    sequence: u64,
    considered: u64,
    asked: u64,
    answered: u64,
    noted: u64,
}

fn tally(connection: &Connection) -> Result<LegacyCounts, LedgerFault> {
    let mut statement = connection.prepare_cached("SELECT * FROM appends ORDER BY sequence DESC LIMIT 1")?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(LegacyCounts::default()) };
    check("appends", row)?;
    let number = |column| unsigned(row, column);
    let (sequence, considered) = (number(0)?, number(1)?);
    Ok(LegacyCounts { sequence, considered, asked: number(2)?, answered: number(3)?, noted: number(4)? })
}

/// Returns the number of the last event.
pub(crate) fn last(connection: &Connection, version: i64) -> Result<u64, LedgerFault> {
    let acknowledged = tally(connection)?.sequence;
    let mut last = 0;
    for (table, _) in events(version) {
        let query = format!("SELECT ifnull(max(sequence), 0) FROM {table}");
        last = last.max(connection.query_row(&query, [], |row| Ok(unsigned(row, 0)))??);
    }
    if last == acknowledged {
        return Ok(last);
    }
    Err(LedgerFault::corrupt(format!("the last event is {last}, but the last append ended with {acknowledged}")))
}

fn events(version: i64) -> &'static [(&'static str, Convert)] {
    if version == 1 { &EVENTS[..VERSION_1_TABLES - 2] } else { &EVENTS }
}

/// Reads up to [`WINDOW`] events in order, starting at a sequence number; verifies each row.
pub(crate) fn window(connection: &Connection, version: i64, from: u64, last: u64) -> Result<Vec<Record>, LedgerFault> {
    let to = last.min(from + WINDOW - 1);
    let mut found = vec![];
    for (table, convert) in events(version) {
        let query = format!("SELECT * FROM {table} WHERE sequence BETWEEN ?1 AND ?2");
        let mut statement = connection.prepare_cached(&query)?;
        let mut rows = statement.query(params![signed(from), signed(to)])?;
        while let Some(row) = rows.next()? {
            check(table, row)?;
            found.push((unsigned(row, 0)?, convert(row)?));
        }
    }
    found.sort_by_key(|(sequence, _)| *sequence);
    for (expected, (sequence, _)) in (from..).zip(&found) {
        if expected != *sequence {
            return Err(LedgerFault::corrupt(format!("event {expected} is missing")));
        }
    }
    match from + found.len() as u64 {
        end if end <= to => Err(LedgerFault::corrupt(format!("event {end} is missing"))),
        _ => Ok(found.into_iter().map(|(_, record)| record).collect()),
    }
}

/// Compares the events of a whole ledger with the counts of its last append.
pub(crate) fn check_counts(connection: &Connection, counts: &crate::reader::Counts) -> Result<(), LedgerFault> {
    let count = |kinds: &[&str]| kinds.iter().map(|kind| counts.get(*kind).copied().unwrap_or(0)).sum();
    let tally = tally(connection)?;
    let sum = "SELECT ifnull(sum(count), 0) FROM blocks";
    let found = LegacyCounts {
        sequence: counts.values().sum(),
        considered: connection.query_row(sum, [], |row| Ok(unsigned(row, 0)))??,
        asked: count(&["asked"]),
        answered: count(&["answered", "withdrawn", "assigned", "measured", "grown", "fitted", "started"]),
        noted: count(&[crate::record::NOTE]),
    };
    if found == tally {
        return Ok(());
    }
    Err(LedgerFault::corrupt(format!("its events are {found:?} by kind, but {tally:?} were recorded")))
}

/// Rewrites an old ledger in the current version, inside one transaction.
pub(crate) fn migrate(connection: &mut Connection, version: i64) -> Result<(), LedgerFault> {
    let transaction = connection.transaction()?;
    let (header, last) = (header(&transaction)?, last(&transaction, version)?);
    let mut head = Head { sequence: 0, chain: chain::start(&header) };
    transaction.execute("ALTER TABLE header RENAME TO old_header", [])?;
    schema::make_tables(&transaction, &header, head)?;
    let mut counts = crate::reader::Counts::new();
    while head.sequence < last {
        for record in window(&transaction, version, head.sequence + 1, last)? {
            *counts.entry(record.kind.clone()).or_default() += 1;
            head = crate::ledger::insert(&transaction, head, &record)?;
        }
    }
    check_counts(&transaction, &counts)?;
    schema::put_head(&transaction, head)?;
    // Answers refer to asks, so they are dropped first.
    for (table, _) in tables(version).iter().skip(1).rev() {
        transaction.execute(&format!("DROP TABLE {table}"), [])?;
    }
    transaction.execute("DROP TABLE old_header", [])?;
    Ok(transaction.commit()?)
}

/// Checks the CRC-32 of a row, which covers the table's name and all columns but the last.
fn check(table: &str, row: &Row<'_>) -> Result<(), LedgerFault> {
    let columns = row.as_ref().column_count();
    let mut bytes = table.as_bytes().to_vec();
    for column in 0..columns - 1 {
        push(&mut bytes, row.get_ref(column)?);
    }
    if u64::from(crc32fast::hash(&bytes)) == unsigned(row, columns - 1)? {
        return Ok(());
    }
    Err(LedgerFault::corrupt(format!("row {} of {table} does not match its checksum", unsigned(row, 0)?)))
}

fn push(bytes: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => bytes.push(b'n'),
        ValueRef::Integer(value) => {
            bytes.push(b'i');
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        ValueRef::Real(value) => {
            bytes.push(b'r');
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        ValueRef::Text(text) => push_bytes(bytes, b't', text),
        ValueRef::Blob(blob) => push_bytes(bytes, b'b', blob),
    }
}

fn push_bytes(bytes: &mut Vec<u8>, letter: u8, value: &[u8]) {
    bytes.push(letter);
    bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
    bytes.extend_from_slice(value);
}

fn record(kind: &str, fields: &Value) -> Record {
    Record { kind: kind.to_owned(), fields: fields.to_string(), ..Record::default() }
}

/// Converts a number to its form in events: exact, with infinities as text.
fn number(value: f64) -> Value {
    match value {
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        value => value.into(),
    }
}

fn count(value: f64) -> u64 {
    value as u64
}

fn numbers(row: &Row<'_>, column: usize) -> Result<Vec<f64>, LedgerFault> {
    let value = row.get_ref(column)?;
    let bytes = value.as_blob().map_err(|error| LedgerFault::corrupt(error.to_string()))?;
    let (numbers, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(LedgerFault::corrupt(format!("{} bytes are not numbers of 8 bytes each", bytes.len())));
    }
    Ok(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

/// Returns the error for a row with an unexpected number of numbers.
fn unexpected_numbers(row: &Row<'_>, found: usize) -> LedgerFault {
    let sequence = row.get::<_, i64>(0).unwrap_or(0);
    LedgerFault::corrupt(format!("event {sequence} has {found} numbers, which no version of querist wrote"))
}

fn note(row: &Row<'_>) -> Result<Record, LedgerFault> {
    Ok(record(crate::record::NOTE, &json!({"key": row.get::<_, String>(1)?, "value": row.get::<_, String>(2)?})))
}

fn block(row: &Row<'_>) -> Result<Record, LedgerFault> {
    let (n_items, probabilities) = (unsigned(row, 2)?, row.get::<_, Vec<u8>>(3)?);
    if 8 * n_items != probabilities.len() as u64 {
        return Err(LedgerFault::corrupt(format!(
            "the block at event {} has another count than probabilities",
            unsigned(row, 0)?
        )));
    }
    let totals = numbers(row, 4)?;
    let mut fields = json!({"first": unsigned(row, 1)?, "count": n_items});
    match totals[..] {
        [looked, labeled, loss, right, dim, skipped, unknown] => {
            fields["sums"] = json!({
                "looked": count(looked), "labeled": count(labeled), "loss": number(loss), "right": count(right),
                "dim": count(dim), "skipped": count(skipped), "unknown": count(unknown),
            });
        }
        _ => fields["totals"] = totals.iter().map(|value| number(*value)).collect(),
    }
    Ok(record("considered", &fields).with_data(probabilities))
}

fn ask(row: &Row<'_>) -> Result<Record, LedgerFault> {
    let mut fields = Map::new();
    fields.insert("time".to_owned(), unsigned(row, 1)?.into());
    fields.insert("id".to_owned(), row.get::<_, String>(2)?.into());
    if let Some(probability) = row.get::<_, Option<f64>>(3)? {
        fields.insert("probability".to_owned(), number(probability));
    }
    if row.get::<_, Option<i64>>(4)?.is_some() {
        fields.insert("tries".to_owned(), unsigned(row, 4)?.into());
    }
    let extra = numbers(row, 6)?;
    match &extra[..] {
        [] => {}
        [drawn, uncertainty, inverse_rate, fallback, more @ ..] if [0, 1, 4].contains(&more.len()) => {
            let mut draw = json!({
                "row": count(*drawn), "uncertainty": number(*uncertainty), "inverse_rate": number(*inverse_rate),
                "fallback": *fallback != 0.0,
            });
            if let [rate, ..] = more
                && 0.0 <= *rate
            {
                draw["rate"] = number(*rate);
            }
            if let [_, reach, base, rarest] = more {
                draw["scale"] = json!({"reach": number(*reach), "base": number(*base), "rarest": count(*rarest)});
            }
            fields.insert("draw".to_owned(), draw);
        }
        _ => {
            fields.insert("extra".to_owned(), extra.iter().map(|value| number(*value)).collect());
        }
    }
    Ok(record("asked", &fields.into()).with_data(row.get(5)?))
}

fn answer(row: &Row<'_>) -> Result<Record, LedgerFault> {
    let mut fields = json!({"ask": unsigned(row, 1)?, "label": number(row.get(2)?), "at": unsigned(row, 3)?});
    if let Some(annotator) = row.get::<_, Option<String>>(4)? {
        fields["annotator"] = annotator.into();
    }
    Ok(record("answered", &fields))
}

fn draw(row: &Row<'_>) -> Result<Record, LedgerFault> {
    let found = numbers(row, 4)?;
    let [digest, uncertainty, total, left, least, labels, guessed @ ..] = &found[..] else {
        return Err(unexpected_numbers(row, found.len()));
    };
    let (likeliest, rest) = guessed.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(unexpected_numbers(row, found.len()));
    }
    let likeliest = likeliest
        .iter()
        .map(|[label, probability]| json!({"label": number(*label), "probability": number(*probability)}));
    let fields = json!({
        "ask": unsigned(row, 1)?,
        "id": row.get::<_, String>(2)?,
        "fingerprint": count(*digest),
        "probability": number(row.get(3)?),
        "odds": {
            "uncertainty": number(*uncertainty), "total": number(*total), "left": count(*left), "least": number(*least),
        },
        "guess": {"likeliest": likeliest.collect::<Value>(), "labels": count(*labels)},
        "annotator": row.get::<_, String>(5)?,
        "at": unsigned(row, 6)?,
    });
    Ok(record("asked", &fields))
}

fn act(row: &Row<'_>) -> Result<Record, LedgerFault> {
    let kind: String = row.get(1)?;
    let (index, about, at) = (unsigned(row, 2)?, unsigned(row, 3)?, unsigned(row, 8)?);
    let (label, found) = (row.get::<_, Option<f64>>(4)?, numbers(row, 5)?);
    let (key, annotator) = (row.get::<_, String>(6)?, row.get::<_, String>(7)?);
    let answered = |response: Value| {
        let fields =
            json!({"answer": index, "ask": about, "response": response, "annotator": annotator, "key": key, "at": at});
        Ok(record("answered", &fields))
    };
    let assigned =
        |first: bool| Ok(record("assigned", &json!({"ask": about, "annotator": annotator, "first": first, "at": at})));
    match (kind.as_str(), &found[..], label) {
        ("label", [], Some(label)) => answered(json!({"label": number(label)})),
        ("skip" | "unsure", [], None) => answered(kind.into()),
        ("undo", [], None) => Ok(record(
            "withdrawn",
            &json!({"number": index, "answer": about, "annotator": annotator, "key": key, "at": at}),
        )),
        ("lease", [], None) => assigned(false),
        ("first", [], None) => assigned(true),
        ("measure", [value, low, high], None) => Ok(record(
            "measured",
            &json!({"labels": about, "value": number(*value), "low": number(*low), "high": number(*high), "at": at}),
        )),
        ("grow", [], None) => Ok(record("grown", &json!({"asks": about}))),
        ("learn", [labels, digest], None) => Ok(record(
            "fitted",
            &json!({"asks": about, "acts": index, "labels": count(*labels), "digest": count(*digest), "at": at}),
        )),
        ("begin", [imported], None) => {
            Ok(record("started", &json!({"items": about, "imported": count(*imported), "at": at})))
        }
        _ => Err(LedgerFault::corrupt(format!(
            "event {} is a `{kind}` with other columns than it has",
            unsigned(row, 0)?
        ))),
    }
}
