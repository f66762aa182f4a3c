//! The FNV-1a hash of 64 bits, whose upper 53 bits are the fingerprints of items in older ledgers.

const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// A state of the hash. It depends on the bytes only, not on how they are divided into calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(START)
    }
}

impl Fnv {
    /// Adds bytes.
    #[must_use]
    pub fn bytes(self, bytes: impl IntoIterator<Item = u8>) -> Self {
        Self(bytes.into_iter().fold(self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)))
    }

    /// Adds this many bytes of 0. A byte of 0 only multiplies by the prime.
    #[must_use]
    pub fn zeros(self, count: usize) -> Self {
        let (mut hash, mut power, mut left) = (self.0, PRIME, count);
        while 0 < left {
            if left % 2 == 1 {
                hash = hash.wrapping_mul(power);
            }
            power = power.wrapping_mul(power);
            left /= 2;
        }
        Self(hash)
    }

    /// Returns the hash.
    pub fn finish(self) -> u64 {
        self.0
    }

    /// Returns the upper 53 bits, which a JSON number holds exactly.
    pub fn fingerprint(self) -> u64 {
        self.0 >> 11
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_the_published_ones() {
        assert_eq!(Fnv::default().finish(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Fnv::default().bytes(*b"a").finish(), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Fnv::default().bytes(*b"foobar").finish(), 0x8594_4171_f739_67e8);
        assert_eq!(Fnv::default().bytes(*b"foobar").fingerprint(), 0x8594_4171_f739_67e8 >> 11);
    }

    #[test]
    fn zeros_equal_that_many_bytes_of_zero() {
        for count in [0, 1, 2, 7, 8, 1000] {
            let start = Fnv::default().bytes(*b"foo");
            assert_eq!(start.zeros(count), start.bytes(vec![0; count]));
        }
    }
}
