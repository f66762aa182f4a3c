//! Where a byte stands in a line, found 64 bytes at a time.
//!
//! Cells whose ends are known can be read side by side. Where each must be read before it is known where the next one
//! begins, they wait for each other.

use querist_engine::simd::Scalar;
use querist_engine::with_widest_simd;

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// Places that are written together, whether there are as many or not: a branch for each would be guessed wrong.
const TOGETHER: usize = 16;

/// Longer lines are read without marks, which would take four times their memory.
const LONGEST_MARKED: usize = 1 << 20;

/// Room for the marks of a line.
#[derive(Default)]
pub(crate) struct Marks {
    places: Vec<u32>,
    /// A line that stands so near to the end of its text that its last block is not whole.
    copy: Vec<u8>,
}

impl Marks {
    /// Where a byte stands in a line, which is so much of a text, and where the line ends; `None` for a very long one.
    pub(crate) fn find(&mut self, text: &[u8], len: usize, wanted: u8) -> Option<&[u32]> {
        if LONGEST_MARKED < len {
            return None;
        }
        if self.places.len() < len + BLOCK {
            self.places.resize(2 * len + BLOCK, 0);
        }
        let blocks = text.get(..len.next_multiple_of(BLOCK)).unwrap_or_else(|| {
            self.copy.clear();
            self.copy.extend_from_slice(&text[..len]);
            self.copy.resize(len.next_multiple_of(BLOCK), 0);
            &self.copy
        });
        let (blocks, places) = (blocks.as_chunks().0, &mut self.places[..]);
        let found = with_widest_simd!(|simd| write(simd, blocks, len, wanted, places));
        self.places[found] = len as u32;
        Some(&self.places[..=found])
    }
}

/// Writes where a byte stands in a line of so many bytes; says how often it does.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the body of dispatched loops")]
fn write<M: Machine>(machine: M, blocks: &[[u8; BLOCK]], len: usize, wanted: u8, places: &mut [u32]) -> usize {
    let (mut start, mut found) = (0, 0);
    for block in blocks {
        // What stands behind the line does not count.
        let behind = BLOCK.saturating_sub(len - start);
        let bits = machine.equal(block, wanted) << behind >> behind;
        let Some(room) = places[found..].first_chunk_mut() else { break };
        found += machine.spread(bits, start as u32, room);
        start += BLOCK;
    }
    found
}

/// A machine's way to find a byte.
trait Machine: Copy {
    /// A bit for each byte that is the one wanted.
    fn equal(self, block: &[u8; BLOCK], wanted: u8) -> u64;

    /// Writes the places of bits, the first of which stands for this place; says how many there are.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is part of dispatched loops")]
    fn spread(self, mut bits: u64, start: u32, places: &mut [u32; BLOCK]) -> usize {
        const FEW: usize = TOGETHER / 2;
        let found = bits.count_ones() as usize;
        let mut at = 0;
        while at < found {
            for place in &mut places[at..at + FEW] {
                *place = start + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
            }
            at += FEW;
        }
        found
    }
}

impl Machine for Scalar {
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

    use super::{BLOCK, Machine, TOGETHER};

    /// The places of sixteen bits, from the first.
    const PLACES: [u32; TOGETHER] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    impl Machine for V4 {
        #[inline(always)]
        fn equal(self, block: &[u8; BLOCK], wanted: u8) -> u64 {
            self.avx512bw._mm512_cmpeq_epi8_mask(cast(*block), cast([wanted; BLOCK]))
        }

        #[inline(always)]
        fn spread(self, bits: u64, start: u32, places: &mut [u32; BLOCK]) -> usize {
            let mut from = self.avx512f._mm512_add_epi32(cast(PLACES), cast([start; TOGETHER]));
            let (mut bits, mut found) = (bits, 0);
            for _ in 0..BLOCK / TOGETHER {
                let together: [u32; TOGETHER] = cast(self.avx512f._mm512_maskz_compress_epi32(bits as u16, from));
                places[found..found + TOGETHER].copy_from_slice(&together);
                found += (bits as u16).count_ones() as usize;
                bits >>= TOGETHER;
                from = self.avx512f._mm512_add_epi32(from, cast([TOGETHER as u32; TOGETHER]));
            }
            found
        }
    }

    impl Machine for V3 {
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
            text in prop::collection::vec(prop::sample::select(&b",;0\xac\x2d\x80"[..]), 0..400),
            behind in 0..200_usize,
        ) {
            let line = &text[..text.len().saturating_sub(behind)];
            let mut wanted: Vec<u32> = (0..).zip(line).filter(|(_, byte)| **byte == b',').map(|(at, _)| at).collect();
            wanted.push(line.len() as u32);
            let mut marks = Marks::default();
            // Twice: the room of the first search is that of the second.
            for _ in 0..2 {
                prop_assert_eq!(marks.find(&text, line.len(), b','), Some(&wanted[..]));
            }
        }

        #[test]
        fn every_machine_finds_the_same(block in prop::array::uniform32(any::<[u8; 2]>()), byte: u8) {
            let block: [u8; BLOCK] = block.as_flattened().try_into().expect("twice 32");
            for wanted in [byte, block[7], block[7] ^ 0x80] {
                finds(Scalar, &block, wanted)?;
                #[cfg(target_arch = "x86_64")]
                if let Some(simd) = pulp::x86::V3::try_new() {
                    finds(simd, &block, wanted)?;
                }
                #[cfg(target_arch = "x86_64")]
                if let Some(simd) = pulp::x86::V4::try_new() {
                    finds(simd, &block, wanted)?;
                }
            }
        }

        #[test]
        fn every_machine_spreads_the_same(bits: u64, fewer: u64, start in 0_u32..1 << 20) {
            for bits in [bits, bits & fewer, bits | fewer, 0, u64::MAX] {
                spreads(Scalar, bits, start)?;
                #[cfg(target_arch = "x86_64")]
                if let Some(simd) = pulp::x86::V4::try_new() {
                    spreads(simd, bits, start)?;
                }
            }
        }
    }

    fn finds(machine: impl Machine, block: &[u8; BLOCK], wanted: u8) -> Result<(), TestCaseError> {
        let bits = (0..).zip(block).filter(|(_, byte)| **byte == wanted).fold(0, |bits, (at, _)| bits | 1_u64 << at);
        prop_assert_eq!(machine.equal(block, wanted), bits);
        Ok(())
    }

    fn spreads(machine: impl Machine, bits: u64, start: u32) -> Result<(), TestCaseError> {
        let places: Vec<u32> = (0..64).filter(|place| bits >> place & 1 == 1).map(|place| start + place).collect();
        let mut room = [0; BLOCK];
        prop_assert_eq!(machine.spread(bits, start, &mut room), places.len());
        prop_assert_eq!(&room[..places.len()], places);
        Ok(())
    }
}
