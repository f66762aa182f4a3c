//! Repeated versus single queries (label apd:pool-details): fresh labels for a row, or one permanent label.

use crate::part::PaperPart;
use crate::{Findings, ReproductionSettings};

mod complexity;
mod learning;

pub(super) const PART: PaperPart = PaperPart {
    name: "repeated",
    title: "Repeated and single queries",
    about: "the Rademacher complexity with m labels a feature, exactly; learning from a pool with fresh labels, with one \
            label for each row, and from new features, with as many labels",
    run,
};

fn run(settings: &ReproductionSettings) -> Findings {
    let mut findings = Findings::default();
    complexity::report(settings, &mut findings);
    learning::report(settings, &mut findings);
    findings
}
