//! A stream run: Algorithm 1 over a file, standard input or the paper's mixture.

pub mod ask;

use std::path::PathBuf;

use querist_data::{Batch, Encoder, Input, ReadOptions, RowStream, load_with};
use querist_engine::index::Coefficients;
use querist_engine::learner::Diverged;
use querist_engine::model_kind::ModelKind;
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
use crate::settings::LearnerSettings;
use crate::step::{self, StepContext};

/// The settings of a stream.
#[derive(Clone, Debug, Default)]
pub struct StreamRunSettings {
    /// The data, or `-` for standard input; `None` for the paper's mixture.
    pub data: Option<PathBuf>,
    /// The number of observations of the mixture.
    pub observations: Option<u64>,
    /// The number of observations that standardize numbers. The default is 1000, or 100 for a live stream.
    pub warm_up: Option<usize>,
    /// Whether to process the rows in a random order, which needs them in memory.
    pub shuffle: bool,
    /// The settings of the learner.
    pub learner: LearnerSettings,
    /// The settings for reading the data.
    pub files: FileSettings,
    /// The settings for recording the run.
    pub recording: Recording,
    /// A file of rows to measure the model on.
    pub test: Option<PathBuf>,
    /// The share of rows that is held out to measure the model on.
    pub test_fraction: Option<f64>,
}

/// The block size for files, in observations. Such a block is still in a cache after it was read.
const READ_BLOCK: usize = 256;

/// The block size for generated observations.
const MADE_BLOCK: usize = 4096;

/// Returns the block size of a recorded run after this many observations. A curve needs points, and more where it is
/// steep.
fn recorded_block(looked: u64) -> usize {
    (looked / 16).clamp(10, 128) as usize
}

/// The source of observations, with its properties.
struct StreamSource {
    feed: Feed,
    labels: Labels,
    dim: usize,
    input: Option<(Input, ReadOptions)>,
}

impl StreamSource {
    fn open(settings: &StreamRunSettings, monitor: &dyn Monitor) -> Result<Self> {
        let (seed, resume) = (settings.learner.seed, settings.recording.resume);
        let Some(path) = &settings.data else {
            if settings.test_fraction.is_some() || settings.test.is_some() {
                bail!("the mixture has no rows to keep apart; give it more observations instead");
            }
            if settings.files.model_kind() != ModelKind::Linear {
                bail!("--model {} needs a file with data; the mixture has a linear model", settings.files.model_kind());
            }
            let feed = Feed::mixture(seed, settings.observations.unwrap_or(0));
            return Ok(Self { feed, labels: Labels::Binary, dim: 2, input: None });
        };
        let input = input(path);
        let mut options = settings.files.options_with_kernel_columns(settings.learner.loss.as_deref())?;
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

    /// Returns the first rows, for estimates of sizes.
    fn sample(&self, settings: &StreamRunSettings) -> Result<Rows> {
        let mut batch = feed::plane();
        if !needs_sizes(settings) {
            return Ok(batch.rows);
        }
        match (&self.input, self.feed.encoder()) {
            (Some((input @ Input::File(path), options)), Some(encoder)) if path.is_file() => {
                RowStream::with(encoder.clone(), input, options)?.next(1000, &mut batch)?;
            }
            (Some(_), _) => {}
            (None, _) => {
                Feed::mixture(settings.learner.seed, 1000).next(1000, None, &mut batch, &mut |_| ())?;
            }
        }
        Ok(batch.rows)
    }

    /// Returns the number of observations, if known.
    fn length(&self, settings: &StreamRunSettings, monitor: &dyn Monitor) -> Result<Option<f64>> {
        let wanted = needs_sizes(settings) && settings.learner.horizon.is_none();
        let count = match (&self.input, self.feed.encoder(), self.feed.known_len()) {
            (_, _, Some(count)) => Some(count),
            (Some((input @ Input::File(path), options)), Some(encoder), None) if wanted && path.is_file() => {
                let mut stream = RowStream::with(encoder.clone(), input, options)?;
                Some(monitor.wait("counting the rows", || stream.skip(u64::MAX))?)
            }
            _ => None,
        };
        let used = 1.0 - settings.test_fraction.unwrap_or(0.0);
        Ok(count.map(|count| (count as f64 * used).ceil()))
    }
}

/// Returns whether the step depends on the sizes of features and the number of rows.
fn needs_sizes(settings: &StreamRunSettings) -> bool {
    settings.learner.step.needs_sizes()
}

/// A stream run.
pub struct StreamRun {
    settings: StreamRunSettings,
    source: StreamSource,
    /// The learner.
    pub learner: StreamLearner,
    /// The recorder of events.
    pub recorder: Recorder,
    /// The running sums, including the progressive loss.
    pub sums: Sums,
    hold: Option<HoldOut>,
    /// The full name of the loss.
    pub loss: String,
    /// The full name of the rule.
    pub rule: String,
    test: Option<StreamTest>,
    /// The divergence that ended the run before it was resumed, if any.
    diverged: Option<Diverged>,
}

impl StreamRun {
    /// Opens the data and the ledger. Replays a resumed run up to where it stopped.
    pub fn open(settings: &StreamRunSettings, monitor: &dyn Monitor) -> Result<Self> {
        let mut source = StreamSource::open(settings, monitor)?;
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
            let folded = monitor.wait("replaying the ledger", || replay::stream(ledger, &mut learner, |_, _, _| ()))?;
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
        monitor.on_start(self.source.feed.known_len(), "observations");
        let stopped = self.learn(monitor)?;
        monitor.on_end();
        Ok(stopped)
    }

    fn learn(&mut self, monitor: &dyn Monitor) -> Result<Option<Diverged>> {
        let is_file = self.settings.data.is_some();
        // The mixture is measured only for a ledger, because without one it exists for speed.
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

    /// Counts every row with the prediction made before its label was used.
    fn measure(&mut self, batch: &Batch, trace: &Trace) {
        let task = self.learner.learner().task();
        for (scores, label) in trace.scores.chunks_exact(task.outputs()).zip(&batch.labels) {
            self.sums.labeled += 1;
            self.sums.loss += task.loss(scores, *label);
            self.sums.right += u64::from(task.decide(scores) == *label);
        }
    }

    /// Returns the encoder, if the rows come from a file.
    pub fn encoder(&self) -> Option<&Encoder> {
        self.source.feed.encoder()
    }

    /// Returns the source of observations.
    pub fn feed(&self) -> &Feed {
        &self.source.feed
    }

    /// Returns the number of unreadable rows of the test file.
    pub fn skipped_test_rows(&self) -> u64 {
        self.test.as_ref().map_or(0, |test| test.skipped)
    }

    /// Returns a warning about the rule for users, if there is one.
    pub fn warning(&self) -> Result<Option<String>> {
        let rules = build::rules(&self.settings.learner, self.learner.learner().task(), self.source.labels)?;
        Ok(build::warning(&rules, self.source.labels, &self.loss).filter(|_| !self.settings.learner.importance))
    }

    /// Measures θ̄ and θ on rows that were never used. Reads them block by block and keeps none.
    pub fn test_scores(&self, found: &Coefficients, monitor: &dyn Monitor) -> Result<Option<(Score, Score)>> {
        let mut scoring = TestScoring::new(self.learner.learner(), found, self.learner.dim());
        let (Some((data, options)), Some(encoder)) = (&self.source.input, self.source.feed.encoder()) else {
            return Ok(None);
        };
        let input = match (&self.test, self.hold) {
            (Some(StreamTest { rows: HeldOutRows::Kept(batch), .. }), _) => {
                scoring.add(batch, 0..batch.rows.len());
                return Ok(Some(scoring.scores()));
            }
            (Some(StreamTest { rows: HeldOutRows::File(input), .. }), _) => input,
            (None, Some(_)) => data,
            (None, None) => return Ok(None),
        };
        monitor.on_start(None, "rows for the test");
        feed::each_block(encoder, input, options, |batch, before| {
            let held = |row: &usize| self.hold.is_none_or(|hold| hold.holds(before + *row as u64 + 1));
            scoring.add(batch, (0..batch.rows.len()).filter(held));
            monitor.on_progress(before + batch.rows.len() as u64, None);
        })?;
        monitor.on_end();
        Ok(Some(scoring.scores()))
    }
}

/// A file of rows to measure on.
struct StreamTest {
    rows: HeldOutRows,
    /// The number of unreadable rows.
    skipped: u64,
}

enum HeldOutRows {
    /// A file that is read again at the end.
    File(Input),
    /// Rows from a pipe, which can be read only once.
    Kept(Batch),
}

/// Reads the test file before the run, so that a bad file does not waste the run.
fn test_file(settings: &StreamRunSettings, source: &StreamSource, monitor: &dyn Monitor) -> Result<Option<StreamTest>> {
    let (Some(path), Some((_, options)), Some(encoder)) = (&settings.test, &source.input, source.feed.encoder()) else {
        return Ok(None);
    };
    let input = input(path);
    if !path.is_file() && !path.is_dir() {
        let (batch, bad) = load_with(encoder, &input, options)?;
        return Ok(Some(StreamTest { rows: HeldOutRows::Kept(batch), skipped: bad.skipped }));
    }
    monitor.on_start(None, "rows of the test file");
    let skipped = feed::each_block(encoder, &input, options, |_, before| monitor.on_progress(before, None))?;
    monitor.on_end();
    Ok(Some(StreamTest { rows: HeldOutRows::File(input), skipped }))
}

/// Determines the facts that depend on the data: labels, features, and the numbers of the step.
fn resolve(settings: &StreamRunSettings, source: &StreamSource, monitor: &dyn Monitor) -> Result<Resolved> {
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
    let step = step::resolve(learner, &context)?;
    Ok(Resolved { labels: source.labels, dim: source.dim, step, precision_class: None })
}

/// Returns the header of the ledger, which identifies the run.
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

/// Returns whether the rule has stopped querying, which is not convergence.
pub fn is_stalled(learner: &StreamLearner) -> bool {
    100 <= learner.totals().observed && learner.recent_rate() < 1e-3 * learner.rule().max()
}

/// Returns the full names of the loss and the rule.
pub fn names(settings: &LearnerSettings, resolved: &Resolved) -> Result<(String, String)> {
    let task = build::task(settings, resolved.labels)?;
    let rules = build::rules(settings, &*task, resolved.labels)?;
    Ok((task.name().to_owned(), rules.rule.name()))
}
