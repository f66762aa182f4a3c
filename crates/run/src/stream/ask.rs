//! The driver of a live stream: observations and answers arrive as lines, queries leave as lines.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use querist_data::{Encoder, Format, Input, ReadOptions, RowStream};
use querist_ledger::Ledger;
use querist_rows::{DenseRows, Rows};

use super::{StreamRunSettings, header, names};
use crate::build::{self, Resolved};
use crate::error::{Error, Result, bail};
use crate::event::Sums;
use crate::live::{AnsweredAsk, LiveLine, LiveLines, LiveStream, refuse};
use crate::record::{self, Opened, Recorder};
use crate::replay::{self, Pending};
use crate::settings::LearnerSettings;
use crate::step::{self, StepContext};

/// A live stream that has ended.
pub struct LiveEnd {
    /// The live run.
    pub live: LiveStream,
    /// The full name of the loss.
    pub loss: String,
    /// The full name of the rule.
    pub rule: String,
    /// A warning about the rule for users.
    pub warning: Option<String>,
}

/// Runs a live stream until its input ends. Every answer is durable before it is acknowledged.
pub fn run(settings: &StreamRunSettings, input: impl io::Read, out: &mut impl Write) -> Result<LiveEnd> {
    check(settings)?;
    let mut options = settings.files.options_with_kernel_columns(settings.learner.loss.as_deref())?;
    options.format = Some(Format::JSONL);
    options.unlabeled = true;
    // Problems with a line are reported as a line, and the run continues.
    options.skip_bad_rows = true;
    options.warm_up = settings.warm_up.unwrap_or(100).max(1);
    let mut lines = LiveLines::new(input);
    let recording = &settings.recording;
    let path = recording.ledger.as_ref();
    let opened = path.map(|path| record::open(path, &header(settings), recording)).transpose()?;
    let mut ledger = opened.map(Opened::into_ledger);
    let Opening { encoder, resolved, first } = match began(ledger.as_ref())? {
        Some(opening) => opening,
        None => {
            // A run that was stopped before its first query starts over. The feeding process must know this before the
            // run waits for observations.
            if recording.resume {
                resumed(&Sums::default(), out)?;
            }
            begin(&settings.learner, &options, &mut lines, ledger.as_mut(), out)?
        }
    };
    let mut learner = build::stream(&settings.learner, &resolved)?;
    let mut sums = Sums { dim: resolved.dim, ..Sums::default() };
    let (mut pending, mut answered) = (BTreeMap::new(), BTreeMap::new());
    if let Some(ledger) = &ledger {
        let folded = replay::stream(ledger, &mut learner, |time, id, label| {
            answered.insert(time, AnsweredAsk { id: id.into(), label });
        })?;
        folded.check(ledger)?;
        pending = folded.pending;
        sums = Sums { dim: sums.dim.max(folded.sums.dim), ..folded.sums };
    }
    if recording.resume && first.is_empty() {
        resumed(&sums, out)?;
    }
    remind(&pending, out)?;
    let mut live = LiveStream { learner, recorder: Recorder::new(ledger)?, sums, encoder, options, pending, answered };
    for (number, text) in first {
        match text {
            Some(text) => live.observe(&text, number, out)?,
            None => live.count_refused()?,
        }
    }
    go(&mut live, &mut lines, out)?;
    ended(settings, live, &resolved)
}

fn ended(settings: &StreamRunSettings, live: LiveStream, resolved: &Resolved) -> Result<LiveEnd> {
    let (loss, rule) = names(&settings.learner, resolved)?;
    let rules = build::rules(&settings.learner, live.learner.learner().task(), resolved.labels)?;
    let warning = build::warning(&rules, resolved.labels, &loss).filter(|_| !settings.learner.importance);
    Ok(LiveEnd { live, loss, rule, warning })
}

/// Processes lines until the input ends.
fn go(live: &mut LiveStream, lines: &mut LiveLines<impl io::Read>, out: &mut impl Write) -> Result<()> {
    loop {
        // Everything processed is on record before the run waits for more input.
        if lines.waits() {
            live.recorder.flush()?;
        }
        let Some(line) = lines.next_line()? else { return live.recorder.flush() };
        match line {
            LiveLine::Observation(text) => live.observe(&text, lines.number(), out)?,
            LiveLine::Answer { to, label } => live.answer(&to, &label, lines.number(), out)?,
            LiveLine::Unlabeled { to } => refuse(Some(&to), lines.number(), "an answer has a label", out)?,
            LiveLine::Bad(why) => live.refuse(lines.number(), &why, out)?,
        }
    }
}

/// Reports the position of a resumed run and the next observation. Rejected observations count.
fn resumed(sums: &Sums, out: &mut impl Write) -> Result<()> {
    let (observed, refused) = (sums.looked, sums.skipped);
    let told = serde_json::json!({"observed": observed, "refused": refused, "next": observed + refused + 1});
    writeln!(out, "{}", serde_json::json!({"resumed": told}))?;
    Ok(out.flush()?)
}

/// Repeats the queries that were open when the run was stopped.
fn remind(pending: &BTreeMap<u64, Pending>, out: &mut impl Write) -> Result<()> {
    for (time, ask) in pending {
        let line = serde_json::json!({"ask": time, "id": ask.id, "probability": ask.probability, "again": true});
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

fn check(settings: &StreamRunSettings) -> Result<()> {
    if settings.data.as_deref() != Some(std::path::Path::new("-")) {
        bail!("--ask reads observations and answers from standard input: `querist stream - --ask`");
    }
    if settings.test.is_some() || settings.test_fraction.is_some() || settings.shuffle {
        bail!("--ask has no labels to test with: leave out --test, --test-fraction and --shuffle");
    }
    Ok(())
}

/// The start of a live run.
struct Opening {
    encoder: Encoder,
    resolved: Resolved,
    /// The lines of the warm-up with their numbers; rejected ones have no text. Empty for a resumed run.
    first: Vec<(u64, Option<String>)>,
}

/// Reads the start of a run from the notes of its ledger, if it is noted.
fn began(ledger: Option<&Ledger>) -> Result<Option<Opening>> {
    let Some(ledger) = ledger else { return Ok(None) };
    let (Some(resolved), Some(encoder)) = (ledger.note("learner"), ledger.note("encoder")) else { return Ok(None) };
    let encoder = Encoder::from_json(encoder).map_err(Error::Encoder)?;
    Ok(Some(Opening { encoder, resolved: serde_json::from_str(resolved)?, first: vec![] }))
}

/// Waits for the first observations, and notes the facts that they determine.
fn begin(
    settings: &LearnerSettings,
    options: &ReadOptions,
    lines: &mut LiveLines<impl io::Read>,
    ledger: Option<&mut Ledger>,
    out: &mut impl Write,
) -> Result<Opening> {
    let (mut first, mut text, mut observed) = (vec![], String::new(), 0);
    while observed < options.warm_up {
        match lines.next_line()? {
            Some(LiveLine::Observation(line)) => {
                observed += 1;
                text.push_str(&line);
                first.push((lines.number(), Some(line)));
            }
            Some(LiveLine::Answer { to, .. } | LiveLine::Unlabeled { to }) => {
                refuse(Some(&to), lines.number(), "nothing has been asked yet", out)?;
            }
            Some(LiveLine::Bad(why)) => {
                refuse(None, lines.number(), &why, out)?;
                first.push((lines.number(), None));
            }
            None => break,
        }
    }
    let input = Input::Bytes { name: "standard input".to_owned(), bytes: Arc::from(text.as_bytes()) };
    let encoder = RowStream::open(&input, options)?.encoder().clone();
    let resolved = resolve(settings, &encoder)?;
    if let Some(ledger) = ledger {
        ledger.set_note("learner", &serde_json::to_string(&resolved)?)?;
        ledger.set_note("encoder", &encoder.to_json())?;
    }
    Ok(Opening { encoder, resolved, first })
}

fn resolve(settings: &LearnerSettings, encoder: &Encoder) -> Result<Resolved> {
    if encoder.task().is_none() {
        bail!("no labels given; use --labels spam,ham, or --loss squared for numbers");
    }
    let labels = build::labels(encoder)?;
    let task = build::task(settings, labels)?;
    let rules = build::rules(settings, &*task, labels)?;
    rules.check_for_stream()?;
    let (sample, u_max) = (Rows::Dense(DenseRows::new(encoder.dim())), rules.max());
    let feasible_c = u_max.sqrt().recip();
    let context = StepContext { task: &*task, sample: &sample, u_max, horizon: None, feasible_c };
    Ok(Resolved { labels, dim: encoder.dim(), step: step::resolve(settings, &context)?, precision_class: None })
}
