//! How a program follows a run.

use std::path::Path;

/// Is notified of the progress of a run. Every method does nothing unless a program says otherwise.
pub trait Monitor {
    /// Runs `work`, whose end is not known, such as reading a file; `what` names it.
    fn during(&self, _what: &'static str, work: &mut dyn FnMut()) {
        work();
    }

    /// Called with something that people should know.
    fn on_notice(&self, _words: &str) {}

    /// Called when the ledger of a run has been opened: from here on a run that is stopped can be resumed.
    fn on_ledger(&self, _ledger: &Path) {}

    /// Called when some work begins of which `done` of `total` things are reported, where their number is known.
    fn on_start(&self, _total: Option<u64>, _what: &'static str) {}

    /// Called with the number of things done, and what share of all that is where only the share is known.
    fn on_progress(&self, _done: u64, _share: Option<f64>) {}

    /// Called when the work ends.
    fn on_end(&self) {}
}

impl dyn Monitor + '_ {
    /// Runs some work whose end is not known.
    pub(crate) fn wait<R>(&self, what: &'static str, work: impl FnOnce() -> R) -> R {
        let (mut work, mut made) = (Some(work), None);
        self.during(what, &mut || made = work.take().map(|work| work()));
        made.expect("a monitor runs the work it is given")
    }
}

/// Follows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmonitored;

impl Monitor for Unmonitored {}
