//! The recording of a run in its ledger.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use querist_data::Batch;
use querist_engine::learner::Diverged;
use querist_engine::pool::Drawn;
use querist_engine::stream::Trace;
use querist_ledger::{Ledger, Record};
use querist_rows::Row;
use serde_json::Value;

use crate::differing::differing;
use crate::error::{Context, Result, bail};
use crate::event::{RecordedDraw, RunEvent, Sums};
use crate::files::FileSettings;
use crate::monitor::Monitor;
use crate::settings::LearnerSettings;

/// A recorder that writes events to a ledger in groups, because every transaction waits for the disk.
pub struct Recorder {
    ledger: Option<Ledger>,
    waiting: Vec<RunEvent>,
    items: usize,
    last: Instant,
}

/// Buffered events are flushed after this many items …
const FLUSH_AFTER_ITEMS: usize = 100_000;
/// … or this much time, whichever comes first.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

impl Recorder {
    /// Makes a recorder that writes to this ledger, or to none. Clears a recorded final model, since the run continues.
    #[expect(clippy::disallowed_methods, reason = "when events are written, not which, depends on the clock")]
    pub fn new(mut ledger: Option<Ledger>) -> Result<Self> {
        if let Some(ledger) = &mut ledger
            && ledger.note("model").is_some_and(|model| !model.is_empty())
        {
            ledger.set_note("model", "")?;
        }
        Ok(Self { ledger, waiting: vec![], items: 0, last: Instant::now() })
    }

    /// Moves the ledger into a new recorder. This one writes nothing any more.
    pub fn take(&mut self) -> Self {
        Self {
            ledger: self.ledger.take(),
            waiting: std::mem::take(&mut self.waiting),
            items: self.items,
            last: self.last,
        }
    }

    /// Returns whether events are recorded.
    pub fn is_on(&self) -> bool {
        self.ledger.is_some()
    }

    /// Records a block of a stream whose queries were answered immediately; if it diverged, all but the last.
    pub fn block(&mut self, trace: &Trace, batch: &Batch, sums: Sums, diverged: bool) -> Result<()> {
        if !self.is_on() || trace.probabilities.is_empty() {
            return Ok(());
        }
        let (first, probabilities) = (trace.first, trace.probabilities.clone());
        self.items += probabilities.len();
        let count = probabilities.len() as u64;
        self.waiting.push(RunEvent::Considered { first, count, sums, probabilities });
        for index in &trace.asked {
            let (time, index) = (first + u64::from(*index), *index as usize);
            let probability = Some(trace.probabilities[index]);
            let (id, features) = (batch.ids.get(index), batch.rows.row(index).to_bytes());
            self.waiting.push(RunEvent::Asked { time, id, probability, tries: None, draw: None, features });
            self.waiting.push(answer(time, batch.labels[index], time));
        }
        if diverged {
            self.waiting.pop();
        }
        self.flush_if_due()
    }

    /// Records one observation of a live stream.
    pub fn offered(&mut self, time: u64, probability: f64, ask: Option<(&str, Row<'_>)>, sums: Sums) -> Result<()> {
        self.waiting.push(RunEvent::Considered { first: time, count: 1, sums, probabilities: vec![probability] });
        self.items += 1;
        match ask {
            Some((id, row)) => {
                let (id, probability, features) = (id.to_owned(), Some(probability), row.to_bytes());
                self.waiting.push(RunEvent::Asked { time, id, probability, tries: None, draw: None, features });
                self.flush()
            }
            None => self.flush_if_due(),
        }
    }

    /// Records that a live stream rejected a row, as a block of no items with the new sums.
    pub fn refused(&mut self, observed: u64, now: Sums) -> Result<()> {
        match self.waiting.last_mut() {
            // The last of several such blocks has the sums of all.
            Some(RunEvent::Considered { count: 0, sums, .. }) => *sums = now,
            _ => {
                let (first, count, probabilities) = (observed + 1, 0, vec![]);
                self.waiting.push(RunEvent::Considered { first, count, sums: now, probabilities });
            }
        }
        self.flush_if_due()
    }

    /// Records a late answer, which is durable when this returns.
    pub fn answered(&mut self, ask: u64, label: f64, at: u64) -> Result<()> {
        self.waiting.push(answer(ask, label, at));
        self.flush()
    }

    /// Records a step of a pool: rows drawn at one θ, and their labels if the step was taken.
    pub fn step(
        &mut self,
        first: u64,
        asks: &[(Drawn, String, Vec<u8>, f64)],
        taken: bool,
        is_fitted: bool,
    ) -> Result<()> {
        if !self.is_on() {
            return Ok(());
        }
        for (time, (drawn, id, features, _)) in (first..).zip(asks) {
            self.waiting.push(RunEvent::Asked {
                time,
                id: id.clone(),
                probability: drawn.probability,
                tries: (0 < drawn.tries).then_some(drawn.tries),
                draw: Some(RecordedDraw::new(drawn, is_fitted)),
                features: features.clone(),
            });
        }
        for (ask, (_, _, _, label)) in (first..).zip(asks).filter(|_| taken) {
            self.waiting.push(answer(ask, *label, first));
        }
        self.items += asks.len();
        self.flush_if_due()
    }

    fn flush_if_due(&mut self) -> Result<()> {
        if FLUSH_AFTER_ITEMS <= self.items || FLUSH_AFTER <= self.last.elapsed() { self.flush() } else { Ok(()) }
    }

    /// Writes all events, which are on disk when this returns.
    #[expect(clippy::disallowed_methods, reason = "when events are written, not which, depends on the clock")]
    pub fn flush(&mut self) -> Result<()> {
        if let Some(ledger) = &mut self.ledger
            && !self.waiting.is_empty()
        {
            let records: Result<Vec<Record>> = self.waiting.iter().map(RunEvent::to_record).collect();
            ledger.append(&records?)?;
        }
        self.waiting.clear();
        self.items = 0;
        self.last = Instant::now();
        Ok(())
    }

    /// Records that the run diverged here.
    pub fn note_divergence(&mut self, diverged: Diverged) -> Result<()> {
        self.flush()?;
        self.note("diverged", &format!("{} {}", diverged.distance, diverged.score))
    }

    /// Writes a note beside the events.
    pub fn note(&mut self, key: &str, value: &str) -> Result<()> {
        if let Some(ledger) = &mut self.ledger {
            ledger.set_note(key, value)?;
        }
        Ok(())
    }
}

fn answer(ask: u64, label: f64, at: u64) -> RunEvent {
    RunEvent::Answered { ask, label, at, annotator: None }
}

/// The settings for recording a run.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The file of the ledger; `None` to record nothing.
    pub ledger: Option<PathBuf>,
    /// Whether to resume the run of an existing ledger.
    pub resume: bool,
    /// Whether to resume although acknowledged events were lost, and note it.
    pub accept_loss: bool,
}

impl Recording {
    /// Returns the path of the ledger of a run to resume; `None` if the run is new.
    pub fn existing(&self) -> Option<&Path> {
        self.ledger.as_deref().filter(|path| self.resume && path.exists())
    }
}

/// An opened ledger, new or existing.
pub enum Opened {
    /// A new ledger.
    New(Ledger),
    /// An existing ledger to resume.
    Old(Ledger),
}

/// Opens the ledger of a run with this header.
pub fn open(path: &Path, header: &Value, recording: &Recording) -> Result<Opened> {
    if recording.resume && path.exists() {
        let ledger = open_ledger(path, recording)?;
        let found: Value = serde_json::from_str(ledger.header())?;
        same_run(path, &found, header)?;
        return Ok(Opened::Old(ledger));
    }
    if path.exists() {
        bail!("{} already exists; use `--resume` to continue it, or another name for a new run", path.display());
    }
    Ok(Opened::New(Ledger::create(path, &header.to_string())?))
}

/// Returns the settings with the defaults of the ledger to resume, if there is one.
pub fn with_recorded_defaults(
    (settings, files): (&LearnerSettings, &FileSettings),
    recording: &Recording,
) -> Result<(LearnerSettings, FileSettings)> {
    let (mut settings, mut files) = (settings.clone(), files.clone());
    let Some(path) = recording.existing() else { return Ok((settings, files)) };
    let header: Value = serde_json::from_str(open_ledger(path, recording)?.header())?;
    let before: LearnerSettings =
        serde_json::from_value(header["settings"].clone()).context("the ledger's settings")?;
    settings.continue_from(&before);
    files.continue_from(&serde_json::from_value(header["files"].clone()).context("the ledger's files")?);
    Ok((settings, files))
}

fn open_ledger(path: &Path, recording: &Recording) -> Result<Ledger> {
    Ok(if recording.accept_loss { Ledger::open_accepting_loss(path)? } else { Ledger::open(path)? })
}

/// Checks that a ledger belongs to the same run.
fn same_run(path: &Path, found: &Value, header: &Value) -> Result<()> {
    let (mut found, mut header) = (found.clone(), header.clone());
    if let (Some(before), now) = (found["command"].as_str(), &header["command"])
        && before != now
    {
        bail!("{} is the ledger of `querist {before}`\n  use another file with --ledger", path.display());
    }
    // A run keeps the defaults that it began with.
    for run in [&mut found, &mut header] {
        if run["fit"] == "refit" {
            let settings: LearnerSettings = serde_json::from_value(run["settings"].clone()).context("its settings")?;
            run["settings"] = settings.to_compared()?;
        }
        run["settings"]["defaults"] = Value::Null;
    }
    let prints = [&found, &header].map(|run| run["data"]["fingerprint"].clone());
    if prints.iter().all(Value::is_string) {
        if prints[0] != prints[1] {
            let file = header["data"]["file"].as_str().unwrap_or_default();
            bail!("{}: {file} is not the file the run began with, or has changed since", path.display());
        }
        // The same bytes under another name are the same data.
        for run in [&mut found, &mut header] {
            run["data"]["file"] = Value::Null;
        }
    }
    let mut differences = differing(&found, &header);
    if header["command"] == "pool" && found["fit"] != header["fit"] {
        // Other options follow from this one.
        let [before, now] = [&found, &header].map(|run| run["fit"].as_str().unwrap_or("sgd"));
        differences = vec![format!("with --fit {before}, not {now}")];
    }
    if !differences.is_empty() {
        bail!(
            "{} is the ledger of another run: it was started {}\n  use the same options, or another file with --ledger",
            path.display(),
            differences.join(" and ")
        );
    }
    Ok(())
}

/// Opens the ledger of a run, if it has one. Notes the facts found in the data in a new ledger. An old one must have
/// the same notes; otherwise data or settings have changed.
pub fn open_for(
    recording: &Recording,
    monitor: &dyn Monitor,
    header: impl FnOnce() -> Value,
    notes: &[(&str, String)],
) -> Result<Option<Opened>> {
    let Some(path) = &recording.ledger else { return Ok(None) };
    // This reads all bytes of the data.
    let header = monitor.wait("looking at the data", header);
    let mut opened = open(path, &header, recording)?;
    if recording.resume && matches!(opened, Opened::New(_)) {
        monitor.on_notice(&format!("{} is new: the run begins with its first row", path.display()));
    }
    monitor.on_ledger(path);
    for (key, now) in notes {
        match &mut opened {
            Opened::New(ledger) => ledger.set_note(key, now)?,
            // A run that was killed before its first note gets the note now.
            Opened::Old(ledger) => match ledger.note(key) {
                None => ledger.set_note(key, now)?,
                Some(before) if before == *now => {}
                Some(_) => bail!(
                    "{}: {} not those the run began with; check whether the data or the settings changed",
                    path.display(),
                    match *key {
                        "learner" => "labels, features or steps are",
                        "encoder" => "the columns, or what was found in them, are",
                        "given" | "askable" => "the rows of --seed-labels are",
                        _ => "the rows are",
                    }
                ),
            },
        }
    }
    Ok(Some(opened))
}

impl Opened {
    /// Returns the ledger, old or new.
    pub fn into_ledger(self) -> Ledger {
        match self {
            Opened::New(ledger) | Opened::Old(ledger) => ledger,
        }
    }
}

/// Returns the divergence that a ledger records, if any.
pub fn diverged(ledger: &Ledger) -> Result<Option<Diverged>> {
    let Some(text) = ledger.note("diverged") else { return Ok(None) };
    let numbers: Vec<f64> = text.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [distance, score] = numbers[..] else { bail!("the ledger's note of divergence cannot be read") };
    Ok(Some(Diverged { distance, score }))
}
