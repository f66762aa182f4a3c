//! `querist compare`: rules against random sampling on a labeled file, over many seeds, with a verdict in words.

use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use clap::Args;
use querist_data::{Batch, load, load_with};
use querist_engine::compare::{self, Contest, Entrant, TestSet};
use querist_engine::task::{self, Labels};
use querist_run::build;
use querist_run::entrants;
use querist_run::files::input;
use querist_run::overwrite::check_inputs;

use crate::Output;
use crate::run::files::DataArgs;
use crate::run::output::{count, whole};
use crate::run::progress::ProgressMeter;

mod figure;
mod results;

use results::ComparisonResults;

/// Compare rules with random sampling on a file with labels: learning curves, labels saved, a verdict
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// The pool
    data: PathBuf,
    /// Number of labels that each run queries
    #[arg(long, value_name = "N", value_parser = count)]
    budget: u64,
    /// The rules to compare, as `RULE[@DRAW][/FIT]`, separated by commas. DRAW is scan, reject or top; FIT is as-asked,
    /// equivalent, original or sgd. `random` (constant) and `top` (boundary@top) are always included [default:
    /// boundary,entropy; conditional-loss for numbers]
    #[arg(long, value_name = "LIST")]
    rules: Option<String>,
    /// Number of seeds, each with its own split
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 20)]
    seeds: u64,
    /// The first seed
    #[arg(long, value_name = "N", value_parser = whole::<u64>, default_value_t = 0)]
    seed: u64,
    /// The loss [default: logistic, cross-entropy or squared, by the labels]
    #[arg(long)]
    loss: Option<String>,
    /// λ: add λ/2·‖w‖² to the loss [default: chosen from the answers]
    #[arg(long, value_name = "LAMBDA")]
    l2: Option<f64>,
    /// Number of labels between two fits
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 1)]
    batch: u64,
    /// A file of test rows
    #[arg(long, value_name = "FILE", conflicts_with = "test_fraction")]
    test: Option<PathBuf>,
    /// Hold out this fraction of the rows as test rows
    #[arg(long, value_name = "F", default_value_t = 0.3)]
    test_fraction: f64,
    /// Draw the learning curves, draw probabilities and calibration to this file, .svg or .png
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Do not show a progress bar
    #[arg(long)]
    quiet: bool,
    /// Number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    threads: Option<usize>,
    #[command(flatten)]
    files: DataArgs,
}

impl CompareArgs {
    /// Rejects invalid arguments before any data are read.
    fn check(&self) -> Result<()> {
        if self.budget == 0 || self.batch == 0 || self.seeds == 0 {
            bail!("--budget, --batch and --seeds must be at least 1");
        }
        if 10_000 < self.seeds {
            bail!("--seeds = {}, need at most 10000", self.seeds);
        }
        if !(0.0 < self.test_fraction && self.test_fraction < 1.0) {
            bail!("--test-fraction = {}, need 0 < fraction < 1", self.test_fraction);
        }
        if let Some(l2) = self.l2.filter(|l2| !(0.0 < *l2 && l2.is_finite())) {
            bail!("--l2 = {l2}, need a finite number > 0");
        }
        if let Some(path) = &self.figure {
            figure::check(path)?;
            check_inputs("--figure", path, [self.data.as_path()].into_iter().chain(self.test.as_deref()))?;
        }
        match self.threads {
            Some(threads @ (0 | 257..)) => bail!("--threads = {threads}, need 1 to 256"),
            Some(threads) => querist_engine::set_threads(threads),
            None => {}
        }
        Ok(())
    }
}

pub(super) fn run(arguments: &CompareArgs) -> Result<Output> {
    arguments.check()?;
    let options = arguments.files.settings().options(arguments.loss.as_deref())?;
    let loaded = load(&input(&arguments.data), &options)?;
    let test = match &arguments.test {
        Some(path) => Some(load_with(&loaded.encoder, &input(path), &options)?.0),
        None => None,
    };
    let kind = build::labels(&loaded.encoder)?;
    let loss = arguments.loss.clone().unwrap_or_else(|| kind.default_loss().to_owned());
    let task = task::parse(&loss, kind)?;
    let default = if kind == Labels::Numbers { "conditional-loss" } else { "boundary,entropy" };
    let rules = arguments.rules.as_deref().unwrap_or(default);
    let entrants = entrants::parse_all(rules, task.name(), kind, arguments.l2).context("--rules")?;
    for entrant in &entrants {
        compare::check(&*task, entrant).context("--rules")?;
    }
    let contest = contest(arguments, &loaded.batch, test.as_ref(), kind)?;
    let seeds: Vec<u64> = (0..arguments.seeds).map(|index| arguments.seed + index).collect();
    let outcome = run_all(arguments, &contest, &loss, &entrants, &seeds)?;
    let results = ComparisonResults::new(arguments, &contest, &loss, &entrants, &outcome, &loaded);
    if let Some(path) = &arguments.figure {
        figure::write(path, &results)?;
    }
    let text = if arguments.json { results.to_json().to_string() } else { results.to_text() };
    Ok(Output { text, code: 0, missing: None })
}

fn contest<'a>(arguments: &CompareArgs, pool: &'a Batch, test: Option<&'a Batch>, kind: Labels) -> Result<Contest<'a>> {
    let labeled = pool.labels.iter().filter(|label| !label.is_nan()).count() as u64;
    let askable = if test.is_some() { labeled } else { (labeled as f64 * (1.0 - arguments.test_fraction)) as u64 };
    if askable < arguments.budget {
        bail!(
            "--budget {} is too large: the pool has {askable} labels, and a comparison must leave some of them \
             unqueried",
            arguments.budget
        );
    }
    let first = pool.labels.iter().find(|label| !label.is_nan());
    if pool.labels.iter().filter(|label| !label.is_nan()).all(|label| Some(label) == first) {
        bail!("all labels are the same, so there is nothing to learn or compare");
    }
    Ok(Contest {
        rows: &pool.rows,
        labels: &pool.labels,
        kind,
        test: match test {
            Some(test) => TestSet::Rows(&test.rows, &test.labels),
            None => TestSet::Share(arguments.test_fraction),
        },
        budget: arguments.budget,
        batch: arguments.batch,
    })
}

/// Runs every entrant with every seed, with a progress bar.
fn run_all(
    arguments: &CompareArgs,
    contest: &Contest<'_>,
    loss: &str,
    entrants: &[Entrant],
    seeds: &[u64],
) -> Result<compare::Comparison> {
    let all = (seeds.len() * (entrants.len() + 1)) as u64;
    let progress = Mutex::new((ProgressMeter::new(Some(all), "runs", arguments.quiet), 0));
    let done = || {
        if let Ok(mut progress) = progress.lock() {
            progress.1 += 1;
            let at = progress.1;
            progress.0.at(at);
        }
    };
    let kind = contest.kind;
    // The same loss was parsed successfully before.
    let make = || task::parse(loss, kind).unwrap_or_else(|error| unreachable!("{error}"));
    let outcome = compare::run(contest, &make, entrants, seeds, &done);
    if let Ok(progress) = progress.into_inner() {
        progress.0.done();
    }
    Ok(outcome?)
}
