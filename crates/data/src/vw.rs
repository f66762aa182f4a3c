//! The text format of Vowpal Wabbit: `1 'tag |words the:1 cat |size big:2.5`.

use crate::error::{DataError, Fault, quoted};
use crate::features::{self, Pairs};
use crate::format::{Context, Entry, Open};
use crate::hash::Hash;
use crate::lines::{Bytes, Lines};
use crate::number;
use crate::source::{BadRows, Cell, Column, Kind, Sink, Source};

pub(crate) const ENTRY: Entry = Entry {
    name: "vw",
    summary: "a label, then features with names: 1 'tag |words the cat:2",
    endings: &["vw", "dat"],
    magic: b"",
    looks,
    open: Open::Bytes(|bytes, context| Ok(Box::new(open(bytes, context)))),
};

struct Vw {
    lines: Lines,
    columns: Vec<Column>,
    row: u64,
    reader: Reader,
}

/// What reads a line.
struct Reader {
    bits: u32,
    pairs: Pairs,
    /// Features in the order of the line: the index above the bits of the value, so that sorting moves one number.
    found: Vec<u64>,
}

fn open(bytes: Bytes, context: &Context<'_>) -> Vw {
    let columns = features::columns(&[("label", Kind::Any), ("tag", Kind::Text), ("features", Kind::Features)]);
    let reader = Reader { bits: context.hash_bits, pairs: Pairs::default(), found: vec![] };
    Vw { lines: Lines::new(context.file, bytes), columns, row: 0, reader }
}

/// Numbers, perhaps a tag, then a bar.
fn looks(line: &[u8]) -> bool {
    let Some(bar) = memchr::memchr(b'|', line) else { return false };
    let mut words = line[..bar].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.all(|word| word[0] == b'\'' || number::parse(word).is_some())
}

impl Source for Vw {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&mut self, limit: usize, sink: &mut dyn Sink, bad: &mut BadRows) -> Result<usize, DataError> {
        let Self { lines, row, reader, .. } = self;
        features::read(lines, row, limit, sink, bad, |lines, line, sink| reader.record(lines.bytes(line), sink))
    }
}

impl Reader {
    fn record(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool, (Option<&'static str>, Fault)> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(false);
        }
        let Some(bar) = memchr::memchr(b'|', line) else {
            return Err((None, Fault::new("no `|`", "a label, then features: 1 |words the cat:2")));
        };
        let (label, tag) = head(&line[..bar]).map_err(|fault| (Some("label"), fault))?;
        sink.cell(0, label).map_err(|fault| (Some("label"), fault))?;
        sink.cell(1, tag).map_err(|fault| (Some("tag"), fault))?;
        self.features(&line[bar..]).map_err(|fault| (None, fault))?;
        self.merge().map_err(|fault| (None, fault))?;
        sink.cell(2, self.pairs.cell()).map_err(|fault| (None, fault))?;
        sink.end().map_err(|fault| (None, fault))?;
        Ok(true)
    }

    /// Features of all namespaces, from the first bar on.
    fn features(&mut self, line: &[u8]) -> Result<(), Fault> {
        self.found.clear();
        let mut at = 0;
        let mut space = Hash::new("vw");
        let mut weight = 1.0;
        while at < line.len() {
            if line[at] == b'|' {
                let end = ends(line, at + 1);
                let (name, used) = name(&line[at + 1..end]);
                space = Hash::new("vw").bytes(name);
                weight = value(&line[at + 1 + used..end], name)?;
                at = end;
            } else if matches!(line[at], b' ' | b'\t') {
                at += 1;
            } else {
                let (hash, end) = hashed(space, line, at);
                let feature = if line.get(end) == Some(&b':') {
                    let (value, used) = match number::prefix(&line[end + 1..]) {
                        (value, used) if 0 < used && is_end(line.get(end + 1 + used)) => (value, used),
                        _ => (number::finite(&line[end + 1..ends(line, end)])?, ends(line, end) - end - 1),
                    };
                    at = end + 1 + used;
                    value
                } else {
                    at = end;
                    1.0
                };
                let feature = match number::fits(feature * weight) {
                    Some(feature) => feature,
                    None => number::narrow(feature * weight)?,
                };
                self.found.push(u64::from(hash.bits(self.bits)) << 32 | u64::from(feature.to_bits()));
            }
        }
        Ok(())
    }

    /// Features in their order; those that fall on the same number are added, as they would be in a score.
    fn merge(&mut self) -> Result<(), Fault> {
        self.pairs.clear();
        self.found.sort_unstable();
        let mut last = u32::MAX;
        for feature in &self.found {
            let (index, value) = ((feature >> 32) as u32, f32::from_bits(*feature as u32));
            match self.pairs.value.last_mut() {
                Some(sum) if index == last => *sum = number::narrow(f64::from(*sum) + f64::from(value))?,
                _ => {
                    self.pairs.index.push(index);
                    self.pairs.value.push(value);
                }
            }
            last = index;
        }
        Ok(())
    }
}

/// Label and tag: what stands before the first bar.
fn head(head: &[u8]) -> Result<(Cell<'_>, Cell<'_>), Fault> {
    let mut tag = Cell::Missing;
    let mut label = Cell::Missing;
    // A tag needs no quote when it touches the bar.
    let touches = head.last().is_some_and(|byte| !byte.is_ascii_whitespace());
    let words: Vec<&[u8]> = head.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    for (place, word) in words.iter().enumerate() {
        match (place, word[0]) {
            (_, b'\'') => tag = Cell::Bytes(&word[1..]),
            (0, _) => label = Cell::Bytes(word),
            (_, _) if place + 1 == words.len() && touches && number::parse(word).is_none() => tag = Cell::Bytes(word),
            (1, _) if number::parse(word) == Some(1.0) => {}
            (1, _) if number::parse(word).is_some() => {
                return Err(Fault::new(format!("importance {}", quoted(word)), "1 or none: rows have no weights"));
            }
            _ => return Err(Fault::new(format!("{} before the features", quoted(word)), "label, importance and 'tag")),
        }
    }
    Ok((label, tag))
}

/// The hash of the name that begins here, and where the name ends.
#[inline]
fn hashed(space: Hash, line: &[u8], start: usize) -> (Hash, usize) {
    if let Some((eight, _)) = line[start..].split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let ends = equal(word, b' ') | equal(word, b'\t') | equal(word, b'|') | equal(word, b':');
        let len = ends.trailing_zeros() as usize / 8;
        if len < 8 {
            return (space.short(word & ((1 << (8 * len)) - 1), len), start + len);
        }
    }
    let end = line[start..].iter().position(|byte| matches!(byte, b' ' | b'\t' | b'|' | b':'));
    let end = end.map_or(line.len(), |end| start + end);
    (space.bytes(&line[start..end]), end)
}

/// The high bit of the first byte that equals this one is set, none below it is; above it anything may be.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    let zeros = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    zeros.wrapping_sub(0x0101_0101_0101_0101) & !zeros & 0x8080_8080_8080_8080
}

fn name(word: &[u8]) -> (&[u8], usize) {
    let end = memchr::memchr(b':', word).unwrap_or(word.len());
    (&word[..end], end)
}

/// The weight behind a name, 1 when there is none.
fn value(rest: &[u8], name: &[u8]) -> Result<f64, Fault> {
    match rest.strip_prefix(b":") {
        None => Ok(1.0),
        Some(value) => number::finite(value)
            .map_err(|fault| Fault { found: format!("namespace {}: {}", quoted(name), fault.found), ..fault }),
    }
}

/// Where the word that begins here ends.
fn ends(line: &[u8], start: usize) -> usize {
    let end = line[start..].iter().position(|byte| matches!(byte, b' ' | b'\t' | b'|'));
    end.map_or(line.len(), |end| start + end)
}

#[inline]
fn is_end(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(b' ' | b'\t' | b'|'))
}
