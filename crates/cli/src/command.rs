//! The commands, one file each.

use anyhow::Result;
use clap::Subcommand;

use crate::Output;

mod backup;
mod certify;
mod compare;
mod export;
mod label;
mod list;
mod plan;
mod pool;
mod predict;
mod purge;
mod replay;
mod report;
mod reproduce;
mod revoke;
mod salvage;
mod select;
mod stream;
mod tabulate;
mod verify;

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Certify(certify::Arguments),
    Tabulate(tabulate::Arguments),
    Plan(plan::Arguments),
    Stream(Box<stream::Arguments>),
    Pool(Box<pool::Arguments>),
    Compare(Box<compare::Arguments>),
    Label(Box<label::Arguments>),
    Revoke(revoke::Arguments),
    Export(export::Arguments),
    Predict(predict::Arguments),
    Select(select::Arguments),
    Replay(replay::Arguments),
    Report(report::Arguments),
    Verify(verify::Arguments),
    Backup(backup::Arguments),
    Salvage(salvage::Arguments),
    Purge(purge::Arguments),
    Reproduce(reproduce::Arguments),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<Output> {
        match self {
            Command::List(arguments) => Ok(list::run(&arguments)),
            Command::Certify(arguments) => certify::run(&arguments),
            Command::Tabulate(arguments) => tabulate::run(&arguments),
            Command::Plan(arguments) => plan::run(&arguments),
            Command::Stream(arguments) => stream::run(&arguments),
            Command::Pool(arguments) => pool::run(&arguments),
            Command::Compare(arguments) => compare::run(&arguments),
            Command::Label(arguments) => label::run(&arguments),
            Command::Revoke(arguments) => revoke::run(&arguments),
            Command::Export(arguments) => export::run(&arguments),
            Command::Predict(arguments) => predict::run(&arguments),
            Command::Select(arguments) => select::run(&arguments),
            Command::Replay(arguments) => replay::run(&arguments),
            Command::Report(arguments) => report::run(&arguments),
            Command::Verify(arguments) => verify::run(&arguments),
            Command::Backup(arguments) => backup::run(&arguments),
            Command::Salvage(arguments) => salvage::run(&arguments),
            Command::Purge(arguments) => purge::run(&arguments),
            Command::Reproduce(arguments) => reproduce::run(&arguments),
        }
    }
}
