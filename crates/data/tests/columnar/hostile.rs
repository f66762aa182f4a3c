//! Files that are cut, flipped or made to lie: an error or values, never a panic.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{Float32Type, Int8Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, Float64Array, ListArray, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::support::{Record, made, open_and_read, stored};

/// A few rows of the types that a decoder can be led astray with.
fn batch() -> RecordBatch {
    let number: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None, Some(-2.0)]));
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("spam"), Some(""), None]));
    let word: ArrayRef = Arc::new(["a", "b", "a"].into_iter().collect::<DictionaryArray<Int8Type>>());
    let list = [Some(vec![Some(1.0), Some(2.0)]), Some(vec![]), None];
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(list));
    let columns = [("number", number), ("text", text), ("word", word), ("list", list)];
    let field = |name: &str, array: &ArrayRef| Field::new(name, array.data_type().clone(), true);
    let fields: Vec<_> = columns.iter().map(|(name, array)| field(name, array)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

fn parquet_file(codec: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(codec)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_created_by(String::new())
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch().schema(), Some(properties)).unwrap();
    writer.write(&batch()).unwrap();
    writer.into_inner().unwrap()
}

fn arrow_file(codec: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch().schema(), options).unwrap();
    writer.write(&batch()).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn arrow_stream() -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch().schema()).unwrap();
    writer.write(&batch()).unwrap();
    writer.write(&batch()).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

/// Small files of every format; the name's ending tells which.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("plain.parquet", parquet_file(Compression::UNCOMPRESSED)),
        ("snappy.parquet", parquet_file(Compression::SNAPPY)),
        ("zstd.parquet", parquet_file(Compression::ZSTD(ZstdLevel::default()))),
        ("lz4.parquet", parquet_file(Compression::LZ4_RAW)),
        ("gzip.parquet", parquet_file(Compression::GZIP(Default::default()))),
        ("plain.arrow", arrow_file(None)),
        ("lz4.arrow", arrow_file(Some(CompressionType::LZ4_FRAME))),
        ("zstd.arrow", arrow_file(Some(CompressionType::ZSTD))),
        ("stream.arrows", arrow_stream()),
        ("table.npy", fs::read(stored("table.npy")).unwrap()),
        ("plain.npz", fs::read(stored("plain.npz")).unwrap()),
        ("packed.npz", fs::read(stored("packed.npz")).unwrap()),
    ]
}

fn reread(path: &Path, bytes: &[u8]) -> Result<Vec<Record>, String> {
    fs::write(path, bytes).unwrap();
    open_and_read(path).map_err(|error| error.to_string())
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_whole() {
    for (name, bytes) in files() {
        let path = made(&format!("cut-{name}"));
        let whole = reread(&path, &bytes).unwrap();
        let mut errors = 0;
        for len in 0..bytes.len() {
            match reread(&path, &bytes[..len]) {
                Ok(records) => assert!(records == whole, "{name}, {len} bytes"),
                Err(error) => {
                    assert!(error.starts_with(&format!("cut-{name}")), "{error}");
                    errors += 1;
                }
            }
        }
        // Only the footer of an Arrow file can be missing without a loss.
        let spare =
            if Path::new(name).extension().is_some_and(|ending| ending == "arrow") { bytes.len() / 2 } else { 0 };
        assert!(bytes.len() - spare <= errors, "{name}: {errors} errors of {}", bytes.len());
    }
}

#[test]
fn a_flipped_byte_gives_an_error_or_values() {
    for (name, bytes) in files() {
        let path = made(&format!("flip-{name}"));
        let whole = reread(&path, &bytes).unwrap();
        let mut errors = 0;
        for place in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut flipped = bytes.clone();
                flipped[place] ^= flip;
                match reread(&path, &flipped) {
                    Ok(records) => assert!(records.len() <= 2 * whole.len(), "{name}, byte {place}"),
                    Err(_) => errors += 1,
                }
            }
        }
        assert!(0 < errors, "{name}");
    }
}

#[test]
fn an_archive_notices_every_flipped_byte_of_its_arrays() {
    let bytes = fs::read(stored("plain.npz")).unwrap();
    let path = made("checksum.npz");
    let data = bytes.windows(6).position(|window| window == b"\x93NUMPY").unwrap();
    for place in data..data + 150 {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1;
        assert!(reread(&path, &flipped).is_err(), "byte {place}");
    }
}

/// Bytes that claim much: what they are, and a word of the reason.
#[test]
fn claims_are_checked_before_room_is_made() {
    let parquet = parquet_file(Compression::SNAPPY);
    let mut footer = parquet.clone();
    let len = footer.len();
    footer[len - 8..len - 4].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    let mut no_magic = parquet;
    no_magic[len - 4..].copy_from_slice(b"PAR2");
    let mut lz4 = arrow_file(Some(CompressionType::LZ4_FRAME));
    let claim = lz4.windows(8).position(|window| window == 24_i64.to_le_bytes()).unwrap();
    let unpacked = lz4.windows(12).position(|window| window[8..] == [4, 0x22, 0x4d, 0x18]).unwrap_or(claim);
    lz4[unpacked..unpacked + 8].copy_from_slice(&(1_i64 << 40).to_le_bytes());
    let table: [(&str, &[u8], &str); 8] = [
        ("footer.parquet", &footer, "no Parquet file that can be read"),
        ("magic.parquet", &no_magic, "no Parquet file that can be read"),
        ("empty.parquet", b"", "no Parquet file that can be read"),
        ("lz4.arrow", &lz4, "unpack to"),
        ("feather.arrow", b"FEA1....", "Feather version 1"),
        ("magic.arrow", b"ARROW2\0\0", "not those of Arrow IPC"),
        ("long.arrows", b"\xff\xff\xff\xff\xff\xff\xff\x7f", "described by 2147483647 bytes"),
        ("short.arrows", b"\xff\xff\xff\xff\x00\x00\x00\x00", "no schema"),
    ];
    for (name, bytes, reason) in table {
        let error = reread(&made(&format!("claim-{name}")), bytes).unwrap_err();
        assert!(error.contains(reason), "{name}: {error}");
    }
}

/// A cut stream loses whole batches without a trace, but for its end mark.
#[test]
fn a_stream_without_its_end_mark_is_an_error_with_its_row() {
    let bytes = arrow_stream();
    let error = reread(&made("unfinished.arrows"), &bytes[..bytes.len() - 8]).unwrap_err();
    assert!(error.contains("row 7") && error.contains("end mark"), "{error}");
}
