//! `querist stream`: Algorithm 1 on a file, standard input or the paper's mixture.

use std::io;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use querist_engine::learner::Diverged;
use querist_engine::stream::StreamLearner;
use querist_run::event::Sums;
use querist_run::feed::Feed;
use querist_run::files::FileSettings;
use querist_run::model_file::{ModelHeader, ModelParameters};
use querist_run::settings::LearnerSettings;
use querist_run::stream::ask::{self, LiveEnd};
use querist_run::stream::{StreamRun, StreamRunSettings, is_stalled};
use querist_run::text::grouped;
use serde_json::{Value, json};

use crate::Output;
use crate::number::{json as number, show};
use crate::run::files::DataArgs;
use crate::run::output::{OutputArgs, count, whole};
use crate::run::progress::{Terminal, Timer};
use crate::run::results::{self, PrintedResults};
use crate::run::settings::LearnerArgs;

/// Run stream-based uncertainty sampling, on a file with labels or live
#[derive(Args)]
pub(crate) struct StreamArgs {
    /// The data, or `-` for standard input
    #[arg(required_unless_present = "synthetic", conflicts_with = "synthetic")]
    data: Option<PathBuf>,
    /// Generate observations: the paper's mixture of four Gaussians
    #[arg(long, value_enum, requires = "observations")]
    synthetic: Option<Synthetic>,
    /// Number of observations to generate
    #[arg(long, value_name = "N", value_parser = count, requires = "synthetic")]
    observations: Option<u64>,
    /// Live: queries are written to standard output, and answers are read as {"answer": ASK, "label": …} among the
    /// observations. Invalid lines are rejected and counted, with or without --skip-bad-rows
    #[arg(long)]
    ask: bool,
    /// Number of observations from which numbers are standardized [default: 1000; 100 with --ask]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    warm_up: Option<usize>,
    /// Shuffle the rows; all of them are kept in memory
    #[arg(long)]
    shuffle: bool,
    #[command(flatten)]
    learner: LearnerArgs,
    #[command(flatten)]
    files: DataArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Generated data.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Synthetic {
    /// Four Gaussians in two dimensions
    Mixture,
}

impl StreamArgs {
    /// Returns the settings from the command line.
    fn settings(&self) -> Result<StreamRunSettings> {
        Ok(StreamRunSettings {
            data: self.data.clone(),
            observations: self.observations,
            warm_up: self.warm_up,
            shuffle: self.shuffle,
            learner: self.learner.settings()?,
            files: FileSettings { model: self.output.model_kind(), ..self.files.settings() },
            recording: self.output.recording(),
            test: self.output.test.clone(),
            test_fraction: self.output.test_fraction,
        })
    }
}

pub(super) fn run(arguments: &StreamArgs) -> Result<Output> {
    arguments.output.check(arguments.data.as_deref())?;
    let settings = arguments.settings()?;
    if settings.data.is_some() && settings.observations.is_some() {
        bail!("--observations needs --synthetic");
    }
    if settings.data.is_none() && (settings.shuffle || settings.files.label.is_some()) {
        bail!("--synthetic generates labels in a random order; remove --label and --shuffle");
    }
    settings.learner.check()?;
    if arguments.ask {
        let ended = ask::run(&settings, io::stdin(), &mut io::stdout().lock())?;
        return finish_live(&settings.learner, &arguments.output, ended);
    }
    let terminal = Terminal::new(arguments.output.quiet);
    let mut run = StreamRun::open(&settings, &terminal)?;
    let timer = Timer::start();
    let stopped = run.run(&terminal)?;
    finish(run, &settings.learner, &arguments.output, stopped, (&terminal, &timer))
}

/// Writes the model of a stream and returns the printed results.
fn finish(
    mut run: StreamRun,
    settings: &LearnerSettings,
    output: &OutputArgs,
    stopped: Option<Diverged>,
    (terminal, timer): (&Terminal, &Timer),
) -> Result<Output> {
    let coefficients = run.learner.coefficients();
    let mut results = PrintedResults::default();
    if let Some(encoder) = run.encoder() {
        results.data(encoder);
    }
    report(&mut results, settings, &run.learner, &run.sums, (&run.loss, &run.rule));
    if let skipped @ 1.. = run.skipped_test_rows() {
        results.count("test_skipped_rows", "test rows skipped", skipped);
    }
    let skipped = run.feed().skipped_rows();
    results.put("skipped_rows", skipped.into());
    if 0 < skipped {
        results.line("rows skipped", grouped(skipped));
    }
    report_late_cells(&mut results, run.feed());
    if let Some(warning) = run.warning()? {
        results.put("warning", warning.clone().into());
        results.remarks.push(warning);
    }
    if let Some((of_mean, of_last)) = run.test_scores(&coefficients, terminal)? {
        results.test(of_mean, of_last, run.learner.learner().task().is_classification());
    }
    let found = ModelParameters::Linear(coefficients);
    results.parameters(found.as_linear());
    let mut recorder = run.recorder.take();
    let outputs = run.learner.learner().task().outputs();
    let header = ModelHeader { loss: &run.loss, rule: &run.rule, outputs, encoder: run.encoder() };
    results.put("stopped", stopped.map_or(Value::Null, |diverged| diverged.to_string().into()));
    results::keep(&mut results, &header, &found, output, &mut recorder)?;
    results.put("seconds", number(timer.seconds()));
    Ok(results::print(&results, &header, (&settings.describe(), settings.seed), output, stopped, found.as_linear()))
}

/// Writes the model of a live stream and returns its last line.
fn finish_live(settings: &LearnerSettings, output: &OutputArgs, ended: LiveEnd) -> Result<Output> {
    let LiveEnd { mut live, loss, rule, warning } = ended;
    let found = ModelParameters::Linear(live.learner.coefficients());
    let mut results = PrintedResults::default();
    report(&mut results, settings, &live.learner, &live.sums, (&loss, &rule));
    results.put("open_asks", live.pending.len().into());
    results.put("skipped_rows", live.sums.skipped.into());
    results.put("unknown_categories", live.sums.unknown.into());
    if let Some(warning) = warning {
        results.put("warning", warning.into());
    }
    results.parameters(found.as_linear());
    let outputs = live.learner.learner().task().outputs();
    let header = ModelHeader { loss: &loss, rule: &rule, outputs, encoder: Some(&live.encoder) };
    results::keep(&mut results, &header, &found, output, &mut live.recorder)?;
    Ok(Output::done(format!("{{\"finished\":{}}}", results.to_json())))
}

/// Reports categories and columns that appeared too late to become features.
fn report_late_cells(results: &mut PrintedResults, feed: &Feed) {
    let unknown = feed.unknown_categories();
    results.put("unknown_categories", unknown.into());
    if 0 < unknown {
        results.remarks.push(format!(
            "{} cells had a category that the first rows do not have, and were ignored; use `--warm-up N` to fit on \
             N rows, or `--shuffle` to fit on all",
            grouped(unknown)
        ));
    }
    let passed_over = feed.passed_over();
    results.put("cells_passed_over", passed_over.into());
    if 0 < passed_over {
        results.remarks.push(format!(
            "{} cells were in columns that the first rows do not have, and were ignored; name such columns with \
             `--numbers`, `--categories` or `--text`, and use `--missing` to fill them in elsewhere",
            grouped(passed_over)
        ));
    }
}

/// Reports the results that every stream has.
fn report(
    results: &mut PrintedResults,
    settings: &LearnerSettings,
    learner: &StreamLearner,
    sums: &Sums,
    names: (&str, &str),
) {
    let totals = learner.totals();
    let observed = totals.observed.max(1) as f64;
    results.put("loss", names.0.into());
    results.put("rule", names.1.into());
    results.put("step", settings.step.to_string().into());
    results.put("seed", settings.seed.into());
    results.put("settings", json!(settings));
    results.count("observed", "observed", totals.observed);
    results.put("asked", totals.asked.into());
    results.put("answered", totals.answered.into());
    results.put("expected_asked", number(totals.expected_asked()));
    let share = show(100.0 * totals.asked as f64 / observed, 3);
    let expected = grouped(totals.expected_asked().round() as u64);
    results.line("asked", format!("{} ({share} %; {expected} expected)", grouped(totals.asked)));
    if let Some((mean, error)) = totals.inverse_mean() {
        results.put("inverse_probability_mean", number(mean));
        results.put("inverse_probability_error", number(error));
        let error =
            if error < 1.0 { show(error, 2) } else { "unbounded: some probabilities were close to 0".to_owned() };
        results.line("mean of asked/probability", format!("{} ± {error}", show(mean, 4)));
    }
    results.put("recent_rate", number(learner.recent_rate()));
    if let (Some(loss), Some(accuracy)) = (sums.progressive_loss(), sums.progressive_accuracy()) {
        results.number("progressive_loss", "progressive loss", loss);
        if learner.learner().task().is_classification() {
            results.number("progressive_accuracy", "progressive accuracy", accuracy);
        }
    }
    if learner.is_warming_up() {
        let why = format!("the run ended within its warm start: `{}` was never used", names.1);
        results.put("warm", true.into());
        results.remarks.push(why);
    }
    let stalled = is_stalled(learner);
    results.put("stalled", stalled.into());
    if stalled {
        results.line("stalled", format!("the recent mean probability was {}", show(learner.recent_rate(), 2)));
        let warm = learner.learner().task().outputs() == 1 && settings.warm_rule.is_none();
        results.remarks.push(format!(
            "stalled: the rule has stopped making queries. This is not convergence. Use another start or smaller \
             steps{}",
            if warm { ", or warm up with `--warm-rule critical --warm-labels 1000`" } else { "" }
        ));
    }
}
