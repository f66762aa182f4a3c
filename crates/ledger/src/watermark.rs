//! The watermark beside a ledger (`-mark`): the last acknowledged event.
//!
//! It is rewritten after each commit and before the commit is acknowledged, without a sync to disk. After a kill it
//! names the last acknowledged event; after a power cut, that event or an earlier one. A ledger that ends before its
//! watermark has lost events.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::chain::{Link, digest};
use crate::error::LedgerFault;
use crate::paths::{beside, create_private, remove_if_exists, rename_synced};
use crate::schema::Head;

const LENGTH: usize = 8 + 3 * 32;

/// The watermark of a ledger that is open for writing.
#[derive(Debug)]
pub(crate) struct Watermark {
    path: PathBuf,
    file: File,
    /// The digest of the ledger's header, which distinguishes its watermark from that of another ledger.
    ledger: Link,
}

impl Watermark {
    /// Creates the watermark, or replaces one left by a killed process. It is on disk when this returns. The
    /// replacement is atomic, so a watermark always exists.
    pub(crate) fn create(ledger: &Path, header: Link, head: Head) -> Result<Self, LedgerFault> {
        let (path, part) = (beside(ledger, "-mark"), beside(ledger, "-mark-new"));
        remove_if_exists(&part)?;
        create_private(&part)?;
        let file = OpenOptions::new().write(true).open(&part)?;
        let mut mark = Self { path, file, ledger: header };
        mark.write(head)?;
        rename_synced(&part, &mark.path)?;
        Ok(mark)
    }

    /// Moves the watermark to the head of the ledger.
    pub(crate) fn write(&mut self, head: Head) -> io::Result<()> {
        write_at_start(&mut self.file, &encode(&self.ledger, head))
    }

    /// Removes the watermark after the ledger was closed.
    pub(crate) fn remove(self) {
        // A watermark that could not be removed still names the last event.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn write_at_start(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    file.write_all_at(bytes, 0)
}

#[cfg(not(unix))]
fn write_at_start(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}

/// Reads the watermark beside a ledger; returns `None` if this ledger has none.
pub(crate) fn read(ledger: &Path, header: Link) -> Option<Head> {
    parse(&fs::read(beside(ledger, "-mark")).ok()?, header)
}

/// Parses a watermark; returns `None` if it is incomplete or belongs to another ledger.
pub(crate) fn parse(bytes: &[u8], header: Link) -> Option<Head> {
    let sequence = u64::from_le_bytes(*bytes.first_chunk()?);
    let head = Head { sequence, chain: *bytes.get(8..)?.first_chunk()? };
    (bytes == encode(&header, head)).then_some(head)
}

/// Encodes the sequence number, its link, the digest of the ledger's header, and a digest of these.
fn encode(ledger: &Link, head: Head) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(LENGTH);
    bytes.extend(head.sequence.to_le_bytes());
    bytes.extend(head.chain);
    bytes.extend(ledger);
    bytes.extend(digest(&bytes));
    bytes
}
