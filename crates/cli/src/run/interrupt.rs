//! What is said when a run is interrupted.

use std::path::Path;
use std::process::exit;

use super::progress;

/// From here on an interrupted run says how it is gone on with. Nothing else is done: what was acknowledged is on disk at any time.
pub(crate) fn tell_how_to_go_on(ledger: &Path) {
    let ledger = ledger.display().to_string();
    let told = ctrlc::set_handler(move || {
        progress::say(false, &format!("interrupted; the same command with --ledger {ledger} --resume goes on"));
        exit(130);
    });
    // Without a handler an interrupt ends the run all the same, and says nothing.
    drop(told);
}
