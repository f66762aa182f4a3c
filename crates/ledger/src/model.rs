//! The model file: a line that identifies it, lengths, a JSON header, named arrays, a checksum. See
//! `docs/reference/model-file.md`.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::atomic::{WriteError, write_atomic};

/// The newest version that is written and read.
const VERSION: u64 = 2;
/// The prefix of the first line in every version.
const NAME: &[u8] = b"querist model ";
/// The first line of version 1.
const LINE: &[u8; 16] = b"querist model 1\n";
/// The size in bytes of the first line and three lengths: of the file, of the header, of the list of arrays.
const FIXED: usize = LINE.len() + 3 * 8;
/// The size of the SHA-256 checksum in bytes.
const CHECKSUM: usize = 32;

/// The version of a model file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelVersion {
    /// Linear models.
    #[default]
    Linear,
    /// Models of other kinds, which programs that know only linear models must reject.
    OfKinds,
}

impl ModelVersion {
    const ALL: [Self; 2] = [Self::Linear, Self::OfKinds];

    /// Returns the first line of a file.
    fn line(self) -> &'static [u8; 16] {
        match self {
            Self::Linear => LINE,
            Self::OfKinds => b"querist model 2\n",
        }
    }
}

/// A stored model: a JSON header that describes it, and its numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFile {
    /// The version of the format.
    pub version: ModelVersion,
    /// JSON text.
    pub header: String,
    /// Arrays with their names, in order.
    pub arrays: Vec<(String, Vec<f64>)>,
}

/// A model file that cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub struct ModelError {
    /// The file.
    pub file: PathBuf,
    /// The reason.
    pub fault: ModelFault,
}

/// The reason why a model file cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ModelFault {
    /// The operating system cannot read it.
    System(io::Error),
    /// It is not a model file.
    NotAModel,
    /// It was written in another version of the format.
    Version {
        /// Its version.
        found: u64,
    },
    /// It is truncated.
    CutShort {
        /// Its size in bytes.
        has: u64,
        /// Its size in bytes when it was written.
        of: u64,
    },
    /// Its bytes differ from those that were written.
    Damaged {
        /// The evidence of damage.
        found: &'static str,
    },
}

impl ModelFile {
    /// Writes the file atomically. Equal content gives equal bytes.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        write_atomic(path, &self.to_bytes())
    }

    /// Reads a file and verifies all of it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        let path = path.as_ref();
        let found = load(path).and_then(|bytes| Self::from_bytes(&bytes));
        found.map_err(|fault| ModelError { file: path.to_owned(), fault })
    }

    /// Encodes the model as the bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let arrays: usize = self.arrays.iter().map(|(name, values)| 16 + name.len() + 8 * values.len()).sum();
        let length = FIXED + self.header.len() + arrays + CHECKSUM;
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(self.version.line());
        for part in [length, self.header.len(), self.arrays.len()] {
            bytes.extend_from_slice(&(part as u64).to_le_bytes());
        }
        bytes.extend_from_slice(self.header.as_bytes());
        for (name, values) in &self.arrays {
            bytes.extend_from_slice(&(name.len() as u64).to_le_bytes());
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(&(values.len() as u64).to_le_bytes());
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
        let checksum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// Returns the checksum at the end of the file, in hexadecimal digits.
    pub fn checksum(&self) -> String {
        let bytes = self.to_bytes();
        bytes[bytes.len() - CHECKSUM..].iter().fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"))
    }

    /// Decodes the bytes of a file and verifies all of them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelFault> {
        check_start(bytes, bytes.len() as u64)?;
        let (body, checksum) = bytes.split_at_checked(bytes.len().saturating_sub(CHECKSUM)).unwrap_or((bytes, &[]));
        if Sha256::digest(body).as_slice() != checksum {
            return Err(ModelFault::Damaged { found: "it does not match its checksum" });
        }
        // From here on, only a file that was malformed when its checksum was computed can fail.
        let mut rest = body.get(LINE.len() + 8..).unwrap_or_default();
        let header_length = take_length(&mut rest)?;
        let n_arrays = take_length(&mut rest)?;
        let header = take_text(&mut rest, header_length)?;
        let mut arrays = Vec::new();
        for _ in 0..n_arrays {
            let name_length = take_length(&mut rest)?;
            let name = take_text(&mut rest, name_length)?;
            let length = take_length(&mut rest)?;
            let values = take(&mut rest, length.saturating_mul(8))?;
            arrays.push((name, values.as_chunks().0.iter().map(|value| f64::from_le_bytes(*value)).collect()));
        }
        let version = ModelVersion::ALL.into_iter().find(|version| bytes.starts_with(version.line()));
        let version = version.unwrap_or_default();
        if rest.is_empty() { Ok(Self { version, header, arrays }) } else { Err(LENGTHS) }
    }
}

const LENGTHS: ModelFault = ModelFault::Damaged { found: "its lengths are inconsistent" };

/// Reads the bytes of a file after checking that its recorded length is its size.
fn load(path: &Path) -> Result<Vec<u8>, ModelFault> {
    let file = File::open(path).map_err(ModelFault::System)?;
    let metadata = file.metadata().map_err(ModelFault::System)?;
    if metadata.is_dir() {
        return Err(ModelFault::System(io::ErrorKind::IsADirectory.into()));
    }
    let mut bytes = Vec::new();
    (&file).take(FIXED as u64).read_to_end(&mut bytes).map_err(ModelFault::System)?;
    check_start(&bytes, metadata.len())?;
    let rest = metadata.len().saturating_sub(FIXED as u64);
    let room = usize::try_from(rest).ok().and_then(|rest| bytes.try_reserve_exact(rest).ok());
    room.ok_or_else(|| ModelFault::System(io::ErrorKind::OutOfMemory.into()))?;
    (&file).take(rest).read_to_end(&mut bytes).map_err(ModelFault::System)?;
    Ok(bytes)
}

/// Checks the first line and the recorded length of the file before more is read.
fn check_start(bytes: &[u8], has: u64) -> Result<(), ModelFault> {
    let prefix = bytes.len().min(NAME.len());
    if bytes.is_empty() || bytes[..prefix] != NAME[..prefix] {
        return Err(ModelFault::NotAModel);
    }
    let line = &bytes[..bytes.len().min(LINE.len())];
    if has < FIXED as u64 && ModelVersion::ALL.iter().any(|version| version.line().starts_with(line)) {
        let smallest = (FIXED + CHECKSUM) as u64;
        return Err(ModelFault::CutShort { has, of: smallest });
    }
    let digits: Vec<u8> = bytes[prefix..].iter().copied().take_while(u8::is_ascii_digit).take(18).collect();
    let version = std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok());
    match version {
        None => return Err(ModelFault::NotAModel),
        Some(1..=VERSION) if ModelVersion::ALL.iter().any(|version| bytes.starts_with(version.line())) => {}
        Some(1..=VERSION) => {
            return Err(ModelFault::Damaged { found: "its first line has extra text after the version" });
        }
        Some(found) => return Err(ModelFault::Version { found }),
    }
    let mut rest = &bytes[LINE.len()..];
    let of = take_length(&mut rest)?;
    match of {
        _ if has < of => Err(ModelFault::CutShort { has, of }),
        _ if of < has => Err(ModelFault::Damaged { found: "it has extra bytes at its end" }),
        _ if of < (FIXED + CHECKSUM) as u64 => Err(LENGTHS),
        _ => Ok(()),
    }
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Result<&'a [u8], ModelFault> {
    let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    let (taken, after) = split.ok_or(LENGTHS)?;
    *rest = after;
    Ok(taken)
}

fn take_length(rest: &mut &[u8]) -> Result<u64, ModelFault> {
    let bytes = take(rest, 8)?;
    bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).ok_or(LENGTHS)
}

fn take_text(rest: &mut &[u8], length: u64) -> Result<String, ModelFault> {
    let text = std::str::from_utf8(take(rest, length)?);
    text.map(str::to_owned).map_err(|_| ModelFault::Damaged { found: "a text in it is not UTF-8" })
}

impl Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.fault)
    }
}

impl Display for ModelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "cannot be read: {error}"),
            Self::NotAModel => write!(f, "not a Querist model file\n  check the name"),
            Self::Version { found } => {
                let hint = if VERSION < *found { "\n  install a newer version of Querist" } else { "" };
                write!(f, "a model file of version {found}, but this program reads versions up to {VERSION}{hint}")
            }
            Self::CutShort { has, of } => {
                write!(
                    f,
                    "truncated: has {has} of {of} bytes\n  copy it again, or write the model again from its ledger"
                )
            }
            Self::Damaged { found } => {
                write!(f, "damaged: {found}\n  copy it again, or write the model again from its ledger")
            }
        }
    }
}

impl std::error::Error for ModelError {}
impl std::error::Error for ModelFault {}
