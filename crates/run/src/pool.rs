//! A run over a pool with known labels. They are revealed when queried, and fitted, or learned from as in Algorithm 2.

mod curve;
mod learner;
pub mod seed_labels;
pub mod stop;
mod test_rows;

use std::path::PathBuf;

use querist_data::{Batch, Encoder, Loaded, ReadOptions, StoredCells, StoredColumns, load_with_cells};
use querist_engine::index::{Coefficients, WIDE};
use querist_engine::learner::Diverged;
use querist_engine::narrow::Narrow;
use querist_engine::pool::{AnswerError, Draw, Drawn, NoRow, Objective, PoolLearner, RefitPool};
use querist_engine::scorer::Score;
use querist_engine::stop::StopRule;
use querist_ledger::Ledger;
use serde_json::{Value, json};

pub use curve::CurvePoint;
pub use learner::{RunLearner, noted_models};

use crate::build::{self, Resolved};
use crate::error::{Result, bail};
use crate::feed;
use crate::files::{FileSettings, input};
use crate::model_file::ModelParameters;
use crate::monitor::Monitor;
use crate::record::{self, Opened, Recorder, Recording};
use crate::replay;
use crate::settings::LearnerSettings;
use crate::start::{PriorLabelCounts, StartData, StartFound};
use crate::step::{self, StepContext};
use crate::written::Written;
use curve::{Diary, is_milestone};
use test_rows::TestRows;

/// The settings of a pool's run.
#[derive(Clone, Debug)]
pub struct PoolRunSettings {
    /// The file of the pool.
    pub data: PathBuf,
    /// The maximum number of queries.
    pub budget: u64,
    /// The draw method.
    pub draw: Draw,
    /// The objective of a fit of all answers after each; `None` if each answer is a gradient step.
    pub fit: Option<Objective>,
    /// A file with the ids of rows whose labels are known at the start, one per line.
    pub seed_labels: Option<PathBuf>,
    /// A rule that stops the run before its budget is spent, such as `target=0.95` or `gain=0.002`.
    pub stop: Option<Written<StopRule>>,
    /// Whether rows can be queried again.
    pub repeat: bool,
    /// The number of labels per step.
    pub batch: u64,
    /// The distance below which rows of a batch are drawn less often, for diversity.
    pub apart: Option<f64>,
    /// Whether to keep every draw.
    pub keep_asks: bool,
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

impl PoolRunSettings {
    fn is_fitted(&self) -> bool {
        self.fit.is_some()
    }

    /// Returns the options for reading the data. Gradient steps learn kernel features as further columns; a fit computes them
    /// itself.
    fn read_options(&self) -> Result<ReadOptions> {
        let loss = self.learner.loss.as_deref();
        if self.is_fitted() { self.files.options(loss) } else { self.files.options_with_kernel_columns(loss) }
    }
}

/// Returns the parameters of a learner's model by the features of files.
pub fn parameters(learner: &RunLearner, narrow: Option<&Narrow>) -> ModelParameters {
    if let Some(pool) = learner.as_refit() {
        return ModelParameters::of(pool.scorer(), narrow);
    }
    let learner = learner.learner();
    let (theta, mean) = (learner.theta(), learner.mean());
    ModelParameters::Linear(match narrow {
        Some(narrow) => narrow.coefficients(learner.task().outputs(), &theta, &mean),
        None => Coefficients::dense(theta, mean),
    })
}

/// The reason why a run ended before its budget.
pub enum PoolRunEnd {
    /// The run spent its budget.
    Not,
    /// The stopping rule advised it.
    Advised(String),
    /// There was no row to draw.
    NoRow(NoRow),
    /// The run diverged.
    Diverged(Diverged),
}

/// A run over a pool.
pub struct PoolRun {
    settings: PoolRunSettings,
    /// The encoder of rows.
    pub encoder: Encoder,
    /// The rows of the pool, with their labels.
    pub pool: Batch,
    /// The features of the pool, if they are renumbered.
    narrow: Option<Narrow>,
    test: Option<TestRows>,
    /// The learner.
    pub learner: RunLearner,
    /// The recorder of events.
    pub recorder: Recorder,
    diary: Diary,
    diverged: Option<Diverged>,
    /// Rows that were skipped as unreadable.
    pub skipped_rows: u64,
    /// A warning about the rule for users.
    pub warning: Option<String>,
    /// The full name of the loss.
    pub loss: String,
    /// The full name of the rule.
    pub rule: String,
    /// The rule that stops the run before its budget is spent.
    pub stop: Option<StopRule>,
}

impl PoolRun {
    /// Reads the pool and opens the ledger. Replays a resumed run up to where it stopped.
    pub fn open(settings: &PoolRunSettings, monitor: &dyn Monitor) -> Result<Self> {
        let stated = (&settings.learner, &settings.files);
        let (learner, files) = record::with_recorded_defaults(stated, &settings.recording)?;
        let settings = &PoolRunSettings { learner, files, ..settings.clone() };
        let stop = settings.stop.as_deref().cloned();
        let options = settings.read_options()?;
        let stored = StoredColumns {
            texts: settings.learner.start_with.is_some(),
            predictions: settings.files.predictions.as_deref(),
            ..StoredColumns::default()
        };
        let read = || load_with_cells(&input(&settings.data), &options, stored);
        let (mut loaded, cells) = monitor.wait("reading the pool", read)?;
        let start = find_start(settings, &loaded, &cells)?;
        let mut test = match &settings.test {
            Some(path) => {
                let rows = monitor.wait("reading the test rows", || TestRows::load(path, &loaded.encoder, &options));
                Some(rows?)
            }
            None => None,
        };
        // Features with very large indices are renumbered, so that models have weights only for features of the pool.
        let narrow = Narrow::of(&loaded.batch.rows).filter(|_| WIDE < loaded.batch.rows.dim());
        if let Some(narrow) = &narrow {
            loaded.batch.rows = narrow.rows(&loaded.batch.rows, narrow.dim());
            if let Some(test) = &mut test {
                test.renumber(narrow);
            }
        }
        Self::begin(settings, (loaded, start), (narrow, test), stop, monitor)
    }

    fn begin(
        settings: &PoolRunSettings,
        (loaded, start): (Loaded, StartFound),
        (narrow, test): (Option<Narrow>, Option<TestRows>),
        stop: Option<StopRule>,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let Loaded { encoder, batch: pool, bad } = loaded;
        let seed = settings.learner.seed;
        stop.iter().try_for_each(|rule| stop::check(rule, build::labels(&encoder)?))?;
        let resolved = resolve(settings, &encoder, &pool)?;
        let (mut learner, models) = learner::begin(settings, &resolved, &pool)?;
        if let RunLearner::Refit(learner) = &mut learner {
            learner.set_start_rows(start.rows.clone());
        }
        let (loss, rule) = (learner.learner().task().name().to_owned(), learner.rules().rule.name());
        let keeps_loss = settings.learner.importance || settings.fit == Some(Objective::Original);
        let warning = build::warning(learner.rules(), resolved.labels, &loss).filter(|_| !keeps_loss);
        let hold_out = |fraction| TestRows::hold_out(&mut learner, pool.rows.len(), seed, fraction);
        let test = test.or(settings.test_fraction.map(hold_out));
        let seed_labels = add_seed_labels(settings, &mut learner, &pool)?;
        if settings.recording.existing().is_none() {
            let prior = PriorLabelCounts::of(resolved.labels, seed_labels.iter().map(|row| pool.labels[*row]));
            start.notices(prior).iter().for_each(|notice| monitor.on_notice(notice));
        }
        let stop = stopping(stop, learner.as_refit());
        if let (Some(precision), Some(learner)) = (&settings.learner.precision, learner.as_refit()) {
            let goal = precision.goal(resolved.labels, encoder.classes())?;
            monitor.on_notice(&precision.announce(goal, &learner.rules().rule, learner.askable())?);
        }
        let mut notes = notes(settings, &resolved, &encoder, (&pool, narrow.as_ref()), (&learner, &seed_labels))?;
        notes.extend(learner::models_note(&models)?);
        let opened = record::open_for(&settings.recording, monitor, || header(settings), &notes)?;
        let measured = test.as_ref().map(|test| (test, &pool));
        let (diary, diverged) = match &opened {
            Some(Opened::Old(ledger)) => replay_ledger(settings, ledger, &mut learner, measured, monitor)?,
            _ => (Diary::default(), None),
        };
        Ok(Self {
            settings: settings.clone(),
            encoder,
            pool,
            narrow,
            test,
            learner,
            recorder: Recorder::new(opened.map(Opened::into_ledger))?,
            diary,
            diverged,
            skipped_rows: bad.skipped,
            warning,
            loss,
            rule,
            stop,
        })
    }

    /// Draws and answers until the budget is spent, or something stops the run.
    pub fn run(&mut self, monitor: &dyn Monitor) -> Result<PoolRunEnd> {
        monitor.on_start(Some(self.settings.budget), "labels");
        let stopped = self.learn(monitor)?;
        monitor.on_end();
        Ok(stopped)
    }

    fn learn(&mut self, monitor: &dyn Monitor) -> Result<PoolRunEnd> {
        if let Some(diverged) = self.diverged {
            return Ok(PoolRunEnd::Diverged(diverged));
        }
        // A resumed run may already have been advised to stop, after its last step.
        if let Some(why) = self.advised() {
            return Ok(PoolRunEnd::Advised(why));
        }
        while self.learner.time() < self.settings.budget {
            let first = self.learner.time() + 1;
            let room = (self.settings.budget - self.learner.time()).min(self.settings.batch);
            let mut drawn = vec![];
            let mut end = None;
            for _ in 0..room {
                match self.learner.ask(&self.pool.rows) {
                    Ok(row) => drawn.push(row),
                    Err(reason) => {
                        end = Some(reason);
                        break;
                    }
                }
            }
            if !drawn.is_empty() {
                let answers: Vec<_> =
                    drawn.iter().map(|d| (self.pool.rows.row(d.row), *d, self.pool.labels[d.row])).collect();
                let learned = self.learner.answer(&answers);
                self.write_down(first, &drawn, learned.is_ok())?;
                if let Err(error) = learned {
                    let AnswerError::Diverged(diverged) = error else { return Err(error.into()) };
                    self.recorder.note_divergence(diverged)?;
                    return Ok(PoolRunEnd::Diverged(diverged));
                }
                monitor.on_progress(self.learner.time(), None);
                if let Some(why) = self.advised() {
                    self.recorder.flush()?;
                    return Ok(PoolRunEnd::Advised(why));
                }
            }
            if let Some(reason) = end {
                self.recorder.flush()?;
                return Ok(PoolRunEnd::NoRow(reason));
            }
        }
        self.recorder.flush()?;
        Ok(PoolRunEnd::Not)
    }

    /// Returns the reason to stop here, if there is one. It checks only at milestones, so that a resumed run checks at
    /// the same points.
    fn advised(&self) -> Option<String> {
        let rule = self.stop.as_ref()?;
        if !is_milestone(self.learner.answered(), self.diary.last_step.max(1)) || self.learner.is_cold() {
            return None;
        }
        let advice = rule.advise(&self.learner.as_refit()?.assess(Some(&self.pool.rows)).ok()?.progress());
        advice.stop.then_some(advice.why)
    }

    fn write_down(&mut self, first: u64, drawn: &[Drawn], taken: bool) -> Result<()> {
        let named: Vec<_> = drawn.iter().map(|d| (self.pool.ids.get(d.row), *d)).collect();
        // A step that was not taken is not reported, here as in a replay.
        if taken {
            let test = self.test.as_ref().map(|test| (test, &self.pool));
            self.diary.see(self.settings.keep_asks, &self.learner, &named, test);
        }
        if self.recorder.is_on() {
            let asks: Vec<_> = named
                .into_iter()
                .map(|(id, d)| (d, id, self.pool.rows.row(d.row).to_bytes(), self.pool.labels[d.row]))
                .collect();
            self.recorder.step(first, &asks, taken, self.settings.is_fitted())?;
        }
        Ok(())
    }

    /// Returns the parameters of the model by the features of the file.
    pub fn parameters(&self) -> ModelParameters {
        parameters(&self.learner, self.narrow.as_ref())
    }

    /// Measures the averaged and the last parameters on the test rows, and ends the learning curve there.
    pub fn test_scores(&mut self) -> Option<(Score, Score)> {
        let test = self.test.as_ref()?;
        Some(self.diary.end(&self.learner, test, &self.pool))
    }

    /// Returns the learning curve.
    pub fn curve(&self) -> &[CurvePoint] {
        &self.diary.curve
    }

    /// Removes and returns the draws, each with the id of its row, if they are kept.
    pub fn take_asks(&mut self) -> Vec<(String, Drawn)> {
        std::mem::take(&mut self.diary.asks)
    }

    /// Returns whether the mean of U was nearly 0 recently.
    pub fn is_stalled(&self) -> bool {
        self.diary.stalled
    }

    /// Returns the number of rows of the pool that are held out.
    pub fn held_out(&self) -> usize {
        self.test.as_ref().map_or(0, TestRows::held)
    }

    /// Returns the number of unreadable rows of the test file.
    pub fn skipped_test_rows(&self) -> u64 {
        self.test.as_ref().map_or(0, TestRows::skipped)
    }
}

/// Adds the seed labels to the learner, and returns their rows.
fn add_seed_labels(settings: &PoolRunSettings, learner: &mut RunLearner, pool: &Batch) -> Result<Vec<usize>> {
    let Some(path) = &settings.seed_labels else { return Ok(vec![]) };
    let RunLearner::Refit(learner) = learner else { bail!("--seed-labels needs --fit refit") };
    let rows = seed_labels::read(path, pool, settings.learner.seed, settings.test_fraction)?;
    for row in &rows {
        learner.add_seed_label(*row, pool.rows.row(*row), pool.labels[*row]);
    }
    Ok(rows)
}

/// Replays a ledger into the learner. Returns its learning curve, and its divergence, if any.
fn replay_ledger(
    settings: &PoolRunSettings,
    ledger: &Ledger,
    learner: &mut RunLearner,
    measured: Option<(&TestRows, &Batch)>,
    monitor: &dyn Monitor,
) -> Result<(Diary, Option<Diverged>)> {
    let (mut diary, diverged) = (Diary::default(), record::diverged(ledger)?);
    let folded = monitor.wait("replaying the ledger", || {
        replay::pool(ledger, learner, |learner, drawn| diary.see(settings.keep_asks, learner, drawn, measured))
    })?;
    folded.check(ledger)?;
    Ok((diary, diverged))
}

/// Finds the rows that the cold start draws first.
///
/// # Errors
/// If one of the settings finds no row.
fn find_start(settings: &PoolRunSettings, loaded: &Loaded, cells: &StoredCells) -> Result<StartFound> {
    let found = StartFound::find(
        &settings.learner,
        &StartData {
            encoder: &loaded.encoder,
            rows: &loaded.batch.rows,
            any_text: &|row, is_match| cells.texts.row(row).any(is_match),
            has_texts: !cells.texts.names().is_empty(),
            predictions: &cells.predictions,
            removed: &[],
            noun: "row",
        },
    )?;
    found.check()?;
    Ok(found)
}

/// Returns the notes on the data, which must be the same when the run is resumed.
fn notes(
    settings: &PoolRunSettings,
    resolved: &Resolved,
    encoder: &Encoder,
    (pool, narrow): (&Batch, Option<&Narrow>),
    (learner, seed_labels): (&RunLearner, &[usize]),
) -> Result<Vec<(&'static str, String)>> {
    let mut notes = vec![
        ("learner", serde_json::to_string(resolved)?),
        ("encoder", encoder.to_json()),
        ("rows", pool.rows.len().to_string()),
    ];
    if let Some(narrow) = narrow {
        notes.push(("features", serde_json::to_string(narrow.features())?));
    }
    // Data from a pipe are identified by the rows that were read.
    if feed::is_pipe(&settings.data) {
        notes.push(("contents", feed::contents(pool)));
    }
    if settings.is_fitted() {
        notes.push(("askable", learner.askable().to_string()));
        notes.push(("given", seed_labels::to_note(seed_labels, pool)));
    }
    Ok(notes)
}

/// Returns the rule that stops a run: the one that is set, or as soon as a precision is reached.
fn stopping(stop: Option<StopRule>, learner: Option<&RefitPool>) -> Option<StopRule> {
    let precision = learner.and_then(RefitPool::precision).map(StopRule::Precision);
    match (stop, precision) {
        (Some(stop), Some(precision)) => Some(StopRule::Any(vec![stop, precision])),
        (stop, precision) => stop.or(precision),
    }
}

fn resolve(settings: &PoolRunSettings, encoder: &Encoder, pool: &Batch) -> Result<Resolved> {
    let labels = build::labels(encoder)?;
    let task = build::task(&settings.learner, labels)?;
    let rules = build::pool_rules(&settings.learner, &*task, labels, settings.is_fitted())?;
    let context = StepContext {
        task: &*task,
        sample: &pool.rows,
        u_max: rules.max(),
        horizon: Some((settings.budget as f64 / settings.batch as f64).ceil()),
        feasible_c: 1.0,
    };
    let precision_class = settings.learner.precision_class(labels, encoder.classes())?;
    Ok(Resolved { labels, dim: pool.rows.dim(), step: step::resolve(&settings.learner, &context)?, precision_class })
}

/// Returns the header of the ledger, which identifies the run.
fn header(settings: &PoolRunSettings) -> Value {
    let mut header = json!({
        "format": 1,
        "command": "pool",
        "data": {"file": settings.data.display().to_string(), "fingerprint": feed::fingerprint(&settings.data)},
        "budget": settings.budget,
        "draw": settings.draw.to_string(),
        "repeat": settings.repeat,
        "batch": settings.batch,
        "test_fraction": settings.test_fraction,
        "settings": settings.learner,
        "files": settings.files,
    });
    if let Some(within) = settings.apart {
        header["apart"] = within.into();
    }
    // A run with gradient steps keeps the header of older versions.
    if let Some(objective) = settings.fit {
        header["fit"] = "refit".into();
        header["objective"] = objective.to_string().into();
        header["stop"] = json!(settings.stop);
    }
    header
}
