//! Algorithm 2 (labels `prop:SGD_converge_pool`, eq:pool-mean): rows of a pool, drawn in proportion to their
//! uncertainty.

use crate::part::PaperPart;
use crate::{Findings, ReproductionSettings};

mod descent;
mod law;

pub(super) const PART: PaperPart = PaperPart {
    name: "pool",
    title: "Sampling from a pool",
    about: "the law of draws by proposals and by a pass over the pool; Algorithm 2's excess risk under its bound, with \
            exact weights and with the number of proposals in their place",
    run,
};

fn run(settings: &ReproductionSettings) -> Findings {
    let mut findings = Findings::default();
    law::report(settings, &mut findings);
    descent::report(settings, &mut findings);
    findings
}
