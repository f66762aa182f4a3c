//! Acknowledged events that are no longer in a ledger, because its journal was damaged or left behind.

use std::fmt::{self, Display};
use std::fs;
use std::path::Path;

use crate::place::beside;
use crate::schema::{self, Head, State};
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
    /// The journal is from an earlier time than the file itself, and hides what came later.
    OldJournal,
    /// The ledger was not closed, and has no watermark: nothing tells whether the journal is complete.
    NoMark,
}

impl Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = match self.cause {
            LossCause::NoJournal => "it was copied without its journal (-wal), or the journal was deleted",
            LossCause::BadJournal => "its journal (-wal) is damaged",
            LossCause::OldJournal => "its journal (-wal) is older than the ledger and hides them",
            LossCause::NoMark => "its watermark (-mark) was deleted or left behind, so the journal (-wal) may be cut",
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
    has_mark: bool,
    /// The last event in the file itself, without the journal.
    last_in_file: u64,
}

impl Surroundings {
    /// Looks at the journal. A process may be writing to it meanwhile.
    pub(crate) fn of(path: &Path) -> std::io::Result<Self> {
        let log = beside(path, "-wal");
        let state = || fs::metadata(&log).and_then(|log| Ok((log.len(), log.modified()?))).ok();
        let before = state();
        let journal = wal::scan(&log);
        let is_live = before != state();
        let journal = match journal {
            // It was cut while it was read.
            Err(error) if is_live && error.kind() == std::io::ErrorKind::UnexpectedEof => Journal::Intact,
            journal => journal?,
        };
        let has_frames = !matches!(journal, Journal::Absent | Journal::Empty);
        let last_in_file = if has_frames { schema::last_in_file(path).unwrap_or(0) } else { 0 };
        Ok(Self { journal, is_live, has_mark: has_mark(path), last_in_file })
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
        let last = mark.map_or(0, |mark| mark.sequence).max(self.last_in_file);
        let missing = Some(last.saturating_sub(head.sequence)).filter(|missing| 0 < *missing);
        // SQLite makes an empty journal; one with frames is that of a process that began to write meanwhile.
        let has_frames = || fs::metadata(beside(path, "-wal")).is_ok_and(|log| 0 < log.len());
        // A process that writes sets the watermark before the state, and removes it after.
        let has_no_mark = state == State::Open && !self.has_mark && !has_mark(path);
        let cause = match self.journal {
            _ if head.sequence < self.last_in_file => LossCause::OldJournal,
            Journal::Absent if state == State::Open && !has_frames() => LossCause::NoJournal,
            Journal::Empty if has_no_mark && !has_frames() => LossCause::NoJournal,
            Journal::Damaged => LossCause::BadJournal,
            // A power cut leaves this of a commit that was not acknowledged. It leaves the watermark too: reached, or torn
            // while it was rewritten. After a close nothing was acknowledged.
            Journal::BadTail if has_no_mark => LossCause::BadJournal,
            _ if missing.is_some() => LossCause::BadJournal,
            _ if has_no_mark => LossCause::NoMark,
            _ => return None,
        };
        Some(Loss { recovered: head.sequence, missing, cause })
    }
}

fn has_mark(path: &Path) -> bool {
    beside(path, "-mark").exists()
}
