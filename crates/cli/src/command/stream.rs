//! `querist stream`: Algorithm 1 over a file, standard input or the paper's mixture.

mod ask;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use querist_data::{Batch, Input, Options, Stream, load_with};
use querist_engine::index::Coefficients;
use querist_engine::learner::Diverged;
use querist_engine::scorer::Score;
use querist_engine::stream::{StreamLearner, Trace};
use querist_engine::task::Labels;
use querist_rows::Rows;
use serde_json::{Value, json};

use crate::Output;
use crate::number::{json as number, show};
use crate::run::build::{self, Resolved};
use crate::run::event::Sums;
use crate::run::feed::{self, Feed, HoldOut};
use crate::run::files::{Files, input};
use crate::run::outcome::{self, Naming, Outcome, Scoring, grouped};
use crate::run::output::{OutputArgs, count};
use crate::run::progress::{Progress, waiting};
use crate::run::record::{self, Opened, Recorder};
use crate::run::replay;
use crate::run::settings::Settings;
use crate::run::step::{self, Surroundings};

/// Stream-based uncertainty sampling over a file whose labels are known, or live
#[derive(Args)]
pub(crate) struct Arguments {
    /// The data, or `-` for standard input
    #[arg(required_unless_present = "synthetic", conflicts_with = "synthetic")]
    data: Option<PathBuf>,
    /// Makes the observations instead: the paper's four Gaussians
    #[arg(long, value_enum, requires = "observations")]
    synthetic: Option<Synthetic>,
    /// How many of them
    #[arg(long, value_name = "N", value_parser = count, requires = "synthetic")]
    observations: Option<u64>,
    /// Live: asks go to standard output, answers come as {"answer": ASK, "label": …} among the observations; a line that cannot
    /// be taken is refused and counted, with --skip-bad-rows and without
    #[arg(long)]
    ask: bool,
    /// How many observations numbers are standardized from [default: 1000; 100 with --ask]
    #[arg(long, value_name = "N")]
    warm_up: Option<usize>,
    /// Takes the rows in a random order; needs them in memory
    #[arg(long)]
    shuffle: bool,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    output: OutputArgs,
}

/// Data made on the fly.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Synthetic {
    /// Four Gaussians in the plane
    Mixture,
}

/// How many observations of a file go through the learner at a time: so few are still in a cache when they have been read.
const READ_BLOCK: usize = 256;

/// How many that are made on the fly do.
const MADE_BLOCK: usize = 4096;

/// How many when they are recorded, after so many: a curve needs points, and more where it is steep.
fn recorded_block(looked: u64) -> usize {
    (looked / 16).clamp(10, 128) as usize
}

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
    arguments.output.check(arguments.data.as_deref())?;
    if arguments.data.is_some() && arguments.observations.is_some() {
        bail!("--observations goes with --synthetic");
    }
    if arguments.data.is_none() && (arguments.shuffle || arguments.files.label.is_some()) {
        bail!("the mixture has its labels, and each observation is drawn anew: leave out --label and --shuffle");
    }
    arguments.settings.check()?;
    if arguments.ask {
        return ask::run(arguments);
    }
    let source = Source::open(arguments)?;
    let length = source.feed.len();
    let mut run = Run::new(arguments, source)?;
    let mut progress = Progress::new(length, "observations", arguments.output.quiet);
    let stopped = run.go(arguments, &mut progress)?;
    progress.done();
    run.finish(arguments, stopped, &progress)
}

/// Where observations come from, and what is known of them.
struct Source {
    feed: Feed,
    labels: Labels,
    dim: usize,
    input: Option<(Input, Options)>,
}

impl Source {
    fn open(arguments: &Arguments) -> Result<Self> {
        let (settings, output) = (&arguments.settings, &arguments.output);
        let Some(path) = &arguments.data else {
            if output.test_fraction.is_some() || output.test.is_some() {
                bail!("the mixture has no rows to keep apart; give it more observations instead");
            }
            let feed = Feed::mixture(settings.seed, arguments.observations.unwrap_or(0));
            return Ok(Self { feed, labels: Labels::Binary, dim: 2, input: None });
        };
        let input = input(path);
        let mut options = arguments.files.options(settings.loss.as_deref())?;
        options.warm_up = arguments.warm_up.unwrap_or(options.warm_up).max(1);
        if input == Input::Stdin && (output.test_fraction.is_some() || output.resume || arguments.shuffle) {
            bail!("standard input can be read only once: --test-fraction, --resume and --shuffle need a file");
        }
        if path.exists() && !path.is_file() && !path.is_dir() && (output.test_fraction.is_some() || output.resume) {
            bail!("{}: a pipe can be read only once: --test-fraction and --resume need a file", path.display());
        }
        let shuffle = arguments.shuffle.then_some(settings.seed);
        let feed = waiting("reading the data", output.quiet, || Feed::open(&input, &options, shuffle))?;
        let Some(encoder) = feed.encoder() else { bail!("a file has an encoder") };
        let (labels, dim) = (build::labels(encoder)?, encoder.dim());
        Ok(Self { feed, labels, dim, input: Some((input, options)) })
    }

    /// The first rows, to estimate sizes from.
    fn sample(&self, arguments: &Arguments) -> Result<Rows> {
        let mut batch = feed::plane();
        if !needs_sizes(arguments) {
            return Ok(batch.rows);
        }
        match (&self.input, self.feed.encoder()) {
            (Some((input @ Input::File(path), options)), Some(encoder)) if path.is_file() => {
                Stream::with(encoder.clone(), input, options)?.next(1000, &mut batch)?;
            }
            (Some(_), _) => {}
            (None, _) => {
                Feed::mixture(arguments.settings.seed, 1000).next(1000, None, &mut batch, &mut |_| ())?;
            }
        }
        Ok(batch.rows)
    }

    /// How many observations there will be.
    fn length(&self, arguments: &Arguments) -> Result<Option<f64>> {
        let wanted = needs_sizes(arguments) && arguments.settings.horizon.is_none();
        let count = match (&self.input, self.feed.encoder(), self.feed.len()) {
            (_, _, Some(count)) => Some(count),
            (Some((input @ Input::File(path), options)), Some(encoder), None) if wanted && path.is_file() => {
                let mut stream = Stream::with(encoder.clone(), input, options)?;
                Some(waiting("counting the rows", arguments.output.quiet, || stream.skip(u64::MAX))?)
            }
            _ => None,
        };
        let used = 1.0 - arguments.output.test_fraction.unwrap_or(0.0);
        Ok(count.map(|count| (count as f64 * used).ceil()))
    }
}

/// Whether the step depends on the sizes of features and the number of rows.
fn needs_sizes(arguments: &Arguments) -> bool {
    ["theory", "pilot"].iter().any(|name| arguments.settings.step.starts_with(name))
}

/// A run under way.
struct Run {
    source: Source,
    learner: StreamLearner,
    recorder: Recorder,
    sums: Sums,
    hold: Option<HoldOut>,
    names: (String, String),
    test: Option<Test>,
    /// How it ended before, where it is gone on with.
    diverged: Option<Diverged>,
}

impl Run {
    fn new(arguments: &Arguments, source: Source) -> Result<Self> {
        let settings = &arguments.settings;
        let resolved = resolve(arguments, &source)?;
        let mut learner = build::stream(settings, &resolved)?;
        let names = names(settings, &resolved)?;
        let hold = arguments.output.test_fraction.map(|fraction| HoldOut::new(settings.seed, fraction));
        let (mut sums, mut source) = (Sums { dim: source.dim, ..Sums::default() }, source);
        let test = test_file(arguments, &source)?;
        let mut diverged = None;
        let mut notes = vec![("learner", serde_json::to_string(&resolved)?)];
        notes.extend(source.feed.encoder().map(|encoder| ("encoder", encoder.to_json())));
        let opened = record::open_for(&arguments.output, || header(arguments), &notes)?;
        if let Some(Opened::Old(ledger)) = &opened {
            diverged = record::diverged(ledger)?;
            let quiet = arguments.output.quiet;
            let folded =
                waiting("going through the ledger", quiet, || replay::stream(ledger, &mut learner, |_, _, _| ()))?;
            folded.check(ledger)?;
            if 0 < learner.totals().observed {
                sums = folded.sums;
            }
            waiting("passing over what was seen", quiet, || source.feed.skip(sums.looked))?;
            source.feed.widen(sums.dim);
        }
        let ledger = opened.map(Opened::into_ledger);
        Ok(Self { source, learner, recorder: Recorder::new(ledger)?, sums, hold, names, test, diverged })
    }

    /// Observations until there are no more, or until the run diverges.
    fn go(&mut self, arguments: &Arguments, progress: &mut Progress) -> Result<Option<Diverged>> {
        // The mixture is measured for its record alone: without one it is there to be fast.
        let measured = arguments.data.is_some() || self.recorder.is_on();
        let mut batch = if arguments.data.is_some() { Batch::default() } else { feed::plane() };
        let unrecorded = if arguments.data.is_some() { READ_BLOCK } else { MADE_BLOCK };
        let mut trace = Trace::default();
        if self.diverged.is_some() {
            return Ok(self.diverged);
        }
        loop {
            let block = if self.recorder.is_on() { recorded_block(self.sums.looked) } else { unrecorded };
            let learner = &self.learner;
            let looked =
                self.source.feed.next(block, self.hold, &mut batch, &mut |features| learner.fetch(features))?;
            if looked == 0 {
                self.recorder.flush()?;
                return Ok(None);
            }
            self.sums.looked += looked as u64;
            self.sums.dim = self.sums.dim.max(batch.rows.dim());
            self.sums.skipped = self.source.feed.skipped_rows();
            self.sums.unknown = self.source.feed.unknown_categories();
            let done = self.learner.learn_rows(&batch.rows, &batch.labels, &mut trace);
            if measured {
                self.measure(&batch, &trace);
            }
            self.recorder.block(&trace, &batch, self.sums, done.is_err())?;
            progress.at_share(self.sums.looked, self.source.feed.share());
            if let Err(diverged) = done {
                self.recorder.note_divergence(diverged)?;
                return Ok(Some(diverged));
            }
        }
    }

    /// Every row counts with the prediction made before its label was used.
    fn measure(&mut self, batch: &Batch, trace: &Trace) {
        let task = self.learner.learner().task();
        for (scores, label) in trace.scores.chunks_exact(task.outputs()).zip(&batch.labels) {
            self.sums.labeled += 1;
            self.sums.loss += task.loss(scores, *label);
            self.sums.right += u64::from(task.decide(scores) == *label);
        }
    }

    fn finish(mut self, arguments: &Arguments, stopped: Option<Diverged>, progress: &Progress) -> Result<Output> {
        let found = self.learner.coefficients();
        let mut outcome = Outcome::default();
        if let Some(encoder) = self.source.feed.encoder() {
            outcome.data(encoder);
        }
        tell(&mut outcome, arguments, &self.learner, &self.sums, (&self.names.0, &self.names.1));
        if let Some(skipped @ 1..) = self.test.as_ref().map(|test| test.skipped) {
            outcome.count("test_skipped_rows", "test rows left out", skipped);
        }
        let skipped = self.source.feed.skipped_rows();
        outcome.put("skipped_rows", skipped.into());
        if 0 < skipped {
            outcome.line("rows left out", grouped(skipped));
        }
        self.tell_unmet(&mut outcome);
        if let Some(warning) = self.warning(arguments)? {
            outcome.put("warning", warning.clone().into());
            outcome.remarks.push(warning);
        }
        if let Some((of_mean, of_last)) = self.test_scores(arguments, &found)? {
            outcome.test(of_mean, of_last, self.learner.learner().task().is_classification());
        }
        outcome.parameters(&found);
        let naming = Naming {
            loss: &self.names.0,
            rule: &self.names.1,
            outputs: self.learner.learner().task().outputs(),
            encoder: self.source.feed.encoder(),
        };
        outcome.put("stopped", stopped.map_or(Value::Null, |diverged| diverged.to_string().into()));
        outcome::keep(&mut outcome, &naming, &found, &arguments.output, &mut self.recorder)?;
        outcome.put("seconds", number(progress.seconds()));
        let how = arguments.settings.describe();
        Ok(outcome::say(&outcome, &naming, (&how, arguments.settings.seed), &arguments.output, stopped, &found.theta))
    }

    /// What came too late to be a feature.
    fn tell_unmet(&self, outcome: &mut Outcome) {
        let unknown = self.source.feed.unknown_categories();
        outcome.put("unknown_categories", unknown.into());
        if 0 < unknown {
            outcome.remarks.push(format!(
                "{} cells had a category that was not among the first rows, and no feature for it: `--warm-up N` looks at \
                 N rows first, `--shuffle` at all",
                grouped(unknown)
            ));
        }
        let passed_over = self.source.feed.passed_over();
        outcome.put("cells_passed_over", passed_over.into());
        if 0 < passed_over {
            outcome.remarks.push(format!(
                "{} cells stood in columns that were not among the first rows, and were passed over: name such columns with \
                 `--numbers`, `--categories` or `--text`, and say with `--missing` what they are elsewhere",
                grouped(passed_over)
            ));
        }
    }

    fn warning(&self, arguments: &Arguments) -> Result<Option<String>> {
        let rules = build::rules(&arguments.settings, self.learner.learner().task(), self.source.labels)?;
        Ok(build::warning(&rules, self.source.labels, &self.names.0).filter(|_| !arguments.settings.importance))
    }

    /// How θ̄ and θ do on rows that were never used; they are read block by block, and none is kept.
    fn test_scores(&self, arguments: &Arguments, found: &Coefficients) -> Result<Option<(Score, Score)>> {
        let mut scoring = Scoring::new(self.learner.learner(), found, self.learner.dim());
        let (Some((data, options)), Some(encoder)) = (&self.source.input, self.source.feed.encoder()) else {
            return Ok(None);
        };
        let input = match (&self.test, self.hold) {
            (Some(Test { rows: TestRows::Kept(batch), .. }), _) => {
                scoring.add(batch, 0..batch.rows.len());
                return Ok(Some(scoring.scores()));
            }
            (Some(Test { rows: TestRows::File(input), .. }), _) => input,
            (None, Some(_)) => data,
            (None, None) => return Ok(None),
        };
        let mut progress = Progress::new(None, "rows for the test", arguments.output.quiet);
        feed::each_block(encoder, input, options, |batch, before| {
            let held = |place: &usize| self.hold.is_none_or(|hold| hold.holds(before + *place as u64 + 1));
            scoring.add(batch, (0..batch.rows.len()).filter(held));
            progress.at(before + batch.rows.len() as u64);
        })?;
        progress.done();
        Ok(Some(scoring.scores()))
    }
}

/// Rows to measure on, in a file of their own.
struct Test {
    rows: TestRows,
    /// How many of them could not be read.
    skipped: u64,
}

enum TestRows {
    /// Read again at the end.
    File(Input),
    /// Out of a pipe, which can be read only once.
    Kept(Batch),
}

/// The rows of a test file, looked through before the run so that it is not in vain.
fn test_file(arguments: &Arguments, source: &Source) -> Result<Option<Test>> {
    let (Some(path), Some((_, options)), Some(encoder)) =
        (&arguments.output.test, &source.input, source.feed.encoder())
    else {
        return Ok(None);
    };
    let input = input(path);
    if !path.is_file() && !path.is_dir() {
        let (batch, bad) = load_with(encoder, &input, options)?;
        return Ok(Some(Test { rows: TestRows::Kept(batch), skipped: bad.skipped }));
    }
    let mut progress = Progress::new(None, "rows of the test file", arguments.output.quiet);
    let skipped = feed::each_block(encoder, &input, options, |_, before| progress.at(before))?;
    progress.done();
    Ok(Some(Test { rows: TestRows::File(input), skipped }))
}

/// What the data decide: labels, features, and the step's numbers.
fn resolve(arguments: &Arguments, source: &Source) -> Result<Resolved> {
    let settings = &arguments.settings;
    let task = build::task(settings, source.labels)?;
    let rules = build::rules(settings, &*task, source.labels)?;
    rules.check_for_stream()?;
    let sample = source.sample(arguments)?;
    let u_max = rules.max();
    let surroundings = Surroundings {
        task: &*task,
        sample: &sample,
        u_max,
        horizon: source.length(arguments)?,
        feasible_c: u_max.sqrt().recip(),
    };
    Ok(Resolved::new(source.labels, source.dim, step::parse(settings, &surroundings)?))
}

/// What makes a run the run it is.
fn header(arguments: &Arguments) -> Value {
    let data = arguments
        .data
        .as_ref()
        .map(|path| json!({"file": path.display().to_string(), "fingerprint": feed::fingerprint(path)}));
    json!({
        "format": 1,
        "command": "stream",
        "data": data,
        "observations": arguments.observations,
        "shuffle": arguments.shuffle,
        "warm_up": arguments.warm_up,
        "test_fraction": arguments.output.test_fraction,
        "settings": arguments.settings,
        "files": arguments.files,
    })
}

/// The loss and the rule by their full names.
fn names(settings: &Settings, resolved: &Resolved) -> Result<(String, String)> {
    let task = build::task(settings, resolved.labels()?)?;
    let rules = build::rules(settings, &*task, resolved.labels()?)?;
    Ok((task.name().to_owned(), rules.rule.name()))
}

/// What there is to say of any stream.
fn tell(outcome: &mut Outcome, arguments: &Arguments, learner: &StreamLearner, sums: &Sums, names: (&str, &str)) {
    let totals = learner.totals();
    let observed = totals.observed.max(1) as f64;
    outcome.put("loss", names.0.into());
    outcome.put("rule", names.1.into());
    outcome.put("step", arguments.settings.step.clone().into());
    outcome.put("seed", arguments.settings.seed.into());
    outcome.put("settings", json!(arguments.settings));
    outcome.count("observed", "observed", totals.observed);
    outcome.put("asked", totals.asked.into());
    outcome.put("answered", totals.answered.into());
    outcome.put("expected_asked", number(totals.expected_asked()));
    let share = show(100.0 * totals.asked as f64 / observed, 3);
    let expected = grouped(totals.expected_asked().round() as u64);
    outcome.line("asked", format!("{} ({share} %; {expected} expected)", grouped(totals.asked)));
    if let Some((mean, error)) = totals.inverse_mean() {
        outcome.put("inverse_probability_mean", number(mean));
        outcome.put("inverse_probability_error", number(error));
        let error = if error < 1.0 { show(error, 2) } else { "anything: some probabilities were next to 0".to_owned() };
        outcome.line("mean of asked/probability", format!("{} ± {error}", show(mean, 4)));
    }
    outcome.put("recent_rate", number(learner.recent_rate()));
    if 0 < sums.labeled {
        let labeled = sums.labeled as f64;
        outcome.number("progressive_loss", "loss before each label was used", sums.loss / labeled);
        if learner.learner().task().is_classification() {
            let accuracy = sums.right as f64 / labeled;
            outcome.number("progressive_accuracy", "accuracy before each label was used", accuracy);
        }
    }
    if learner.is_warming_up() {
        let why = format!("the run ended within its warm start: `{}` was never used", names.1);
        outcome.put("warm", true.into());
        outcome.remarks.push(why);
    }
    let stalled = 100 <= totals.observed && learner.recent_rate() < 1e-3 * learner.rule().max();
    outcome.put("stalled", stalled.into());
    if stalled {
        outcome.line("stalled", format!("the mean probability was {} of late", show(learner.recent_rate(), 2)));
        let warm = learner.learner().task().outputs() == 1 && arguments.settings.warm_rule.is_none();
        outcome.remarks.push(format!(
            "stalled: the rule has stopped asking; that is not convergence. Start elsewhere, take smaller steps{}",
            if warm { ", or warm up with `--warm-rule critical --warm-labels 1000`" } else { "" }
        ));
    }
}
