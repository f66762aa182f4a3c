//! Scans the write-ahead log (`-wal`) before `SQLite` opens it.
//!
//! `SQLite` ends its recovery at the first bad frame and says nothing, so a flipped bit silently shortens the record. Here the
//! frames behind a bad one are looked at too. The format is documented at <https://www.sqlite.org/fileformat2.html#walformat>: a
//! header of 32 bytes, then frames of a 24-byte header and a page. Checksums are cumulative, and each frame stores its own, so a
//! frame can be checked against the stored checksum of the one before even where that one is bad.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;

/// The state of a write-ahead log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Journal {
    /// There is no file.
    Absent,
    /// There is a file without frames.
    Empty,
    /// No complete frame is bad. An incomplete one at the end is what a kill leaves.
    Intact,
    /// The header or frames of the last transaction are bad: what a power cut leaves of a commit that was not acknowledged,
    /// or damage.
    BadTail,
    /// A frame is bad, although a later transaction shows that it was once on disk and good.
    Damaged,
}

/// Scans a log.
pub(crate) fn scan(path: &Path) -> io::Result<Journal> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Journal::Absent),
        file => file?,
    };
    let length = file.metadata()?.len();
    // SQLite waits for the header to be on disk before it writes frames: without frames nothing was committed.
    if length <= HEADER as u64 {
        return Ok(Journal::Empty);
    }
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut bytes = [0; HEADER];
    file.read_exact(&mut bytes)?;
    // The first frame is written to the sector of the header, so a power cut can tear both.
    let Some(header) = Header::parse(&bytes) else { return Ok(Journal::BadTail) };
    let frames = (length - HEADER as u64) / (FRAME_HEADER as u64 + u64::from(header.page_size));
    header.scan_frames(&mut file, frames)
}

struct Header {
    is_big_endian: bool,
    page_size: u32,
    salts: [u8; 8],
    sums: [u32; 2],
}

impl Header {
    /// Reads a header whose checksum is right.
    fn parse(bytes: &[u8; HEADER]) -> Option<Self> {
        let magic = word(bytes, 0);
        let is_big_endian = magic & 1 == 1;
        let sums = [word(bytes, 24), word(bytes, 28)];
        let is_right = magic & !1 == MAGIC & !1 && sum([0, 0], &bytes[..24], is_big_endian) == sums;
        let page_size = word(bytes, 8);
        let is_size = page_size.is_power_of_two() && (512..=65536).contains(&page_size);
        let mut salts = [0; 8];
        salts.copy_from_slice(&bytes[16..24]);
        (is_right && is_size).then_some(Self { is_big_endian, page_size, salts, sums })
    }

    fn scan_frames(&self, file: &mut impl Read, frames: u64) -> io::Result<Journal> {
        let mut frame = vec![0; FRAME_HEADER + self.page_size as usize];
        let (mut before, mut was_ours) = (self.sums, true);
        // Whether a frame was not good; whether it is bad and not merely old; whether a transaction ended since.
        let (mut is_broken, mut is_bad, mut has_ended) = (false, false, false);
        for _ in 0..frames {
            file.read_exact(&mut frame)?;
            let stored = [word(&frame, 16), word(&frame, 20)];
            let partial = sum(before, &frame[..8], self.is_big_endian);
            let is_right = sum(partial, &frame[FRAME_HEADER..], self.is_big_endian) == stored;
            // Frames with other salts were written before the log was last restarted, and no good ones follow.
            let is_ours = frame[8..16] == self.salts;
            if is_ours && is_right {
                if has_ended {
                    return Ok(Journal::Damaged);
                }
                is_bad |= is_broken;
            } else {
                is_broken = true;
                // The checksum does not cover the salts: an old frame does not continue ours.
                is_bad |= is_ours || (is_right && was_ours);
            }
            // A header with other salts that does not continue ours is old or garbage: its commit flag says nothing.
            has_ended |= is_broken && (is_ours || is_right) && word(&frame, 4) != 0;
            (before, was_ours) = (stored, is_ours);
        }
        Ok(if is_bad { Journal::BadTail } else { Journal::Intact })
    }
}

/// A number of a header; these are big-endian.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word))
}

/// Continues a checksum over a multiple of 8 bytes.
fn sum([mut first, mut second]: [u32; 2], bytes: &[u8], is_big_endian: bool) -> [u32; 2] {
    let number = |bytes: [u8; 4]| if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    for pair in bytes.as_chunks::<8>().0 {
        let [a, b, c, d, e, f, g, h] = *pair;
        first = first.wrapping_add(number([a, b, c, d])).wrapping_add(second);
        second = second.wrapping_add(number([e, f, g, h])).wrapping_add(first);
    }
    [first, second]
}
