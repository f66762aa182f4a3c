//! Inspection and salvage of damaged ledgers: finds the provably intact events and copies them.
//!
//! An event is intact if its link follows from the link stored with the previous event. So events after a damaged one
//! can be verified too, as long as the stored link of the damaged one is readable.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags, Rows, params};
use serde::Deserialize;

use crate::chain::{self, Link};
use crate::error::{LedgerError, LedgerFault};
use crate::ledger::Ledger;
use crate::ledger::contents::{PURGED, SALVAGED};
use crate::legacy;
use crate::loss::{EventLoss, Surroundings};
use crate::paths::{beside, existing};
use crate::reader::Counts;
use crate::record::{NOTE, Record, parse_note};
use crate::schema::{self, Head, VERSION, signed, unsigned};
use crate::watermark;

/// The number of events that are written to the new ledger at a time.
const BATCH: usize = 1000;

/// The state of a ledger that may be damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// The version of its tables.
    pub version: i64,
    /// The number of intact events.
    pub events: u64,
    /// The number of intact events of each kind.
    pub counts: Counts,
    /// The number of intact stored contents.
    pub contents: u64,
    /// All problems that were found.
    pub problems: Vec<String>,
}

/// The result of salvaging a damaged ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// The number of events in the new ledger.
    pub events: u64,
    /// The number of stored contents in the new ledger.
    pub contents: u64,
    /// The first and last sequence number of each gap.
    pub missing: Vec<(u64, u64)>,
    /// All other problems that were found.
    pub problems: Vec<String>,
}

impl Inspection {
    /// Checks everything in a ledger, and continues after damage.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a ledger.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        let inspect = || {
            // The reader that all other commands use. It runs first, before our connection creates files beside the
            // ledger.
            let read = Ledger::read(path).map(|ledger| ledger.loss().map(ToString::to_string));
            let damaged = Damaged::open(path)?;
            let (mut counts, mut events, mut contents) = (Counts::new(), 0, 0);
            let mut named = NamedContents::default();
            let found = damaged.events(&mut |record| {
                events += 1;
                named.add(&record);
                *counts.entry(record.kind).or_default() += 1;
                Ok(())
            })?;
            let mut problems = damaged.contents(&mut |body| {
                contents += 1;
                named.found(&body);
                Ok(())
            })?;
            problems.extend(named.problem());
            problems.splice(0..0, found.into_problems());
            match read {
                Ok(loss) => problems.extend(loss),
                Err(error) if problems.is_empty() => problems.push(first_line(&error.fault)),
                Err(_) => {}
            }
            Ok(Self { version: damaged.version, events, counts, contents, problems })
        };
        inspect().map_err(|fault: LedgerFault| fault.of(path))
    }
}

/// Writes the provably intact events and contents of a ledger to a new one, with a note of the missing ones.
///
/// # Errors
/// If the ledger cannot be read at all, or the new one cannot be written.
pub fn salvage(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Salvaged, LedgerError> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let damaged = Damaged::open(from).map_err(|fault| match fault {
        LedgerFault::Corrupt { found } => LedgerFault::Unrecoverable { found }.of(from),
        fault => fault.of(from),
    })?;
    let header = damaged.header.clone().unwrap_or_else(|_| "{}".to_owned());
    let mut target = Ledger::create(to, &header)?;
    let (mut batch, mut events, mut contents) = (vec![], 0, 0);
    let mut failed = None;
    let mut put = |record: Option<Record>| -> Result<(), LedgerFault> {
        batch.extend(record.clone());
        if BATCH <= batch.len() || record.is_none() {
            let appended = target.append(&std::mem::take(&mut batch));
            appended.map_err(|error| failed.insert(error).fault.clone())?;
        }
        Ok(())
    };
    let mut named = NamedContents::default();
    let copied = damaged.events(&mut |record| {
        events += 1;
        named.add(&record);
        put(Some(record))
    });
    let copied = copied.and_then(|found| put(None).map(|()| found));
    let found = match (copied, failed) {
        (Ok(found), _) => found,
        (Err(_), Some(error)) => return Err(error),
        (Err(fault), None) => return Err(fault.of(from)),
    };
    let mut bodies = vec![];
    let mut problems = damaged
        .contents(&mut |body| {
            contents += 1;
            named.found(&body);
            bodies.push(body);
            Ok(())
        })
        .map_err(|fault| fault.of(from))?;
    problems.extend(named.problem());
    target.store_contents(&bodies)?;
    let loss = damaged.loss(from);
    if !found.missing.is_empty() || loss.is_some() || !problems.is_empty() {
        let is_verified = damaged.header.is_ok() && !found.problems.iter().any(|problem| problem == UNVERIFIED_HEADER);
        target.set_note(SALVAGED, &note(&found.missing, loss.as_ref(), is_verified))?;
    }
    let DamageReport { missing, problems: other } = found;
    problems.splice(0..0, other);
    problems.extend(loss.map(|loss| loss.to_string()));
    Ok(Salvaged { events, contents, missing, problems })
}

/// The digests that events refer to, and whose contents were not found yet.
#[derive(Default)]
struct NamedContents {
    missing: HashSet<String>,
    is_purged: bool,
}

impl NamedContents {
    fn add(&mut self, record: &Record) {
        if record.kind == NOTE {
            self.is_purged |= parse_note(&record.fields).is_ok_and(|(key, _)| key == PURGED);
        } else if let Ok(ContentReference { content: Some(digest) }) = serde_json::from_str(&record.fields) {
            self.missing.insert(digest);
        }
    }

    fn found(&mut self, body: &str) {
        self.missing.remove(&chain::hexadecimal(&chain::digest(body.as_bytes())));
    }

    fn problem(&self) -> Option<String> {
        let missing = self.missing.len();
        (0 < missing && !self.is_purged).then(|| match missing {
            1 => "1 stored content is missing".to_owned(),
            _ => format!("{missing} stored contents are missing"),
        })
    }
}

/// The field of an event that refers to a content by its digest.
#[derive(Deserialize)]
struct ContentReference {
    content: Option<String>,
}

/// Formats the note of a salvaged ledger: gaps between its events, and events lost with the journal.
fn note(missing: &[(u64, u64)], loss: Option<&EventLoss>, is_header_verified: bool) -> String {
    let journal = loss.map_or(String::new(), |EventLoss { recovered, missing, .. }| {
        let missing = missing.map_or("null".to_owned(), |missing| missing.to_string());
        format!(",\"journal\":{{\"after\":{recovered},\"missing\":{missing}}}")
    });
    let header = if is_header_verified { "" } else { ",\"header\":\"not proved\"" };
    format!("{{\"missing\":{}{journal}{header}}}", pairs(missing))
}

fn pairs(ranges: &[(u64, u64)]) -> String {
    let pairs: Vec<String> = ranges.iter().map(|(first, last)| format!("[{first},{last}]")).collect();
    format!("[{}]", pairs.join(","))
}

/// The problem of an unverified header. Only the first event verifies the header; without it, the header may be
/// damaged, including the names of labels.
const UNVERIFIED_HEADER: &str = "the header is not proved, because event 1 does not follow from it: one of them is damaged; \
                               check the labels and settings before you use the answers";

/// Gaps between the intact events, and other damage.
#[derive(Default)]
struct DamageReport {
    missing: Vec<(u64, u64)>,
    problems: Vec<String>,
}

impl DamageReport {
    fn miss(&mut self, sequence: u64) {
        match self.missing.last_mut() {
            Some((_, last)) if *last + 1 == sequence => *last = sequence,
            _ => self.missing.push((sequence, sequence)),
        }
    }

    fn into_problems(self) -> Vec<String> {
        let gaps = self.missing.into_iter().map(|(first, last)| {
            if first == last {
                format!("event {first} is missing or damaged")
            } else {
                format!("events {first} to {last} are missing or damaged")
            }
        });
        self.problems.into_iter().chain(gaps).collect()
    }
}

/// A possibly damaged ledger, which is read as far as possible.
struct Damaged {
    connection: Connection,
    version: i64,
    header: Result<String, LedgerFault>,
    /// The state of the files beside it before it was opened.
    around: Surroundings,
    /// The bytes of the watermark before it was opened.
    mark: Option<Vec<u8>>,
}

/// A callback for each intact event or content.
type Take<'a, T> = &'a mut dyn FnMut(T) -> Result<(), LedgerFault>;

impl Damaged {
    fn open(path: &Path) -> Result<Self, LedgerFault> {
        let path = existing(path)?;
        let (around, mark) = (Surroundings::of(&path)?, fs::read(beside(&path, "-mark")).ok());
        // As in `Ledger::read`: no file is left beside a ledger without a journal.
        let flags =
            if around.has_journal() { OpenFlags::SQLITE_OPEN_READ_ONLY } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
        let connection = schema::connect(&path, flags)?;
        connection.pragma_update(None, "query_only", true)?;
        // Without this setting SQLite opens no file that is shorter than its header says.
        connection.pragma_update(None, "writable_schema", true)?;
        schema::keep_journal(&connection, around.has_journal())?;
        let version = schema::identify(&connection)?;
        let header = if version == VERSION { schema::header(&connection) } else { legacy::header(&connection) };
        Ok(Self { connection, version, header, around, mark })
    }

    fn header_problem(&self) -> Option<String> {
        self.header.as_ref().err().map(|fault| format!("the header cannot be read: {}", first_line(fault)))
    }

    /// Returns whether the watermark beside the ledger has the digest of its header, which verifies the header.
    fn is_header_marked(&self) -> bool {
        let (Ok(header), Some(mark)) = (&self.header, &self.mark) else { return false };
        watermark::parse(mark, chain::start(header)).is_some()
    }

    /// Returns the loss of events with the journal, if the header and the head can be read.
    fn loss(&self, path: &Path) -> Option<EventLoss> {
        let path = existing(path).ok()?;
        let header = self.header.as_ref().ok()?;
        let mark = self.mark.as_ref().and_then(|bytes| watermark::parse(bytes, chain::start(header)));
        let head = match self.version {
            VERSION => schema::head(&self.connection).ok()?,
            version => Head { sequence: legacy::last(&self.connection, version).ok()?, chain: chain::start(header) },
        };
        let state = schema::state(&self.connection, self.version).ok()?;
        self.around.loss(&path, mark, head, state)
    }

    fn events(&self, take: Take<'_, Record>) -> Result<DamageReport, LedgerFault> {
        if self.version == VERSION { self.current_events(take) } else { self.legacy_events(take) }
    }

    /// Reads the events of an old version. Rows have a checksum each, but no chain: events up to the first gap are
    /// kept.
    fn legacy_events(&self, take: Take<'_, Record>) -> Result<DamageReport, LedgerFault> {
        let mut found = DamageReport::default();
        found.problems.extend(self.header_problem());
        let last = legacy::last(&self.connection, self.version)?;
        let mut next = 1;
        while next <= last {
            match legacy::window(&self.connection, self.version, next, last) {
                Ok(records) => {
                    next += records.len() as u64;
                    records.into_iter().try_for_each(&mut *take)?;
                }
                Err(fault) => {
                    found.problems.push(first_line(&fault));
                    found.missing.push((next, last));
                    break;
                }
            }
        }
        Ok(found)
    }

    fn current_events(&self, take: Take<'_, Record>) -> Result<DamageReport, LedgerFault> {
        let mut found = DamageReport::default();
        found.problems.extend(self.header_problem());
        let head = schema::head(&self.connection);
        found.problems.extend(head.as_ref().err().map(first_line));
        let (rows, problem) = self.collect(head.as_ref().map_or(0, |head| head.sequence))?;
        found.problems.extend(problem);
        let last: i64 = rows.query_row("SELECT ifnull(max(sequence), 0) FROM found", [], |row| row.get(0))?;
        let last = u64::try_from(last).unwrap_or(0);
        let acknowledged = head.as_ref().map_or(last, |head| head.sequence);
        let mut before: Vec<Link> = self.header.iter().map(|header| chain::start(header)).collect();
        let mut statement = rows.prepare("SELECT kind, fields, data, chain FROM found WHERE sequence = ?1")?;
        for sequence in 1..=last.max(acknowledged) {
            let rows = read_candidates(statement.query([signed(sequence)])?)?;
            let is_intact = |(record, link): &&(Record, Link)| {
                let Record { kind, fields, data, .. } = record;
                before.iter().any(|before| chain::next(before, sequence, kind, fields, data.as_deref()) == *link)
            };
            if let Some((record, link)) = rows.iter().find(is_intact).cloned() {
                before = vec![link];
                take(record)?;
            } else {
                found.miss(sequence);
                before = rows.into_iter().map(|(_, link)| link).collect();
            }
        }
        if self.header.is_ok()
            && found.missing.first().is_some_and(|(first, _)| *first == 1)
            && !self.is_header_marked()
        {
            found.problems.push(UNVERIFIED_HEADER.to_owned());
        }
        if acknowledged < last {
            found.problems.push(format!("the head is at event {acknowledged}, but there are {last}"));
        } else if let Ok(head) = head
            && found.missing.last().is_none_or(|(_, gap)| *gap < last)
            && before != [head.chain]
        {
            found.problems.push("the head does not match the hash chain".to_owned());
        }
        Ok(found)
    }

    /// Copies every readable row to a temporary table, in any order and including duplicates.
    fn collect(&self, acknowledged: u64) -> Result<(Connection, Option<String>), LedgerFault> {
        let target = Connection::open("")?;
        target.execute_batch(
            "CREATE TABLE found (sequence INTEGER, kind TEXT, fields TEXT, data BLOB, chain BLOB); \
             CREATE INDEX by_sequence ON found (sequence); BEGIN",
        )?;
        let put = |rows: &mut Rows<'_>| -> Result<(), LedgerFault> {
            let mut insert = target.prepare_cached("INSERT INTO found VALUES (?1, ?2, ?3, ?4, ?5)")?;
            while let Some(row) = rows.next()? {
                let Ok(sequence) = unsigned(row, 0) else { continue };
                let (kind, fields) = (row.get_ref(1)?, row.get_ref(2)?);
                // A text that is not valid UTF-8 cannot be intact, but its link can.
                let text = |value: ValueRef<'_>| value.as_str().unwrap_or_default().to_owned();
                let [data, link] = [row.get::<_, Value>(3)?, row.get(4)?];
                insert.execute(params![signed(sequence), text(kind), text(fields), data, link])?;
            }
            Ok(())
        };
        let columns = "SELECT sequence, kind, fields, data, chain FROM events";
        let mut statement = self.connection.prepare(columns)?;
        let problem = put(&mut statement.query([])?).err().map(|fault| first_line(&fault));
        // An unreadable page hides later pages from a scan, but not from a lookup by sequence number.
        let mut search = self.connection.prepare(&format!("{columns} WHERE sequence = ?1"))?;
        let mut is_there = target.prepare("SELECT 1 FROM found WHERE sequence = ?1")?;
        for sequence in 1..=acknowledged {
            if !is_there.exists([signed(sequence)])? {
                let _ = put(&mut search.query([signed(sequence)])?);
            }
        }
        drop((statement, search, is_there));
        Ok((target, problem))
    }

    fn contents(&self, take: Take<'_, String>) -> Result<Vec<String>, LedgerFault> {
        let mut problems = vec![];
        if self.version != VERSION {
            return Ok(problems);
        }
        let mut damaged = 0;
        let mut statement = self.connection.prepare("SELECT digest, body FROM contents")?;
        let mut rows = statement.query([])?;
        loop {
            match rows.next() {
                Ok(Some(row)) => match (row.get::<_, Link>(0), row.get::<_, String>(1)) {
                    (Ok(digest), Ok(body)) if chain::digest(body.as_bytes()) == digest => take(body)?,
                    _ => damaged += 1,
                },
                Ok(None) => break,
                Err(error) => {
                    problems.push(format!("the stored contents cannot be read to their end: {error}"));
                    break;
                }
            }
        }
        if 0 < damaged {
            problems.push(match damaged {
                1 => "1 stored content does not match its digest".to_owned(),
                _ => format!("{damaged} stored contents do not match their digests"),
            });
        }
        Ok(problems)
    }
}

/// Reads the rows that are candidates for one event; skips those without a valid link.
fn read_candidates(mut rows: Rows<'_>) -> Result<Vec<(Record, Link)>, LedgerFault> {
    let mut found = vec![];
    while let Some(row) = rows.next()? {
        let Ok(link) = row.get::<_, Link>(3) else { continue };
        let record =
            Record { kind: row.get(0)?, fields: row.get(1)?, data: row.get(2).unwrap_or_default(), content: None };
        found.push((record, link));
    }
    Ok(found)
}

fn first_line(fault: &LedgerFault) -> String {
    let text = fault.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("damaged: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_json() {
        assert_eq!(pairs(&[]), "[]");
        assert_eq!(pairs(&[(1, 2), (5, 5)]), "[[1,2],[5,5]]");
        let loss = EventLoss { recovered: 7, missing: None, cause: crate::loss::LossCause::NoJournal };
        let journal = r#","journal":{"after":7,"missing":null}"#;
        assert_eq!(note(&[(5, 5)], Some(&loss), true), format!(r#"{{"missing":[[5,5]]{journal}}}"#));
        assert_eq!(note(&[(1, 1)], None, false), r#"{"missing":[[1,1]],"header":"not proved"}"#);
    }
}
