//! A statement of the paper and its verdict.

use std::fmt;

/// A statement of the paper with the computed result, the expected result and its source, and the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperClaim {
    /// The location in the paper: a LaTeX label or a title.
    pub place: &'static str,
    /// The statement itself.
    pub statement: String,
    /// The computed result.
    pub computed: String,
    /// The expected result.
    pub expected: String,
    /// The source of the expectation.
    pub source: Basis,
    /// The verdict on the statement.
    pub verdict: StatementVerdict,
    /// Whether the verdict is the expected one. If not, there is an error here or in the expectation.
    pub foreseen: bool,
}

/// The basis of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Formulas of this project's `theory`.
    Theory,
    /// A table of reference values, computed elsewhere at high precision.
    Reference,
    /// An independent computation in the run itself.
    Run,
    /// The printed paper.
    Paper,
}

/// The verdict on a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementVerdict {
    /// The statement holds as printed.
    Holds,
    /// The statement fails, and no correction saves it.
    Refuted,
    /// The statement holds with the correction of this number in `ERRATA.md`.
    HoldsWithErratum(u8),
}

impl PaperClaim {
    /// Creates a claim at a location of the paper. It is refuted until found to hold.
    pub fn new(place: &'static str, statement: impl Into<String>) -> Self {
        Self {
            place,
            statement: statement.into(),
            computed: String::new(),
            expected: String::new(),
            source: Basis::Run,
            verdict: StatementVerdict::Refuted,
            foreseen: false,
        }
    }

    /// Sets the computed result.
    pub fn computed(self, computed: impl Into<String>) -> Self {
        Self { computed: computed.into(), ..self }
    }

    /// Sets the expected result and its source.
    pub fn expected(self, expected: impl Into<String>, source: Basis) -> Self {
        Self { expected: expected.into(), source, ..self }
    }

    /// Judges a statement that is expected to hold as printed.
    pub fn holds(self, found: bool) -> Self {
        self.judge(if found { StatementVerdict::Holds } else { StatementVerdict::Refuted }, found)
    }

    /// Judges a statement that is expected to hold once corrected. `found` means that the printed version fails and
    /// that the correction holds.
    pub fn holds_with_erratum(self, erratum: u8, found: bool) -> Self {
        self.judge(if found { StatementVerdict::HoldsWithErratum(erratum) } else { StatementVerdict::Refuted }, found)
    }

    /// Judges a statement that is expected to fail; `found` means that it did.
    pub fn refuted(self, found: bool) -> Self {
        self.judge(if found { StatementVerdict::Refuted } else { StatementVerdict::Holds }, found)
    }

    fn judge(self, verdict: StatementVerdict, foreseen: bool) -> Self {
        Self { verdict, foreseen, ..self }
    }
}

impl fmt::Display for StatementVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatementVerdict::Holds => f.write_str("holds"),
            StatementVerdict::Refuted => f.write_str("refuted"),
            StatementVerdict::HoldsWithErratum(number) => write!(f, "holds with erratum {number}"),
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Basis::Theory => "theory",
            Basis::Reference => "reference table",
            Basis::Run => "independent computation",
            Basis::Paper => "paper",
        })
    }
}
