//! A checksum of each row: `SQLite` tells a torn page, but not a flipped bit in a number.
//!
//! CRC-32 (the one of zlib) over the table's name, its row number and its columns in order; each value is led by a
//! letter for its kind, texts and blobs by their length too.

use crate::event::Event;
use crate::schema::Tally;

/// The bytes of one row, kept from row to row.
#[derive(Debug, Default)]
pub(crate) struct Checksum {
    bytes: Vec<u8>,
}

impl Checksum {
    /// Of an event.
    pub(crate) fn event(&mut self, sequence: u64, event: &Event) -> u32 {
        match event {
            Event::Considered { first, probabilities, totals } => {
                self.start("blocks", sequence);
                self.whole(*first);
                self.whole(probabilities.len() as u64);
                self.numbers(probabilities);
                self.numbers(totals);
            }
            Event::Asked { time, id, probability, tries, features, extra } => {
                self.start("asks", sequence);
                self.whole(*time);
                self.text(id);
                self.optional(*probability, Self::number);
                self.optional(*tries, Self::whole);
                self.blob(features);
                self.numbers(extra);
            }
            Event::Answered { ask, label, at, by } => {
                self.start("answers", sequence);
                self.whole(*ask);
                self.number(*label);
                self.whole(*at);
                self.optional(by.as_deref(), Self::text);
            }
            Event::Drawn { ask, id, probability, numbers, by, at } => {
                self.start("draws", sequence);
                self.whole(*ask);
                self.text(id);
                self.number(*probability);
                self.numbers(numbers);
                self.text(by);
                self.whole(*at);
            }
            Event::Acted { kind, number, about, label, numbers, key, by, at } => {
                self.start("acts", sequence);
                self.text(kind.name());
                self.whole(*number);
                self.whole(*about);
                self.optional(*label, Self::number);
                self.numbers(numbers);
                self.text(key);
                self.text(by);
                self.whole(*at);
            }
        }
        crc32fast::hash(&self.bytes)
    }

    /// Of the counts after an append.
    pub(crate) fn tally(&mut self, tally: Tally) -> u32 {
        self.start("appends", tally.sequence);
        self.whole(tally.counts.considered);
        self.whole(tally.counts.asked);
        self.whole(tally.counts.answered);
        self.whole(tally.noted);
        crc32fast::hash(&self.bytes)
    }

    /// Of a note; the header is note 0 and has no key.
    pub(crate) fn note(&mut self, sequence: u64, key: &str, value: &str) -> u32 {
        self.start("notes", sequence);
        self.text(key);
        self.text(value);
        crc32fast::hash(&self.bytes)
    }

    fn start(&mut self, table: &str, sequence: u64) {
        self.bytes.clear();
        self.bytes.extend_from_slice(table.as_bytes());
        self.whole(sequence);
    }

    fn whole(&mut self, value: u64) {
        self.bytes.push(b'i');
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn number(&mut self, value: f64) {
        self.bytes.push(b'r');
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, value: &str) {
        self.bytes.push(b't');
        self.bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(value.as_bytes());
    }

    fn blob(&mut self, value: &[u8]) {
        self.bytes.push(b'b');
        self.bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(value);
    }

    fn numbers(&mut self, values: &[f64]) {
        self.bytes.push(b'b');
        self.bytes.extend_from_slice(&(8 * values.len() as u64).to_le_bytes());
        self.bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn optional<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => put(self, value),
            None => self.bytes.push(b'n'),
        }
    }
}
