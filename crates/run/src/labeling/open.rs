//! Creates the ledger of a session, or checks that an existing one belongs to the data and settings.

use std::path::Path;

use querist_engine::session::name_ids;
use querist_ledger::Ledger;
use serde_json::{Value, json};

use super::answers::{AnswerRecord, check_salvaged};
use super::changes::Changes;
use super::imports::Imports;
use super::location::{self, Moved};
use super::source::{self, Items, SessionHeader};
use crate::differing::differing;
use crate::error::{Result, bail};
use crate::text::counted;

/// Creates the ledger, or checks the existing one. The header has full paths; those stored are relative.
pub fn ledger(path: &Path, existing: Option<Ledger>, header: &SessionHeader, items: &Items) -> Result<Ledger> {
    let mut ledger = if let Some(mut ledger) = existing {
        let before = source::header(&ledger)?;
        check_salvaged(&ledger)?;
        check_settings(path, &before, header)?;
        check_items(&ledger, &before, header, items)?;
        header.data.note_location(&mut ledger, &before)?;
        ledger
    } else {
        let stored = SessionHeader { data: header.data.stored_in(&location::folder(path)?), ..header.clone() };
        Ledger::create(path, &serde_json::to_string(&stored)?)?
    };
    source::note_columns(&mut ledger, items)?;
    Ok(ledger)
}

/// Checks that a session continues with the labels, settings and file options it was started with.
fn check_settings(path: &Path, before: &SessionHeader, header: &SessionHeader) -> Result<()> {
    let path = path.display();
    if before.labels != header.labels {
        let names = |labels: &[(String, f64)]| {
            let names: Vec<&str> = labels.iter().map(|(name, _)| name.as_str()).collect();
            if names.is_empty() { "numbers".to_owned() } else { names.join(",") }
        };
        let (before, now) = (names(&before.labels), names(&header.labels));
        bail!("{path}: its labels are {before}, not {now}\n  use the same labels, or a different file with --ledger");
    }
    let options = |header: &SessionHeader| -> Result<Value> {
        let (settings, session) = (header.settings.to_compared()?, &header.data);
        Ok(json!([settings, session.files, {"show": session.show, "draw": header.draw().to_string()}]))
    };
    let (before, now) = (options(before)?, options(header)?);
    let other: Vec<String> = (0..3).flat_map(|part| differing(&before[part], &now[part])).collect();
    if !other.is_empty() {
        // Nothing would distinguish earlier draws and models from later ones.
        bail!(
            "{path}: it was started {}\n  use the same options, or a different file with --ledger",
            other.join(" and ")
        );
    }
    Ok(())
}

/// Checks that the data are those of the ledger. Data at another path must have every asked item unchanged. Items
/// that changed in place are skipped later, unless their ids are row numbers, which then identify nothing.
fn check_items(ledger: &Ledger, before: &SessionHeader, header: &SessionHeader, items: &Items) -> Result<()> {
    let recorded = before.data.located(ledger, &Moved::default())?;
    let is_moved = recorded.file != header.data.file;
    if !is_moved && !items.has_row_numbers() {
        return Ok(());
    }
    let changes = Changes::find(&AnswerRecord::read(ledger)?, &Imports::read(ledger)?, items);
    let (path, old, new) = (ledger.path().display(), recorded.name(), header.data.name());
    let is_demo = recorded.file.is_none() || header.data.file.is_none();
    if is_moved && (is_demo || !changes.is_empty()) {
        let why = if is_demo { String::new() } else { format!(": of the items asked, {}", changes.describe()) };
        bail!(
            "{path}: it belongs to {old}, not to {new}{why}\n  use the data that were labeled, or a different file with --ledger"
        );
    }
    let (answered, imported) = (&changes.answered, &changes.imported);
    if items.has_row_numbers() && !(answered.is_empty() && imported.is_empty()) {
        let (rows, noun) = if answered.is_empty() { (imported, "imported row") } else { (answered, "answered row") };
        bail!(
            "{new}: {} changed: {}\n  \
             Without an id column, rows are identified by their numbers, so the session cannot continue.\n  \
             Restore the file (rows may be added at its end), or add an id column and start a new session with --ledger.\n  \
             `querist export {path}` writes every answer with the text that was shown.",
            counted(rows.len() as u64, noun),
            name_ids(rows),
        );
    }
    Ok(())
}
