//! The text format of Vowpal Wabbit: `1 'tag |words the:1 cat |size big:2.5`.

use crate::error::{DataError, DataFault, quoted};
use crate::features::{self, ManyPairs, Pairs};
use crate::format::{FormatEntry, FormatOpener, OpenContext};
use crate::hash::Hash;
use crate::lines::{Bytes, LineReader, TextLine};
use crate::number;
use crate::source::{BadRows, CellValue, Column, ColumnKind, Sink, Source};

pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "vw",
    summary: "a label, then features with names: 1 'tag |words the cat:2",
    endings: &["vw", "dat"],
    choices: &[],
    magic: &[],
    looks,
    open: FormatOpener::Bytes(|bytes, context| Ok(Box::new(open(bytes, context)))),
};

struct Vw {
    lines: LineReader,
    columns: Vec<Column>,
    row: u64,
    reader: VwParser,
}

/// A reader of lines, with buffers.
struct VwParser {
    bits: u32,
    pairs: Pairs,
    many: Box<ManyPairs>,
    /// Features to be sorted: the index above the bits of the value, so that sorting moves a single integer.
    found: Vec<u64>,
}

fn open(bytes: Bytes, context: &OpenContext<'_>) -> Vw {
    let columns =
        features::columns(&[("label", ColumnKind::Any), ("tag", ColumnKind::Name), ("features", ColumnKind::Features)]);
    let reader = VwParser { bits: context.hash_bits, pairs: Pairs::default(), many: Box::default(), found: vec![] };
    Vw { lines: LineReader::new(context.file, bytes), columns, row: 0, reader }
}

/// Returns whether a line has numbers, optionally a tag, then a bar.
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
        features::read(lines, row, limit, sink, bad, |lines, line, sink| reader.record(lines.at(line), sink))
    }
}

impl VwParser {
    fn record(&mut self, line: TextLine<'_>, sink: &mut dyn Sink) -> Result<bool, (Option<&'static str>, DataFault)> {
        let line = line.trim();
        if line.len == 0 {
            return Ok(false);
        }
        let Some(bar) = memchr::memchr(b'|', line.bytes()) else {
            return Err((None, DataFault::new("no `|`", "a label, then features: 1 |words the cat:2")));
        };
        let (label, tag) = head(&line.bytes()[..bar]).map_err(|fault| (Some("label"), fault))?;
        sink.cell(0, label).map_err(|fault| (Some("label"), fault))?;
        sink.cell(1, tag).map_err(|fault| (Some("tag"), fault))?;
        let rising = self.features(line, bar).map_err(|fault| (None, fault))?;
        if !rising {
            self.merge().map_err(|fault| (None, fault))?;
        }
        sink.cell(2, self.pairs.cell()).map_err(|fault| (None, fault))?;
        sink.end().map_err(|fault| (None, fault))?;
        Ok(true)
    }

    /// Reads the features of all namespaces, from the first bar on, and returns whether their indices increase. A
    /// separate function, so that the variables of its loop stay in registers.
    #[inline(never)]
    fn features(&mut self, line: TextLine<'_>, mut at: usize) -> Result<bool, DataFault> {
        let TextLine { text, len } = line;
        self.pairs.clear();
        let (mut space, mut weight) = (Namespace::default(), 1.0);
        let (mut rising, mut least) = (true, 0);
        while at < len {
            while let Some((number, value, end)) = features::plain_pair(text, at) {
                let feature = (value * weight) as f32;
                if !feature.is_finite() || !matches!(text.get(end), Some(b' ' | b'\n')) {
                    break;
                }
                let index = space.numbered(number, self.bits);
                self.pairs.push(index, feature);
                rising &= least <= index;
                (at, least) = (end, index + 1);
            }
            if len <= at {
                break;
            }
            match text[at] {
                b'|' => {
                    let end = ends(line.bytes(), at + 1);
                    let (name, used) = name(&text[at + 1..end]);
                    space = Namespace::named(name, self.bits);
                    weight = value(&text[at + 1 + used..end], name)?;
                    at = end;
                    let first = self.pairs.index.len();
                    if weight == 1.0
                        && ManyPairs::SHORTEST <= len - at
                        && let Some(end) = self.many(line, at, space)
                    {
                        let added = &self.pairs.index[first..];
                        rising &= added.first().is_none_or(|first| least <= *first) && querist_rows::rise(added);
                        least = added.last().map_or(least, |last| last + 1);
                        at = end;
                    }
                }
                b' ' | b'\t' => at += 1,
                _ => {
                    let start = at;
                    let (index, value);
                    (index, at) = space.index(line, at, self.bits);
                    (value, at) = feature(line, at)?;
                    self.pairs.push(index, narrow(value * weight, &text[start..at])?);
                    rising &= least <= index;
                    least = index + 1;
                }
            }
        }
        Ok(rising)
    }

    /// Reads the features of a namespace from `at` on, if they are many and plain, and returns their end.
    fn many(&mut self, line: TextLine<'_>, at: usize, space: Namespace) -> Option<usize> {
        let Self { pairs, many, bits, .. } = self;
        let all = &line.bytes()[at..];
        let end = memchr::memchr(b'|', all).unwrap_or(all.len());
        let gap = all[..end].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let end = at + end - gap;
        let first = pairs.index.len();
        if many.read(line.text, at, end, pairs).is_none() {
            pairs.truncate(first);
            return None;
        }
        for index in &mut pairs.index[first..] {
            *index = space.numbered((*index).into(), *bits);
        }
        Some(end)
    }

    /// Sorts the features. Adds the values of features with the same index, as a score would.
    fn merge(&mut self) -> Result<(), DataFault> {
        let features = self.pairs.index.iter().zip(&self.pairs.value);
        self.found.clear();
        self.found.extend(features.map(|(index, value)| u64::from(*index) << 32 | u64::from(value.to_bits())));
        self.found.sort_unstable();
        self.pairs.clear();
        let mut last = u32::MAX;
        for feature in &self.found {
            let (index, value) = ((feature >> 32) as u32, f32::from_bits(*feature as u32));
            match self.pairs.value.last_mut() {
                Some(sum) if index == last => *sum = number::narrow(f64::from(*sum) + f64::from(value))?,
                _ => self.pairs.push(index, value),
            }
            last = index;
        }
        Ok(())
    }
}

/// A namespace. As in Vowpal Wabbit, names that are whole numbers are indices relative to the start of the namespace;
/// other names are hashed together with it.
#[derive(Clone, Copy)]
struct Namespace {
    names: Hash,
    numbers: u64,
}

impl Default for Namespace {
    fn default() -> Self {
        Self { names: Hash::new("vw"), numbers: 0 }
    }
}

impl Namespace {
    fn named(name: &[u8], bits: u32) -> Self {
        let names = Hash::new("vw").bytes(name);
        Self { names, numbers: if name.is_empty() { 0 } else { names.bits(bits).into() } }
    }

    /// Returns the feature whose name begins here, and the end of the name.
    #[inline]
    fn index(self, line: TextLine<'_>, start: usize, bits: u32) -> (u32, usize) {
        let TextLine { text, len } = line;
        let (mut number, mut at) = (0_u64, start);
        while let Some(digit) = number::digit(text, at) {
            number = number.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        let ends = matches!(text.get(at), Some(b':' | b' ' | b'\t' | b'|')) || at == len;
        if start < at && ends {
            return (self.numbered(number, bits), at);
        }
        let (hash, end) = hashed(self.names, line.bytes(), start);
        (hash.bits(bits), end)
    }

    /// Returns the feature of this number. It computes with 32 bits, because higher bits do not matter and SIMD
    /// registers then hold twice as many.
    #[inline]
    fn numbered(self, number: u64, bits: u32) -> u32 {
        (number as u32).wrapping_add(self.numbers as u32) & u32::MAX.unbounded_shr(32_u32.saturating_sub(bits))
    }
}

/// Returns the value after a name, 1 if there is none, and the end of the value.
#[inline]
fn feature(line: TextLine<'_>, at: usize) -> Result<(f64, usize), DataFault> {
    let TextLine { text, len } = line;
    if len <= at || text[at] != b':' {
        return Ok((1.0, at));
    }
    let (number, used) = number::prefix(&text[at + 1..]);
    let end = at + 1 + used;
    if 0 < used && (matches!(text.get(end), Some(b' ' | b'\t' | b'|')) || end == len) {
        return Ok((number, end));
    }
    let end = ends(line.bytes(), at);
    Ok((number::finite(&text[at + 1..end])?, end))
}

/// Converts the value of a feature to `f32`; the fault quotes the pair.
#[inline]
fn narrow(value: f64, pair: &[u8]) -> Result<f32, DataFault> {
    number::narrow(value).map_err(|fault| DataFault { found: format!("{} is too large", quoted(pair)), ..fault })
}

/// Parses label and tag, the text before the first bar.
fn head(head: &[u8]) -> Result<(CellValue<'_>, CellValue<'_>), DataFault> {
    // Most lines have a label and nothing else; numbers contain no spaces.
    let alone = head.trim_ascii();
    if number::parse(alone).is_some_and(f64::is_finite) {
        return Ok((CellValue::Bytes(alone), CellValue::Missing));
    }
    let mut tag = CellValue::Missing;
    let mut label = CellValue::Missing;
    // A tag needs no quote if it touches the bar.
    let touches = head.last().is_some_and(|byte| !byte.is_ascii_whitespace());
    let mut words = head.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).enumerate().peekable();
    while let Some((index, word)) = words.next() {
        let last = words.peek().is_none();
        match (index, word[0]) {
            (_, b'\'') => tag = CellValue::Bytes(&word[1..]),
            (0, _) if last && touches && number::parse(word).is_none() => tag = CellValue::Bytes(word),
            (0, _) if number::parse(word).is_some_and(f64::is_finite) => label = CellValue::Bytes(word),
            (0, _) => {
                let fault =
                    DataFault::new(format!("label {}", quoted(word)), "a finite number in front of the features");
                return Err(fault.hint("classes are numbers in VW text; use --skip-bad-rows to skip such rows"));
            }
            (_, _) if last && touches && number::parse(word).is_none() => tag = CellValue::Bytes(word),
            (1, _) if number::parse(word) == Some(1.0) => {}
            (1, _) if number::parse(word).is_some() => {
                return Err(DataFault::new(
                    format!("importance {}", quoted(word)),
                    "1 or no importance: rows cannot \
                     have weights",
                ));
            }
            _ => {
                return Err(DataFault::new(
                    format!("{} before the features", quoted(word)),
                    "label, importance and 'tag",
                ));
            }
        }
    }
    Ok((label, tag))
}

/// Returns the hash of the name that begins here, and the end of the name.
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

/// Returns a word with the high bit set in the first byte that equals `byte`, and not below it; the bits above it are
/// arbitrary.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    let zeros = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    zeros.wrapping_sub(0x0101_0101_0101_0101) & !zeros & 0x8080_8080_8080_8080
}

fn name(word: &[u8]) -> (&[u8], usize) {
    let end = memchr::memchr(b':', word).unwrap_or(word.len());
    (&word[..end], end)
}

/// Returns the weight after the name of a namespace, 1 if there is none.
fn value(rest: &[u8], name: &[u8]) -> Result<f64, DataFault> {
    match rest.strip_prefix(b":") {
        None => Ok(1.0),
        Some(value) => number::finite(value)
            .map_err(|fault| DataFault { found: format!("namespace {}: {}", quoted(name), fault.found), ..fault }),
    }
}

/// Returns the end of the word that begins at `start`.
fn ends(line: &[u8], start: usize) -> usize {
    let end = line[start..].iter().position(|byte| matches!(byte, b' ' | b'\t' | b'|'));
    end.map_or(line.len(), |end| start + end)
}
