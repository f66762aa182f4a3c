//! Rows of a file: equal on the fast path and cell by cell, whole and in blocks, and with a restored encoder.

use std::sync::Arc;

use querist_data::{Batch, DataError, Encoder, Input, Loaded, ReadOptions, RowStream, load, load_shown, load_with};
use querist_rows::Row;

use super::reading::checked;
use super::settings::{Property, Settings};

/// Rows, labels and ids; floats are compared by their bits.
#[derive(Debug, Default, PartialEq)]
struct Flat {
    rows: Vec<Vec<(u32, u32)>>,
    labels: Vec<u64>,
    ids: Vec<String>,
}

impl Flat {
    fn of(batch: &Batch) -> Self {
        let mut flat = Self::default();
        flat.push(batch);
        flat
    }

    fn push(&mut self, batch: &Batch) {
        assert_eq!(batch.rows.len(), batch.labels.len(), "a label for each row");
        for place in 0..batch.rows.len() {
            let row = match batch.rows.row(place) {
                Row::Dense(values) => (0..).zip(values.iter().map(|value| value.to_bits())).collect(),
                Row::Sparse(row) => row.index.iter().copied().zip(row.value.iter().map(|v| v.to_bits())).collect(),
            };
            self.rows.push(row);
            self.ids.push(batch.ids.get(place));
        }
        self.labels.extend(batch.labels.iter().map(|label| label.to_bits()));
    }
}

/// Returns an input of bytes in memory.
pub fn input(bytes: &[u8]) -> Input {
    Input::Bytes { name: "input".to_owned(), bytes: Arc::from(bytes) }
}

/// Loads a file and checks the property that the settings name.
///
/// # Panics
///
/// If it is violated.
pub fn load_checked(input: &Input, options: &ReadOptions, settings: &Settings) {
    let loaded = load(input, options).map_err(checked);
    match (settings.property, &loaded) {
        (Property::Paths | Property::Spelling, _) => shown(&loaded, input, options),
        (Property::Encoder, Ok(loaded)) => {
            restored(&loaded.encoder);
            whole(loaded, input, options);
        }
        (Property::Blocks, Ok(loaded)) => blocks(loaded, input, options, settings.block_rows),
        (Property::Encoder | Property::Blocks, Err(_)) => {}
    }
}

/// Checks that loading cells for display, which reads them one by one, gives the same rows as the fast path.
fn shown(loaded: &Result<Loaded, DataError>, input: &Input, options: &ReadOptions) {
    let shown = load_shown(input, options, &[]);
    if let Ok((loaded, cells)) = &shown {
        let shown = (cells.names(), cells.len());
        assert!(cells.names().is_empty() || cells.len() == loaded.batch.rows.len(), "{shown:?} of {:?}", loaded.batch);
    }
    same(loaded, &shown.map(|(loaded, _)| loaded), "the fast path and the path cell by cell");
}

/// Checks that two files load as the same rows.
///
/// # Panics
///
/// If they do not.
pub fn load_same(left: &Input, right: &Input, options: &ReadOptions) {
    same(&load(left, options).map_err(checked), &load(right, options), "two files of the same rows");
}

fn same(left: &Result<Loaded, DataError>, right: &Result<Loaded, DataError>, what: &str) {
    match (left, right) {
        (Ok(left), Ok(right)) => {
            assert_eq!(Flat::of(&left.batch), Flat::of(&right.batch), "{what}");
            assert_eq!(left.encoder, right.encoder, "{what}");
            assert_eq!(left.bad.skipped, right.bad.skipped, "{what}");
        }
        // If there are several faults, a decoder reports the first in its own order.
        (Err(left), Err(right)) if is_of_decoder(left) || is_of_decoder(right) => {}
        (Err(left), Err(right)) => assert_eq!(left, right, "{what}"),
        _ => panic!("{what}: {left:?} and {right:?}"),
    }
}

/// Returns whether an error comes from a third-party decoder or decompressor. Some inputs begin like a gzip file.
fn is_of_decoder(error: &DataError) -> bool {
    let found = &error.fault.found;
    found.contains("cannot be read") || found.contains("compressed")
}

/// Checks that an encoder survives a round trip through JSON.
fn restored(encoder: &Encoder) {
    let json = encoder.to_json();
    let read = Encoder::from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(*encoder, read, "an encoder after JSON");
}

/// Checks that the fitted encoder reads the same rows.
fn whole(loaded: &Loaded, input: &Input, options: &ReadOptions) {
    let (whole, bad) = load_with(&loaded.encoder, input, options).expect("rows that were read before");
    assert_eq!(Flat::of(&loaded.batch), Flat::of(&whole), "rows read again with their encoder");
    assert_eq!(loaded.bad.skipped, bad.skipped, "skipped rows");
}

/// Checks that the fitted encoder reads the same rows block by block.
fn blocks(loaded: &Loaded, input: &Input, options: &ReadOptions, block_rows: usize) {
    let mut stream = RowStream::with(loaded.encoder.clone(), input, options).expect("a file that was read before");
    let (mut blocks, mut batch) = (Flat::default(), Batch::default());
    while 0 < stream.next(block_rows, &mut batch).expect("rows that were read before") {
        blocks.push(&batch);
    }
    assert_eq!(Flat::of(&loaded.batch), blocks, "rows read in blocks of {block_rows}");
}
