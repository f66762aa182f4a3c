//! Checks of the page headers of a Parquet column, made before its pages are decoded.
//!
//! A decoder allocates what a page header claims, so the claim must be plausible for the codec.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use parquet::basic::{Compression, Type};
use parquet::file::metadata::ColumnChunkMetaData;

/// The maximum number of bytes to which a page, or the buffers of a record batch, may decompress.
pub(super) const MOST_BYTES: u64 = 1 << 30;

/// The maximum number of values in a page of lists, and the maximum length of a fixed-length list.
pub(super) const MOST_VALUES: u64 = 1 << 24;

/// The maximum width in bytes of a fixed-length value; memory for it is allocated even if it is null.
const MOST_WIDTH: i32 = 4096;

/// The maximum compression ratios of the codecs: 64 bytes in 3, 255 in 1, 1032 in 1, 128 KiB in 4.
pub(super) const SNAPPY: u64 = 22;
pub(super) const LZ4: u64 = 255;
pub(super) const DEFLATE: u64 = 1032;
pub(super) const ZSTD: u64 = 32768;

/// Returns whether `packed` bytes can decompress to `unpacked` bytes at this ratio.
pub(super) fn plausible(packed: u64, unpacked: u64, ratio: u64) -> bool {
    unpacked <= MOST_BYTES && unpacked <= packed.saturating_mul(ratio).saturating_add(64)
}

/// Checks all page headers of a column chunk and returns whether a page holds texts with delta-encoded lengths.
pub(super) fn check(file: &File, column: &ColumnChunkMetaData) -> Result<bool, String> {
    let name = column.column_path().string();
    let descriptor = column.column_descr();
    if descriptor.physical_type() == Type::FIXED_LEN_BYTE_ARRAY && MOST_WIDTH < descriptor.type_length() {
        return Err(format!(
            "column `{name}` has values of {} bytes; the maximum is {MOST_WIDTH}",
            descriptor.type_length()
        ));
    }
    let (start, len) = column.byte_range();
    let file_len = file.metadata().map_err(|error| error.to_string())?.len();
    let end = start.checked_add(len).filter(|end| *end <= file_len);
    let Some(end) = end else {
        return Err(format!("column `{name}` lies outside the file"));
    };
    let lists = 0 < descriptor.max_rep_level();
    let mut packed_lengths = false;
    let mut at = start;
    while at < end {
        let (header, header_len) =
            header(file, at, end).map_err(|error| format!("a page header of column `{name}`: {error}"))?;
        header.check(column.compression(), lists).map_err(|error| format!("a page of column `{name}` {error}"))?;
        packed_lengths |= header.packed_lengths;
        at = at.saturating_add(header_len).saturating_add(header.packed);
    }
    Ok(packed_lengths)
}

/// The relevant fields of a page header.
#[derive(Debug, Default, PartialEq)]
struct PageHeader {
    unpacked: u64,
    packed: u64,
    n_values: u64,
    dictionary: bool,
    packed_lengths: bool,
}

impl PageHeader {
    fn check(&self, codec: Compression, lists: bool) -> Result<(), String> {
        let PageHeader { unpacked, packed, n_values, dictionary, .. } = *self;
        let ratio = match codec {
            Compression::UNCOMPRESSED => 1,
            Compression::SNAPPY => SNAPPY,
            Compression::LZ4 | Compression::LZ4_RAW => LZ4,
            Compression::GZIP(_) => DEFLATE,
            _ => ZSTD,
        };
        if !plausible(packed, unpacked, ratio) {
            return Err(format!("claims that {packed} bytes unpack to {unpacked}"));
        }
        if dictionary && unpacked < n_values {
            return Err(format!("claims that {unpacked} bytes hold a dictionary of {n_values} words"));
        }
        if lists && MOST_VALUES < n_values {
            return Err(format!("holds {n_values} values of lists; the maximum is {MOST_VALUES}"));
        }
        Ok(())
    }
}

fn header(file: &File, at: u64, end: u64) -> io::Result<(PageHeader, u64)> {
    let mut file = file;
    file.seek(SeekFrom::Start(at))?;
    // Most headers are shorter than this, so that one small read suffices.
    let mut compact = ThriftReader { read: BufReader::with_capacity(256, file.take(end - at)), used: 0 };
    let mut header = PageHeader::default();
    compact.structure(|compact, id, kind| match (id, kind) {
        (2, 4..=6) => compact.size().map(|size| header.unpacked = size),
        (3, 4..=6) => compact.size().map(|size| header.packed = size),
        (5 | 7 | 8, 12) => {
            header.dictionary = id == 7;
            compact.structure(|compact, id, kind| match (id, kind) {
                (1, 4..=6) => compact.size().map(|size| header.n_values = size),
                // The encodings DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY.
                (2 | 4, 5) => compact.size().map(|code| header.packed_lengths |= code == 6 || code == 7),
                _ => compact.skip(kind, 16),
            })
        }
        _ => compact.skip(kind, 16),
    })?;
    Ok((header, compact.used))
}

/// A reader of the Thrift compact protocol, as far as a page header needs it.
pub(super) struct ThriftReader<R> {
    pub(super) read: R,
    /// The number of bytes read.
    pub(super) used: u64,
}

impl<R: Read> ThriftReader<R> {
    pub(super) fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.read.read_exact(&mut byte)?;
        self.used += 1;
        Ok(byte[0])
    }

    pub(super) fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(nonsense("a number is too long"))
    }

    fn signed(&mut self) -> io::Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn size(&mut self) -> io::Result<u64> {
        let size = self.signed()?;
        u64::try_from(size).map_err(|_| nonsense("a size is negative"))
    }

    /// Calls `field` with the number and type of each field of a struct.
    fn structure(&mut self, mut field: impl FnMut(&mut Self, i64, u8) -> io::Result<()>) -> io::Result<()> {
        let mut id = 0;
        loop {
            let byte = self.byte()?;
            let (step, kind) = (byte >> 4, byte & 0x0f);
            if kind == 0 {
                return Ok(());
            }
            id = if step == 0 { self.signed()? } else { id.saturating_add(i64::from(step)) };
            field(self, id, kind)?;
        }
    }

    fn skip(&mut self, kind: u8, depth: u8) -> io::Result<()> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(nonsense("it is nested too deeply"));
        };
        match kind {
            1 | 2 => Ok(()),
            3 => self.bytes(1),
            4..=6 => self.varint().map(drop),
            7 => self.bytes(8),
            8 => {
                let len = self.varint()?;
                self.bytes(len)
            }
            9 | 10 => {
                let byte = self.byte()?;
                let len = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                (0..len).try_for_each(|_| self.element(byte & 0x0f, depth))
            }
            11 => {
                let len = self.varint()?;
                let kinds = if len == 0 { 0 } else { self.byte()? };
                (0..len).try_for_each(|_| {
                    self.element(kinds >> 4, depth)?;
                    self.element(kinds & 0x0f, depth)
                })
            }
            12 => self.structure(|compact, _, kind| compact.skip(kind, depth)),
            _ => Err(nonsense("a type does not exist")),
        }
    }

    /// Skips an element of a list. Booleans are part of a field's type, but separate bytes in a list.
    fn element(&mut self, kind: u8, depth: u8) -> io::Result<()> {
        if kind == 1 || kind == 2 { self.bytes(1) } else { self.skip(kind, depth) }
    }

    pub(super) fn bytes(&mut self, len: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.read).take(len), &mut io::sink())?;
        self.used += skipped;
        if skipped == len { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

pub(super) fn nonsense(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use parquet::basic::ZstdLevel;

    use super::*;

    /// Unpacked and packed size, values, dictionary, codec, lists; and whether this is plausible.
    #[test]
    fn claims_are_bounded_by_the_ratio_of_the_codec() {
        let table = [
            (1000, 1000, 10, false, Compression::UNCOMPRESSED, false, true),
            (2000, 1000, 10, false, Compression::UNCOMPRESSED, false, false),
            (22_000, 1000, 10, false, Compression::SNAPPY, false, true),
            (23_000, 1000, 10, false, Compression::SNAPPY, false, false),
            (255_000, 1000, 10, false, Compression::LZ4_RAW, false, true),
            (1 << 30, 1000, 10, false, Compression::LZ4_RAW, false, false),
            (1 << 30, 1 << 20, 10, false, Compression::ZSTD(ZstdLevel::default()), false, true),
            ((1 << 30) + 1, 1 << 20, 10, false, Compression::ZSTD(ZstdLevel::default()), false, false),
            (100, 100, 101, true, Compression::UNCOMPRESSED, false, false),
            (100, 100, 1 << 30, false, Compression::UNCOMPRESSED, false, true),
            (100, 100, 1 << 30, false, Compression::UNCOMPRESSED, true, false),
        ];
        for (unpacked, packed, n_values, dictionary, codec, lists, possible) in table {
            let header = PageHeader { unpacked, packed, n_values, dictionary, packed_lengths: false };
            assert_eq!(header.check(codec, lists).is_ok(), possible, "{header:?}, {codec}");
        }
    }

    /// Unknown fields of every type are skipped, to the last byte.
    #[test]
    fn unknown_fields_are_skipped() {
        let fields: [(u8, &[u8]); 9] = [
            (1, &[]),
            (3, &[7]),
            (6, &[0x80, 1]),
            (7, &[0; 8]),
            (8, &[2, 1, 1]),
            (9, &[0x21, 0, 1]),
            (10, &[0xf3, 2, 5, 5]),
            (11, &[1, 0x88, 1, 0, 1, 0]),
            (12, &[0x15, 2, 0]),
        ];
        for (kind, bytes) in fields {
            let mut compact = ThriftReader { read: bytes, used: 0 };
            compact.skip(kind, 3).unwrap();
            assert_eq!(compact.used, bytes.len() as u64, "type {kind}");
            let cut = &bytes[..bytes.len().saturating_sub(1)];
            assert_eq!(ThriftReader { read: cut, used: 0 }.skip(kind, 3).is_err(), !bytes.is_empty(), "type {kind}");
        }
        let deep = [0x1c; 40];
        assert!(ThriftReader { read: &deep[..], used: 0 }.skip(12, 16).is_err());
    }
}
