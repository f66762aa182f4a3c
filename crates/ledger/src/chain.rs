//! The hash chain: the link of an event depends on every byte of that event and of all earlier ones.

use sha2::{Digest, Sha256};

/// A link of the chain, or the digest of a content.
pub(crate) type Link = [u8; 32];

/// Returns the link before the first event: SHA-256 of the header.
pub(crate) fn start(header: &str) -> Link {
    digest(header.as_bytes())
}

/// Returns the link of an event: SHA-256 of the previous link, the sequence number, and kind, fields and data with
/// their lengths. Numbers have 8 bytes, little-endian; the length of data that is null is 2⁶⁴ − 1.
pub(crate) fn next(before: &Link, sequence: u64, kind: &str, fields: &str, data: Option<&[u8]>) -> Link {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(sequence.to_le_bytes());
    for part in [kind, fields] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.update(data.map_or(u64::MAX, |data| data.len() as u64).to_le_bytes());
    hash.update(data.unwrap_or_default());
    hash.finalize().into()
}

/// Returns the SHA-256 digest of the bytes.
pub(crate) fn digest(bytes: &[u8]) -> Link {
    Sha256::digest(bytes).into()
}

/// Formats a link as hexadecimal digits.
pub(crate) fn hexadecimal(link: &Link) -> String {
    link.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
