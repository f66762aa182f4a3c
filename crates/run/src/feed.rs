//! The sources of a stream's observations.

use std::io::Read;
use std::path::Path;

use crc32fast::Hasher;
use querist_data::{Batch, BatchIds, Encoder, Input, ReadOptions, RowStream, load};
use querist_engine::coin::{Coin, shuffled};
use querist_engine::synthetic::Mixture;
use querist_rows::{DenseRows, Rows};

use crate::error::Result;

/// A source of observations, block by block.
pub struct Feed(FeedOrigin);

enum FeedOrigin {
    /// A file that is read as the run proceeds.
    File { stream: Box<RowStream>, read: u64 },
    /// Rows in memory, in a random order.
    Shuffled { batch: Batch, order: Vec<u32>, at: usize, encoder: Box<Encoder>, skipped: u64 },
    /// Observations generated on the fly.
    Mixture { mixture: Mixture, made: u64, end: u64 },
}

/// The rows held out for the test, a function of the seed and the row's number.
#[derive(Clone, Copy)]
pub struct HoldOut {
    coin: Coin,
    fraction: f64,
}

impl HoldOut {
    /// Holds out this share of all rows.
    pub fn new(seed: u64, fraction: f64) -> Self {
        Self { coin: Coin::new(seed, "test"), fraction }
    }

    /// Returns whether the row with this number (from 1) is held out.
    pub fn holds(&self, row: u64) -> bool {
        self.coin.unit(row) < self.fraction
    }
}

impl Feed {
    /// Opens a file, to be read in its order or in a random one.
    pub fn open(input: &Input, options: &ReadOptions, shuffle: Option<u64>) -> Result<Self> {
        let Some(seed) = shuffle else {
            return Ok(Self(FeedOrigin::File { stream: Box::new(RowStream::open(input, options)?), read: 0 }));
        };
        let loaded = load(input, options)?;
        let order = shuffled(Coin::new(seed, "shuffle"), loaded.batch.rows.len());
        let (batch, encoder, skipped) = (loaded.batch, Box::new(loaded.encoder), loaded.bad.skipped);
        Ok(Self(FeedOrigin::Shuffled { batch, order, at: 0, encoder, skipped }))
    }

    /// Makes a feed of the paper's mixture.
    pub fn mixture(seed: u64, observations: u64) -> Self {
        Self(FeedOrigin::Mixture { mixture: Mixture::new(seed), made: 0, end: observations })
    }

    /// Returns the encoder, if the rows come from a file.
    pub fn encoder(&self) -> Option<&Encoder> {
        match &self.0 {
            FeedOrigin::File { stream, .. } => Some(stream.encoder()),
            FeedOrigin::Shuffled { encoder, .. } => Some(encoder),
            FeedOrigin::Mixture { .. } => None,
        }
    }

    /// Returns the number of skipped rows.
    pub fn skipped_rows(&self) -> u64 {
        match &self.0 {
            FeedOrigin::File { stream, .. } => stream.bad().skipped,
            FeedOrigin::Shuffled { skipped, .. } => *skipped,
            FeedOrigin::Mixture { .. } => 0,
        }
    }

    /// Raises the number of features to `dim`, which rows before the resume position had.
    pub fn widen(&mut self, dim: usize) {
        if let FeedOrigin::File { stream, .. } = &mut self.0 {
            stream.widen(dim);
        }
    }

    /// Returns the number of cells whose category first appeared after the warm-up.
    pub fn unknown_categories(&self) -> u64 {
        match &self.0 {
            FeedOrigin::File { stream, .. } => stream.unknown_categories(),
            FeedOrigin::Shuffled { .. } | FeedOrigin::Mixture { .. } => 0,
        }
    }

    /// Returns the number of cells in columns that first appeared after the column roles were determined.
    pub fn passed_over(&self) -> u64 {
        match &self.0 {
            FeedOrigin::File { stream, .. } => stream.passed_over(),
            FeedOrigin::Shuffled { .. } | FeedOrigin::Mixture { .. } => 0,
        }
    }

    /// Returns the share of a file that has been read.
    pub fn share(&self) -> Option<f64> {
        match &self.0 {
            FeedOrigin::File { stream, .. } => stream.share(),
            FeedOrigin::Shuffled { .. } | FeedOrigin::Mixture { .. } => None,
        }
    }

    /// Returns the number of observations, if known.
    pub fn known_len(&self) -> Option<u64> {
        match &self.0 {
            FeedOrigin::File { .. } => None,
            FeedOrigin::Shuffled { order, .. } => Some(order.len() as u64),
            FeedOrigin::Mixture { end, .. } => Some(*end),
        }
    }

    /// Reads the next rows except those held out, and returns how many were read in all, 0 at the end. Calls
    /// `on_features` with the indices of numbered features while a file is read.
    pub fn next(
        &mut self,
        limit: usize,
        hold: Option<HoldOut>,
        batch: &mut Batch,
        on_features: &mut dyn FnMut(&[u32]),
    ) -> Result<usize> {
        let looked = match &mut self.0 {
            FeedOrigin::File { stream, read } => {
                let looked = stream.next_with(limit, batch, on_features)?;
                let first = *read;
                *read += looked as u64;
                if let Some(hold) = hold {
                    keep(batch, |row| !hold.holds(first + row as u64 + 1));
                }
                looked
            }
            FeedOrigin::Shuffled { batch: all, order, at, .. } => {
                let rows = &order[*at..order.len().min(*at + limit)];
                *at += rows.len();
                gather(all, rows.iter().filter(|row| !hold.is_some_and(|h| h.holds(u64::from(**row) + 1))), batch);
                rows.len()
            }
            FeedOrigin::Mixture { mixture, made, end } => {
                let count = (*end - *made).min(limit as u64) as usize;
                batch.labels.resize(count, 0.0);
                mixture.fill(*made + 1, &mut batch.rows, &mut batch.labels);
                batch.ids = BatchIds::Numbered { first: *made + 1 };
                *made += count as u64;
                count
            }
        };
        Ok(looked)
    }

    /// Skips rows that were read before.
    pub fn skip(&mut self, n: u64) -> Result<()> {
        match &mut self.0 {
            FeedOrigin::File { stream, read } => {
                *read += stream.skip(n)?;
            }
            FeedOrigin::Shuffled { order, at, .. } => *at = order.len().min(*at + n as usize),
            FeedOrigin::Mixture { made, end, .. } => *made = (*made + n).min(*end),
        }
        Ok(())
    }
}

/// Copies the rows with these indices into `batch`.
pub fn gather<'a>(all: &Batch, rows: impl Iterator<Item = &'a u32>, batch: &mut Batch) {
    batch.rows = all.rows.empty_like();
    batch.labels.clear();
    let mut names = vec![];
    for row in rows {
        batch.rows.push(all.rows.row(*row as usize));
        batch.labels.push(all.labels[*row as usize]);
        names.push(all.ids.get(*row as usize));
    }
    batch.ids = BatchIds::Named(names);
}

/// Retains some rows of a batch.
fn keep(batch: &mut Batch, wanted: impl Fn(usize) -> bool) {
    let whole = std::mem::take(batch);
    let rows: Vec<u32> = (0..whole.rows.len() as u32).filter(|row| wanted(*row as usize)).collect();
    gather(&whole, rows.iter(), batch);
}

/// Reads a file with an existing encoder. Calls back with each block of rows and the number of rows before it. Returns
/// the number of unreadable rows.
pub fn each_block(
    encoder: &Encoder,
    input: &Input,
    options: &ReadOptions,
    mut see: impl FnMut(&Batch, u64),
) -> Result<u64> {
    let mut stream = RowStream::with(encoder.clone(), input, options)?;
    let (mut block, mut read) = (Batch::default(), 0);
    loop {
        let looked = stream.next(4096, &mut block)?;
        if looked == 0 {
            return Ok(stream.bad().skipped);
        }
        see(&block, read);
        read += looked as u64;
    }
}

/// Returns an empty batch of 2-D rows.
pub fn plane() -> Batch {
    Batch { rows: Rows::Dense(DenseRows::new(2)), ..Batch::default() }
}

/// Returns whether a path can be read only once.
pub fn is_pipe(path: &Path) -> bool {
    !std::fs::metadata(path).is_ok_and(|found| found.is_file())
}

/// Returns a fingerprint of a file: its length, and a checksum of all its bytes.
pub fn fingerprint(path: &Path) -> Option<String> {
    // This check comes before opening: opening a pipe waits for its writer, and closing it again ends the writer.
    if is_pipe(path) {
        return None;
    }
    let (mut sum, mut length) = (Hasher::new(), 0);
    let mut file = std::fs::File::open(path).ok()?;
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block).ok()? {
            0 => return Some(format!("{length}-{:08x}", sum.finalize())),
            read => {
                sum.update(&block[..read]);
                length += read as u64;
            }
        }
    }
}

/// Returns a fingerprint of rows in memory.
pub fn contents(batch: &Batch) -> String {
    let mut sum = Hasher::new();
    for (row, label) in batch.labels.iter().enumerate() {
        sum.update(batch.ids.get(row).as_bytes());
        sum.update(&batch.rows.row(row).to_bytes());
        sum.update(&label.to_bits().to_le_bytes());
    }
    format!("{}-{:08x}", batch.rows.len(), sum.finalize())
}
