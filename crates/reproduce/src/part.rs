//! The parts of the paper, one file each.

use crate::{Findings, ReproductionSettings};

mod bounds;
mod convexity;
mod errata;
mod existence;
mod figures;
mod illustration;
mod links;
mod momentum;
mod multiclass;
mod pool;
mod regression;
mod repeated;
mod steps;

/// One part of the paper.
#[derive(Clone, Copy, Debug)]
pub struct PaperPart {
    /// The name on the command line.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// A description in one sentence.
    pub about: &'static str,
    /// The function that computes the findings.
    pub run: fn(&ReproductionSettings) -> Findings,
}

/// All parts, in the paper's order.
pub static PARTS: &[PaperPart] = &[
    figures::PART,
    illustration::PART,
    links::PART,
    convexity::PART,
    bounds::PART,
    steps::PART,
    pool::PART,
    repeated::PART,
    multiclass::PART,
    regression::PART,
    existence::PART,
    momentum::PART,
    errata::PART,
];

/// Finds a part by name.
pub fn find(name: &str) -> Option<&'static PaperPart> {
    PARTS.iter().find(|part| part.name == name)
}
