//! The tables, the marks that tell a ledger from other files, and the settings of a connection.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use crate::checksum::Checksum;
use crate::error::Fault;
use crate::event::Counts;
use crate::row::{signed, whole};

/// `Qrst`, in the file's header.
pub(crate) const APPLICATION: i64 = 0x5172_7374;
/// The version of the tables below.
pub(crate) const VERSION: i64 = 2;
/// The first version has so many of the tables; the second has those of labelling sessions too.
const FIRST_TABLES: usize = 6;
/// Files up to this many bytes are checked page by page when they are opened to go on; it takes well under a second.
const SMALL: i64 = 64 << 20;
/// Readers and checkpoints hold each other up for moments only.
const PATIENCE: Duration = Duration::from_secs(10);

/// `STRICT`, so that no other program puts a text where a number belongs. Numbers with a fraction are `ANY`, because a
/// column of type `REAL` turns −0.0 into 0.0.
const TABLES: [(&str, &str); 8] = [
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

/// How far the ledger goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// The place of the last event or note; the first is 1.
    pub(crate) sequence: u64,
    pub(crate) counts: Counts,
    /// How many notes there are.
    pub(crate) noted: u64,
}

/// Connects, and sets what every connection needs; the path is absolute, so it is not taken for a URI.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Fault> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    // What a file says of itself, in triggers and views, is not to be run.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Sets what a connection for writing needs.
pub(crate) fn prepare_to_write(connection: &Connection) -> Result<(), Fault> {
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::System { because: format!("SQLite cannot keep a write-ahead log here, only `{mode}`") });
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // In kibibytes below 0; an append that does not fit in memory is written twice.
    connection.pragma_update(None, "cache_size", -32_768)?;
    // SQLite's own checkpoints keep their errors to themselves; `Ledger::append` runs them instead.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(())
}

/// Makes the tables of a new ledger.
pub(crate) fn make(connection: &mut Connection, header: &str) -> Result<(), Fault> {
    let transaction = connection.transaction()?;
    for (_, table) in TABLES {
        transaction.execute(table, [])?;
    }
    let crc = Checksum::default().note(0, "", header);
    transaction.execute("INSERT INTO header VALUES (?1, ?2)", params![header, crc])?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.commit()?;
    Ok(())
}

/// Refuses other programs' files, other versions and other tables; says the version.
pub(crate) fn identify(connection: &Connection) -> Result<i64, Fault> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("application_id")? != APPLICATION {
        return Err(Fault::NotALedger { found: "an SQLite file of another program".to_owned() });
    }
    let found = number("user_version")?;
    if !(1..=VERSION).contains(&found) {
        return Err(Fault::Version { found, known: VERSION });
    }
    for (name, table) in tables(found) {
        let query = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        let found: Option<String> = connection.query_row(query, [name], |row| row.get(0)).optional()?;
        if found.as_deref() != Some(table) {
            return Err(Fault::corrupt(format!("the table {name} is not as it was made")));
        }
    }
    let query = "SELECT name FROM sqlite_schema WHERE type = 'trigger'";
    let trigger: Option<String> = connection.query_row(query, [], |row| row.get(0)).optional()?;
    trigger.map_or(Ok(found), |name| Err(Fault::corrupt(format!("there is a trigger, {name}, which a ledger has not"))))
}

/// The tables of a version.
fn tables(version: i64) -> &'static [(&'static str, &'static str)] {
    if version == 1 { &TABLES[..FIRST_TABLES] } else { &TABLES }
}

/// Brings a ledger of an older version to this one, all at once or not at all. What is there stays as it is.
pub(crate) fn migrate(connection: &mut Connection, from: i64) -> Result<(), Fault> {
    if from == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction()?;
    for (_, table) in &TABLES[FIRST_TABLES..] {
        transaction.execute(table, [])?;
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

/// Checks every page and index, if that does not take long.
pub(crate) fn check(connection: &Connection) -> Result<(), Fault> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if SMALL < number("page_count")?.saturating_mul(number("page_size")?) {
        return Ok(());
    }
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(Fault::corrupt(found.replace('\n', " "))) }
}

/// The header and how far the ledger goes, as of one moment.
pub(crate) fn load(connection: &Connection, version: i64) -> Result<(String, Tally), Fault> {
    let moment = connection.unchecked_transaction()?;
    let header = header(&moment)?;
    let tally = tally(&moment)?;
    let mut last = 0;
    for (table, _) in tables(version).iter().filter(|(name, _)| !["header", "appends"].contains(name)) {
        let query = format!("SELECT ifnull(max(sequence), 0) FROM {table}");
        last = last.max(moment.query_row(&query, [], |row| Ok(whole(row, 0)))??);
    }
    if last != tally.sequence {
        let found = format!("the last event is {last}, but the last append ended with {}", tally.sequence);
        return Err(Fault::corrupt(found));
    }
    Ok((header, tally))
}

fn header(connection: &Connection) -> Result<String, Fault> {
    let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
    let found = connection.query_row("SELECT text, crc32 FROM header", [], row).optional()?;
    match found {
        Some((text, crc)) if i64::from(Checksum::default().note(0, "", &text)) == crc => Ok(text),
        Some(_) => Err(Fault::corrupt("the header does not match its checksum")),
        None => Err(Fault::corrupt("the header is missing")),
    }
}

fn tally(connection: &Connection) -> Result<Tally, Fault> {
    let query = "SELECT * FROM appends ORDER BY sequence DESC LIMIT 1";
    let Some(found) = connection.query_row(query, [], |row| Ok(tally_row(row))).optional()? else {
        return Ok(Tally::default());
    };
    let (tally, crc) = found?;
    if u64::from(Checksum::default().tally(tally)) == crc {
        Ok(tally)
    } else {
        Err(Fault::corrupt(format!("row {} of appends does not match its checksum", tally.sequence)))
    }
}

fn tally_row(row: &Row<'_>) -> Result<(Tally, u64), Fault> {
    let counts = Counts { considered: whole(row, 1)?, asked: whole(row, 2)?, answered: whole(row, 3)? };
    Ok((Tally { sequence: whole(row, 0)?, counts, noted: whole(row, 4)? }, whole(row, 5)?))
}

/// Writes down how far the ledger goes after an append.
pub(crate) fn put_tally(connection: &Connection, tally: Tally) -> Result<(), Fault> {
    let crc = Checksum::default().tally(tally);
    let Tally { sequence, counts: Counts { considered, asked, answered }, noted } = tally;
    let [sequence, considered, asked, answered, noted] = [sequence, considered, asked, answered, noted].map(signed);
    let mut statement = connection.prepare_cached("INSERT INTO appends VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    statement.execute(params![sequence, considered, asked, answered, noted, crc])?;
    Ok(())
}
