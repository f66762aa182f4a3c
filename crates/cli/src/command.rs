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
    List(list::ListArgs),
    Certify(certify::CertifyArgs),
    Tabulate(tabulate::TabulateArgs),
    Plan(plan::PlanArgs),
    Stream(Box<stream::StreamArgs>),
    Pool(Box<pool::PoolArgs>),
    Compare(Box<compare::CompareArgs>),
    Label(Box<label::LabelArgs>),
    Revoke(revoke::RevokeArgs),
    Export(export::ExportArgs),
    Predict(predict::PredictArgs),
    Select(select::SelectArgs),
    Replay(replay::ReplayArgs),
    Report(report::ReportArgs),
    Verify(verify::VerifyArgs),
    Backup(backup::BackupArgs),
    Salvage(salvage::SalvageArgs),
    Purge(purge::PurgeArgs),
    Reproduce(reproduce::ReproduceArgs),
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
