//! Progress callbacks of a run.

use std::path::Path;

/// A receiver of the progress of a run. By default every method does nothing.
pub trait Monitor {
    /// Runs `work` of unknown duration, such as reading a file; `what` names it.
    fn during(&self, _what: &'static str, work: &mut dyn FnMut()) {
        work();
    }

    /// Called with a notice for users.
    fn on_notice(&self, _words: &str) {}

    /// Called when the ledger of a run has been opened. From here on a stopped run can be resumed.
    fn on_ledger(&self, _ledger: &Path) {}

    /// Called when work begins, with the total number of `what` if it is known.
    fn on_start(&self, _total: Option<u64>, _what: &'static str) {}

    /// Called with the number done, and with the share of the total if only the share is known.
    fn on_progress(&self, _done: u64, _share: Option<f64>) {}

    /// Called when the work ends.
    fn on_end(&self) {}
}

impl dyn Monitor + '_ {
    /// Runs some work of unknown duration.
    pub(crate) fn wait<R>(&self, what: &'static str, work: impl FnOnce() -> R) -> R {
        let (mut work, mut made) = (Some(work), None);
        self.during(what, &mut || made = work.take().map(|work| work()));
        made.expect("a monitor runs the work it is given")
    }
}

/// A monitor that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmonitored;

impl Monitor for Unmonitored {}
