//! Progress bars for work that takes longer than half a second; only on a terminal.

use std::cell::RefCell;
use std::fmt::Write;
use std::io::{IsTerminal, Write as _, stderr};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use querist_run::Monitor;
use querist_run::text::grouped;

use super::interrupt;

/// The time before a progress bar appears.
const SHOW_AFTER: Duration = Duration::from_millis(500);

/// Prints a line on standard error unless `quiet`.
pub(crate) fn print_line(quiet: bool, words: &str) {
    if !quiet {
        // If standard error is closed, there is no way to report it.
        let _ = writeln!(stderr(), "querist: {words}");
    }
}

/// Does work of unknown length, such as reading a file. On a terminal a spinner shows `what` and the elapsed time.
pub(crate) fn waiting<R>(what: &'static str, quiet: bool, work: impl FnOnce() -> R) -> R {
    if quiet || !stderr().is_terminal() {
        return work();
    }
    let (under_way, over) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if over.recv_timeout(SHOW_AFTER) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new_spinner().with_message(what).with_elapsed(SHOW_AFTER);
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
                    bar.set_style(style);
                }
                bar.enable_steady_tick(Duration::from_millis(100));
                // Nothing is ever sent: this waits until the work is done.
                let _ = over.recv();
                bar.finish_and_clear();
            }
        });
        let made = work();
        drop(under_way);
        made
    })
}

/// A progress bar.
pub(crate) struct ProgressMeter {
    bar: ProgressBar,
    shown: bool,
    started: Instant,
    /// The length of the bar is an estimate.
    estimated: bool,
}

const COUNTED: &str = "{wide_bar} {human_pos}/{human_len} {msg}, {rate}/s, {eta} left";
const NOTED: &str = "{wide_bar} {human_pos}/{human_len} {msg}, {rate}/s, {eta} left\n{prefix}";
const ESTIMATED: &str = "{wide_bar} {percent} %, {human_pos} {msg}, {rate}/s, {eta} left";
const ENDLESS: &str = "{spinner} {human_pos} {msg}, {rate}/s";

impl ProgressMeter {
    /// Creates a bar of `length` units, or a spinner if the length is not known.
    #[expect(clippy::disallowed_methods, reason = "the elapsed time is only printed; no result depends on it")]
    pub(crate) fn new(length: Option<u64>, what: &'static str, quiet: bool) -> Self {
        let bar = length.map_or_else(ProgressBar::no_length, ProgressBar::new);
        bar.set_draw_target(ProgressDrawTarget::hidden());
        bar.set_style(style(if length.is_some() { COUNTED } else { ENDLESS }));
        bar.set_message(what);
        let shown = quiet || !stderr().is_terminal();
        Self { bar, shown, started: Instant::now(), estimated: false }
    }

    /// Sets the position. If the length is not known, `share` (of the work done) gives an estimate of it.
    pub(crate) fn at_share(&mut self, position: u64, share: Option<f64>) {
        if let Some(share) = share.filter(|share| 0.0 < *share && (self.estimated || self.bar.length().is_none())) {
            if !self.estimated {
                self.estimated = true;
                self.bar.set_style(style(ESTIMATED));
            }
            self.bar.set_length((position as f64 / share) as u64);
        }
        self.at(position);
    }

    /// Sets the position, and shows the bar once the work has taken long enough.
    pub(crate) fn at(&mut self, position: u64) {
        if !self.shown && SHOW_AFTER < self.started.elapsed() {
            self.shown = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(position);
    }

    /// Shows a line below a bar whose length is known, in place of the previous one.
    pub(crate) fn note(&self, line: String) {
        self.bar.set_style(style(NOTED));
        self.bar.set_prefix(line);
    }

    /// Removes the bar.
    pub(crate) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows the progress of a run on the terminal.
pub(crate) struct Terminal {
    quiet: bool,
    bar: RefCell<Option<ProgressMeter>>,
}

impl Terminal {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, bar: RefCell::new(None) }
    }
}

impl Monitor for Terminal {
    fn during(&self, what: &'static str, work: &mut dyn FnMut()) {
        waiting(what, self.quiet, work);
    }

    fn on_notice(&self, words: &str) {
        print_line(self.quiet, words);
    }

    fn on_ledger(&self, ledger: &Path) {
        interrupt::print_resume_command(ledger);
    }

    fn on_start(&self, total: Option<u64>, what: &'static str) {
        self.bar.replace(Some(ProgressMeter::new(total, what, self.quiet)));
    }

    fn on_progress(&self, done: u64, share: Option<f64>) {
        if let Some(bar) = &mut *self.bar.borrow_mut() {
            bar.at_share(done, share);
        }
    }

    fn on_end(&self) {
        if let Some(bar) = self.bar.take() {
            bar.done();
        }
    }
}

/// A timer of a run.
pub(crate) struct Timer(Instant);

impl Timer {
    #[expect(clippy::disallowed_methods, reason = "the elapsed time is only printed; no result depends on it")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the seconds since the start.
    pub(crate) fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

fn style(template: &str) -> ProgressStyle {
    let rate = |state: &ProgressState, out: &mut dyn Write| {
        // A rate that cannot be written only leaves a gap in the bar.
        let _ = out.write_str(&grouped(state.per_sec() as u64));
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("rate", rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_valid() {
        for template in [COUNTED, NOTED, ESTIMATED, ENDLESS] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn the_length_is_known_estimated_or_absent() {
        let length = |known: Option<u64>, share: Option<f64>| {
            let mut progress = ProgressMeter::new(known, "rows", true);
            progress.at_share(10, share);
            progress.at_share(30, share.map(|share| 2.0 * share));
            progress.bar.length()
        };
        assert_eq!(length(Some(100), Some(0.1)), Some(100));
        assert_eq!(length(None, Some(0.1)), Some(150));
        assert_eq!(length(None, Some(0.0)), None);
        assert_eq!(length(None, None), None);
    }
}
