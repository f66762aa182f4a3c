//! Positions of a byte in a line, found 64 bytes at a time.
//!
//! Cells whose ends are known can be read in parallel. Otherwise each must be parsed to find the start of the next, and
//! they form a dependency chain.

use querist_rows::simd::Scalar;
use querist_rows::with_widest_simd;

/// The number of bytes that are compared at once.
const BLOCK: usize = 64;

/// The number of positions that are written at once, even if fewer were found: a branch for each would be mispredicted.
const TOGETHER: usize = 16;

/// The maximum length of a line in bytes; for longer lines the positions would need too much memory, four bytes for
/// each byte.
const LONGEST_MARKED: usize = 1 << 20;

/// The positions of a byte in a line, with reusable buffers.
#[derive(Default)]
pub(crate) struct BytePositions {
    positions: Vec<u32>,
    /// A copy of the line, used if the text ends before the last block is complete.
    copy: Vec<u8>,
}

impl BytePositions {
    /// Returns the positions of `wanted` in `text[..len]`, followed by `len`; `None` for a very long line.
    pub(crate) fn find(&mut self, text: &[u8], len: usize, wanted: u8) -> Option<&[u32]> {
        if LONGEST_MARKED < len {
            return None;
        }
        if self.positions.len() < len + BLOCK {
            self.positions.resize(2 * len + BLOCK, 0);
        }
        let blocks = text.get(..len.next_multiple_of(BLOCK)).unwrap_or_else(|| {
            self.copy.clear();
            self.copy.extend_from_slice(&text[..len]);
            self.copy.resize(len.next_multiple_of(BLOCK), 0);
            &self.copy
        });
        let (blocks, positions) = (blocks.as_chunks().0, &mut self.positions[..]);
        let found = with_widest_simd!(|simd| write(simd, blocks, len, wanted, positions));
        self.positions[found] = len as u32;
        Some(&self.positions[..=found])
    }
}

/// Writes the positions of `wanted` in the first `len` bytes of the blocks and returns their number.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the body of dispatched loops")]
fn write<M: ByteSearch>(machine: M, blocks: &[[u8; BLOCK]], len: usize, wanted: u8, positions: &mut [u32]) -> usize {
    let (mut start, mut found) = (0, 0);
    for block in blocks {
        // Clear the bits after the end of the line.
        let excess = BLOCK.saturating_sub(len - start);
        let bits = machine.equal(block, wanted) << excess >> excess;
        let Some(room) = positions[found..].first_chunk_mut() else { break };
        found += machine.spread(bits, start as u32, room);
        start += BLOCK;
    }
    found
}

/// An instruction set for searching bytes.
trait ByteSearch: Copy {
    /// Returns a mask with a bit for each byte that equals `wanted`.
    fn equal(self, block: &[u8; BLOCK], wanted: u8) -> u64;

    /// Writes the positions of the bits that are set, counted from `start`, and returns their number.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is part of dispatched loops")]
    fn spread(self, mut bits: u64, start: u32, positions: &mut [u32; BLOCK]) -> usize {
        const FEW: usize = TOGETHER / 2;
        let found = bits.count_ones() as usize;
        let mut at = 0;
        while at < found {
            for position in &mut positions[at..at + FEW] {
                *position = start + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
            }
            at += FEW;
        }
        found
    }
}

impl ByteSearch for Scalar {
    #[inline]
    fn equal(self, block: &[u8; BLOCK], wanted: u8) -> u64 {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let mut bits = 0;
        let (eights, _) = block.as_chunks::<8>();
        for (position, eight) in eights.iter().enumerate() {
            let other = u64::from_le_bytes(*eight) ^ u64::from_le_bytes([wanted; 8]);
            // Set the high bit of each byte that is zero in `other`; the multiplication then gathers these bits at the
            // top.
            let equal = !(((other & LOW) + LOW) | other | LOW);
            bits |= ((equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * position);
        }
        bits
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::inline_always, reason = "these are parts of dispatched loops")]
mod wide {
    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{BLOCK, ByteSearch, TOGETHER};

    /// The positions of sixteen bits.
    const POSITIONS: [u32; TOGETHER] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    impl ByteSearch for V4 {
        #[inline(always)]
        fn equal(self, block: &[u8; BLOCK], wanted: u8) -> u64 {
            self.avx512bw._mm512_cmpeq_epi8_mask(cast(*block), cast([wanted; BLOCK]))
        }

        #[inline(always)]
        fn spread(self, bits: u64, start: u32, positions: &mut [u32; BLOCK]) -> usize {
            let mut from = self.avx512f._mm512_add_epi32(cast(POSITIONS), cast([start; TOGETHER]));
            let (mut bits, mut found) = (bits, 0);
            for _ in 0..BLOCK / TOGETHER {
                let together: [u32; TOGETHER] = cast(self.avx512f._mm512_maskz_compress_epi32(bits as u16, from));
                positions[found..found + TOGETHER].copy_from_slice(&together);
                found += (bits as u16).count_ones() as usize;
                bits >>= TOGETHER;
                from = self.avx512f._mm512_add_epi32(from, cast([TOGETHER as u32; TOGETHER]));
            }
            found
        }
    }

    impl ByteSearch for V3 {
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
        fn marks_are_the_positions_of_the_byte(
            text in prop::collection::vec(prop::sample::select(&b",;0\xac\x2d\x80"[..]), 0..400),
            excess in 0..200_usize,
        ) {
            let line = &text[..text.len().saturating_sub(excess)];
            let mut wanted: Vec<u32> = (0..).zip(line).filter(|(_, byte)| **byte == b',').map(|(at, _)| at).collect();
            wanted.push(line.len() as u32);
            let mut marks = BytePositions::default();
            // Search twice, to check that the buffers can be reused.
            for _ in 0..2 {
                prop_assert_eq!(marks.find(&text, line.len(), b','), Some(&wanted[..]));
            }
        }

        #[test]
        fn every_instruction_set_finds_the_same_bytes(block in prop::array::uniform32(any::<[u8; 2]>()), byte: u8) {
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
        fn every_instruction_set_writes_the_same_positions(bits: u64, fewer: u64, start in 0_u32..1 << 20) {
            for bits in [bits, bits & fewer, bits | fewer, 0, u64::MAX] {
                spreads(Scalar, bits, start)?;
                #[cfg(target_arch = "x86_64")]
                if let Some(simd) = pulp::x86::V4::try_new() {
                    spreads(simd, bits, start)?;
                }
            }
        }
    }

    fn finds(machine: impl ByteSearch, block: &[u8; BLOCK], wanted: u8) -> Result<(), TestCaseError> {
        let bits = (0..).zip(block).filter(|(_, byte)| **byte == wanted).fold(0, |bits, (at, _)| bits | 1_u64 << at);
        prop_assert_eq!(machine.equal(block, wanted), bits);
        Ok(())
    }

    fn spreads(machine: impl ByteSearch, bits: u64, start: u32) -> Result<(), TestCaseError> {
        let positions: Vec<u32> = (0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| start + bit).collect();
        let mut room = [0; BLOCK];
        prop_assert_eq!(machine.spread(bits, start, &mut room), positions.len());
        prop_assert_eq!(&room[..positions.len()], positions);
        Ok(())
    }
}
