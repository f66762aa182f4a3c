//! Files that are truncated, have flipped bytes or false claims: an error or values, never a panic.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{Float32Type, Int8Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, Float64Array, ListArray, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use querist_data::columnar::{ipc, npy};

use crate::support::{Record, made, open, read as read_all, stored};

/// The number of rows in the files; codecs store shorter buffers uncompressed.
const ROWS: usize = 32;

/// Returns a few rows of the types on which decoders may fail.
fn batch() -> RecordBatch {
    let rows = || 0..ROWS;
    let number: ArrayRef = Arc::new(rows().map(|row| (row % 4 != 1).then_some(1.5)).collect::<Float64Array>());
    let text: ArrayRef = Arc::new(rows().map(|row| (row % 4 != 2).then_some("spam")).collect::<StringArray>());
    let word: ArrayRef = Arc::new(rows().map(|row| ["a", "b"][row % 2]).collect::<DictionaryArray<Int8Type>>());
    let list = rows().map(|row| (row % 4 != 3).then(|| vec![Some(0.5); row % 4]));
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

/// Returns small files of every format, which the extension of the name determines.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("plain.parquet", parquet_file(Compression::UNCOMPRESSED)),
        ("snappy.parquet", parquet_file(Compression::SNAPPY)),
        ("zstd.parquet", parquet_file(Compression::ZSTD(ZstdLevel::default()))),
        ("lz4.parquet", parquet_file(Compression::LZ4_RAW)),
        ("gzip.parquet", parquet_file(Compression::GZIP(GzipLevel::default()))),
        ("plain.arrow", arrow_file(None)),
        ("lz4.arrow", arrow_file(Some(CompressionType::LZ4_FRAME))),
        ("zstd.arrow", arrow_file(Some(CompressionType::ZSTD))),
        ("stream.arrows", arrow_stream()),
        ("table.npy", fs::read(stored("table.npy")).unwrap()),
        ("plain.npz", fs::read(stored("plain.npz")).unwrap()),
        ("packed.npz", fs::read(stored("packed.npz")).unwrap()),
    ]
}

fn is(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == ending)
}

/// Reads a file from memory, or from a temporary file if its format needs random access.
fn reread(name: &str, bytes: &[u8]) -> Result<Vec<Record>, String> {
    let read = || Box::new(Cursor::new(bytes.to_vec()));
    let source = if is(name, "arrow") || is(name, "arrows") {
        ipc::open(read(), name)
    } else if is(name, "npy") {
        npy::open(read(), Some(bytes.len() as u64), name)
    } else {
        fs::write(made(name), bytes).unwrap();
        open(&made(name))
    };
    source.and_then(|mut source| read_all(&mut *source, &[1000])).map_err(|error| error.to_string())
}

#[test]
fn a_truncated_file_is_an_error_or_complete() {
    for (name, bytes) in files() {
        let name = format!("cut-{name}");
        let whole = reread(&name, &bytes).unwrap();
        let mut errors = 0;
        for len in 0..bytes.len() {
            match reread(&name, &bytes[..len]) {
                Ok(records) => assert!(records == whole, "{name}, {len} bytes"),
                Err(error) => {
                    assert!(error.starts_with(&name), "{error}");
                    errors += 1;
                }
            }
        }
        // Only the footer of an Arrow file can be missing without loss.
        let spare = if is(&name, "arrow") { bytes.len() / 2 } else { 0 };
        assert!(bytes.len() - spare <= errors, "{name}: {errors} errors of {}", bytes.len());
    }
}

/// Flips each byte of the files with this extension.
fn flip(ending: &str) {
    for (name, bytes) in files().into_iter().filter(|(name, _)| is(name, ending)) {
        let name = format!("flip-{name}");
        let whole = reread(&name, &bytes).unwrap();
        let (mut errors, mut tries) = (0, 0);
        for position in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut flipped = bytes.clone();
                flipped[position] ^= flip;
                tries += 1;
                match reread(&name, &flipped) {
                    Ok(records) => assert!(records.len() <= 2 * whole.len(), "{name}, byte {position}"),
                    Err(_) => errors += 1,
                }
            }
        }
        // Names, values and padding can be flipped unnoticed; the structure cannot.
        assert!(tries / 10 < errors, "{name}: {errors} errors of {tries}");
    }
}

#[test]
fn a_flipped_byte_of_parquet_gives_an_error_or_values() {
    flip("parquet");
}

#[test]
fn a_flipped_byte_of_an_arrow_file_gives_an_error_or_values() {
    flip("arrow");
}

#[test]
fn a_flipped_byte_of_an_arrow_stream_gives_an_error_or_values() {
    flip("arrows");
}

#[test]
fn a_flipped_byte_of_arrays_gives_an_error_or_values() {
    flip("npy");
    flip("npz");
}

#[test]
fn every_flipped_byte_of_an_archived_array_is_detected() {
    let bytes = fs::read(stored("plain.npz")).unwrap();
    let data = bytes.windows(6).position(|window| window == b"\x93NUMPY").unwrap();
    for position in data..data + 150 {
        let mut flipped = bytes.clone();
        flipped[position] ^= 1;
        assert!(reread("checksum.npz", &flipped).is_err(), "byte {position}");
    }
}

/// Bytes that make excessive claims, and part of the reason for rejecting them.
#[test]
fn claims_are_checked_before_memory_is_allocated() {
    let parquet = parquet_file(Compression::SNAPPY);
    let mut footer = parquet.clone();
    let len = footer.len();
    footer[len - 8..len - 4].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    let mut no_magic = parquet;
    no_magic[len - 4..].copy_from_slice(b"PAR2");
    let mut lz4 = arrow_file(Some(CompressionType::LZ4_FRAME));
    let frame = lz4.windows(4).position(|window| window == [4, 0x22, 0x4d, 0x18]).unwrap();
    lz4[frame - 8..frame].copy_from_slice(&(1_i64 << 40).to_le_bytes());
    let table: [(&str, &[u8], &str); 8] = [
        ("footer.parquet", &footer, "cannot be read as a Parquet file"),
        ("magic.parquet", &no_magic, "cannot be read as a Parquet file"),
        ("empty.parquet", b"", "cannot be read as a Parquet file"),
        ("lz4.arrow", &lz4, "unpack to 1099511627776"),
        ("feather.arrow", b"FEA1....", "Feather version 1"),
        ("magic.arrow", b"ARROW2\0\0", "not those of Arrow IPC"),
        ("long.arrows", b"\xff\xff\xff\xff\xff\xff\xff\x7f", "2147483647 bytes of metadata"),
        ("short.arrows", b"\xff\xff\xff\xff\x00\x00\x00\x00", "no schema"),
    ];
    for (name, bytes, reason) in table {
        let error = reread(&format!("claim-{name}"), bytes).unwrap_err();
        assert!(error.contains(reason), "{name}: {error}");
    }
}

/// Without the end mark, a truncated stream would lose whole batches unnoticed.
#[test]
fn a_missing_end_mark_of_a_stream_is_reported_with_its_row() {
    let bytes = arrow_stream();
    let error = reread("unfinished.arrows", &bytes[..bytes.len() - 8]).unwrap_err();
    assert!(error.contains(&format!("row {}", 2 * ROWS + 1)) && error.contains("end mark"), "{error}");
}
