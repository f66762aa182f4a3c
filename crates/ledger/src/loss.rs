//! Detection of acknowledged events that a ledger lost because its journal was damaged or not copied.

use std::fmt::{self, Display};
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::paths::beside;
use crate::schema::{self, CloseState, Head};
use crate::wal::{self, Journal};

/// A loss of acknowledged events, known or suspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLoss {
    /// The number of events that remain; all of them are intact.
    pub recovered: u64,
    /// The number of missing events, if known.
    pub missing: Option<u64>,
    /// The cause.
    pub cause: LossCause,
}

/// The reason why events are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossCause {
    /// The ledger was not closed, and has no journal: it was copied without it, or the journal was deleted.
    NoJournal,
    /// The journal is damaged, or ends too early.
    BadJournal,
    /// The journal is older than the file itself, and hides later events.
    OldJournal,
    /// The ledger was not closed and has no watermark, so the journal may be incomplete.
    NoMark,
}

impl Display for EventLoss {
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

/// The note of a salvaged ledger.
#[derive(Deserialize)]
struct SalvageNote {
    /// The first and the last of the missing events, for each gap.
    missing: Vec<(u64, u64)>,
    /// The events that were lost with the journal.
    journal: Option<JournalLoss>,
    /// Present if the header is not verified.
    header: Option<String>,
}

/// The events that a salvaged ledger lost with its journal.
#[derive(Deserialize)]
struct JournalLoss {
    /// The last event before them.
    after: u64,
    /// Their number, if known.
    missing: Option<u64>,
}

/// Describes a salvaged ledger by its note, for a warning.
pub(crate) fn describe_salvage(note: &str) -> String {
    const SHOWN: usize = 5;
    let Ok(note) = serde_json::from_str::<SalvageNote>(note) else {
        return format!("salvaged from a damaged ledger; its note cannot be read: {note}");
    };
    let mut parts = vec![];
    if !note.missing.is_empty() {
        let gap = |(first, last): &(u64, u64)| {
            if first == last { first.to_string() } else { format!("{first} to {last}") }
        };
        let gaps: Vec<String> = note.missing.iter().take(SHOWN).map(gap).collect();
        let more = if SHOWN < note.missing.len() { " and others" } else { "" };
        parts.push(format!("missing events: {}{more}", gaps.join(", ")));
    }
    if let Some(JournalLoss { after, missing }) = note.journal {
        let lost = match missing {
            Some(1) => "1 event is".to_owned(),
            Some(missing) => format!("{missing} events are"),
            None => "events may be".to_owned(),
        };
        parts.push(format!("{lost} missing after event {after}, because the journal was damaged or not copied"));
    }
    if parts.is_empty() {
        parts.push("some stored contents are missing".to_owned());
    }
    if note.header.is_some() {
        parts.push("the header is not proved, so check the labels and settings".to_owned());
    }
    format!("salvaged from a damaged ledger; {}", parts.join("; "))
}

/// The state of the files beside a ledger before `SQLite` opened it.
pub(crate) struct Surroundings {
    journal: Journal,
    /// The journal changed while it was read: a process is writing to it.
    is_live: bool,
    has_mark: bool,
    /// The last event in the file itself, without the journal.
    last_in_file: u64,
}

impl Surroundings {
    /// Inspects the journal and the watermark, also while a process is writing to them.
    pub(crate) fn of(path: &Path) -> std::io::Result<Self> {
        let log = beside(path, "-wal");
        let state = || fs::metadata(&log).and_then(|log| Ok((log.len(), log.modified()?))).ok();
        let before = state();
        let journal = wal::scan(&log);
        let is_live = before != state();
        let journal = match journal {
            // It was truncated while it was read.
            Err(error) if is_live && error.kind() == std::io::ErrorKind::UnexpectedEof => Journal::Intact,
            journal => journal?,
        };
        let has_frames = !matches!(journal, Journal::Absent | Journal::Empty);
        let last_in_file = if has_frames { schema::last_in_file(path).unwrap_or(0) } else { 0 };
        Ok(Self { journal, is_live, has_mark: has_mark(path), last_in_file })
    }

    /// Returns whether the journal exists.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal != Journal::Absent
    }

    /// Compares the opened ledger with what was acknowledged, and returns the loss, if any. The caller must have read
    /// the watermark before it opened the ledger.
    pub(crate) fn loss(&self, path: &Path, mark: Option<Head>, head: Head, state: CloseState) -> Option<EventLoss> {
        if self.is_live {
            return None;
        }
        let last = mark.map_or(0, |mark| mark.sequence).max(self.last_in_file);
        let missing = Some(last.saturating_sub(head.sequence)).filter(|missing| 0 < *missing);
        // SQLite creates an empty journal; one with frames belongs to a process that has started to write since.
        let has_frames = || fs::metadata(beside(path, "-wal")).is_ok_and(|log| 0 < log.len());
        // A writer creates the watermark before it sets the state to open, and removes it after setting it to closed.
        let has_no_mark = state == CloseState::Open && !self.has_mark && !has_mark(path);
        let cause = match self.journal {
            _ if head.sequence < self.last_in_file => LossCause::OldJournal,
            Journal::Absent if state == CloseState::Open && !has_frames() => LossCause::NoJournal,
            Journal::Empty if has_no_mark && !has_frames() => LossCause::NoJournal,
            Journal::Damaged => LossCause::BadJournal,
            // A power cut during an unacknowledged commit leaves a bad tail too, but also the watermark. The ledger
            // then reaches the watermark, or the watermark was torn during a rewrite. After a close nothing was
            // acknowledged.
            Journal::BadTail if has_no_mark => LossCause::BadJournal,
            _ if missing.is_some() => LossCause::BadJournal,
            _ if has_no_mark => LossCause::NoMark,
            _ => return None,
        };
        Some(EventLoss { recovered: head.sequence, missing, cause })
    }
}

fn has_mark(path: &Path) -> bool {
    beside(path, "-mark").exists()
}
