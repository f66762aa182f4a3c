//! Measures how good classifiers and their estimates are after some number of labels, on many data sets with many seeds.

#![allow(clippy::print_stdout, reason = "printing tables is the purpose of this program")]

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, Parser, Subcommand};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

mod coverage;
mod curves;
mod markdown;
mod set;
mod simulate;
mod stops;
mod synthetic;

use set::LabeledSet;
use simulate::{Milestone, RunPlan, SamplingStrategy};

/// Simulates labeling on data sets whose labels are known.
#[derive(Debug, Parser)]
struct LabelsArguments {
    #[command(subcommand)]
    table: Table,
}

#[derive(Debug, Subcommand)]
enum Table {
    /// Prints accuracy, log loss and the recall of the rarest class on held-out rows
    Curves(RunArguments),
    /// Prints coverage and width of the intervals, judged by the fitted model on the whole pool
    Coverage(coverage::CoverageArguments),
    /// Prints where stopping rules stop, and how often they should not have
    Stops(stops::StopArguments),
}

/// The runs to simulate.
#[derive(Debug, Args)]
struct RunArguments {
    /// Data files with a column `label` or `target`
    sets: Vec<PathBuf>,
    /// Ways of choosing rows, as `RULE@DRAW@COLD-START` or a part of it, separated by semicolons
    #[arg(long, default_value = "random;top;boundary")]
    strategies: String,
    /// Number of seeds, each with its own split
    #[arg(long, default_value_t = 10)]
    seeds: u64,
    /// Numbers of labels at which runs are measured
    #[arg(long, value_delimiter = ',', default_value = "50,100,200,400")]
    at: Vec<u64>,
    /// Number of labels between two fits
    #[arg(long, default_value_t = 5)]
    batch: u64,
}

impl RunArguments {
    fn strategies(&self) -> anyhow::Result<Vec<SamplingStrategy>> {
        self.strategies.split(';').map(SamplingStrategy::parse).collect()
    }

    /// Runs a strategy on a set with every seed.
    fn run(
        &self,
        set: &LabeledSet,
        strategy: &SamplingStrategy,
        estimates: bool,
    ) -> anyhow::Result<Vec<Vec<Milestone>>> {
        let plan = RunPlan { milestones: self.at.clone(), batch: self.batch, estimates, precision: None };
        self.run_plan(set, strategy, &plan)
    }

    /// Runs a strategy on a set with every seed, by this plan.
    fn run_plan(
        &self,
        set: &LabeledSet,
        strategy: &SamplingStrategy,
        plan: &RunPlan,
    ) -> anyhow::Result<Vec<Vec<Milestone>>> {
        (0..self.seeds).into_par_iter().map(|seed| simulate::simulate(set, strategy, plan, seed)).collect()
    }
}

fn main() -> anyhow::Result<()> {
    let table = LabelsArguments::parse().table;
    let (Table::Curves(runs)
    | Table::Coverage(coverage::CoverageArguments { runs, .. })
    | Table::Stops(stops::StopArguments { runs, .. })) = &table;
    if runs.seeds < 2 || runs.batch == 0 || !runs.at.is_sorted() {
        bail!("need at least 2 seeds, a batch of at least 1, and ascending numbers of labels");
    }
    match &table {
        Table::Curves(runs) => curves::print(runs),
        Table::Coverage(arguments) => coverage::print(arguments),
        Table::Stops(arguments) => stops::print(arguments),
    }
}
