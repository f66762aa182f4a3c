//! The tables, the identifiers that distinguish a ledger from other files, and the settings of a connection.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, params};

use crate::chain::{self, Link};
use crate::error::LedgerFault;
use crate::legacy;
use crate::paths::immutable;

/// The application id in the file's header: `Qrst`.
pub(crate) const APPLICATION: i64 = 0x5172_7374;
/// The version of the tables below.
pub(crate) const VERSION: i64 = 3;
/// Files up to this many bytes are checked page by page when opened for writing, which takes well under a second.
const PAGE_CHECK_BYTES: i64 = 64 << 20;
/// The time that a statement waits for a lock. Readers and checkpoints block each other only briefly.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A table's name and the statement that creates it.
pub(crate) type Table = (&'static str, &'static str);

/// The tables of the current version. They are `STRICT`, so that no other program stores text in a numeric column.
const TABLES: [Table; 4] = [
    ("header", "CREATE TABLE header (text TEXT NOT NULL) STRICT"),
    (
        "events",
        "CREATE TABLE events (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, fields TEXT NOT NULL, data BLOB, \
         chain BLOB NOT NULL) STRICT",
    ),
    ("head", "CREATE TABLE head (sequence INTEGER NOT NULL, chain BLOB NOT NULL, state TEXT NOT NULL) STRICT"),
    ("contents", "CREATE TABLE contents (digest BLOB PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID"),
];

/// The end of a ledger, as of its last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of the last event; the first is 1.
    pub(crate) sequence: u64,
    /// The link of the last event.
    pub(crate) chain: Link,
}

/// The state in which the last writer left the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseState {
    Open,
    Closed,
    /// Versions 1 and 2 do not record it.
    Unknown,
}

/// Opens a connection with the settings that all connections need. The path is absolute, so it is not parsed as a URI.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, LedgerFault> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Triggers and views of an untrusted file must not run.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Sets whether the journal is kept when the connection is closed. A journal must be kept if it is damaged, or if it
/// shows that the ledger was not closed.
pub(crate) fn keep_journal(connection: &Connection, keeps: bool) -> Result<(), LedgerFault> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps)?;
    Ok(())
}

/// Applies the settings that a connection for writing needs.
pub(crate) fn prepare_to_write(connection: &Connection) -> Result<(), LedgerFault> {
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(LedgerFault::System {
            because: format!("SQLite cannot keep a write-ahead log here, only `{mode}`"),
        });
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    // Purged contents must not stay in free pages.
    connection.pragma_update(None, "secure_delete", true)?;
    // Negative values are in kibibytes; an append that does not fit in the cache is written twice.
    connection.pragma_update(None, "cache_size", -32_768)?;
    // SQLite's own checkpoints do not report their errors; `Ledger::append` runs them instead.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(())
}

/// Creates the tables of a new ledger.
pub(crate) fn make(connection: &mut Connection, header: &str) -> Result<(), LedgerFault> {
    let transaction = connection.transaction()?;
    make_tables(&transaction, header, Head { sequence: 0, chain: chain::start(header) })?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.commit()?;
    Ok(())
}

/// Creates the tables with a header and no events, inside a transaction.
pub(crate) fn make_tables(connection: &Connection, header: &str, head: Head) -> Result<(), LedgerFault> {
    for (_, table) in TABLES {
        connection.execute(table, [])?;
    }
    connection.execute("INSERT INTO header VALUES (?1)", [header])?;
    let insert = "INSERT INTO head VALUES (?1, ?2, 'closed')";
    connection.execute(insert, params![signed(head.sequence), head.chain])?;
    connection.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}

/// Rejects other programs' files, other versions and altered tables; returns the version.
pub(crate) fn identify(connection: &Connection) -> Result<i64, LedgerFault> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("application_id")? != APPLICATION {
        return Err(LedgerFault::NotALedger { found: "an SQLite file of another program".to_owned() });
    }
    let found = number("user_version")?;
    if !(1..=VERSION).contains(&found) {
        return Err(LedgerFault::Version { found, known: VERSION });
    }
    for (name, table) in if found == VERSION { &TABLES } else { legacy::tables(found) } {
        let query = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        let found: Option<String> = connection.query_row(query, [name], |row| row.get(0)).optional()?;
        if found.as_deref() != Some(table) {
            return Err(LedgerFault::corrupt(format!("the table {name} is missing or altered")));
        }
    }
    let query = "SELECT name FROM sqlite_schema WHERE type = 'trigger'";
    let trigger: Option<String> = connection.query_row(query, [], |row| row.get(0)).optional()?;
    trigger.map_or(Ok(found), |name| {
        Err(LedgerFault::corrupt(format!(
            "it has a trigger, {name}, which a ledger must \
         not have"
        )))
    })
}

/// Checks every page and index, unless the file is larger than [`PAGE_CHECK_BYTES`].
pub(crate) fn check_pages(connection: &Connection) -> Result<(), LedgerFault> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if PAGE_CHECK_BYTES < number("page_count")?.saturating_mul(number("page_size")?) {
        return Ok(());
    }
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(LedgerFault::corrupt(found.replace('\n', " "))) }
}

/// Reads the header.
pub(crate) fn header(connection: &Connection) -> Result<String, LedgerFault> {
    only_row(connection, "SELECT text FROM header", "the header", |row| Ok(row.get(0)?))
}

/// Reads the head of the ledger.
pub(crate) fn head(connection: &Connection) -> Result<Head, LedgerFault> {
    only_row(connection, "SELECT sequence, chain FROM head", "the head", |row| {
        Ok(Head { sequence: unsigned(row, 0)?, chain: row.get(1)? })
    })
}

/// Reads the number of the last event in the file itself, without the journal.
///
/// The file may change in the meantime, but no page of it is ever newer than the journal of the writing process.
pub(crate) fn last_in_file(path: &Path) -> Result<u64, LedgerFault> {
    let connection = connect(&immutable(path), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?;
    head(&connection).map(|head| head.sequence)
}

/// Reads whether the ledger was closed.
pub(crate) fn state(connection: &Connection, version: i64) -> Result<CloseState, LedgerFault> {
    if version != VERSION {
        return Ok(CloseState::Unknown);
    }
    only_row(connection, "SELECT state FROM head", "the head", |row| match row.get_ref(0)?.as_str() {
        Ok("open") => Ok(CloseState::Open),
        Ok("closed") => Ok(CloseState::Closed),
        _ => Err(LedgerFault::corrupt("the head has an unknown state")),
    })
}

/// Records whether the ledger is open for writing.
pub(crate) fn put_state(connection: &Connection, state: CloseState) -> Result<(), LedgerFault> {
    let text = if state == CloseState::Open { "open" } else { "closed" };
    connection.execute("UPDATE head SET state = ?1", [text])?;
    Ok(())
}

/// Checkpoints the journal into the file and truncates it, as far as concurrent readers permit.
pub(crate) fn checkpoint(connection: &Connection) -> Result<(), LedgerFault> {
    connection.busy_timeout(Duration::ZERO)?;
    let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    match done {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
        done => Ok(done?),
    }
}

/// Updates the head of the ledger, inside the transaction of an append.
pub(crate) fn put_head(connection: &Connection, head: Head) -> Result<(), LedgerFault> {
    let mut statement = connection.prepare_cached("UPDATE head SET sequence = ?1, chain = ?2")?;
    statement.execute(params![signed(head.sequence), head.chain])?;
    Ok(())
}

fn only_row<T>(
    connection: &Connection,
    query: &str,
    what: &str,
    read: impl Fn(&Row<'_>) -> Result<T, LedgerFault>,
) -> Result<T, LedgerFault> {
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query([])?;
    let found = rows.next()?.map(read).ok_or_else(|| LedgerFault::corrupt(format!("{what} is missing")))??;
    match rows.next()? {
        None => Ok(found),
        Some(_) => Err(LedgerFault::corrupt(format!("{what} appears twice"))),
    }
}

/// Reads a nonnegative integer from a row.
pub(crate) fn unsigned(row: &Row<'_>, column: usize) -> Result<u64, LedgerFault> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| LedgerFault::corrupt(format!("a count is {value}")))
}

/// Converts a count of rows to `SQLite`'s integer type.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
