//! One statement of the paper and what became of it.

use std::fmt;

/// A statement, what was computed, what was expected and from where, and the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Where the paper says it: a LaTeX label or a title.
    pub place: &'static str,
    /// What it says.
    pub statement: String,
    /// What came out here.
    pub computed: String,
    /// What should come out.
    pub expected: String,
    /// Who says so.
    pub source: Source,
    /// Whether it does.
    pub verdict: Verdict,
    /// Whether that verdict is the one that was foreseen; if not, something is wrong here or there.
    pub foreseen: bool,
}

/// Where an expectation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Formulas of this project's `theory`.
    Theory,
    /// A table of reference values, computed elsewhere at high precision.
    Reference,
    /// An independent computation in the run itself.
    Run,
    /// The paper's print.
    Paper,
}

/// What became of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As the paper has it.
    Holds,
    /// Not as the paper has it, and no correction saves it.
    Refuted,
    /// With the correction of this number in `ERRATA.md`.
    HoldsWithErratum(u8),
}

impl Claim {
    /// A statement at a place; refuted until found to hold.
    pub fn new(place: &'static str, statement: impl Into<String>) -> Self {
        Self {
            place,
            statement: statement.into(),
            computed: String::new(),
            expected: String::new(),
            source: Source::Run,
            verdict: Verdict::Refuted,
            foreseen: false,
        }
    }

    /// What came out.
    pub fn computed(self, computed: impl Into<String>) -> Self {
        Self { computed: computed.into(), ..self }
    }

    /// What should come out, and who says so.
    pub fn expected(self, expected: impl Into<String>, source: Source) -> Self {
        Self { expected: expected.into(), source, ..self }
    }

    /// It is expected to hold as printed.
    pub fn holds(self, found: bool) -> Self {
        self.judge(if found { Verdict::Holds } else { Verdict::Refuted }, found)
    }

    /// It is expected to hold once corrected; `found` says both that the print fails and that the correction holds.
    pub fn holds_with_erratum(self, erratum: u8, found: bool) -> Self {
        self.judge(if found { Verdict::HoldsWithErratum(erratum) } else { Verdict::Refuted }, found)
    }

    /// It is expected to fail; `found` says that it did.
    pub fn refuted(self, found: bool) -> Self {
        self.judge(if found { Verdict::Refuted } else { Verdict::Holds }, found)
    }

    fn judge(self, verdict: Verdict, foreseen: bool) -> Self {
        Self { verdict, foreseen, ..self }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Holds => f.write_str("holds"),
            Verdict::Refuted => f.write_str("refuted"),
            Verdict::HoldsWithErratum(number) => write!(f, "holds with erratum {number}"),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Theory => "theory",
            Source::Reference => "reference table",
            Source::Run => "independent computation",
            Source::Paper => "paper",
        })
    }
}
