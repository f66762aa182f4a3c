//! The hash that gives names their features. It is part of the file format of encoders: it must never change.

/// Eight bytes at a time, each time multiplied and folded; spread over all bits at the end (Steele, Lea and Flood 2014).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(u64);

impl Hash {
    /// Begins with what the hash is for, so that a word and a category of the same name differ.
    pub(crate) fn new(purpose: &str) -> Self {
        Self(0xcbf2_9ce4_8422_2325).bytes(purpose.as_bytes())
    }

    /// Adds bytes. Where they begin and end matters: `ab`, `c` differs from `a`, `bc`.
    #[inline]
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let mut hash = self.add(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            hash = hash.add(u64::from_le_bytes(*word));
        }
        let mut last = 0;
        for (place, byte) in rest.iter().enumerate() {
            last |= u64::from(*byte) << (8 * place);
        }
        hash.add(last)
    }

    /// The same for fewer than eight bytes in one word, the first lowest and zeros behind them.
    #[inline]
    pub(crate) fn short(self, word: u64, len: usize) -> Self {
        self.add(len as u64).add(word)
    }

    #[inline]
    fn add(self, word: u64) -> Self {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(mixed ^ (mixed >> 32))
    }

    /// The highest bits, at most 32.
    #[inline]
    pub(crate) fn bits(self, bits: u32) -> u32 {
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> (64 - bits)) as u32
    }
}
