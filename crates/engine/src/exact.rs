//! JSON numbers that round-trip bit for bit: `#[serde(with = "querist_engine::exact")]`.
//!
//! JSON has no infinities, so they are written as the strings `"inf"` and `"-inf"`. Writing NaN is an error.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::ser::{Error, Serializer};

/// Serializes a number. NaN is an error.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match *value {
        value if value.is_nan() => Err(S::Error::custom("a number is NaN")),
        f64::INFINITY => serializer.serialize_str("inf"),
        f64::NEG_INFINITY => serializer.serialize_str("-inf"),
        value => serializer.serialize_f64(value),
    }
}

/// Deserializes a number.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(ExactNumber)
}

struct ExactNumber;

impl Visitor<'_> for ExactNumber {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, \"inf\" or \"-inf\"")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<f64, E> {
        match value {
            "inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
        }
    }
}

/// The same for optional numbers: `#[serde(with = "querist_engine::exact::option", default)]`.
pub mod option {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::Serializer;

    /// Serializes a number or null.
    pub fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => super::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Deserializes a number or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::<Wrapped>::deserialize(deserializer)?.map(|Wrapped(value)| value))
    }

    #[derive(serde::Deserialize)]
    struct Wrapped(#[serde(deserialize_with = "super::deserialize")] f64);
}
