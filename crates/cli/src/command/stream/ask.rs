//! `querist stream - --ask`: the driver of a live stream.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use anyhow::{Result, bail};
use querist_data::{Encoder, Input, Options, Stream};
use querist_ledger::Ledger;
use querist_rows::{DenseRows, Rows};

use super::{Arguments, header, names, tell};
use crate::Output;
use crate::run::build::{self, Resolved};
use crate::run::event::Sums;
use crate::run::live::{Answered, Line, Lines, Live, refuse};
use crate::run::outcome::{self, Naming, Outcome};
use crate::run::record::{self, Opened, Recorder};
use crate::run::replay::{self, Pending};
use crate::run::step::{self, Surroundings};

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
    check(arguments)?;
    let mut options = arguments.files.options(arguments.settings.loss.as_deref())?;
    options.format = Some(querist_data::Format::named("jsonl").map_err(anyhow::Error::msg)?);
    options.unlabeled = true;
    // What is wrong with a line is told in a line; the run goes on.
    options.skip_bad_rows = true;
    options.warm_up = arguments.warm_up.unwrap_or(100).max(1);
    let mut lines = Lines::new(io::stdin());
    let mut out = io::stdout().lock();
    let path = arguments.output.ledger.as_ref();
    let opened = path.map(|path| record::open(path, &header(arguments), &arguments.output)).transpose()?;
    let mut ledger = opened.map(Opened::into_ledger);
    let Opening { encoder, resolved, first } = match began(ledger.as_ref())? {
        Some(opening) => opening,
        None => {
            // A run that was stopped before it had asked for anything begins anew; whoever feeds it must know before
            // observations are waited for.
            if arguments.output.resume {
                resumed(&Sums::default(), &mut out)?;
            }
            begin(arguments, &options, &mut lines, ledger.as_mut(), &mut out)?
        }
    };
    let mut learner = build::stream(&arguments.settings, &resolved)?;
    let mut sums = Sums { dim: resolved.dim, ..Sums::default() };
    let (mut pending, mut answered) = (BTreeMap::new(), BTreeMap::new());
    if let Some(ledger) = &ledger {
        let folded = replay::stream(ledger, &mut learner, |time, id, label| {
            answered.insert(time, Answered { id: id.into(), label });
        })?;
        folded.check(ledger)?;
        pending = folded.pending;
        sums = Sums { dim: sums.dim.max(folded.sums.dim), ..folded.sums };
    }
    if arguments.output.resume && first.is_empty() {
        resumed(&sums, &mut out)?;
    }
    remind(&pending, &mut out)?;
    let mut live = Live { learner, recorder: Recorder::new(ledger)?, sums, encoder, options, pending, answered };
    for (number, text) in first {
        match text {
            Some(text) => live.observe(&text, number, &mut out)?,
            None => live.count_refused()?,
        }
    }
    go(&mut live, &mut lines, &mut out)?;
    finish(arguments, live, &resolved)
}

/// Line after line until there are no more.
fn go(live: &mut Live, lines: &mut Lines<impl io::Read>, out: &mut impl Write) -> Result<()> {
    loop {
        // What was seen is on record before more is waited for.
        if lines.waits() {
            live.recorder.flush()?;
        }
        let Some(line) = lines.next()? else { return live.recorder.flush() };
        match line {
            Line::Observation(text) => live.observe(&text, lines.number(), out)?,
            Line::Answer { to, label } => live.answer(&to, &label, lines.number(), out)?,
            Line::Unlabeled { to } => refuse(Some(&to), lines.number(), "an answer has a label", out)?,
            Line::Bad(why) => live.refuse(lines.number(), &why, out)?,
        }
    }
}

fn finish(arguments: &Arguments, mut live: Live, resolved: &Resolved) -> Result<Output> {
    let (loss, rule) = names(&arguments.settings, resolved)?;
    let found = live.learner.coefficients();
    let learner = &live.learner;
    let mut outcome = Outcome::default();
    tell(&mut outcome, arguments, learner, &live.sums, (&loss, &rule));
    outcome.put("open_asks", live.pending.len().into());
    outcome.put("skipped_rows", live.sums.skipped.into());
    outcome.put("unknown_categories", live.sums.unknown.into());
    let rules = build::rules(&arguments.settings, learner.learner().task(), resolved.labels()?)?;
    let warning = build::warning(&rules, resolved.labels()?, &loss).filter(|_| !arguments.settings.importance);
    if let Some(warning) = warning {
        outcome.put("warning", warning.into());
    }
    outcome.parameters(&found);
    let outputs = learner.learner().task().outputs();
    let naming = Naming { loss: &loss, rule: &rule, outputs, encoder: Some(&live.encoder) };
    outcome::keep(&mut outcome, &naming, &found, &arguments.output, &mut live.recorder)?;
    Ok(Output::done(format!("{{\"finished\":{}}}", outcome.to_json())))
}

/// What is on record, and which observation is waited for: those that were refused are among those that came.
fn resumed(sums: &Sums, out: &mut impl Write) -> Result<()> {
    let (observed, refused) = (sums.looked, sums.skipped);
    let told = serde_json::json!({"observed": observed, "refused": refused, "next": observed + refused + 1});
    writeln!(out, "{}", serde_json::json!({"resumed": told}))?;
    Ok(out.flush()?)
}

/// Asks that were open when the run was stopped are asked again.
fn remind(pending: &BTreeMap<u64, Pending>, out: &mut impl Write) -> Result<()> {
    for (time, ask) in pending {
        let line = serde_json::json!({"ask": time, "id": ask.id, "probability": ask.probability, "again": true});
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

fn check(arguments: &Arguments) -> Result<()> {
    if arguments.data.as_deref() != Some(std::path::Path::new("-")) {
        bail!("--ask reads observations and answers from standard input: `querist stream - --ask`");
    }
    if arguments.output.test.is_some() || arguments.output.test_fraction.is_some() || arguments.shuffle {
        bail!("--ask has no labels to test with: leave out --test, --test-fraction and --shuffle");
    }
    Ok(())
}

/// What a live run starts from.
struct Opening {
    encoder: Encoder,
    resolved: Resolved,
    /// The lines of the warm-up with their numbers, the refused ones without their text; none where the run is gone on with.
    first: Vec<(u64, Option<String>)>,
}

/// What a ledger says of the start, once it was noted.
fn began(ledger: Option<&Ledger>) -> Result<Option<Opening>> {
    let Some(ledger) = ledger else { return Ok(None) };
    let (Some(resolved), Some(encoder)) = (ledger.note("learner"), ledger.note("encoder")) else { return Ok(None) };
    let encoder = Encoder::from_json(encoder).map_err(anyhow::Error::msg)?;
    Ok(Some(Opening { encoder, resolved: serde_json::from_str(resolved)?, first: vec![] }))
}

/// Waits for the first observations, and notes what they decide.
fn begin(
    arguments: &Arguments,
    options: &Options,
    lines: &mut Lines<impl io::Read>,
    ledger: Option<&mut Ledger>,
    out: &mut impl Write,
) -> Result<Opening> {
    let (mut first, mut text, mut observed) = (vec![], String::new(), 0);
    while observed < options.warm_up {
        match lines.next()? {
            Some(Line::Observation(line)) => {
                observed += 1;
                text.push_str(&line);
                first.push((lines.number(), Some(line)));
            }
            Some(Line::Answer { to, .. } | Line::Unlabeled { to }) => {
                refuse(Some(&to), lines.number(), "nothing has been asked yet", out)?;
            }
            Some(Line::Bad(why)) => {
                refuse(None, lines.number(), &why, out)?;
                first.push((lines.number(), None));
            }
            None => break,
        }
    }
    let input = Input::Bytes { name: "standard input".to_owned(), bytes: Arc::from(text.as_bytes()) };
    let encoder = Stream::open(&input, options)?.encoder().clone();
    let resolved = resolve(arguments, &encoder)?;
    if let Some(ledger) = ledger {
        ledger.set_note("learner", &serde_json::to_string(&resolved)?)?;
        ledger.set_note("encoder", &encoder.to_json())?;
    }
    Ok(Opening { encoder, resolved, first })
}

fn resolve(arguments: &Arguments, encoder: &Encoder) -> Result<Resolved> {
    if encoder.task().is_none() {
        bail!("which labels are there? say --labels spam,ham, or --loss squared for numbers");
    }
    let labels = build::labels(encoder)?;
    let task = build::task(&arguments.settings, labels)?;
    let rules = build::rules(&arguments.settings, &*task, labels)?;
    rules.check_for_stream()?;
    let (sample, u_max) = (Rows::Dense(DenseRows::new(encoder.dim())), rules.max());
    let feasible_c = u_max.sqrt().recip();
    let surroundings = Surroundings { task: &*task, sample: &sample, u_max, horizon: None, feasible_c };
    Ok(Resolved::new(labels, encoder.dim(), step::parse(&arguments.settings, &surroundings)?))
}
