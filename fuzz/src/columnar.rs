//! Binary tables: Parquet, Arrow IPC, npy, npz and xlsx, read in blocks of different sizes and on all paths to rows.
//!
//! Third-party decoders may panic on hostile bytes; the data crate turns that into an error. Only panics that reach these
//! functions are faults.

use std::panic;
use std::path::Path;
use std::sync::Once;

use querist_data::Input;
use querist_data::columnar::is_decoding;
use querist_data::format::{FormatOpener, OpenContext};

use super::files;
use super::loading::{input, load_checked};
use super::reading::{Transcript, format, read_twice, records};
use super::settings::{Group, Settings};

/// Checks one input as Arrow IPC.
///
/// # Panics
///
/// If a property is violated.
pub fn arrow(data: &[u8]) {
    streamed("arrow", data);
}

/// Checks one input as an npy array.
///
/// # Panics
///
/// If a property is violated.
pub fn npy(data: &[u8]) {
    streamed("npy", data);
}

/// Checks one input as an npz archive.
///
/// # Panics
///
/// If a property is violated.
pub fn npz(data: &[u8]) {
    stored("npz", data);
}

/// Checks one input as Parquet.
///
/// # Panics
///
/// If a property is violated.
pub fn parquet(data: &[u8]) {
    stored("parquet", data);
}

/// Checks one input as an Excel workbook.
///
/// # Panics
///
/// If a property is violated.
pub fn xlsx(data: &[u8]) {
    stored("xlsx", data);
}

fn streamed(name: &str, data: &[u8]) {
    let Some((settings, content)) = Settings::split(data) else { return };
    ignore_decoder_panics();
    match settings.group {
        Group::Reading => drop(read_twice(name, content, &settings)),
        Group::Loading => load_checked(&input(content), &settings.options(name), &settings),
    }
}

/// Does the same for formats that are read from a file.
fn stored(name: &str, data: &[u8]) {
    let Some((settings, content)) = Settings::split(data) else { return };
    ignore_decoder_panics();
    let path = files::write(&format!("input.{name}"), content);
    match settings.group {
        Group::Reading => {
            let read = |block_rows: usize| read_file(name, &path, &settings, block_rows);
            assert_eq!(read(usize::MAX), read(settings.block_rows), "read in one block and in small blocks");
        }
        Group::Loading => load_checked(&Input::File(path), &settings.options(name), &settings),
    }
}

fn read_file(name: &str, path: &Path, settings: &Settings, block_rows: usize) -> Transcript {
    let FormatOpener::Path(open) = format(name).open else { panic!("{name} is not read from a file") };
    let table = settings.table(name);
    match open(path, &OpenContext { file: "input", ending: name, columns: &[], hash_bits: 6, table: &table }) {
        Ok(mut source) => records(&mut *source, block_rows, settings.skip_bad_rows),
        Err(error) => Transcript::unopened(error),
    }
}

/// Installs a panic hook that ignores panics in decoders. The fuzzer aborts in its hook, so that panics which the data
/// crate catches must not reach it.
#[allow(clippy::disallowed_methods, reason = "a fuzz target acts as the program")]
fn ignore_decoder_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !is_decoding() {
                previous(info);
            }
        }));
    });
}
