//! Spellings and what they stand for, found without an allocation.

use std::collections::HashMap;

/// Few entries are looked through, many are hashed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary {
    few: Vec<(Box<[u8]>, u32)>,
    many: HashMap<Box<[u8]>, u32>,
}

/// Up to here looking through is quicker than hashing.
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

    /// Removes the spellings whose codes are not below this one.
    pub(crate) fn truncate(&mut self, code: u32) {
        self.few.retain(|(_, known)| *known < code);
        self.many.retain(|_, known| *known < code);
    }
}
