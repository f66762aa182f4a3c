//! Byte sources: a file, a pipe or standard input, compressed or not.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{DataError, DataFault};
use crate::lines::Bytes;

/// An input to read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, or a named pipe.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory.
    Bytes {
        /// The name in messages.
        name: String,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
}

impl Input {
    /// Returns its name in messages.
    pub fn name(&self) -> String {
        match self {
            Input::File(path) => path.display().to_string(),
            Input::Stdin => "standard input".to_owned(),
            Input::Bytes { name, .. } => name.clone(),
        }
    }

    /// Opens its bytes and decompresses them.
    pub(crate) fn open(&self) -> Result<ReplayableReader, DataError> {
        let mut gauge = None;
        let raw: Bytes = match self {
            Input::Stdin => Box::new(io::stdin()),
            Input::Bytes { bytes, .. } => Box::new(Cursor::new(Arc::clone(bytes))),
            Input::File(path) => {
                let file = File::open(path).map_err(|error| self.unopened(&error))?;
                match file.metadata() {
                    Ok(found) if found.is_dir() => {
                        return Err(DataFault::new("a folder", "a file").of_file(&self.name()));
                    }
                    Ok(found) if found.is_file() => {
                        let gauge = gauge.insert(ReadProgress { read: Arc::default(), length: found.len() });
                        Box::new(CountingReader { file, read: Arc::clone(&gauge.read) })
                    }
                    _ => Box::new(file),
                }
            }
        };
        let (start, raw) = peek(raw).map_err(|error| self.unopened(&error))?;
        let plain = match compression(&start) {
            None => return Ok(ReplayableReader::new(raw, gauge)),
            Some(Ok(decompress)) => decompress(raw).map_err(|error| self.unopened(&error))?,
            Some(Err(fault)) => return Err(fault.of_file(&self.name())),
        };
        let (start, plain) = peek(plain).map_err(|error| self.broken(&error))?;
        if compression(&start).is_some() {
            let fault = DataFault::new("compressed data inside compressed data", "a file that is compressed once");
            return Err(fault.hint("decompress it once yourself").of_file(&self.name()));
        }
        Ok(ReplayableReader::new(plain, gauge))
    }

    /// Reports errors of the file itself before its format opens it.
    pub(crate) fn check(&self) -> Result<(), DataError> {
        let Input::File(path) = self else { return Ok(()) };
        let found = std::fs::metadata(path).map_err(|error| self.unopened(&error))?;
        if found.is_dir() {
            return Err(DataFault::new("a folder", "a file").of_file(&self.name()));
        }
        if found.is_file() {
            File::open(path).map_err(|error| self.unopened(&error))?;
        }
        Ok(())
    }

    fn unopened(&self, error: &io::Error) -> DataError {
        let found = match error.kind() {
            io::ErrorKind::NotFound => "the file does not exist".to_owned(),
            io::ErrorKind::PermissionDenied => "no permission to read it".to_owned(),
            _ => format!("cannot be opened: {error}"),
        };
        DataFault::new(found, "").of_file(&self.name())
    }

    fn broken(&self, error: &io::Error) -> DataError {
        let fault = match error.kind() {
            io::ErrorKind::UnexpectedEof => DataFault::new("the compressed data are truncated", ""),
            _ => DataFault::new(format!("cannot be decompressed: {error}"), ""),
        };
        fault.hint("check that the file is complete and has no extra bytes at its end").of_file(&self.name())
    }
}

type Decompress = fn(Bytes) -> io::Result<Bytes>;

/// Detects compression by the first bytes, because file names are unreliable.
fn compression(start: &[u8]) -> Option<Result<Decompress, DataFault>> {
    let refuse = |name: &str, tool: &str| {
        let found = format!("{name} compression");
        Some(Err(DataFault::new(found, "plain, gzip or zstd").hint(format!("decompress it first: {tool}"))))
    };
    match start {
        [0x1f, 0x8b, ..] => Some(Ok(|raw| Ok(Box::new(flate2::read::MultiGzDecoder::new(raw))))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Some(Ok(|raw| zstd::stream::read::Decoder::new(raw).map(|plain| Box::new(plain) as Bytes)))
        }
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => refuse("bzip2", "bunzip2"),
        [0xfd, b'7', b'z', b'X', ..] => refuse("xz", "unxz"),
        _ => None,
    }
}

/// Returns the first four bytes, and a reader of all bytes.
fn peek(mut bytes: Bytes) -> io::Result<(Vec<u8>, Bytes)> {
    let mut start = Vec::new();
    bytes.by_ref().take(4).read_to_end(&mut start)?;
    let all = Cursor::new(start.clone()).chain(bytes);
    Ok((start, Box::new(all)))
}

/// A gauge of the bytes read from a file, counted before decompression.
#[derive(Clone)]
pub(crate) struct ReadProgress {
    read: Arc<AtomicU64>,
    length: u64,
}

impl ReadProgress {
    /// Returns the fraction read, from 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        // A file may grow while it is read.
        (self.read.load(Ordering::Relaxed) as f64 / self.length.max(1) as f64).min(1.0)
    }
}

struct CountingReader {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(block)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// A replayable reader: it can be rewound until `play` is called. Used to guess from the first records of a pipe.
#[derive(Clone)]
pub(crate) struct ReplayableReader {
    reel: Arc<Mutex<ReplayBuffer>>,
    gauge: Option<ReadProgress>,
}

struct ReplayBuffer {
    bytes: Bytes,
    kept: Vec<u8>,
    at: usize,
    keep: bool,
}

impl ReplayableReader {
    fn new(bytes: Bytes, gauge: Option<ReadProgress>) -> Self {
        Self { reel: Arc::new(Mutex::new(ReplayBuffer { bytes, kept: Vec::new(), at: 0, keep: true })), gauge }
    }

    /// Returns the gauge, if the input is a file.
    pub(crate) fn gauge(&self) -> Option<ReadProgress> {
        self.gauge.clone()
    }

    /// Rewinds to the start.
    pub(crate) fn rewind(&self) {
        self.reel().at = 0;
    }

    /// Stops keeping bytes for rewinding.
    pub(crate) fn play(&self) {
        self.reel().keep = false;
    }

    /// Returns the first line, or its start if it is longer than this many bytes. Never waits for more than a line.
    pub(crate) fn first_line(&self, longest: usize) -> io::Result<Vec<u8>> {
        self.rewind();
        let mut line = Vec::new();
        let mut block = [0; 4096];
        while line.len() < longest && !line.contains(&b'\n') {
            match self.reel().read(&mut block)? {
                0 => break,
                read => line.extend_from_slice(&block[..read]),
            }
        }
        self.rewind();
        line.truncate(memchr::memchr(b'\n', &line).unwrap_or(line.len()));
        Ok(line)
    }

    fn reel(&self) -> MutexGuard<'_, ReplayBuffer> {
        self.reel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for ReplayableReader {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        self.reel().read(block)
    }
}

impl Read for ReplayBuffer {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        if self.at < self.kept.len() {
            let read = (&self.kept[self.at..]).read(block)?;
            self.at += read;
            return Ok(read);
        }
        if !self.keep {
            self.kept = Vec::new();
            self.at = 0;
            return self.bytes.read(block);
        }
        let read = self.bytes.read(block)?;
        self.kept.extend_from_slice(&block[..read]);
        self.at = self.kept.len();
        Ok(read)
    }
}
