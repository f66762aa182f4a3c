//! The library on a damaged ledger: the calls that `verify`, `backup`, `salvage`, `purge` and `label` begin with.

use std::fs;
use std::path::Path;

use querist_ledger::{Inspection, Ledger, LedgerError, salvage};

use crate::commands::{DamageVerdict, read_ledger};
use crate::specimen::{LEDGER, Specimen};

/// A call of the library.
type Call = fn(&Intact, &Path, &Path) -> Result<DamageVerdict, String>;

/// The calls by name.
pub(crate) static CALLS: [(&str, Call); 5] = [
    ("Inspection::of", inspect),
    ("salvage", recover),
    ("Ledger::backup", back_up),
    ("Ledger::open", open),
    ("Ledger::open_accepting_loss", open_accepting_loss),
];

/// The readable lines of the intact ledger and of its intact prefixes.
pub(crate) struct Intact {
    pub(crate) whole: Vec<String>,
    pub(crate) prefixes: std::collections::BTreeSet<Vec<String>>,
}

impl Intact {
    /// Runs a call on a damaged ledger and judges its result.
    pub(crate) fn judge(&self, call: Call, damaged: &Specimen, folder: &Path) -> Result<DamageVerdict, String> {
        damaged.lay(folder);
        let new = folder.join("new.ledger");
        let _ = fs::remove_file(&new);
        call(self, &folder.join(LEDGER), &new)
    }

    /// Judges a ledger that could be read.
    pub(crate) fn judge_ledger(&self, ledger: &Ledger, may_be_shorter: bool) -> Result<DamageVerdict, String> {
        let lines = read_ledger(ledger);
        if lines.iter().any(|line| line.starts_with("content Err")) {
            return Ok(DamageVerdict::Error);
        }
        match (lines == self.whole, may_be_shorter && self.prefixes.contains(&lines)) {
            (true, _) => Ok(DamageVerdict::Identical),
            (false, true) => Ok(DamageVerdict::Prefix),
            (false, false) => Err(format!("{lines:#?}")),
        }
    }

    fn judge_opened(&self, opened: Result<Ledger, LedgerError>, may_be_shorter: bool) -> Result<DamageVerdict, String> {
        let Ok(mut ledger) = opened else { return Ok(DamageVerdict::Error) };
        let verdict = self.judge_ledger(&ledger, may_be_shorter)?;
        let events =
            |ledger: &Ledger| ledger.records().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string());
        let before = events(&ledger)?;
        ledger.purge_contents().map_err(|error| error.to_string())?;
        if events(&ledger)? == before { Ok(verdict) } else { Err("a purge changed events".to_owned()) }
    }
}

/// Returns whether these lines are a subsequence of the lines of an intact ledger.
pub(crate) fn has_part(lines: &[String], whole: &[String], is_header_proved: bool) -> bool {
    // The note about missing events is new, and damaged contents are absent. An unproved header may differ.
    let is_exempt = |line: &&String| {
        line.starts_with("note salvaged")
            || *line == "content Ok(None)"
            || (!is_header_proved && line.starts_with("header "))
    };
    let mut all = whole.iter();
    lines.iter().filter(|line| !is_exempt(line)).all(|line| all.any(|known| known == line))
}

fn inspect(intact: &Intact, path: &Path, _: &Path) -> Result<DamageVerdict, String> {
    match Inspection::of(path) {
        Err(_) => Ok(DamageVerdict::Error),
        Ok(found) if !found.problems.is_empty() => Ok(DamageVerdict::Error),
        Ok(found) => match Ledger::read(path) {
            Ok(ledger) if ledger.loss().is_none() => intact.judge_ledger(&ledger, false),
            _ => Err(format!("{found:?}")),
        },
    }
}

fn recover(intact: &Intact, path: &Path, new: &Path) -> Result<DamageVerdict, String> {
    let Ok(found) = salvage(path, new) else { return Ok(DamageVerdict::Error) };
    let ledger = Ledger::read(new).map_err(|error| error.to_string())?;
    let is_complete = found.missing.is_empty() && found.problems.is_empty();
    if is_complete {
        return intact.judge_ledger(&ledger, false);
    }
    let is_header_proved = !found.problems.iter().any(|problem| problem.starts_with("the header "));
    let lines = read_ledger(&ledger);
    let is_reported = ledger.missing_events().is_some() || !found.problems.is_empty();
    let is_right = is_reported && has_part(&lines, &intact.whole, is_header_proved);
    if is_right { Ok(DamageVerdict::Prefix) } else { Err(format!("{found:?} {lines:#?}")) }
}

fn back_up(intact: &Intact, path: &Path, new: &Path) -> Result<DamageVerdict, String> {
    let Ok(ledger) = Ledger::read(path) else { return Ok(DamageVerdict::Error) };
    let Ok(()) = ledger.backup(new) else { return Ok(DamageVerdict::Error) };
    let copy = Ledger::read(new).map_err(|error| error.to_string())?;
    intact.judge_ledger(&copy, ledger.loss().is_some())
}

fn open(intact: &Intact, path: &Path, _: &Path) -> Result<DamageVerdict, String> {
    intact.judge_opened(Ledger::open(path), false)
}

fn open_accepting_loss(intact: &Intact, path: &Path, _: &Path) -> Result<DamageVerdict, String> {
    intact.judge_opened(Ledger::open_accepting_loss(path), true)
}
