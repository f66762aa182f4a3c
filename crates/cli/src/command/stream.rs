//! `querist stream`: Algorithm 1 on a file, standard input or the paper's mixture.

use std::io;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use querist_engine::learner::Diverged;
use querist_engine::stream::StreamLearner;
use querist_run::event::Sums;
use querist_run::feed::Feed;
use querist_run::model_file::ModelHeader;
use querist_run::settings::LearnerSettings;
use querist_run::stream::ask::{self, LiveEnd};
use querist_run::stream::{StreamRun, StreamRunSettings, is_stalled};
use querist_run::text::grouped;
use serde_json::{Value, json};

use crate::Output;
use crate::number::{json as number, show};
use crate::run::files::DataArgs;
use crate::run::outcome::{self, Outcome};
use crate::run::output::{OutputArgs, count};
use crate::run::progress::{Terminal, Timer};
use crate::run::settings::LearnerArgs;

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

impl Arguments {
    /// Returns the settings from the command line.
    fn settings(&self) -> Result<StreamRunSettings> {
        Ok(StreamRunSettings {
            data: self.data.clone(),
            observations: self.observations,
            warm_up: self.warm_up,
            shuffle: self.shuffle,
            learner: self.learner.settings()?,
            files: self.files.settings(),
            recording: self.output.recording(),
            test: self.output.test.clone(),
            test_fraction: self.output.test_fraction,
        })
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
    arguments.output.check(arguments.data.as_deref())?;
    let settings = arguments.settings()?;
    if settings.data.is_some() && settings.observations.is_some() {
        bail!("--observations goes with --synthetic");
    }
    if settings.data.is_none() && (settings.shuffle || settings.files.label.is_some()) {
        bail!("the mixture has its labels, and each observation is drawn anew: leave out --label and --shuffle");
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
    let found = run.learner.coefficients();
    let mut outcome = Outcome::default();
    if let Some(encoder) = run.encoder() {
        outcome.data(encoder);
    }
    report(&mut outcome, settings, &run.learner, &run.sums, (&run.loss, &run.rule));
    if let skipped @ 1.. = run.skipped_test_rows() {
        outcome.count("test_skipped_rows", "test rows left out", skipped);
    }
    let skipped = run.feed().skipped_rows();
    outcome.put("skipped_rows", skipped.into());
    if 0 < skipped {
        outcome.line("rows left out", grouped(skipped));
    }
    report_late_cells(&mut outcome, run.feed());
    if let Some(warning) = run.warning()? {
        outcome.put("warning", warning.clone().into());
        outcome.remarks.push(warning);
    }
    if let Some((of_mean, of_last)) = run.test_scores(&found, terminal)? {
        outcome.test(of_mean, of_last, run.learner.learner().task().is_classification());
    }
    outcome.parameters(&found);
    let mut recorder = run.recorder.take();
    let outputs = run.learner.learner().task().outputs();
    let header = ModelHeader { loss: &run.loss, rule: &run.rule, outputs, encoder: run.encoder() };
    outcome.put("stopped", stopped.map_or(Value::Null, |diverged| diverged.to_string().into()));
    outcome::keep(&mut outcome, &header, &found, output, &mut recorder)?;
    outcome.put("seconds", number(timer.seconds()));
    Ok(outcome::say(&outcome, &header, (&settings.describe(), settings.seed), output, stopped, &found.theta))
}

/// Writes the model of a live stream and returns its last line.
fn finish_live(settings: &LearnerSettings, output: &OutputArgs, ended: LiveEnd) -> Result<Output> {
    let LiveEnd { mut live, loss, rule, warning } = ended;
    let found = live.learner.coefficients();
    let mut outcome = Outcome::default();
    report(&mut outcome, settings, &live.learner, &live.sums, (&loss, &rule));
    outcome.put("open_asks", live.pending.len().into());
    outcome.put("skipped_rows", live.sums.skipped.into());
    outcome.put("unknown_categories", live.sums.unknown.into());
    if let Some(warning) = warning {
        outcome.put("warning", warning.into());
    }
    outcome.parameters(&found);
    let outputs = live.learner.learner().task().outputs();
    let header = ModelHeader { loss: &loss, rule: &rule, outputs, encoder: Some(&live.encoder) };
    outcome::keep(&mut outcome, &header, &found, output, &mut live.recorder)?;
    Ok(Output::done(format!("{{\"finished\":{}}}", outcome.to_json())))
}

/// Reports categories and columns that appeared too late to become features.
fn report_late_cells(outcome: &mut Outcome, feed: &Feed) {
    let unknown = feed.unknown_categories();
    outcome.put("unknown_categories", unknown.into());
    if 0 < unknown {
        outcome.remarks.push(format!(
            "{} cells had a category that was not among the first rows, and no feature for it: `--warm-up N` looks at \
             N rows first, `--shuffle` at all",
            grouped(unknown)
        ));
    }
    let passed_over = feed.passed_over();
    outcome.put("cells_passed_over", passed_over.into());
    if 0 < passed_over {
        outcome.remarks.push(format!(
            "{} cells stood in columns that were not among the first rows, and were passed over: name such columns with \
             `--numbers`, `--categories` or `--text`, and say with `--missing` what they are elsewhere",
            grouped(passed_over)
        ));
    }
}

/// Reports the results that every stream has.
fn report(
    outcome: &mut Outcome,
    settings: &LearnerSettings,
    learner: &StreamLearner,
    sums: &Sums,
    names: (&str, &str),
) {
    let totals = learner.totals();
    let observed = totals.observed.max(1) as f64;
    outcome.put("loss", names.0.into());
    outcome.put("rule", names.1.into());
    outcome.put("step", settings.step.to_string().into());
    outcome.put("seed", settings.seed.into());
    outcome.put("settings", json!(settings));
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
    if let (Some(loss), Some(accuracy)) = (sums.progressive_loss(), sums.progressive_accuracy()) {
        outcome.number("progressive_loss", "loss before each label was used", loss);
        if learner.learner().task().is_classification() {
            outcome.number("progressive_accuracy", "accuracy before each label was used", accuracy);
        }
    }
    if learner.is_warming_up() {
        let why = format!("the run ended within its warm start: `{}` was never used", names.1);
        outcome.put("warm", true.into());
        outcome.remarks.push(why);
    }
    let stalled = is_stalled(learner);
    outcome.put("stalled", stalled.into());
    if stalled {
        outcome.line("stalled", format!("the mean probability was {} of late", show(learner.recent_rate(), 2)));
        let warm = learner.learner().task().outputs() == 1 && settings.warm_rule.is_none();
        outcome.remarks.push(format!(
            "stalled: the rule has stopped asking; that is not convergence. Start elsewhere, take smaller steps{}",
            if warm { ", or warm up with `--warm-rule critical --warm-labels 1000`" } else { "" }
        ));
    }
}
