//! The errata of severity A and B: the printed version, the right one, and an independent computation.

use crate::findings::FindingsTable;
use crate::part::PaperPart;
use crate::{Basis, Findings, PaperClaim, ReproductionSettings};

mod formulas;
mod statements;

pub(super) const PART: PaperPart = PaperPart {
    name: "errata",
    title: "What is misprinted, and what is right",
    about: "each erratum of severity A and B: the printed value, the right one, and an independent check of both",
    run,
};

/// An erratum, demonstrated by numbers.
struct Erratum {
    number: u8,
    /// A for a formula that would break a program, B for a statement that is wrong or incomplete.
    severity: char,
    place: &'static str,
    statement: &'static str,
    printed: String,
    right: String,
    /// The result of the independent computation.
    check: String,
    outcome: ErratumOutcome,
}

/// The outcome for the printed version. The flag is `true` if all checks gave the expected result.
enum ErratumOutcome {
    /// The printed version holds once corrected.
    Corrected(bool),
    /// The printed version is false, and the only correction is to omit it.
    Refuted(bool),
}

/// The title of the appendix section without a label.
const CONVEXITY_PROOF: &str = "Convexity and Proof of prop:Hinge_non-conv";

/// The tolerance for double precision after a few thousand roundings.
const CLOSE: f64 = 1e-11;
/// The smallest difference that rounding cannot explain.
const APART: f64 = 1e-3;

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= CLOSE * expected.abs().max(1.0)
}

fn apart(printed: f64, right: f64) -> bool {
    APART < (printed - right).abs()
}

fn run(settings: &ReproductionSettings) -> Findings {
    let mut findings = Findings::default();
    let mut table = FindingsTable {
        name: "errata".to_owned(),
        caption: "Errata of severity A and B: printed, right, and an independent check".to_owned(),
        header: ["erratum", "severity", "where", "what", "printed", "right", "check"].map(str::to_owned).to_vec(),
        rows: vec![],
    };
    for erratum in formulas::all().into_iter().chain(statements::all(settings)) {
        table.rows.push(vec![
            erratum.number.to_string(),
            erratum.severity.to_string(),
            erratum.place.to_owned(),
            erratum.statement.to_owned(),
            erratum.printed.clone(),
            erratum.right.clone(),
            erratum.check.clone(),
        ]);
        findings.claim(erratum.claim());
    }
    findings.tables.push(table);
    findings.remarks.push(
        "Checks integrate U·ℓ′ from plain formulas, minimize over predictions by brute force, take differences, or show \
         a counterexample; they use neither the print nor this project's closed forms. Errata 21 to 28 are slips of \
         index, sign of a range or name, and have no number to compute; `ERRATA.md` lists them."
            .to_owned(),
    );
    findings
}

impl Erratum {
    fn claim(self) -> PaperClaim {
        let claim = PaperClaim::new(self.place, format!("erratum {}: {}", self.number, self.statement))
            .computed(format!("printed {}; right {}", self.printed, self.right))
            .expected(self.check, Basis::Run);
        match self.outcome {
            ErratumOutcome::Corrected(found) => claim.holds_with_erratum(self.number, found),
            ErratumOutcome::Refuted(found) => claim.refuted(found),
        }
    }
}
