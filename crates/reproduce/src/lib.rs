//! Reproduction of the paper: every figure, experiment and statement, with a verdict for each.
//!
//! A [`PaperPart`] is a function from [`ReproductionSettings`] to [`Findings`]: claims, figures and tables. Parts read no
//! file and print nothing; their data are embedded in the program. To add one, write a file in `part/` and a line in
//! [`PARTS`].

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
mod part;
mod statistics;

pub use claim::{Basis, PaperClaim, StatementVerdict};
pub use findings::{Findings, FindingsTable, Plate};
pub use part::{PARTS, PaperPart, find};

/// The settings of a run. Equal settings give equal findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReproductionSettings {
    /// The random seed.
    pub seed: u64,
    /// Whether to use small samples and few splits, for tests rather than figures.
    pub quick: bool,
}

impl ReproductionSettings {
    /// Returns the first argument in a full run and the second in a quick one.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}
