//! The message of an interrupted run.

use std::path::Path;
use std::process::exit;

use super::progress;

/// Installs a handler for Ctrl-C that prints how to resume the run and exits with code 130.
///
/// It saves nothing, because acknowledged events are already on disk.
pub(crate) fn print_resume_command(ledger: &Path) {
    let ledger = ledger.display().to_string();
    let installed = ctrlc::set_handler(move || {
        progress::print_line(
            false,
            &format!(
                "interrupted; to resume, run the same command with --ledger {ledger} \
             --resume"
            ),
        );
        exit(130);
    });
    // Without the handler Ctrl-C still ends the run, but prints nothing.
    drop(installed);
}
