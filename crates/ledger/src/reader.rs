//! The only reader of a ledger: it checks every event against its sequence number and the hash chain.

use std::collections::{BTreeMap, VecDeque};

use rusqlite::{Connection, Row, params};

use crate::chain::{self, Link};
use crate::error::{LedgerError, LedgerFault};
use crate::ledger::Ledger;
use crate::legacy;
use crate::record::{NOTE, Record, parse_note};
use crate::schema::{self, Head, VERSION, signed, unsigned};

/// The number of events of each kind.
pub type Counts = BTreeMap<String, u64>;

/// Events are fetched until there are this many of them …
const WINDOW_EVENTS: usize = 1000;
/// … or this many bytes.
const WINDOW_BYTES: usize = 1 << 20;

const SELECT: &str = "SELECT sequence, kind, fields, data, chain FROM events WHERE ?1 <= sequence ORDER BY sequence";

/// A ledger that was verified from its header to its head.
pub(crate) struct Verified {
    pub(crate) header: String,
    pub(crate) head: Head,
    pub(crate) counts: Counts,
    /// The last text under each key.
    pub(crate) notes: BTreeMap<String, String>,
}

impl Verified {
    /// Counts an event, and stores the text of a note.
    fn add(&mut self, kind: &str, fields: &str) -> Result<(), LedgerFault> {
        match self.counts.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                self.counts.insert(kind.to_owned(), 1);
            }
        }
        if kind == NOTE {
            let (key, value) = parse_note(fields).map_err(|error| LedgerFault::corrupt(error.to_string()))?;
            self.notes.insert(key, value);
        }
        Ok(())
    }
}

/// Verifies a whole ledger in one read transaction.
pub(crate) fn verify(connection: &Connection, version: i64) -> Result<Verified, LedgerFault> {
    let snapshot = connection.unchecked_transaction()?;
    if version != VERSION {
        return verify_legacy(&snapshot, version);
    }
    let (header, head) = (schema::header(&snapshot)?, schema::head(&snapshot)?);
    let mut link = chain::start(&header);
    let mut verified = Verified { header, head, counts: Counts::new(), notes: BTreeMap::new() };
    let mut statement = snapshot.prepare_cached(SELECT)?;
    let mut rows = statement.query([1])?;
    let mut sequence = 0;
    while let Some(row) = rows.next()? {
        sequence += 1;
        link = check(row, sequence, &link)?;
        verified.add(text(row, 1)?, text(row, 2)?)?;
    }
    if sequence != head.sequence {
        return Err(LedgerFault::corrupt(format!(
            "{} events were acknowledged, but {sequence} are stored",
            head.sequence
        )));
    }
    if link != head.chain {
        return Err(LedgerFault::corrupt("the head does not match the hash chain"));
    }
    Ok(verified)
}

fn verify_legacy(connection: &Connection, version: i64) -> Result<Verified, LedgerFault> {
    let (header, sequence) = (legacy::header(connection)?, legacy::last(connection, version)?);
    let head = Head { sequence, chain: chain::start(&header) };
    let mut verified = Verified { header, head, counts: Counts::new(), notes: BTreeMap::new() };
    let mut next = 1;
    while next <= sequence {
        for record in legacy::window(connection, version, next, sequence)? {
            verified.add(&record.kind, &record.fields)?;
            next += 1;
        }
    }
    legacy::check_counts(connection, &verified.counts)?;
    Ok(verified)
}

/// Checks that a row is the event with this number and continues the chain; returns its link.
fn check(row: &Row<'_>, expected: u64, before: &Link) -> Result<Link, LedgerFault> {
    let sequence = unsigned(row, 0)?;
    if sequence != expected {
        return Err(LedgerFault::corrupt(format!("event {expected} is missing; event {sequence} follows instead")));
    }
    let link = chain::next(before, sequence, text(row, 1)?, text(row, 2)?, data(row)?);
    if row.get_ref(4)?.as_blob().ok() == Some(&link[..]) {
        return Ok(link);
    }
    Err(LedgerFault::corrupt(format!("event {sequence} does not match the hash chain")))
}

fn text<'row>(row: &'row Row<'_>, column: usize) -> Result<&'row str, LedgerFault> {
    row.get_ref(column)?.as_str().map_err(|error| LedgerFault::corrupt(error.to_string()))
}

fn data<'row>(row: &'row Row<'_>) -> Result<Option<&'row [u8]>, LedgerFault> {
    row.get_ref(3)?.as_blob_or_null().map_err(|error| LedgerFault::corrupt(error.to_string()))
}

/// The events of a ledger, in the order appended, without the notes; see [`Ledger::records`].
pub struct Records<'ledger> {
    ledger: &'ledger Ledger,
    /// The number of the next event.
    next: u64,
    /// The link of the last event fetched.
    link: Link,
    window: VecDeque<Record>,
    ended: bool,
}

impl<'ledger> Records<'ledger> {
    pub(crate) fn new(ledger: &'ledger Ledger) -> Self {
        Self { ledger, next: 1, link: chain::start(ledger.header()), window: VecDeque::new(), ended: false }
    }

    fn record(&mut self) -> Result<Option<Record>, LedgerFault> {
        loop {
            match self.window.pop_front() {
                Some(record) if record.kind == NOTE => {}
                Some(record) => return Ok(Some(record)),
                None if self.ledger.head().sequence < self.next => return Ok(None),
                None => self.fetch()?,
            }
        }
    }

    fn fetch(&mut self) -> Result<(), LedgerFault> {
        let (connection, version, last) =
            (self.ledger.connection(), self.ledger.version(), self.ledger.head().sequence);
        if version != VERSION {
            self.window = legacy::window(connection, version, self.next, last)?.into();
            self.next += self.window.len() as u64;
            return Ok(());
        }
        let mut statement = connection.prepare_cached(SELECT)?;
        let mut rows = statement.query(params![signed(self.next)])?;
        let mut bytes = 0;
        while self.next <= last && self.window.len() < WINDOW_EVENTS && bytes < WINDOW_BYTES {
            let row = rows.next()?.ok_or_else(|| LedgerFault::corrupt(format!("event {} is missing", self.next)))?;
            self.link = check(row, self.next, &self.link)?;
            let (kind, fields) = (text(row, 1)?.to_owned(), text(row, 2)?.to_owned());
            let record = Record { kind, fields, data: data(row)?.map(<[u8]>::to_vec), content: None };
            bytes += record.size();
            self.window.push_back(record);
            self.next += 1;
        }
        Ok(())
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let found = self.record().map_err(|fault| fault.of(self.ledger.path())).transpose();
        self.ended = !matches!(found, Some(Ok(_)));
        found
    }
}
