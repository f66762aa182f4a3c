//! `querist list`: the registered losses, rules and pairs, one per line.

use clap::Args;
use querist_render::list::{as_json, as_text};

use crate::Output;

/// List losses, rules, and the pairs whose equivalent loss has a closed form
#[derive(Args)]
pub(crate) struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &ListArgs) -> Output {
    let text = if arguments.json { format!("{:#}", as_json()) } else { as_text() };
    Output::done(text)
}
