//! The paper, computed again: every figure, experiment and statement, with a verdict for each.
//!
//! A [`Part`] is a function from [`Settings`] to [`Findings`]: claims, figures and tables. Parts read no file and print
//! nothing; the data they need are in the program. To add one, write a file in `part/` and a line in [`PARTS`].

mod baseline;
mod by_hand;
mod claim;
mod contest;
mod course;
mod datasets;
mod findings;
mod finite;
mod matrix;
mod mixture;
mod numbers;
mod ode;
pub mod pair_figure;
mod paired;
mod part;
mod statistics;

pub use claim::{Claim, Source, Verdict};
pub use findings::{Findings, Plate, Table};
pub use part::{PARTS, Part, find};

/// What a run of a part depends on; the same settings give the same findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// All chance is a function of it.
    pub seed: u64,
    /// Small samples and few splits: for tests, not for figures.
    pub quick: bool,
}

impl Settings {
    /// The first in a full run, the second in a quick one.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}
