//! gzip and zstd: a compressed file reads like its content, and a damaged one never reads as complete.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use querist_data::load;

use super::loading::{input, load_same};
use super::reading::checked;
use super::settings::{Group, Settings};

/// The size in bytes from which contents are not compared.
const MOST_BYTES: u64 = 1 << 20;

/// Checks one input: as a compressed file, or as the content of one.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Some((settings, content)) = Settings::split(data) else { return };
    match settings.group {
        Group::Reading => damaged(content, &settings),
        Group::Loading => packed(content, &settings),
    }
}

/// Checks bytes that may be a compressed file.
fn damaged(file: &[u8], settings: &Settings) {
    let options = settings.options("csv");
    match unpacked(file) {
        Some(Ok(plain)) if is_compressed(&plain) => {
            assert!(load(&input(file), &options).map_err(checked).is_err(), "compressed twice");
        }
        Some(Ok(plain)) => load_same(&input(file), &input(&plain), &options),
        Some(Err(error)) => {
            assert!(load(&input(file), &options).map_err(checked).is_err(), "a damaged file was read: {error}");
        }
        None => {}
    }
}

fn is_compressed(bytes: &[u8]) -> bool {
    let magics: [&[u8]; 4] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd], b"BZh", &[0xfd, b'7', b'z', b'X']];
    magics.iter().any(|magic| bytes.starts_with(magic))
}

/// Decompresses a file; `None` if its content is too large, or if it is not compressed.
fn unpacked(file: &[u8]) -> Option<io::Result<Vec<u8>>> {
    let mut plain = vec![];
    let read = match file {
        [0x1f, 0x8b, ..] => MultiGzDecoder::new(file).take(MOST_BYTES).read_to_end(&mut plain),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match zstd::stream::read::Decoder::new(file) {
            Ok(decoder) => decoder.take(MOST_BYTES).read_to_end(&mut plain),
            Err(error) => Err(error),
        },
        _ => return None,
    };
    match read {
        Ok(length) if length as u64 == MOST_BYTES => None,
        Ok(_) => Some(Ok(plain)),
        Err(error) => Some(Err(error)),
    }
}

/// Checks a content that is compressed in two parts.
fn packed(content: &[u8], settings: &Settings) {
    if is_compressed(content) {
        return;
    }
    let options = settings.options("csv");
    let (first, second) = content.split_at(content.len().min(8 * settings.chunk_bytes));
    let gzip = |part: &[u8]| {
        let mut encoder = GzEncoder::new(vec![], Compression::new(1));
        encoder.write_all(part).expect("memory");
        encoder.finish().expect("memory")
    };
    let zstd = |part: &[u8]| zstd::encode_all(part, 1).expect("memory");
    load_same(&input(&[gzip(first), gzip(second)].concat()), &input(content), &options);
    let mut file = [zstd(first), zstd(second)].concat();
    load_same(&input(&file), &input(content), &options);
    file.pop();
    assert!(load(&input(&file), &options).is_err(), "a file without its last byte was read");
}
