//! Checks of delta-encoded lengths in Parquet. A page with such texts states their number, and a decoder allocates as
//! much as it states. These checks come first.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::pages::{MOST_VALUES, ThriftReader, nonsense};

/// Decompresses the pages of a column and compares the number of lengths they state with their number of values.
pub(super) fn check(file: &File, column: &ColumnChunkMetaData, n_rows: usize) -> Result<(), String> {
    let file = Arc::new(file.try_clone().map_err(|error| error.to_string())?);
    let mut pages = SerializedPageReader::new(file, column, n_rows, None).map_err(|error| error.to_string())?;
    let (repeated, defined) = (column.column_descr().max_rep_level(), column.column_descr().max_def_level());
    while let Some(page) = pages.get_next_page().map_err(|error| error.to_string())? {
        let most = u64::from(page.num_values()).min(MOST_VALUES);
        let counts = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            // The lengths of the prefixes shared with the previous text, then those of the suffixes.
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => continue,
        };
        let mut data = data(&page, 0 < repeated, 0 < defined).ok_or("a page ends within its levels")?;
        for _ in 0..counts {
            let len = length(data, most).map_err(|error| format!("the lengths of its texts: {error}"))?;
            data = data.get(len..).ok_or("a page ends within the lengths of its texts")?;
        }
    }
    Ok(())
}

/// Returns the bytes after the levels of a data page.
fn data(page: &Page, repeated: bool, defined: bool) -> Option<&[u8]> {
    match page {
        Page::DataPage { buf, def_level_encoding, rep_level_encoding, .. } => {
            let mut rest = &buf[..];
            for (present, encoding) in [(repeated, rep_level_encoding), (defined, def_level_encoding)] {
                if present && *encoding == Encoding::RLE {
                    let (len, after) = rest.split_first_chunk()?;
                    rest = after.get(u32::from_le_bytes(*len) as usize..)?;
                } else if present {
                    return None;
                }
            }
            Some(rest)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            buf.get((def_levels_byte_len.checked_add(*rep_levels_byte_len)?) as usize..)
        }
        Page::DictionaryPage { buf, .. } => Some(buf),
    }
}

/// Returns the length in bytes of a block of at most `most` packed differences.
fn length(bytes: &[u8], most: u64) -> std::io::Result<usize> {
    let mut compact = ThriftReader { read: bytes, used: 0 };
    let block = compact.varint()?;
    let minis = compact.varint()?;
    let n_values = compact.varint()?;
    compact.varint()?;
    if most < n_values {
        return Err(nonsense(&format!("{n_values} lengths for {most} values")));
    }
    if minis == 0 || bytes.len() as u64 <= minis || !block.is_multiple_of(minis) {
        return Err(nonsense("blocks of size 0"));
    }
    let each = block / minis;
    let mut left = n_values.saturating_sub(1);
    while 0 < left {
        compact.varint()?;
        let mut widths = Vec::new();
        for _ in 0..minis {
            widths.push(u64::from(compact.byte()?));
        }
        for width in widths {
            // Unused blocks are absent, whatever their width says.
            if 0 < left {
                compact.bytes(width.saturating_mul(each).div_ceil(8))?;
            }
            left = left.saturating_sub(each.max(1));
        }
    }
    Ok(compact.used as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Block size 128 with 4 parts, the number of values, the first value 0; then the smallest difference and four
    /// widths.
    #[test]
    fn blocks_are_measured_and_too_many_lengths_are_rejected() {
        assert_eq!(length(&[0x80, 1, 4, 1, 0, 9, 9], 1).unwrap(), 5);
        let mut two = vec![0x80, 1, 4, 2, 0, 0, 3, 7, 7, 7];
        two.extend([0; 12]);
        assert_eq!(length(&two, 2).unwrap(), 22);
        assert!(length(&two[..21], 2).is_err());
        assert!(length(&two, 1).is_err());
        assert!(length(&[0x80, 1, 0, 1, 0], 9).is_err());
        assert!(length(&[0x80, 1, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0], u64::MAX).is_err());
    }
}
