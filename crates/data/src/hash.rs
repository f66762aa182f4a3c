//! The hash that maps names to features. It is part of the file format of encoders and must never change.

/// A hash state. It multiplies and folds eight bytes at a time, and mixes all bits at the end (Steele, Lea and Flood
/// 2014).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(u64);

impl Hash {
    /// Starts a hash for a purpose, so that a word and a category of the same name get different hashes.
    pub(crate) fn new(purpose: &str) -> Self {
        Self(0xcbf2_9ce4_8422_2325).bytes(purpose.as_bytes())
    }

    /// Adds bytes. Boundaries matter: `ab`, `c` differs from `a`, `bc`.
    #[inline]
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let mut hash = self.add(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            hash = hash.add(u64::from_le_bytes(*word));
        }
        let mut last = 0;
        for (index, byte) in rest.iter().enumerate() {
            last |= u64::from(*byte) << (8 * index);
        }
        hash.add(last)
    }

    /// Does the same for fewer than eight bytes in one word, the first byte lowest and zeros above.
    #[inline]
    pub(crate) fn short(self, word: u64, len: usize) -> Self {
        self.add(len as u64).add(word)
    }

    #[inline]
    fn add(self, word: u64) -> Self {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(mixed ^ (mixed >> 32))
    }

    /// Returns the highest `bits` bits, at most 32.
    #[inline]
    pub(crate) fn bits(self, bits: u32) -> u32 {
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> (64 - bits)) as u32
    }
}
