//! `querist compare`: rules against random sampling on a labeled file, over many seeds, with a verdict in words.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use clap::Args;
use querist_data::{Batch, Encoder, load, load_with};
use querist_engine::compare::{self, Contest, Criterion, DefaultMetric, Entrant, FinishedRun, Metric, TestSet};
use querist_engine::model_kind::ModelKind;
use querist_engine::task::{self, Labels, Task};
use querist_run::build;
use querist_run::entrants;
use querist_run::files::{FileSettings, input};
use querist_run::overwrite::check_inputs;
use querist_run::written::Written;

use crate::Output;
use crate::run::files::DataArgs;
use crate::run::output::{count, whole};

mod figure;
mod output;
mod partial;
mod results;

use partial::PartialResults;
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
    /// The metric: accuracy, balanced-accuracy, f1:CLASS, log-loss or r2 [default: r2 for numbers and accuracy for
    /// classes; if a class has more than 70 % of the labels, F1 of the other or, of several, balanced-accuracy]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// The kind of model: linear, or kernel[:landmarks=300,width=1] [default: linear]
    #[arg(long, value_name = "KIND")]
    model: Option<Written<ModelKind>>,
    /// Write report.txt, comparison.json, curves.svg and curves.png to this folder: a new one, an empty one, or
    /// that of an earlier comparison
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
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
        self.metric()?;
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
            check_inputs("--figure", path, self.inputs())?;
        }
        match self.threads {
            Some(threads @ (0 | 257..)) => bail!("--threads = {threads}, need 1 to 256"),
            Some(threads) => querist_engine::set_threads(threads),
            None => {}
        }
        Ok(())
    }

    /// Parses the name of the metric.
    fn metric(&self) -> Result<Option<Metric>> {
        self.metric.as_deref().map(str::parse).transpose().context("--metric")
    }

    /// Returns the files of data.
    fn inputs(&self) -> impl Iterator<Item = &Path> + Clone {
        [self.data.as_path()].into_iter().chain(self.test.as_deref())
    }
}

pub(super) fn run(arguments: &CompareArgs) -> Result<Output> {
    arguments.check()?;
    let files = FileSettings { model: arguments.model.clone(), ..arguments.files.settings() };
    let options = files.options_with_kernel_columns(arguments.loss.as_deref())?;
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
    let metric = ChosenMetric::new(arguments, &contest, &*task, &loaded.encoder)?;
    if let Some(folder) = &arguments.out {
        // Check the folder before the runs, which can take minutes.
        output::create(folder, &arguments.inputs())?;
    }
    let outcome = run_all(arguments, &contest, &loss, &entrants, &metric.criterion)?;
    let results = ComparisonResults::new(arguments, &contest, (&loss, &metric), &entrants, &outcome, &loaded);
    if let Some(path) = &arguments.figure {
        figure::write(path, &results)?;
    }
    let mut text = if arguments.json { results.to_json().to_string() } else { results.to_text() };
    if let Some(folder) = &arguments.out {
        let written = output::write(folder, &results)?;
        if !arguments.json {
            text.push_str(&written);
        }
    }
    Ok(Output { text, code: 0, missing: None })
}

/// The metric of a comparison.
struct ChosenMetric {
    criterion: Criterion,
    /// The criterion whose values are in `accuracy` or `r_squared` of the JSON output.
    plain: Criterion,
    /// The reason for a default metric.
    reason: Option<String>,
}

impl ChosenMetric {
    /// Resolves the metric of the arguments, or the default for the labels.
    fn new(arguments: &CompareArgs, contest: &Contest<'_>, task: &dyn Task, encoder: &Encoder) -> Result<Self> {
        let kind = contest.kind;
        let classes: Vec<String> = (0..kind.classes()).map(|class| encoder.decode(kind.label(class))).collect();
        let (metric, reason) = match arguments.metric()? {
            Some(metric) => (metric, None),
            None => {
                let default = DefaultMetric::new(kind, contest.labels, &classes);
                (default.metric, Some(default.reason))
            }
        };
        let plain = if kind == Labels::Numbers { Metric::R2 } else { Metric::Accuracy };
        let resolve = |metric: Metric| Criterion::new(metric, task, &classes).context("--metric");
        Ok(Self { criterion: resolve(metric)?, plain: resolve(plain)?, reason })
    }
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

/// Runs every entrant with every seed, with a progress bar and partial results.
fn run_all(
    arguments: &CompareArgs,
    contest: &Contest<'_>,
    loss: &str,
    entrants: &[Entrant],
    criterion: &Criterion,
) -> Result<compare::Comparison> {
    let seeds: Vec<u64> = (0..arguments.seeds).map(|index| arguments.seed + index).collect();
    let partial = Mutex::new(PartialResults::new(criterion, entrants, seeds.len(), arguments.quiet));
    let done = |finished: FinishedRun<'_>| {
        if let Ok(mut partial) = partial.lock() {
            partial.record(finished);
        }
    };
    let kind = contest.kind;
    // The same loss was parsed successfully before.
    let make = || task::parse(loss, kind).unwrap_or_else(|error| unreachable!("{error}"));
    let outcome = compare::run(contest, &make, entrants, &seeds, &done);
    if let Ok(partial) = partial.into_inner() {
        partial.finish();
    }
    Ok(outcome?)
}
