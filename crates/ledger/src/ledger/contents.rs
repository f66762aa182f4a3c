//! The displayed contents that a ledger stores with its events.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Ledger, transact};
use crate::chain;
use crate::error::{LedgerError, LedgerFault};
use crate::schema::{self, VERSION};

/// The key of the note in a ledger whose contents were removed.
pub(crate) const PURGED: &str = "purged";
/// The key of the note in a ledger that was recovered from a damaged one.
pub(crate) const SALVAGED: &str = "salvaged";

impl Ledger {
    /// Returns the stored content with this SHA-256 digest, or `None` if it was purged or could not be salvaged.
    ///
    /// # Errors
    /// [`LedgerFault::Corrupt`] if it is damaged, or missing for another reason.
    pub fn content(&self, digest: &[u8; 32]) -> Result<Option<String>, LedgerError> {
        self.find_content(digest).map_err(|fault| fault.of(&self.path))
    }

    /// Removes all stored contents, also from free pages and the journal, and returns their number. The events, which
    /// name contents by their digests, stay verifiable.
    pub fn purge_contents(&mut self) -> Result<u64, LedgerError> {
        let mut removed = 0;
        self.set_note(PURGED, "true")?;
        self.write(|ledger| {
            removed = ledger.connection.execute("DELETE FROM contents", [])? as u64;
            ledger.connection.execute_batch("VACUUM")?;
            schema::checkpoint(&ledger.connection)
        })?;
        Ok(removed)
    }

    /// Stores contents, also those of events that are already recorded.
    pub(crate) fn store_contents(&mut self, bodies: &[String]) -> Result<(), LedgerError> {
        self.write(|ledger| {
            ledger.mark_open()?;
            transact(&mut ledger.connection, |transaction| bodies.iter().try_for_each(|body| insert(transaction, body)))
        })
    }

    fn find_content(&self, digest: &[u8; 32]) -> Result<Option<String>, LedgerFault> {
        if self.version != VERSION {
            return Ok(None);
        }
        let mut statement = self.connection.prepare_cached("SELECT body FROM contents WHERE digest = ?1")?;
        let found: Option<String> = statement.query_row([digest], |row| row.get(0)).optional()?;
        match found {
            Some(body) if chain::digest(body.as_bytes()) != *digest => {
                Err(LedgerFault::corrupt("a stored content does not match its digest"))
            }
            Some(body) => Ok(Some(body)),
            None => {
                self.check_contents()?;
                let is_explained = self.note(PURGED).is_some() || self.note(SALVAGED).is_some();
                let missing = || LedgerFault::corrupt("a stored content is missing, and was not purged");
                is_explained.then_some(None).ok_or_else(missing)
            }
        }
    }

    /// Verifies every stored content against its digest.
    pub fn verify_contents(&self) -> Result<(), LedgerError> {
        self.check_contents().map_err(|fault| fault.of(&self.path))
    }

    /// Verifies every stored content against its digest, unless that was already done.
    pub(super) fn check_contents(&self) -> Result<(), LedgerFault> {
        if self.version != VERSION || self.has_checked_contents.get() {
            return Ok(());
        }
        schema::check_pages(&self.connection)?;
        let mut statement = self.connection.prepare("SELECT digest, body FROM contents")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (digest, body) = (row.get::<_, chain::Link>(0)?, row.get::<_, String>(1)?);
            if chain::digest(body.as_bytes()) != digest {
                return Err(LedgerFault::corrupt("a stored content does not match its digest"));
            }
        }
        self.has_checked_contents.set(true);
        Ok(())
    }
}

/// Stores a content under its digest, inside a transaction.
pub(super) fn insert(connection: &Connection, body: &str) -> Result<(), LedgerFault> {
    let mut statement = connection.prepare_cached("INSERT OR IGNORE INTO contents VALUES (?1, ?2)")?;
    statement.execute(params![chain::digest(body.as_bytes()), body])?;
    Ok(())
}
