//! The hash that gives names their features. It is part of the file format of encoders: it must never change.

/// FNV-1a over bytes, spread over all bits at the end (Steele, Lea and Flood 2014).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(u64);

impl Hash {
    /// Begins with what the hash is for, so that a word and a category of the same name differ.
    pub(crate) fn new(purpose: &str) -> Self {
        Self(0xcbf2_9ce4_8422_2325).bytes(purpose.as_bytes()).bytes(&[0])
    }

    /// Adds bytes.
    #[inline]
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
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
