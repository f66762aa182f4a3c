//! JSON lines: one object per line.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::{DataError, DataFault, DataPosition};
use crate::format::{FormatEntry, FormatOpener, OpenContext};
use crate::lines::{Bytes, LineReader, MARK};
use crate::number;
use crate::record::utf8;
use crate::source::{BadRows, CellValue, Column, ColumnKind, Sink, Source};

pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "jsonl",
    summary: "a JSON object on each line: {\"text\": \"hello\", \"label\": \"ham\"}",
    endings: &["jsonl", "ndjson"],
    choices: &[],
    magic: &[],
    looks: |line| line.trim_ascii_start().starts_with(b"{"),
    open: FormatOpener::Bytes(|bytes, context| Ok(open(bytes, context))),
};

/// The maximum number of columns; further keys are skipped.
const MOST_COLUMNS: usize = 1 << 20;

struct Jsonl {
    lines: LineReader,
    row: u64,
    objects: Objects,
}

/// A reader of objects that passes their cells to a sink.
pub(crate) struct Objects {
    columns: Vec<Column>,
    by_name: std::collections::HashMap<String, usize>,
    /// True if new keys become columns; otherwise they are skipped.
    open: bool,
    /// For each column, the last object that has it, to detect duplicate keys.
    last_seen: Vec<u64>,
    object: u64,
    /// The number of keys skipped.
    passed_over: u64,
    /// The keys of the current object that are not columns.
    others: Vec<String>,
    vector: Vec<f32>,
    /// The fault in the current object, and its column if it has one.
    flaw: Option<(Option<usize>, DataFault)>,
    /// The column expected next, because most objects have their keys in the same order.
    expected: usize,
}

/// Opens a file with one object per line.
pub(crate) fn open(bytes: Bytes, context: &OpenContext<'_>) -> Box<dyn Source + Send> {
    Box::new(Jsonl { lines: LineReader::new(context.file, bytes), row: 0, objects: Objects::new(context.columns) })
}

impl Source for Jsonl {
    fn columns(&self) -> &[Column] {
        &self.objects.columns
    }

    fn is_open(&self) -> bool {
        true
    }

    fn passed_over(&self) -> u64 {
        self.objects.passed_over
    }

    fn read(&mut self, limit: usize, sink: &mut dyn Sink, bad: &mut BadRows) -> Result<usize, DataError> {
        let mut read = 0;
        while read < limit {
            let Some(line) = self.lines.next()? else { break };
            let line = self.lines.bytes(line);
            let line = if self.lines.line() == 1 { line.strip_prefix(MARK).unwrap_or(line) } else { line };
            if line.trim_ascii().is_empty() {
                continue;
            }
            self.row += 1;
            match self.objects.read(line, sink) {
                Ok(()) => read += 1,
                Err((column, fault)) => {
                    sink.discard();
                    let column = column.map(|column| self.objects.columns[column].name.clone());
                    let position = DataPosition { line: Some(self.lines.line()), row: self.row, column };
                    bad.take(self.lines.file(), position, fault)?;
                }
            }
        }
        Ok(read)
    }
}

impl Objects {
    /// Creates a reader with these columns. If there are none, keys become columns as they appear.
    pub(crate) fn new(columns: &[String]) -> Self {
        let mut objects = Self {
            columns: vec![],
            by_name: std::collections::HashMap::new(),
            open: columns.is_empty(),
            last_seen: vec![],
            object: 0,
            passed_over: 0,
            others: vec![],
            vector: vec![],
            flaw: None,
            expected: 0,
        };
        for name in columns {
            objects.add(name);
        }
        objects
    }

    /// Returns the columns found so far.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the number of keys that were skipped because they are not columns.
    pub(crate) fn passed_over(&self) -> u64 {
        self.passed_over
    }

    fn add(&mut self, name: &str) -> usize {
        let index = self.columns.len();
        self.columns.push(Column { name: name.to_owned(), kind: ColumnKind::Any });
        self.by_name.insert(name.to_owned(), index);
        self.last_seen.push(0);
        index
    }

    /// Parses the object in this text and passes its cells to a sink.
    ///
    /// # Errors
    /// If it is not an object, or if the sink rejects a cell; with the column if it is known.
    pub(crate) fn read(&mut self, text: &[u8], sink: &mut dyn Sink) -> Result<(), (Option<usize>, DataFault)> {
        self.object += 1;
        self.expected = 0;
        self.flaw = None;
        self.others.clear();
        let text = utf8(text).map_err(|fault| (None, fault))?;
        let mut json = serde_json::Deserializer::from_str(text);
        let read = json.deserialize_any(ObjectVisitor { objects: self, sink }).and_then(|()| json.end());
        if let Err(error) = read {
            return Err(self.flaw.take().unwrap_or_else(|| (None, not_json(&error, text))));
        }
        sink.end().map_err(|fault| (None, fault))
    }

    /// Returns the column of a key, or `None` if the key is skipped. Fails if the object has the key twice.
    fn index_of(&mut self, key: &str) -> Result<Option<usize>, DataFault> {
        let next = self.columns.get(self.expected).is_some_and(|column| column.name == key);
        let index = if next { Some(self.expected) } else { self.by_name.get(key).copied() };
        let index = match index {
            None if self.open && self.columns.len() < MOST_COLUMNS => Some(self.add(key)),
            other => other,
        };
        self.passed_over += u64::from(index.is_none());
        let twice = match index {
            Some(index) => std::mem::replace(&mut self.last_seen[index], self.object) == self.object,
            None if self.others.len() < 64 => {
                let twice = self.others.iter().any(|other| other == key);
                self.others.push(key.to_owned());
                twice
            }
            None => false,
        };
        self.expected = index.map_or(self.expected, |index| index + 1);
        if twice {
            return Err(DataFault::new(format!("the key `{key}` appears twice"), "each key once"));
        }
        Ok(index)
    }
}

fn not_json(error: &serde_json::Error, text: &str) -> DataFault {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    if let (true, Some((found, _))) = (error.is_data(), message.split_once(", expected ")) {
        let found = found.trim_start_matches("invalid type: ").replace("sequence", "a list");
        let fault = DataFault::new(found, "an object such as {\"x\": 1.5, \"label\": \"ham\"}");
        return fault.hint("a record is an object; an array of objects is read with --format json");
    }
    if error.is_eof() {
        let fault = DataFault::new("the object is truncated", "a closing brace");
        return fault.hint(
            "check that the line is complete; write one object per line, or an array of objects in a \
             .json file",
        );
    }
    let in_line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let rest: String = in_line.chars().skip(error.column().saturating_sub(1)).take(12).collect();
    // An element of an array may span several lines.
    let line = if 1 < error.line() { format!("line {} of the object, ", error.line()) } else { String::new() };
    let fault = DataFault::new(format!("not JSON at {line}position {}: {message}", error.column()), "");
    match rest.trim_start().as_bytes() {
        [b'N' | b'I', ..] | [b'-', b'I' | b'N', ..] => fault.hint(
            "JSON has no NaN or infinity; use null for a \
             missing value",
        ),
        _ => fault,
    }
}

/// A visitor of an object that passes its cells to the sink.
struct ObjectVisitor<'a> {
    objects: &'a mut Objects,
    sink: &'a mut dyn Sink,
}

/// A visitor of one value.
struct ValueVisitor<'a> {
    objects: &'a mut Objects,
    sink: &'a mut dyn Sink,
    column: Option<usize>,
}

/// A visitor of a key, which is copied only if it contains escapes.
struct Key<'a>(&'a mut Objects);

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object such as {\"x\": 1.5, \"label\": \"ham\"}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(column) = map.next_key_seed(Key(self.objects))? {
            map.next_value_seed(ValueVisitor { objects: self.objects, sink: self.sink, column })?;
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Option<usize>, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Option<usize>, E> {
        self.0.index_of(key).map_err(|fault| {
            self.0.flaw = Some((None, fault));
            E::custom("")
        })
    }
}

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        match self.column {
            None => json.deserialize_ignored_any(IgnoredAny).map(|_| ()),
            Some(_) => json.deserialize_any(self),
        }
    }
}

impl ValueVisitor<'_> {
    fn emit<E: Error>(&mut self, cell: CellValue<'_>) -> Result<(), E> {
        let Some(column) = self.column else { return Ok(()) };
        self.sink.cell(column, cell).map_err(|fault| {
            self.objects.flaw = Some((Some(column), fault));
            E::custom("")
        })
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true, false, null or a list of numbers")
    }

    fn visit_unit<E: Error>(mut self) -> Result<(), E> {
        self.emit(CellValue::Missing)
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<(), E> {
        self.emit(CellValue::Boolean(value))
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<(), E> {
        self.emit(CellValue::Integer(value))
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<(), E> {
        let cell = i64::try_from(value).map_or(CellValue::Unsigned(value), CellValue::Integer);
        self.emit(cell)
    }

    fn visit_f64<E: Error>(mut self, value: f64) -> Result<(), E> {
        self.emit(CellValue::Number(value))
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<(), E> {
        self.emit(CellValue::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let mut vector = std::mem::take(&mut self.objects.vector);
        vector.clear();
        let mut flaw = None;
        while let Some(ListElement(element)) = list.next_element()? {
            match element.map(number::narrow) {
                _ if flaw.is_some() => {}
                Some(Ok(value)) => vector.push(value),
                Some(Err(fault)) => flaw = Some(fault),
                None => {
                    let found = format!("element {} of a list is not a number", vector.len() + 1);
                    flaw = Some(DataFault::new(found, "numbers"));
                }
            }
        }
        let emitted = self.emit(flaw.as_ref().map_or(CellValue::Vector(&vector), CellValue::Unread));
        self.objects.vector = vector;
        emitted
    }

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        IgnoredAny.visit_map(map)?;
        let fault = DataFault::new("an object inside the object", "a text, a number, or a list of numbers");
        self.emit(CellValue::Unread(&fault))
    }
}

/// An element of a list: a number, or `None` for anything else.
struct ListElement(Option<f64>);

impl<'de> Deserialize<'de> for ListElement {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(ElementVisitor).map(ListElement)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Option<f64>, E> {
        Ok(Some(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Option<f64>, E> {
        Ok(Some(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Option<f64>, E> {
        Ok(Some(value as f64))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<f64>, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Option<f64>, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Option<f64>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Option<f64>, A::Error> {
        IgnoredAny.visit_seq(list).map(|_| None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<f64>, A::Error> {
        IgnoredAny.visit_map(map).map(|_| None)
    }
}
