//! The byte format of a selection, for transfer between machines.

use std::fmt::{self, Display};

use super::{Candidate, ExactTotal, Id, Selection};

/// The magic bytes; the digit is the version.
const MARK: &[u8; 8] = b"qselect1";

/// The error for bytes that are not a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASelection;

impl Display for NotASelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these bytes are no part of a selection, or of another version")
    }
}

impl std::error::Error for NotASelection {}

impl Selection {
    /// Serializes the selection, little-endian; the same rows yield the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut part = self.clone();
        part.trim(0);
        part.kept.sort_unstable_by(Candidate::order);
        let mut digits = part.total.digits();
        digits.truncate(digits.iter().rposition(|digit| *digit != 0).map_or(0, |top| top + 1));
        let mut bytes = MARK.to_vec();
        for number in [part.seed, part.k as u64, part.rows, digits.len() as u64, part.kept.len() as u64] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(digits.iter().flat_map(|digit| digit.to_le_bytes()));
        for Candidate { key, uncertainty, id, position } in &part.kept {
            bytes.extend([*key, *uncertainty].iter().flat_map(|number| number.to_le_bytes()));
            bytes.extend(position.to_le_bytes());
            match id {
                Id::Number(number) => {
                    bytes.push(0);
                    bytes.extend(number.to_le_bytes());
                }
                Id::Text(text) => {
                    bytes.push(1);
                    bytes.extend((text.len() as u64).to_le_bytes());
                    bytes.extend(text.as_bytes());
                }
            }
        }
        bytes
    }

    /// Deserializes a selection.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NotASelection> {
        read(bytes).ok_or(NotASelection)
    }

    /// Returns the seed and k.
    pub fn settings(&self) -> (u64, usize) {
        (self.seed, self.k)
    }
}

fn read(bytes: &[u8]) -> Option<Selection> {
    let mut rest = bytes.strip_prefix(MARK)?;
    let (seed, k) = (number(&mut rest)?, number(&mut rest)?);
    let (rows, n_digits, n_kept) = (number(&mut rest)?, number(&mut rest)?, number(&mut rest)?);
    let digits = take(&mut rest, n_digits.checked_mul(4)?)?.as_chunks().0;
    let digits: Vec<u32> = digits.iter().map(|digit| u32::from_le_bytes(*digit)).collect();
    let mut part = Selection::new(seed, usize::try_from(k).ok()?);
    (part.rows, part.total) = (rows, ExactTotal::from_digits(&digits)?);
    for _ in 0..n_kept {
        let (key, uncertainty) = (f64::from_bits(number(&mut rest)?), f64::from_bits(number(&mut rest)?));
        let position = number(&mut rest)?;
        let id = match take(&mut rest, 1)? {
            [0] => Id::Number(number(&mut rest)?.cast_signed()),
            _ => {
                let length = number(&mut rest)?;
                Id::from(std::str::from_utf8(take(&mut rest, length)?).ok()?)
            }
        };
        // Written so that NaN fails the check.
        if !(0.0 < key && key < f64::INFINITY && 0.0 < uncertainty && uncertainty < f64::INFINITY) {
            return None;
        }
        part.kept.push(Candidate { key, uncertainty, id, position });
    }
    part.trim(0);
    rest.is_empty().then_some(part)
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    take(rest, 8)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
