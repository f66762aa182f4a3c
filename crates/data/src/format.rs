//! The registry of formats, and the detection of a file's format.

use std::fmt::{self, Debug, Display};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::columnar::{ipc, npy, npz, parquet, xlsx};
use crate::error::{DataError, DataFault};
use crate::input::{Input, ReadProgress, ReplayableReader};
use crate::lines::MARK;
use crate::options::TableLocation;
use crate::source::Source;
use crate::{csv, json, jsonl, svmlight, vw};

/// An entry in the list of formats.
pub struct FormatEntry {
    /// The name on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// The extensions of file names, without that of a compression.
    pub endings: &'static [&'static str],
    /// The flags that locate the table, for formats with a choice.
    pub choices: &'static [&'static str],
    /// The byte strings a file may begin with; none for text formats.
    pub magic: &'static [&'static [u8]],
    /// Returns whether the first line looks like this format. Used if the file name does not determine the format.
    pub looks: fn(&[u8]) -> bool,
    /// The function that opens a file.
    pub open: FormatOpener,
}

/// A source, or the error that prevented opening it.
pub type Opened = Result<Box<dyn Source + Send>, DataError>;

/// A function that opens a format.
pub enum FormatOpener {
    /// Reads bytes sequentially.
    Bytes(fn(Box<dyn Read + Send>, &OpenContext<'_>) -> Opened),
    /// Reads a file with random access.
    Path(fn(&Path, &OpenContext<'_>) -> Opened),
}

/// The arguments of opening a source.
pub struct OpenContext<'a> {
    /// The file name in messages.
    pub file: &'a str,
    /// The extension in lower case.
    pub ending: &'a str,
    /// Columns that are already known; formats without a header list these first.
    pub columns: &'a [String],
    /// The number of bits to which the names of features are hashed.
    pub hash_bits: u32,
    /// The location of the table in the file.
    pub table: &'a TableLocation,
}

/// All formats. The most general one is last: it accepts what no other does.
pub static FORMATS: &[FormatEntry] = &[
    parquet::ENTRY,
    ipc::ENTRY,
    npy::ENTRY,
    npz::ENTRY,
    xlsx::ENTRY,
    json::ENTRY,
    jsonl::ENTRY,
    svmlight::ENTRY,
    vw::ENTRY,
    csv::ENTRY,
];

/// A format from the list.
#[derive(Clone, Copy)]
pub struct Format(&'static FormatEntry);

impl Format {
    /// Apache Parquet.
    pub const PARQUET: Self = Self(&parquet::ENTRY);
    /// Arrow IPC, as files and streams.
    pub const ARROW: Self = Self(&ipc::ENTRY);
    /// A JSON object a line.
    pub const JSONL: Self = Self(&jsonl::ENTRY);

    /// Returns the format of this name.
    pub fn named(name: &str) -> Result<Self, UnknownFormat> {
        let found = FORMATS.iter().find(|entry| entry.name == name);
        found.map(Format).ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }

    /// Returns its name.
    pub fn name(&self) -> &'static str {
        self.0.name
    }
}

/// A name that no format has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownFormat {
    /// The name.
    pub name: String,
}

impl Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = FORMATS.iter().map(|entry| entry.name).collect();
        write!(f, "unknown format `{}`; expected one of {}", self.name, names.join(", "))
    }
}

impl std::error::Error for UnknownFormat {}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

/// A file of known format. `look` opens it any number of times, until `play` opens it for the last time.
pub(crate) struct Opener {
    file: String,
    ending: String,
    format: Format,
    hash_bits: u32,
    table: TableLocation,
    from: InputSource,
}

enum InputSource {
    Bytes(ReplayableReader),
    Path(PathBuf),
}

impl Opener {
    /// Determines the format: as specified, or from the extension, or from the first line.
    pub(crate) fn new(
        input: &Input,
        format: Option<Format>,
        hash_bits: u32,
        table: &TableLocation,
    ) -> Result<Self, DataError> {
        let table = table.clone();
        let file = input.name();
        let ending = ending(input);
        let by_name = format.or_else(|| by_ending(&ending));
        if let (Some(Format(FormatEntry { open: FormatOpener::Path(_), name, .. })), Input::File(path)) =
            (by_name, input)
        {
            input.check()?;
            reject_sequential(path, name).map_err(|fault| fault.of_file(&file))?;
            let from = InputSource::Path(path.clone());
            return Ok(Self { file, ending, format: by_name.unwrap_or(Format(&csv::ENTRY)), hash_bits, table, from });
        }
        let tape = input.open()?;
        let unread = |error: std::io::Error| DataFault::new(format!("cannot be read: {error}"), "").of_file(&file);
        let line = tape.first_line(64 << 10).map_err(unread)?;
        let by_magic = FORMATS.iter().find(|entry| entry.magic.iter().any(|magic| line.starts_with(magic)));
        // Binary formats report themselves what they expect.
        if by_magic.is_none() && by_name.is_none_or(|format| format.0.magic.is_empty()) {
            reject_binary(&line, &file)?;
        }
        let text = line.strip_prefix(MARK).unwrap_or(&line);
        let looks = |entry: &&FormatEntry| entry.magic.is_empty() && (entry.looks)(text);
        let format = by_name.or(by_magic.map(Format)).or_else(|| FORMATS.iter().find(looks).map(Format));
        let format = format.unwrap_or(Format(&csv::ENTRY));
        let from = match (&format.0.open, input) {
            (FormatOpener::Bytes(_), _) => InputSource::Bytes(tape),
            (FormatOpener::Path(_), Input::File(path)) => {
                reject_sequential(path, format.name()).map_err(|fault| fault.of_file(&file))?;
                InputSource::Path(path.clone())
            }
            (FormatOpener::Path(_), Input::Stdin | Input::Bytes { .. }) => {
                let fault = DataFault::new(format!("{} on standard input", format.name()), "a file");
                return Err(fault.hint("save it to a file first").of_file(&file));
            }
        };
        Ok(Self { file, ending, format, hash_bits, table, from })
    }

    /// Rejects options that this format does not have.
    pub(crate) fn check_choices(&self) -> Result<(), DataError> {
        let chosen = [("--no-header", self.table.no_header), ("--sheet", self.table.sheet.is_some())];
        match chosen.into_iter().find(|(flag, chosen)| *chosen && !self.format.0.choices.contains(flag)) {
            None => Ok(()),
            Some((flag, _)) => {
                let with = FORMATS.iter().filter(|entry| entry.choices.contains(&flag)).map(|entry| entry.name);
                let found = format!("{flag} for a file of format {}", self.format.name());
                Err(DataFault::new(found, with.collect::<Vec<_>>().join(" or ")).of_file(&self.file))
            }
        }
    }

    /// Returns the file name in messages.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Returns its format.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Returns the gauge of the bytes read; `None` if there is no file to measure.
    pub(crate) fn gauge(&self) -> Option<ReadProgress> {
        if let InputSource::Bytes(tape) = &self.from { tape.gauge() } else { None }
    }

    /// Returns its bytes from the start, for a single pass.
    pub(crate) fn bytes(&self) -> Result<ReplayableReader, DataError> {
        match &self.from {
            InputSource::Bytes(tape) => {
                tape.play();
                tape.rewind();
                Ok(tape.clone())
            }
            InputSource::Path(_) => Err(DataFault::new("a format that cannot read this input", "").of_file(&self.file)),
        }
    }

    /// Opens a source at the first record, for inspection; it can be opened again later.
    pub(crate) fn look(&self, columns: &[String]) -> Opened {
        self.open(columns)
    }

    /// Opens a source at the first record, for the final pass. Formats without a header list these columns first.
    pub(crate) fn play(&self, columns: &[String]) -> Opened {
        if let InputSource::Bytes(tape) = &self.from {
            tape.play();
        }
        self.open(columns)
    }

    fn open(&self, columns: &[String]) -> Opened {
        let Self { file, ending, hash_bits, table, .. } = self;
        let context = OpenContext { file, ending, columns, hash_bits: *hash_bits, table };
        match (&self.format.0.open, &self.from) {
            (FormatOpener::Bytes(open), InputSource::Bytes(tape)) => {
                tape.rewind();
                open(Box::new(tape.clone()), &context)
            }
            (FormatOpener::Path(open), InputSource::Path(path)) => open(path, &context),
            _ => Err(DataFault::new("a format that cannot read this input", "").of_file(&self.file)),
        }
    }
}

/// Rejects files without random access: compressed files and pipes.
fn reject_sequential(path: &Path, format: &str) -> Result<(), DataFault> {
    let name = path.to_string_lossy().to_lowercase();
    if [".gz", ".zst", ".zstd"].iter().any(|ending| name.ends_with(ending)) {
        let fault = DataFault::new(
            format!("compressed {format}"),
            format!(
                "plain {format}, which is already compressed \
                 inside"
            ),
        );
        return Err(fault.hint("unpack it first"));
    }
    if path.exists() && !path.is_file() && !path.is_dir() {
        return Err(DataFault::new(format!("{format} through a pipe"), "a file").hint("save it to a file first"));
    }
    Ok(())
}

/// Returns the extension of the input in lower case; empty if it is not a file.
fn ending(input: &Input) -> String {
    if let Input::File(path) = input { ending_of(path) } else { String::new() }
}

/// Returns the extension of a file name in lower case, without that of a compression.
pub(crate) fn ending_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let inner = [".gz", ".zst", ".zstd"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    inner.rsplit_once('.').map(|(_, ending)| ending.to_owned()).unwrap_or_default()
}

fn by_ending(ending: &str) -> Option<Format> {
    FORMATS.iter().find(|entry| entry.endings.contains(&ending)).map(Format)
}

/// Rejects input that is not UTF-8 text, as far as its first line shows.
fn reject_binary(line: &[u8], file: &str) -> Result<(), DataError> {
    let fault = match line {
        [] => return Ok(()),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            DataFault::new("text in UTF-16", "UTF-8").hint("convert it: iconv -f UTF-16 -t UTF-8 old > new")
        }
        [b'P', b'K', 3, 4, ..] => DataFault::new("a zip archive", "a plain file, gzip or zstd").hint("unpack it first"),
        _ if memchr::memchr(0, line).is_some() => {
            DataFault::new("a NUL byte in the first line", "text in UTF-8").hint("check that it is a text file")
        }
        _ => return Ok(()),
    };
    Err(fault.of_file(file))
}
