//! A stream: Algorithm 1 over a file, standard input or the paper's mixture.

pub mod ask;

use std::path::PathBuf;

use querist_data::{Batch, Encoder, Input, Options, Stream, load_with};
use querist_engine::index::Coefficients;
use querist_engine::learner::Diverged;
use querist_engine::scorer::Score;
use querist_engine::stream::{StreamLearner, Trace};
use querist_engine::task::Labels;
use querist_rows::Rows;
use serde_json::{Value, json};

use crate::build::{self, Resolved};
use crate::error::{Result, bail};
use crate::event::Sums;
use crate::feed::{self, Feed, HoldOut};
use crate::files::{FileSettings, input};
use crate::model_file::TestScoring;
use crate::monitor::Monitor;
use crate::record::{self, Opened, Recorder, Recording};
use crate::replay;
use crate::settings::Settings;
use crate::step::{self, StepContext};

/// The settings of a stream.
#[derive(Clone, Debug, Default)]
pub struct StreamRunSettings {
    /// The data, or `-` for standard input; none for the paper's mixture.
    pub data: Option<PathBuf>,
    /// How many observations of the mixture are made.
    pub observations: Option<u64>,
    /// How many observations numbers are standardized from; 1000 where it is not said, 100 for a live stream.
    pub warm_up: Option<usize>,
    /// Takes the rows in a random order, which needs them in memory.
    pub shuffle: bool,
    /// The learner.
    pub learner: Settings,
    /// How the data are read.
    pub files: FileSettings,
    /// Where the run is recorded.
    pub recording: Recording,
    /// Rows to measure the model on, in a file of their own.
    pub test: Option<PathBuf>,
    /// The share of the rows that is held out to measure the model on.
    pub test_fraction: Option<f64>,
}

/// How many observations of a file go through the learner at a time: so few are still in a cache when they have been read.
const READ_BLOCK: usize = 256;

/// How many that are made on the fly do.
const MADE_BLOCK: usize = 4096;

/// How many when they are recorded, after so many: a curve needs points, and more where it is steep.
fn recorded_block(looked: u64) -> usize {
    (looked / 16).clamp(10, 128) as usize
}

/// Where observations come from, and what is known of them.
struct Source {
    feed: Feed,
    labels: Labels,
    dim: usize,
    input: Option<(Input, Options)>,
}

impl Source {
    fn open(settings: &StreamRunSettings, monitor: &dyn Monitor) -> Result<Self> {
        let (seed, resume) = (settings.learner.seed, settings.recording.resume);
        let Some(path) = &settings.data else {
            if settings.test_fraction.is_some() || settings.test.is_some() {
                bail!("the mixture has no rows to keep apart; give it more observations instead");
            }
            let feed = Feed::mixture(seed, settings.observations.unwrap_or(0));
            return Ok(Self { feed, labels: Labels::Binary, dim: 2, input: None });
        };
        let input = input(path);
        let mut options = settings.files.options(settings.learner.loss.as_deref())?;
        options.warm_up = settings.warm_up.unwrap_or(options.warm_up).max(1);
        if input == Input::Stdin && (settings.test_fraction.is_some() || resume || settings.shuffle) {
            bail!("standard input can be read only once: --test-fraction, --resume and --shuffle need a file");
        }
        if path.exists() && !path.is_file() && !path.is_dir() && (settings.test_fraction.is_some() || resume) {
            bail!("{}: a pipe can be read only once: --test-fraction and --resume need a file", path.display());
        }
        let shuffle = settings.shuffle.then_some(seed);
        let feed = monitor.wait("reading the data", || Feed::open(&input, &options, shuffle))?;
        let Some(encoder) = feed.encoder() else { bail!("a file has an encoder") };
        let (labels, dim) = (build::labels(encoder)?, encoder.dim());
        Ok(Self { feed, labels, dim, input: Some((input, options)) })
    }

    /// The first rows, to estimate sizes from.
    fn sample(&self, settings: &StreamRunSettings) -> Result<Rows> {
        let mut batch = feed::plane();
        if !needs_sizes(settings) {
            return Ok(batch.rows);
        }
        match (&self.input, self.feed.encoder()) {
            (Some((input @ Input::File(path), options)), Some(encoder)) if path.is_file() => {
                Stream::with(encoder.clone(), input, options)?.next(1000, &mut batch)?;
            }
            (Some(_), _) => {}
            (None, _) => {
                Feed::mixture(settings.learner.seed, 1000).next(1000, None, &mut batch, &mut |_| ())?;
            }
        }
        Ok(batch.rows)
    }

    /// How many observations there will be.
    fn length(&self, settings: &StreamRunSettings, monitor: &dyn Monitor) -> Result<Option<f64>> {
        let wanted = needs_sizes(settings) && settings.learner.horizon.is_none();
        let count = match (&self.input, self.feed.encoder(), self.feed.len()) {
            (_, _, Some(count)) => Some(count),
            (Some((input @ Input::File(path), options)), Some(encoder), None) if wanted && path.is_file() => {
                let mut stream = Stream::with(encoder.clone(), input, options)?;
                Some(monitor.wait("counting the rows", || stream.skip(u64::MAX))?)
            }
            _ => None,
        };
        let used = 1.0 - settings.test_fraction.unwrap_or(0.0);
        Ok(count.map(|count| (count as f64 * used).ceil()))
    }
}

/// Whether the step depends on the sizes of features and the number of rows.
fn needs_sizes(settings: &StreamRunSettings) -> bool {
    ["theory", "pilot"].iter().any(|name| settings.learner.step.starts_with(name))
}

/// A stream under way.
pub struct StreamRun {
    settings: StreamRunSettings,
    source: Source,
    /// The learner.
    pub learner: StreamLearner,
    /// Where its events go.
    pub recorder: Recorder,
    /// The running sums, among them those of the loss before each label was used.
    pub sums: Sums,
    hold: Option<HoldOut>,
    /// The loss by its full name.
    pub loss: String,
    /// The rule by its full name.
    pub rule: String,
    test: Option<Test>,
    /// How it ended before, where it is resumed.
    diverged: Option<Diverged>,
}

impl StreamRun {
    /// Opens the data and the ledger; a run that is resumed is replayed up to where it stopped.
    pub fn open(settings: &StreamRunSettings, monitor: &dyn Monitor) -> Result<Self> {
        let mut source = Source::open(settings, monitor)?;
        let resolved = resolve(settings, &source, monitor)?;
        let mut learner = build::stream(&settings.learner, &resolved)?;
        let (loss, rule) = names(&settings.learner, &resolved)?;
        let hold = settings.test_fraction.map(|fraction| HoldOut::new(settings.learner.seed, fraction));
        let mut sums = Sums { dim: source.dim, ..Sums::default() };
        let test = test_file(settings, &source, monitor)?;
        let mut diverged = None;
        let mut notes = vec![("learner", serde_json::to_string(&resolved)?)];
        notes.extend(source.feed.encoder().map(|encoder| ("encoder", encoder.to_json())));
        let opened = record::open_for(&settings.recording, monitor, || header(settings), &notes)?;
        if let Some(Opened::Old(ledger)) = &opened {
            diverged = record::diverged(ledger)?;
            let folded =
                monitor.wait("going through the ledger", || replay::stream(ledger, &mut learner, |_, _, _| ()))?;
            folded.check(ledger)?;
            if 0 < learner.totals().observed {
                sums = folded.sums;
            }
            monitor.wait("passing over what was seen", || source.feed.skip(sums.looked))?;
            source.feed.widen(sums.dim);
        }
        let recorder = Recorder::new(opened.map(Opened::into_ledger))?;
        let settings = settings.clone();
        Ok(Self { settings, source, learner, recorder, sums, hold, loss, rule, test, diverged })
    }

    /// Learns from observations until there are no more, or until the run diverges.
    pub fn run(&mut self, monitor: &dyn Monitor) -> Result<Option<Diverged>> {
        monitor.on_start(self.source.feed.len(), "observations");
        let stopped = self.learn(monitor)?;
        monitor.on_end();
        Ok(stopped)
    }

    fn learn(&mut self, monitor: &dyn Monitor) -> Result<Option<Diverged>> {
        let is_file = self.settings.data.is_some();
        // The mixture is measured for its record alone: without one it is there to be fast.
        let measured = is_file || self.recorder.is_on();
        let mut batch = if is_file { Batch::default() } else { feed::plane() };
        let unrecorded = if is_file { READ_BLOCK } else { MADE_BLOCK };
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
            monitor.on_progress(self.sums.looked, self.source.feed.share());
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

    /// Returns how rows become features, where they come from a file.
    pub fn encoder(&self) -> Option<&Encoder> {
        self.source.feed.encoder()
    }

    /// Returns where the observations come from.
    pub fn feed(&self) -> &Feed {
        &self.source.feed
    }

    /// Returns how many rows of the test file could not be read.
    pub fn skipped_test_rows(&self) -> u64 {
        self.test.as_ref().map_or(0, |test| test.skipped)
    }

    /// Returns what a user should know of the rule.
    pub fn warning(&self) -> Result<Option<String>> {
        let rules = build::rules(&self.settings.learner, self.learner.learner().task(), self.source.labels)?;
        Ok(build::warning(&rules, self.source.labels, &self.loss).filter(|_| !self.settings.learner.importance))
    }

    /// How θ̄ and θ do on rows that were never used; they are read block by block, and none is kept.
    pub fn test_scores(&self, found: &Coefficients, monitor: &dyn Monitor) -> Result<Option<(Score, Score)>> {
        let mut scoring = TestScoring::new(self.learner.learner(), found, self.learner.dim());
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
        monitor.on_start(None, "rows for the test");
        feed::each_block(encoder, input, options, |batch, before| {
            let held = |place: &usize| self.hold.is_none_or(|hold| hold.holds(before + *place as u64 + 1));
            scoring.add(batch, (0..batch.rows.len()).filter(held));
            monitor.on_progress(before + batch.rows.len() as u64, None);
        })?;
        monitor.on_end();
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
fn test_file(settings: &StreamRunSettings, source: &Source, monitor: &dyn Monitor) -> Result<Option<Test>> {
    let (Some(path), Some((_, options)), Some(encoder)) = (&settings.test, &source.input, source.feed.encoder()) else {
        return Ok(None);
    };
    let input = input(path);
    if !path.is_file() && !path.is_dir() {
        let (batch, bad) = load_with(encoder, &input, options)?;
        return Ok(Some(Test { rows: TestRows::Kept(batch), skipped: bad.skipped }));
    }
    monitor.on_start(None, "rows of the test file");
    let skipped = feed::each_block(encoder, &input, options, |_, before| monitor.on_progress(before, None))?;
    monitor.on_end();
    Ok(Some(Test { rows: TestRows::File(input), skipped }))
}

/// What the data decide: labels, features, and the step's numbers.
fn resolve(settings: &StreamRunSettings, source: &Source, monitor: &dyn Monitor) -> Result<Resolved> {
    let learner = &settings.learner;
    let task = build::task(learner, source.labels)?;
    let rules = build::rules(learner, &*task, source.labels)?;
    rules.check_for_stream()?;
    let sample = source.sample(settings)?;
    let u_max = rules.max();
    let context = StepContext {
        task: &*task,
        sample: &sample,
        u_max,
        horizon: source.length(settings, monitor)?,
        feasible_c: u_max.sqrt().recip(),
    };
    Ok(Resolved { labels: source.labels, dim: source.dim, step: step::parse(learner, &context)? })
}

/// What makes a run the run it is.
fn header(settings: &StreamRunSettings) -> Value {
    let data = settings
        .data
        .as_ref()
        .map(|path| json!({"file": path.display().to_string(), "fingerprint": feed::fingerprint(path)}));
    json!({
        "format": 1,
        "command": "stream",
        "data": data,
        "observations": settings.observations,
        "shuffle": settings.shuffle,
        "warm_up": settings.warm_up,
        "test_fraction": settings.test_fraction,
        "settings": settings.learner,
        "files": settings.files,
    })
}

/// Whether the rule has stopped asking, which is not convergence.
pub fn is_stalled(learner: &StreamLearner) -> bool {
    100 <= learner.totals().observed && learner.recent_rate() < 1e-3 * learner.rule().max()
}

/// Returns the loss and the rule by their full names.
pub fn names(settings: &Settings, resolved: &Resolved) -> Result<(String, String)> {
    let task = build::task(settings, resolved.labels)?;
    let rules = build::rules(settings, &*task, resolved.labels)?;
    Ok((task.name().to_owned(), rules.rule.name()))
}
