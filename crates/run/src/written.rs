//! Settings that are parsed from text and stored as it was written, so that headers of ledgers keep their bytes.

use std::fmt::{self, Display};
use std::ops::Deref;
use std::str::FromStr;

use querist_engine::name::NameError;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value that is printed and stored as the text it was parsed from.
#[derive(Clone, Debug)]
pub struct Written<T> {
    text: String,
    value: T,
}

impl<T> Deref for Written<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Display for Written<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T: Display> From<T> for Written<T> {
    fn from(value: T) -> Self {
        Self { text: value.to_string(), value }
    }
}

impl<T: FromStr<Err = NameError>> FromStr for Written<T> {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Ok(Self { value: text.parse()?, text: text.to_owned() })
    }
}

impl<T> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, T: FromStr<Err = NameError>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_str(&text).map_err(D::Error::custom)
    }
}
