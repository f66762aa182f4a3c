//! Row ids: equal ids get equal random numbers, whatever the type of their column.

use std::collections::HashSet;
use std::fmt::{self, Display};
use std::ops::Range;

use crate::coin::Coin;

/// An id. An integer and its decimal text are the same id; `007` and `+7` are texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// An integer.
    Number(i64),
    /// Any other text.
    Text(Box<str>),
}

/// A borrowed id. If created by `new`, its text is never that of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdRef<'a> {
    /// An integer.
    Number(i64),
    /// Any other text.
    Text(&'a str),
}

/// The ids of some rows.
#[derive(Clone, Debug)]
pub enum RowIds<'a> {
    /// Integers.
    Numbers(&'a [i64]),
    /// Consecutive integers from this one on.
    Counted(u64),
    /// Texts, some of which may be those of integers.
    Texts(Vec<&'a str>),
}

/// A set of ids.
///
/// ```
/// use querist_engine::select::{IdRef, IdSet};
///
/// let ids: IdSet = ["7", "mail-2"].into_iter().collect();
/// assert!(ids.contains(IdRef::new("7")) && ids.contains(IdRef::Text("mail-2")) && !ids.contains(IdRef::Number(2)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct IdSet {
    numbers: HashSet<i64>,
    texts: HashSet<Box<str>>,
}

impl IdSet {
    /// Returns whether an id is in the set.
    pub fn contains(&self, id: IdRef<'_>) -> bool {
        match id {
            IdRef::Number(number) => self.numbers.contains(&number),
            IdRef::Text(text) => self.texts.contains(text),
        }
    }

    /// Returns whether the set has no ids.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.texts.is_empty()
    }
}

impl<'a> FromIterator<&'a str> for IdSet {
    fn from_iter<T: IntoIterator<Item = &'a str>>(texts: T) -> Self {
        let mut set = Self::default();
        for text in texts {
            match IdRef::new(text) {
                IdRef::Number(number) => set.numbers.insert(number),
                IdRef::Text(text) => set.texts.insert(text.into()),
            };
        }
        set
    }
}

impl<'a> RowIds<'a> {
    /// Returns the ids of some of the rows.
    pub fn slice(&self, rows: Range<usize>) -> RowIds<'a> {
        match self {
            RowIds::Numbers(ids) => RowIds::Numbers(&ids[rows]),
            RowIds::Counted(first) => RowIds::Counted(first + rows.start as u64),
            RowIds::Texts(ids) => RowIds::Texts(ids[rows].to_vec()),
        }
    }

    /// Returns the id of a row.
    #[inline]
    pub fn get(&self, row: usize) -> IdRef<'a> {
        match self {
            RowIds::Numbers(ids) => IdRef::Number(ids[row]),
            RowIds::Counted(first) => IdRef::Number((first + row as u64).cast_signed()),
            RowIds::Texts(ids) => IdRef::new(ids[row]),
        }
    }
}

impl<'a> IdRef<'a> {
    /// Creates the id with this text.
    #[inline]
    pub fn new(text: &'a str) -> Self {
        parse_integer(text.as_bytes()).map_or(Self::Text(text), Self::Number)
    }

    /// Returns 64 bits that identify the id: its number, or a hash of its text.
    #[inline]
    pub(super) fn bits(self) -> u64 {
        match self {
            Self::Number(number) => number.cast_unsigned(),
            Self::Text(text) => hash(text.as_bytes()),
        }
    }

    /// Returns an owned copy.
    pub fn to_owned(self) -> Id {
        match self {
            Self::Number(number) => Id::Number(number),
            Self::Text(text) => Id::Text(text.into()),
        }
    }
}

/// Returns the integer whose shortest decimal text this is, if any.
fn parse_integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let plain = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.len() < 19 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if plain { std::str::from_utf8(text).ok()?.parse().ok() } else { None }
}

/// Hashes the length, then eight bytes at a time, through a coin.
fn hash(bytes: &[u8]) -> u64 {
    let coin = Coin::new(0, "id");
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]);
    words.fold(bytes.len() as u64, |hash, word| coin.bits(hash ^ u64::from_le_bytes(*word)))
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        IdRef::new(text).to_owned()
    }
}

impl Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_and_its_text_are_the_same_id() {
        for number in [0, 1, -1, 10, i64::MAX, i64::MIN, 1_234_567_890_123_456_789] {
            assert_eq!(Id::from(number.to_string().as_str()), Id::Number(number));
        }
        for text in
            ["", "-", "-0", "00", "007", "+7", "7.0", "7 ", "9223372036854775808", "1e3", "７", "99999999999999999999"]
        {
            assert_eq!(Id::from(text), Id::Text(text.into()), "{text}");
        }
    }

    #[test]
    fn similar_texts_have_different_bits() {
        let texts = ["", "a", "a\0", "\0", "abcdefgh", "abcdefg", "abcdefgh\0", "abcdefghabcdefgh", "hgfedcba"];
        for (i, a) in texts.iter().enumerate() {
            assert!(texts[..i].iter().all(|b| IdRef::new(a).bits() != IdRef::new(b).bits()), "{a:?}");
        }
    }
}
