//! The stored form of an event: a kind, named fields in JSON, and bulk data.

use std::fmt::{self, Display};

use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, VariantAccess, Visitor,
};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};

/// The kind of events that hold a note; the ledger writes and reads these itself.
pub(crate) const NOTE: &str = "note";

/// One stored event. Any serde enum of struct variants converts to records and back: the variant is the kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The name of the variant.
    pub kind: String,
    /// A JSON object with the fields of the variant.
    pub fields: String,
    /// Bytes that would be larger in JSON: the numbers of a block, an encoded row.
    pub data: Option<Vec<u8>>,
    /// Text to store under its SHA-256 digest in the same transaction. It is not part of the event, so a record that
    /// was read has none; see [`crate::Ledger::content`].
    pub content: Option<String>,
}

/// An event that cannot be converted to a record, or a record that is not one of the expected events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError(String);

impl Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RecordError {}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum NoteEvent {
    Note { key: String, value: String },
}

impl Record {
    /// Converts an event, an enum variant with named fields, to a record.
    pub fn encode<E: Serialize>(event: &E) -> Result<Self, RecordError> {
        let text = serde_json::to_string(event).map_err(|error| RecordError(format!("cannot be stored: {error}")))?;
        let inner = text.strip_prefix("{\"").and_then(|rest| rest.strip_suffix('}'));
        match inner.and_then(|inner| inner.split_once("\":")) {
            Some((kind, fields)) if fields.starts_with('{') => {
                Ok(Self { kind: kind.to_owned(), fields: fields.to_owned(), data: None, content: None })
            }
            _ => Err(RecordError(format!("cannot be stored: {text} is not an enum variant with named fields"))),
        }
    }

    /// Sets the bulk data.
    #[must_use]
    pub fn with_data(self, data: Vec<u8>) -> Self {
        Self { data: Some(data), ..self }
    }

    /// Sets the text to store with the event.
    #[must_use]
    pub fn with_content(self, content: String) -> Self {
        Self { content: Some(content), ..self }
    }

    /// Converts the record back to an event; bulk data stays in `data`.
    pub fn decode<E: DeserializeOwned>(&self) -> Result<E, RecordError> {
        E::deserialize(Tagged { kind: &self.kind, fields: &self.fields })
            .map_err(|error| RecordError(format!("an event of kind `{}` cannot be read: {error}", self.kind)))
    }

    pub(crate) fn note(key: &str, value: &str) -> Result<Self, RecordError> {
        Self::encode(&NoteEvent::Note { key: key.to_owned(), value: value.to_owned() })
    }

    /// Returns its approximate size in the file, in bytes.
    pub(crate) fn size(&self) -> usize {
        let (data, content) = (self.data.as_ref().map_or(0, Vec::len), self.content.as_ref().map_or(0, String::len));
        self.kind.len() + self.fields.len() + data + content + 50
    }
}

/// Parses the key and value of a note.
pub(crate) fn parse_note(fields: &str) -> Result<(String, String), RecordError> {
    let NoteEvent::Note { key, value } = NoteEvent::deserialize(Tagged { kind: NOTE, fields })
        .map_err(|error| RecordError(format!("a note cannot be read: {error}")))?;
    Ok((key, value))
}

/// A kind and its fields, presented to serde as an enum.
struct Tagged<'a> {
    kind: &'a str,
    fields: &'a str,
}

type Json<'a> = serde_json::Deserializer<serde_json::de::StrRead<'a>>;

impl<'a> Tagged<'a> {
    fn read<T>(&self, read: impl FnOnce(&mut Json<'a>) -> serde_json::Result<T>) -> Result<T, ValueError> {
        let mut json = serde_json::Deserializer::from_str(self.fields);
        read(&mut json).and_then(|value| json.end().map(|()| value)).map_err(ValueError::custom)
    }
}

impl<'de> Deserializer<'de> for Tagged<'de> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Tagged<'de> {
    type Error = ValueError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ValueError> {
        let kind: StrDeserializer<'_, ValueError> = self.kind.into_deserializer();
        seed.deserialize(kind).map(|kind| (kind, self))
    }
}

impl<'de> VariantAccess<'de> for Tagged<'de> {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        self.read(|json| serde::de::IgnoredAny::deserialize(json)).map(|_| ())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ValueError> {
        self.read(|json| seed.deserialize(json))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.read(|json| json.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, ValueError> {
        self.read(|json| json.deserialize_map(visitor))
    }
}
