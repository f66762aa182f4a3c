//! Choice of step sizes, and the value of querying less (labels rem:choosing-c, apd:step-calibration,
//! `coro:final_sample_complexity`).

use crate::part::PaperPart;
use crate::{Findings, ReproductionSettings};

mod calibration;
mod matched;

pub(super) const PART: PaperPart = PaperPart {
    name: "steps",
    title: "Steps and label budgets",
    about: "the step constant: U_max, oracle, wrong estimates, a pilot, and a step that nobody sets; then active against \
            passive learning with as many labels",
    run,
};

fn run(settings: &ReproductionSettings) -> Findings {
    let mut findings = Findings::default();
    calibration::report(settings, &mut findings);
    matched::report(settings, &mut findings);
    findings
}
