//! Where a byte stands in a line, found 64 bytes at a time.
//!
//! Cells whose ends are known can be read side by side. Where each must be read before it is known where the next one
//! begins, they wait for each other.

use querist_engine::simd::ARCH;

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// Places that are written together, whether there are as many or not: a branch for each would be guessed wrong.
const TOGETHER: usize = 8;

/// Longer lines are read without marks, which would take four times their memory.
const LONGEST: usize = 1 << 20;

/// Room for the marks of a line.
#[derive(Default)]
pub(crate) struct Marks {
    places: Vec<u32>,
}

impl Marks {
    /// Where a byte stands in a line, and where the line ends; nothing for a very long one.
    pub(crate) fn find(&mut self, line: &[u8], wanted: u8) -> &[u32] {
        if LONGEST < line.len() {
            return &[];
        }
        if self.places.len() < line.len() + 2 * TOGETHER {
            self.places.resize(2 * line.len() + 2 * TOGETHER, 0);
        }
        let (blocks, rest) = line.as_chunks();
        let mut last = [!wanted; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let found = write(blocks, wanted, 0, &mut self.places);
        let end = found + write(&[last], wanted, (line.len() - rest.len()) as u32, &mut self.places[found..]);
        self.places[end] = line.len() as u32;
        &self.places[..=end]
    }
}

/// Writes where a byte stands in blocks, the first of which begins at this place; says how often it does.
fn write(blocks: &[[u8; BLOCK]], wanted: u8, first: u32, places: &mut [u32]) -> usize {
    match *ARCH {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(simd) => simd.vectorize(
            #[inline(always)]
            move || spread(simd, blocks, wanted, first, places),
        ),
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(simd) => simd.vectorize(
            #[inline(always)]
            move || spread(simd, blocks, wanted, first, places),
        ),
        _ => spread(Narrow, blocks, wanted, first, places),
    }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the body of dispatched loops")]
fn spread<E: Equal>(equal: E, blocks: &[[u8; BLOCK]], wanted: u8, first: u32, places: &mut [u32]) -> usize {
    let (mut start, mut found) = (first, 0);
    for block in blocks {
        let mut bits = equal.equal(block, wanted);
        let end = found + bits.count_ones() as usize;
        while found < end {
            let together = &mut places[found..found + TOGETHER];
            for place in together {
                *place = start + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
            }
            found += TOGETHER;
        }
        found = end;
        start += BLOCK as u32;
    }
    found
}

/// A machine's way to compare bytes.
trait Equal: Copy {
    /// A bit for each byte that is the one wanted.
    fn equal(self, block: &[u8; BLOCK], wanted: u8) -> u64;
}

/// Any machine.
#[derive(Clone, Copy)]
struct Narrow;

impl Equal for Narrow {
    #[inline]
    fn equal(self, block: &[u8; BLOCK], wanted: u8) -> u64 {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let mut bits = 0;
        let (eights, _) = block.as_chunks::<8>();
        for (place, eight) in eights.iter().enumerate() {
            let other = u64::from_le_bytes(*eight) ^ u64::from_le_bytes([wanted; 8]);
            // The high bit of each byte that is zero in `other`; then all of them come together at the top.
            let equal = !(((other & LOW) + LOW) | other | LOW);
            bits |= ((equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * place);
        }
        bits
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::inline_always, reason = "these are parts of dispatched loops")]
mod wide {
    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{BLOCK, Equal};

    impl Equal for V4 {
        #[inline(always)]
        fn equal(self, block: &[u8; BLOCK], wanted: u8) -> u64 {
            self.avx512bw._mm512_cmpeq_epi8_mask(cast(*block), cast([wanted; BLOCK]))
        }
    }

    impl Equal for V3 {
        #[inline(always)]
        fn equal(self, block: &[u8; BLOCK], wanted: u8) -> u64 {
            let (wanted, halves): (_, [[u8; BLOCK / 2]; 2]) = (cast([wanted; BLOCK / 2]), cast(*block));
            let [low, high] = halves.map(
                #[inline(always)]
                |half| self.avx2._mm256_movemask_epi8(self.avx2._mm256_cmpeq_epi8(cast(half), wanted)).cast_unsigned(),
            );
            u64::from(low) | u64::from(high) << 32
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn marks_are_where_the_byte_stands(
            line in prop::collection::vec(prop::sample::select(&b",;0\xac\x2d\x80"[..]), 0..400),
        ) {
            let mut wanted: Vec<u32> = (0..).zip(&line).filter(|(_, byte)| **byte == b',').map(|(at, _)| at).collect();
            wanted.push(line.len() as u32);
            let mut marks = Marks::default();
            // Twice: the room of the first search is that of the second.
            for _ in 0..2 {
                prop_assert_eq!(marks.find(&line, b','), &wanted);
            }
        }

        #[test]
        fn every_machine_finds_the_same(block in prop::array::uniform32(any::<[u8; 2]>()), byte: u8) {
            let block: [u8; BLOCK] = block.as_flattened().try_into().expect("twice 32");
            for wanted in [byte, block[7], block[7] ^ 0x80] {
                let bits = (0..).zip(block).filter(|(_, byte)| *byte == wanted).fold(0, |bits, (at, _)| bits | 1_u64 << at);
                prop_assert_eq!(Narrow.equal(&block, wanted), bits);
                #[cfg(target_arch = "x86_64")]
                if let Some(simd) = pulp::x86::V3::try_new() {
                    prop_assert_eq!(simd.equal(&block, wanted), bits);
                }
                #[cfg(target_arch = "x86_64")]
                if let Some(simd) = pulp::x86::V4::try_new() {
                    prop_assert_eq!(simd.equal(&block, wanted), bits);
                }
            }
        }
    }
}
