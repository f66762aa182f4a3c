//! A map from byte strings to codes, with lookup that does not allocate.

use std::collections::HashMap;

/// A map from spellings to codes. A few entries are searched linearly; further ones are hashed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary {
    few: Vec<(Box<[u8]>, u32)>,
    many: HashMap<Box<[u8]>, u32>,
}

/// The number of entries up to which linear search is faster than hashing.
const FEW: usize = 8;

impl Dictionary {
    #[inline]
    pub(crate) fn get(&self, spelling: &[u8]) -> Option<u32> {
        match self.few.iter().find(|(known, _)| **known == *spelling) {
            Some((_, code)) => Some(*code),
            None if self.few.len() < FEW => None,
            None => self.many.get(spelling).copied(),
        }
    }

    pub(crate) fn insert(&mut self, spelling: &[u8], code: u32) {
        if self.few.len() < FEW {
            self.few.push((spelling.into(), code));
        } else {
            self.many.insert(spelling.into(), code);
        }
    }

    /// Removes the spellings whose code is `code` or more.
    pub(crate) fn truncate(&mut self, code: u32) {
        self.few.retain(|(_, known)| *known < code);
        self.many.retain(|_, known| *known < code);
    }
}
