//! Acknowledged events that are no longer in a ledger, because its journal was damaged or left behind.

use std::fmt::{self, Display};
use std::fs;
use std::path::Path;

use crate::place::beside;
use crate::schema::{Head, State};
use crate::wal::{self, Journal};

/// A loss of acknowledged events, known or suspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// How many events are left; all of these are intact.
    pub recovered: u64,
    /// How many are missing, where that is known.
    pub missing: Option<u64>,
    /// The reason.
    pub cause: LossCause,
}

/// Why events are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// The ledger was not closed, and has no journal: it was copied alone, or the journal was deleted.
    NoJournal,
    /// The journal is damaged, or ends too early.
    BadJournal,
}

impl Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = match self.cause {
            LossCause::NoJournal => "it was copied without its journal (-wal), or the journal was deleted",
            LossCause::BadJournal => "its journal (-wal) is damaged",
        };
        match self.missing {
            Some(1) => write!(f, "1 acknowledged event is missing: {cause}")?,
            Some(missing) => write!(f, "{missing} acknowledged events are missing: {cause}")?,
            None => write!(f, "acknowledged events may be missing: {cause}")?,
        }
        write!(f, "; {} events are intact", self.recovered)
    }
}

/// The files beside a ledger, as they were before `SQLite` opened it.
pub(crate) struct Surroundings {
    journal: Journal,
    /// The journal changed while it was read: a process is writing to it.
    is_live: bool,
}

impl Surroundings {
    /// Looks at the journal. A process may be writing to it meanwhile.
    pub(crate) fn of(path: &Path) -> std::io::Result<Self> {
        let log = beside(path, "-wal");
        let state = || fs::metadata(&log).and_then(|log| Ok((log.len(), log.modified()?))).ok();
        let before = state();
        let journal = wal::scan(&log);
        let is_live = before != state();
        match journal {
            // It was cut while it was read.
            Err(error) if is_live && error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Ok(Self { journal: Journal::Intact, is_live })
            }
            journal => Ok(Self { journal: journal?, is_live }),
        }
    }

    /// Whether there is a journal.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal != Journal::Absent
    }

    /// Compares what was opened with what was acknowledged. The mark was read before the ledger was opened.
    pub(crate) fn loss(&self, path: &Path, mark: Option<Head>, head: Head, state: State) -> Option<Loss> {
        if self.is_live {
            return None;
        }
        let missing = mark.map(|mark| mark.sequence.saturating_sub(head.sequence));
        let is_missing = missing.is_some_and(|missing| 0 < missing);
        // SQLite makes an empty journal; one with frames is that of a process that began to write meanwhile.
        let has_frames = || fs::metadata(beside(path, "-wal")).is_ok_and(|log| 0 < log.len());
        let is_alone = self.journal == Journal::Absent && state == State::Open && !has_frames();
        let is_bad = match self.journal {
            Journal::Damaged => true,
            // A power cut leaves this of a commit that was not acknowledged. It leaves the watermark too: reached, or torn
            // while it was rewritten. After a close nothing was acknowledged.
            Journal::BadTail => !beside(path, "-mark").exists() && state == State::Open,
            Journal::Absent | Journal::Intact => false,
        };
        let cause = match (is_alone, is_missing || is_bad) {
            (true, _) => LossCause::NoJournal,
            (false, true) => LossCause::BadJournal,
            (false, false) => return None,
        };
        Some(Loss { recovered: head.sequence, missing: missing.filter(|missing| 0 < *missing), cause })
    }
}
