//! Events as rows, and back.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use crate::checksum::Checksum;
use crate::error::{Fault, Refusal};
use crate::event::{Event, Kind};

const PUT_BLOCK: &str = "INSERT INTO blocks VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const PUT_ASK: &str = "INSERT INTO asks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const PUT_ANSWER: &str = "INSERT INTO answers VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const PUT_DRAW: &str = "INSERT INTO draws VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const PUT_ACT: &str = "INSERT INTO acts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const GET_BLOCK: &str = "SELECT * FROM blocks WHERE sequence = ?1";
const GET_ASKS: &str = "SELECT * FROM asks WHERE sequence BETWEEN ?1 AND ?2";
const GET_ANSWERS: &str = "SELECT * FROM answers WHERE sequence BETWEEN ?1 AND ?2";
const GET_DRAWS: &str = "SELECT * FROM draws WHERE sequence BETWEEN ?1 AND ?2 ORDER BY sequence";
const GET_ACTS: &str = "SELECT * FROM acts WHERE sequence BETWEEN ?1 AND ?2 ORDER BY sequence";
const GET_NOTES: &str = "SELECT * FROM notes WHERE sequence BETWEEN ?1 AND ?2";

/// The statements of one append, prepared once for a connection.
pub(crate) struct Writer<'connection> {
    block: CachedStatement<'connection>,
    ask: CachedStatement<'connection>,
    answer: CachedStatement<'connection>,
    draw: CachedStatement<'connection>,
    act: CachedStatement<'connection>,
    checksum: Checksum,
    first: Vec<u8>,
    second: Vec<u8>,
}

impl<'connection> Writer<'connection> {
    pub(crate) fn new(connection: &'connection Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            block: connection.prepare_cached(PUT_BLOCK)?,
            ask: connection.prepare_cached(PUT_ASK)?,
            answer: connection.prepare_cached(PUT_ANSWER)?,
            draw: connection.prepare_cached(PUT_DRAW)?,
            act: connection.prepare_cached(PUT_ACT)?,
            checksum: Checksum::default(),
            first: Vec::new(),
            second: Vec::new(),
        })
    }

    /// Writes an event that `Event::refusal` lets pass.
    pub(crate) fn put(&mut self, sequence: u64, event: &Event) -> rusqlite::Result<()> {
        let crc = self.checksum.event(sequence, event);
        let sequence = signed(sequence);
        match event {
            Event::Considered { first, probabilities, totals } => {
                encode(probabilities, &mut self.first);
                encode(totals, &mut self.second);
                let count = signed(probabilities.len() as u64);
                self.block.execute(params![sequence, signed(*first), count, self.first, self.second, crc])?;
            }
            Event::Asked { time, id, probability, tries, features, extra } => {
                encode(extra, &mut self.first);
                let tries = tries.map(signed);
                self.ask.execute(params![
                    sequence,
                    signed(*time),
                    id,
                    probability,
                    tries,
                    features,
                    self.first,
                    crc
                ])?;
            }
            Event::Answered { ask, label, at, by } => {
                self.answer.execute(params![sequence, signed(*ask), label, signed(*at), by, crc])?;
            }
            Event::Drawn { ask, id, probability, numbers, by, at } => {
                encode(numbers, &mut self.first);
                let (ask, at) = (signed(*ask), signed(*at));
                self.draw.execute(params![sequence, ask, id, probability, self.first, by, at, crc])?;
            }
            Event::Acted { kind, number, about, label, numbers, key, by, at } => {
                encode(numbers, &mut self.first);
                let (number, about, at) = (signed(*number), signed(*about), signed(*at));
                let kind = kind.name();
                self.act.execute(params![sequence, kind, number, about, label, self.first, key, by, at, crc])?;
            }
        }
        Ok(())
    }
}

/// What a broken constraint says of the event; `None` for all other errors.
pub(crate) fn refusal(error: &rusqlite::Error, event: &Event) -> Option<Refusal> {
    use rusqlite::ffi::{SQLITE_CONSTRAINT_FOREIGNKEY, SQLITE_CONSTRAINT_UNIQUE};
    let code = error.sqlite_error()?.extended_code;
    match event {
        Event::Asked { time, .. } if code == SQLITE_CONSTRAINT_UNIQUE => Some(Refusal::TimeTaken { time: *time }),
        Event::Answered { ask, .. } if code == SQLITE_CONSTRAINT_FOREIGNKEY => Some(Refusal::UnknownAsk { ask: *ask }),
        _ => None,
    }
}

/// The asks and answers from one place in the order to another, and `None` in the places of notes.
pub(crate) fn small_events(
    connection: &Connection,
    from: u64,
    to: u64,
    version: i64,
) -> Result<Vec<(u64, Option<Event>)>, Fault> {
    let mut found = Vec::new();
    let tables = [
        (GET_ASKS, "asks", 7, ask as Read),
        (GET_ANSWERS, "answers", 5, answer),
        (GET_DRAWS, "draws", 7, draw),
        (GET_ACTS, "acts", 9, act),
    ];
    // The first version has the first two.
    for (query, table, crc, read) in tables.into_iter().take(if version == 1 { 2 } else { 4 }) {
        let mut statement = connection.prepare_cached(query)?;
        let mut rows = statement.query(params![signed(from), signed(to)])?;
        while let Some(row) = rows.next()? {
            let (sequence, event) = checked(&mut Checksum::default(), table, row, crc, read(row)?)?;
            found.push((sequence, Some(event)));
        }
    }
    found.extend(notes(connection, from, to)?.into_iter().map(|note| (note.sequence, None)));
    found.sort_by_key(|(sequence, _)| *sequence);
    Ok(found)
}

type Read = fn(&Row<'_>) -> Result<Event, Fault>;

/// A text under a key.
pub(crate) struct Note {
    pub(crate) sequence: u64,
    pub(crate) key: String,
    pub(crate) value: String,
}

/// The notes from one place in the order to another.
pub(crate) fn notes(connection: &Connection, from: u64, to: u64) -> Result<Vec<Note>, Fault> {
    let mut found = Vec::new();
    let mut statement = connection.prepare_cached(GET_NOTES)?;
    let mut rows = statement.query(params![signed(from), signed(to)])?;
    while let Some(row) = rows.next()? {
        let note = Note { sequence: whole(row, 0)?, key: row.get(1)?, value: row.get(2)? };
        if u64::from(Checksum::default().note(note.sequence, &note.key, &note.value)) != whole(row, 3)? {
            return Err(Fault::corrupt(format!("row {} of notes does not match its checksum", note.sequence)));
        }
        found.push(note);
    }
    Ok(found)
}

/// Writes a note.
pub(crate) fn put_note(connection: &Connection, note: &Note) -> Result<(), Fault> {
    let Note { sequence, key, value } = note;
    let crc = Checksum::default().note(*sequence, key, value);
    connection.execute("INSERT INTO notes VALUES (?1, ?2, ?3, ?4)", params![signed(*sequence), key, value, crc])?;
    Ok(())
}

/// The block at this place in the order; `None` if there is none.
pub(crate) fn block_event(connection: &Connection, sequence: u64) -> Result<Option<Event>, Fault> {
    let mut statement = connection.prepare_cached(GET_BLOCK)?;
    let found = statement.query_row([signed(sequence)], |row| Ok(checked_block(row))).optional()?;
    found.transpose()
}

fn checked_block(row: &Row<'_>) -> Result<Event, Fault> {
    let probabilities = decode(row, 3)?;
    let event = Event::Considered { first: whole(row, 1)?, totals: decode(row, 4)?, probabilities };
    let (sequence, event) = checked(&mut Checksum::default(), "blocks", row, 5, event)?;
    match &event {
        Event::Considered { probabilities, .. } if whole(row, 2)? == probabilities.len() as u64 => Ok(event),
        _ => Err(Fault::corrupt(format!("row {sequence} of blocks has another count than probabilities"))),
    }
}

fn ask(row: &Row<'_>) -> Result<Event, Fault> {
    let tries = match row.get::<_, Option<i64>>(4)? {
        Some(_) => Some(whole(row, 4)?),
        None => None,
    };
    Ok(Event::Asked {
        time: whole(row, 1)?,
        id: row.get(2)?,
        probability: row.get(3)?,
        tries,
        features: row.get(5)?,
        extra: decode(row, 6)?,
    })
}

fn answer(row: &Row<'_>) -> Result<Event, Fault> {
    Ok(Event::Answered { ask: whole(row, 1)?, label: row.get(2)?, at: whole(row, 3)?, by: row.get(4)? })
}

fn draw(row: &Row<'_>) -> Result<Event, Fault> {
    Ok(Event::Drawn {
        ask: whole(row, 1)?,
        id: row.get(2)?,
        probability: row.get(3)?,
        numbers: decode(row, 4)?,
        by: row.get(5)?,
        at: whole(row, 6)?,
    })
}

fn act(row: &Row<'_>) -> Result<Event, Fault> {
    let name = row.get_ref(1)?;
    let name = name.as_str().map_err(|error| Fault::corrupt(error.to_string()))?;
    Ok(Event::Acted {
        kind: Kind::named(name).ok_or_else(|| Fault::corrupt(format!("`{name}` is nothing that people do")))?,
        number: whole(row, 2)?,
        about: whole(row, 3)?,
        label: row.get(4)?,
        numbers: decode(row, 5)?,
        key: row.get(6)?,
        by: row.get(7)?,
        at: whole(row, 8)?,
    })
}

/// What was drawn and done in a labelling session, in its order: two tables, read side by side in one pass.
pub(crate) fn labelling(
    connection: &Connection,
    last: u64,
    mut take: impl FnMut(Event) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut draws = connection.prepare_cached(GET_DRAWS)?;
    let mut acts = connection.prepare_cached(GET_ACTS)?;
    let (mut draws, mut acts) = (draws.query(params![0, signed(last)])?, acts.query(params![0, signed(last)])?);
    let mut checksum = Checksum::default();
    let mut next_draw = |rows: &mut rusqlite::Rows<'_>| match rows.next()? {
        Some(row) => checked(&mut checksum, "draws", row, 7, draw(row)?).map(Some),
        None => Ok::<_, Fault>(None),
    };
    let mut checksum = Checksum::default();
    let mut next_act = |rows: &mut rusqlite::Rows<'_>| match rows.next()? {
        Some(row) => checked(&mut checksum, "acts", row, 9, act(row)?).map(Some),
        None => Ok::<_, Fault>(None),
    };
    let (mut drawn, mut acted) = (next_draw(&mut draws)?, next_act(&mut acts)?);
    loop {
        let first = match (&drawn, &acted) {
            (None, None) => return Ok(()),
            (Some((draw, _)), Some((act, _))) => draw < act,
            (left, _) => left.is_some(),
        };
        let event = if first {
            std::mem::replace(&mut drawn, next_draw(&mut draws)?)
        } else {
            std::mem::replace(&mut acted, next_act(&mut acts)?)
        };
        if let Some((_, event)) = event {
            take(event)?;
        }
    }
}

/// The event with its place, if the row's checksum is right.
fn checked(
    checksum: &mut Checksum,
    table: &str,
    row: &Row<'_>,
    column: usize,
    event: Event,
) -> Result<(u64, Event), Fault> {
    let sequence = whole(row, 0)?;
    if u64::from(checksum.event(sequence, &event)) == whole(row, column)? {
        Ok((sequence, event))
    } else {
        Err(Fault::corrupt(format!("row {sequence} of {table} does not match its checksum")))
    }
}

/// A whole number of a row.
pub(crate) fn whole(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| Fault::corrupt(format!("{value} stands where no number below 0 can be")))
}

/// A number that `Event::refusal` has let pass, or that counts rows.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn encode(values: &[f64], bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn decode(row: &Row<'_>, column: usize) -> Result<Vec<f64>, Fault> {
    let value = row.get_ref(column)?;
    let bytes = value.as_blob().map_err(|error| Fault::corrupt(error.to_string()))?;
    let (numbers, rest) = bytes.as_chunks::<8>();
    if rest.is_empty() {
        Ok(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    } else {
        Err(Fault::corrupt(format!("{} bytes stand where numbers of 8 bytes should be", bytes.len())))
    }
}
