//! The parts, one file each.

use crate::{Findings, Settings};

mod convexity;
mod errata;
mod existence;
mod figures;
mod links;
mod momentum;
mod multiclass;
mod regression;

/// One part of the paper.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Does it.
    pub run: fn(&Settings) -> Findings,
}

/// All parts, in the paper's order.
pub static PARTS: &[Part] = &[
    figures::PART,
    links::PART,
    convexity::PART,
    multiclass::PART,
    regression::PART,
    existence::PART,
    momentum::PART,
    errata::PART,
];

/// The part of this name.
pub fn find(name: &str) -> Option<&'static Part> {
    PARTS.iter().find(|part| part.name == name)
}
