//! Counter-based random numbers, a function of (seed, purpose, time or id): there is no state to save.
//!
//! A coin hashes its key with a counter. So runs resume at any point, threads and blocks change nothing, and a new
//! purpose never shifts the numbers of an existing one.

use crate::simd::dispatch;

/// 2⁶⁴ over the golden ratio, which spreads successive counters far apart.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A random number generator for one purpose of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coin {
    key: u64,
    /// Mixed in between the two rounds, so that no two keys yield shifted copies of one sequence.
    twist: u64,
}

impl Coin {
    /// Returns the coin for this seed and purpose.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mut key = mix(seed.wrapping_add(STRIDE), 0);
        for byte in purpose.bytes() {
            key = mix(key ^ u64::from(byte), STRIDE);
        }
        Self { key, twist: mix(key, !STRIDE) }
    }

    /// Returns 64 random bits for this time or id.
    #[inline]
    pub fn bits(self, at: u64) -> u64 {
        mix(self.key.wrapping_add(at.wrapping_mul(STRIDE)), self.twist)
    }

    /// Returns `bits` of consecutive times, from `first`. A running sum saves one multiplication per time.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the body of dispatched loops")]
    pub(crate) fn bits_from(self, first: u64) -> impl Iterator<Item = u64> {
        let mut z = self.key.wrapping_add(first.wrapping_mul(STRIDE));
        std::iter::repeat_with(
            #[inline(always)]
            move || {
                let bits = mix(z, self.twist);
                z = z.wrapping_add(STRIDE);
                bits
            },
        )
    }

    /// Returns ξ, uniform on [0, 1) in steps of 2⁻⁵².
    #[inline]
    pub fn unit(self, at: u64) -> f64 {
        unit(self.bits(at))
    }

    /// Returns a random integer below `n`; all are equally likely to within n/2⁶⁴.
    #[inline]
    pub fn below(self, at: u64, n: usize) -> usize {
        ((u128::from(self.bits(at)) * n as u128) >> 64) as usize
    }

    /// Writes `unit` of consecutive times, from `first`.
    pub fn fill(self, first: u64, out: &mut [f64]) {
        dispatch(
            #[inline(always)]
            move || {
                for (u, bits) in out.iter_mut().zip(self.bits_from(first)) {
                    *u = unit(bits);
                }
            },
        );
    }
}

/// Maps the upper 52 bits to [0, 1).
#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    f64::from_bits(0x3ff0_0000_0000_0000 | (bits >> 12)) - 1.0
}

/// Applies Stafford's thirteenth mixer (as in `SplitMix64`), with a twist between its rounds.
#[inline]
fn mix(mut z: u64, twist: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ twist;
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a random permutation of 0 to `n` − 1, a function of the coin alone.
pub fn shuffled(coin: Coin, n: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    for last in (1..n).rev() {
        order.swap(last, coin.below(last as u64, last + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a twist the numbers equal those of `SplitMix64` (Steele, Lea and Flood 2014) from seed 0.
    #[test]
    fn without_a_twist_the_mixer_equals_split_mix_64() {
        let known = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f, 0xf88b_b8a8_724c_81ec];
        assert_eq!([1, 2, 3, 4].map(|at| mix(STRIDE.wrapping_mul(at), 0)), known);
        assert_eq!([1, 2, 3, 4].map(|at| Coin { key: 0, twist: 0 }.bits(at)), known);
        let in_a_row: Vec<u64> = Coin { key: 0, twist: 0 }.bits_from(1).take(4).collect();
        assert_eq!(in_a_row, known);
    }
}
