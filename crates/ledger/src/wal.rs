//! The scan of the write-ahead log (`-wal`) before `SQLite` opens it.
//!
//! `SQLite` ends its recovery at the first bad frame without an error, so a flipped bit silently drops events. This
//! scan also checks the frames after a bad one. The format is documented at
//! <https://www.sqlite.org/fileformat2.html#walformat>: a 32-byte header, then frames, each with a 24-byte header and a
//! page. Checksums are cumulative, and each frame stores its own. So a frame can be checked against the stored checksum
//! of the previous frame, even if that frame is bad.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;

/// The state of a write-ahead log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Journal {
    /// The file does not exist.
    Absent,
    /// The file has no frames.
    Empty,
    /// No complete frame is bad. A killed process can leave an incomplete frame at the end.
    Intact,
    /// The header or frames of the last transaction are bad. Either a power cut interrupted an unacknowledged commit,
    /// or the log is damaged.
    BadTail,
    /// A frame is bad, although a later transaction proves that it was once intact on disk.
    Damaged,
}

/// Scans a log and returns its state.
pub(crate) fn scan(path: &Path) -> io::Result<Journal> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Journal::Absent),
        file => file?,
    };
    let length = file.metadata()?.len();
    // SQLite syncs the header to disk before it writes frames: without frames nothing was committed.
    if length <= HEADER as u64 {
        return Ok(Journal::Empty);
    }
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut bytes = [0; HEADER];
    file.read_exact(&mut bytes)?;
    // The first frame shares a disk sector with the header, so a power cut can tear both.
    let Some(header) = WalHeader::parse(&bytes) else { return Ok(Journal::BadTail) };
    let frames = (length - HEADER as u64) / (FRAME_HEADER as u64 + u64::from(header.page_size));
    header.scan_frames(&mut file, frames)
}

struct WalHeader {
    is_big_endian: bool,
    page_size: u32,
    salts: [u8; 8],
    sums: [u32; 2],
}

impl WalHeader {
    /// Parses a header; returns `None` if its checksum or page size is invalid.
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
        // A frame failed its check; that frame is bad, not merely old; a transaction has ended since.
        let (mut is_broken, mut is_bad, mut has_ended) = (false, false, false);
        for _ in 0..frames {
            file.read_exact(&mut frame)?;
            let stored = [word(&frame, 16), word(&frame, 20)];
            let partial = sum(before, &frame[..8], self.is_big_endian);
            let is_right = sum(partial, &frame[FRAME_HEADER..], self.is_big_endian) == stored;
            // Frames with other salts were written before the log was last restarted, and no valid ones follow.
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
            // A header with other salts that does not continue ours is old or garbage: its commit flag is meaningless.
            has_ended |= is_broken && (is_ours || is_right) && word(&frame, 4) != 0;
            (before, was_ours) = (stored, is_ours);
        }
        Ok(if is_bad { Journal::BadTail } else { Journal::Intact })
    }
}

/// Reads the big-endian number at an offset of a header.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word))
}

/// Extends a checksum with more bytes, whose number is a multiple of 8.
fn sum([mut first, mut second]: [u32; 2], bytes: &[u8], is_big_endian: bool) -> [u32; 2] {
    let number = |bytes: [u8; 4]| if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    for pair in bytes.as_chunks::<8>().0 {
        let [a, b, c, d, e, f, g, h] = *pair;
        first = first.wrapping_add(number([a, b, c, d])).wrapping_add(second);
        second = second.wrapping_add(number([e, f, g, h])).wrapping_add(first);
    }
    [first, second]
}
