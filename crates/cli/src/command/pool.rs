//! `querist pool`: labels of a pool are revealed as they are asked for, and fitted, or learned from as in Algorithm 2.

use anyhow::Result;
use querist_data::{Batch, Encoder, Loaded, load};
use querist_engine::index::{Coefficients, WIDE};
use querist_engine::learner::{Diverged, Learner};
use querist_engine::narrow::Narrow;
use querist_engine::pool::{Drawn, NoRow, PoolLearner, Replacement};
use querist_engine::stop::Rule;
use serde_json::{Value, json};

use crate::Output;
use crate::number::json as number;
use crate::run::build::{self, Fitted, Resolved, draw};
use crate::run::feed;
use crate::run::files::input;
use crate::run::outcome::{self, Naming, Outcome, grouped};
use crate::run::progress::{Progress, waiting};
use crate::run::record::{self, Opened, Recorder};
use crate::run::replay;
use crate::run::settings::Settings;
use crate::run::step::{self, Surroundings};
pub(crate) use arguments::Arguments;
use arguments::DrawName;
use diary::{Diary, is_milestone};
use test::Test;

mod arguments;
pub(super) mod assessed;
mod diary;
pub(super) mod given;
mod stop;
mod test;

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
    arguments.check()?;
    let stop = stop::parse(arguments.stop.as_deref())?;
    let options = arguments.files.options(arguments.settings.loss.as_deref())?;
    let quiet = arguments.output.quiet;
    let mut loaded = waiting("reading the pool", quiet, || load(&input(&arguments.data), &options))?;
    let mut test = match &arguments.output.test {
        Some(path) => Some(waiting("reading the test rows", quiet, || Test::load(path, &loaded.encoder, &options))?),
        None => None,
    };
    // Features with very large numbers are renumbered, so that models have weights for those of the pool alone.
    let narrow = Narrow::of(&loaded.batch.rows).filter(|_| WIDE < loaded.batch.rows.dim());
    if let Some(narrow) = &narrow {
        loaded.batch.rows = narrow.rows(&loaded.batch.rows, narrow.dim());
        if let Some(test) = &mut test {
            test.renumber(narrow);
        }
    }
    let mut run = Run::new(arguments, loaded, narrow, test, stop)?;
    let mut progress = Progress::new(Some(arguments.budget), "labels", arguments.output.quiet);
    let stopped = run.go(arguments, &mut progress)?;
    progress.done();
    run.finish(arguments, &stopped, &progress)
}

/// θ and θ̄ by the features of files.
pub(super) fn coefficients(learner: &Learner, narrow: Option<&Narrow>) -> Coefficients {
    let (theta, mean) = (learner.theta(), learner.mean());
    match narrow {
        Some(narrow) => narrow.coefficients(learner.task().outputs(), &theta, &mean),
        None => Coefficients::dense(theta, mean),
    }
}

/// Why a run ended before its budget.
enum Stopped {
    Not,
    Advised(String),
    NoRow(NoRow),
    Diverged(Diverged),
}

/// A run under way.
struct Run {
    encoder: Encoder,
    pool: Batch,
    /// The features of the pool, where its rows have other numbers for them.
    narrow: Option<Narrow>,
    test: Option<Test>,
    learner: PoolLearner,
    recorder: Recorder,
    diary: Diary,
    diverged: Option<Diverged>,
    skipped_rows: u64,
    warning: Option<String>,
    names: (String, String),
    stop: Option<Rule>,
}

impl Run {
    fn new(
        arguments: &Arguments,
        loaded: Loaded,
        narrow: Option<Narrow>,
        test: Option<Test>,
        stop: Option<Rule>,
    ) -> Result<Self> {
        let settings = &arguments.settings;
        let Loaded { encoder, batch: pool, bad } = loaded;
        stop.iter().try_for_each(|rule| stop::check(rule, build::labels(&encoder)?))?;
        let resolved = resolve(arguments, &encoder, &pool)?;
        let mut learner = learner(settings, &resolved, arguments, &pool)?;
        let names = (learner.learner().task().name().to_owned(), learner.rules().rule.name());
        let keeps_loss = settings.importance || arguments.objective() == "original";
        let warning = build::warning(learner.rules(), resolved.labels()?, &names.0).filter(|_| !keeps_loss);
        let fraction = arguments.output.test_fraction;
        let hold_out = |fraction| Test::hold_out(&mut learner, pool.rows.len(), settings.seed, fraction);
        let test = test.or(fraction.map(hold_out));
        let given = match &arguments.seed_labels {
            Some(path) => given::read(path, &pool, settings.seed, arguments.output.test_fraction)?,
            None => vec![],
        };
        for row in &given {
            learner.give(*row, pool.rows.row(*row), pool.labels[*row]);
        }
        let (mut diary, mut diverged) = (Diary::default(), None);
        let mut notes = vec![
            ("learner", serde_json::to_string(&resolved)?),
            ("encoder", encoder.to_json()),
            ("rows", pool.rows.len().to_string()),
        ];
        if let Some(narrow) = &narrow {
            notes.push(("features", serde_json::to_string(narrow.features())?));
        }
        // What comes through a pipe is known by what was read.
        if feed::is_pipe(&arguments.data) {
            notes.push(("contents", feed::contents(&pool)));
        }
        if arguments.is_fitted() {
            notes.push(("askable", learner.askable().to_string()));
            notes.push(("given", given::to_note(&given, &pool)));
        }
        let opened = record::open_for(&arguments.output, || header(arguments), &notes)?;
        if let Some(Opened::Old(ledger)) = &opened {
            diverged = record::diverged(ledger)?;
            let folded = waiting("going through the ledger", arguments.output.quiet, || {
                replay::pool(ledger, &mut learner, |learner, drawn| {
                    diary.see(arguments, learner, drawn, test.as_ref().map(|test| (test, &pool)));
                })
            })?;
            folded.check(ledger)?;
        }
        let ledger = opened.map(Opened::into_ledger);
        Ok(Self {
            encoder,
            pool,
            narrow,
            test,
            learner,
            recorder: Recorder::new(ledger)?,
            diary,
            diverged,
            skipped_rows: bad.skipped,
            warning,
            names,
            stop,
        })
    }

    /// Draws and answers until the budget is spent.
    fn go(&mut self, arguments: &Arguments, progress: &mut Progress) -> Result<Stopped> {
        if let Some(diverged) = self.diverged {
            return Ok(Stopped::Diverged(diverged));
        }
        // Where a run was stopped it may have been advised to, after its last step.
        if let Some(why) = self.advised() {
            return Ok(Stopped::Advised(why));
        }
        while self.learner.time() < arguments.budget {
            let first = self.learner.time() + 1;
            let room = (arguments.budget - self.learner.time()).min(arguments.batch);
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
                self.write_down(arguments, first, &drawn, learned.is_ok())?;
                if let Err(diverged) = learned {
                    self.recorder.note_divergence(diverged)?;
                    return Ok(Stopped::Diverged(diverged));
                }
                progress.at(self.learner.time());
                if let Some(why) = self.advised() {
                    self.recorder.flush()?;
                    return Ok(Stopped::Advised(why));
                }
            }
            if let Some(reason) = end {
                self.recorder.flush()?;
                return Ok(Stopped::NoRow(reason));
            }
        }
        self.recorder.flush()?;
        Ok(Stopped::Not)
    }

    /// Why the run should stop here, if it should. It is asked at milestones, so that going on with a run asks at the same.
    fn advised(&self) -> Option<String> {
        let rule = self.stop.as_ref()?;
        if !is_milestone(self.learner.answered(), self.diary.last_step.max(1)) || self.learner.is_cold() {
            return None;
        }
        let advice = rule.advise(&self.learner.assess(None).ok()?.progress());
        advice.stop.then_some(advice.why)
    }

    fn write_down(&mut self, arguments: &Arguments, first: u64, drawn: &[Drawn], taken: bool) -> Result<()> {
        let named: Vec<_> = drawn.iter().map(|d| (self.pool.ids.get(d.row), *d)).collect();
        // A step that was not taken is none to tell of, here as when the run is gone on with.
        if taken {
            let test = self.test.as_ref().map(|test| (test, &self.pool));
            self.diary.see(arguments, &self.learner, &named, test);
        }
        if self.recorder.is_on() {
            let asks: Vec<_> = named
                .into_iter()
                .map(|(id, d)| (d, id, self.pool.rows.row(d.row).to_bytes(), self.pool.labels[d.row]))
                .collect();
            self.recorder.step(first, &asks, taken, arguments.is_fitted())?;
        }
        Ok(())
    }

    fn finish(mut self, arguments: &Arguments, stopped: &Stopped, progress: &Progress) -> Result<Output> {
        let learner = self.learner.learner();
        let found = coefficients(learner, self.narrow.as_ref());
        let mut outcome = Outcome::default();
        self.tell(&mut outcome, arguments, stopped);
        if let Some(test) = &self.test {
            let (of_mean, of_last) = self.diary.end(&self.learner, test, &self.pool);
            outcome.test(of_mean, of_last, learner.task().is_classification());
        }
        if arguments.is_fitted() {
            let pool = assessed::Pool { rows: &self.pool.rows, classes: self.encoder.classes() };
            assessed::tell(&mut outcome, &self.learner, &pool, self.stop.as_ref());
        }
        outcome.parameters(&found);
        outcome.put("curve", Value::Array(self.diary.curve.clone()));
        let naming = Naming {
            loss: &self.names.0,
            rule: &self.names.1,
            outputs: learner.task().outputs(),
            encoder: Some(&self.encoder),
        };
        outcome::keep(&mut outcome, &naming, &found, &arguments.output, &mut self.recorder)?;
        outcome.put("seconds", number(progress.seconds()));
        if arguments.asks {
            outcome.put("asks", Value::Array(std::mem::take(&mut self.diary.asks)));
        }
        let diverged = if let Stopped::Diverged(diverged) = stopped { Some(*diverged) } else { None };
        let how = if arguments.is_fitted() { arguments.describe_fit() } else { arguments.settings.describe() };
        Ok(outcome::say(&outcome, &naming, (&how, arguments.settings.seed), &arguments.output, diverged, &found.theta))
    }

    fn tell(&self, outcome: &mut Outcome, arguments: &Arguments, stopped: &Stopped) {
        outcome.put("loss", self.names.0.clone().into());
        outcome.put("rule", self.names.1.clone().into());
        match self.learner.refit() {
            None => outcome.put("step", arguments.settings.step.clone().into()),
            Some(refit) => {
                outcome.put("fit", "refit".into());
                outcome.put("objective", arguments.objective().into());
                outcome.put("l2", number(refit.strength()));
            }
        }
        outcome.put("draw", arguments.draw().name().into());
        outcome.put("seed", arguments.settings.seed.into());
        outcome.data(&self.encoder);
        let held = self.test.as_ref().map_or(0, Test::held);
        outcome.count("rows", "rows in the pool", (self.pool.rows.len() - held) as u64);
        outcome.count("asked", "asked", self.learner.time());
        outcome.put("tries", self.learner.tries().into());
        if arguments.draw() == DrawName::Reject && 0 < self.learner.time() {
            let tries = self.learner.tries() as f64 / self.learner.time() as f64;
            outcome.number("tries_mean", "rows proposed for each ask", tries);
        }
        outcome.put("fallbacks", self.learner.fallbacks().into());
        if 0 < self.learner.fallbacks() {
            outcome.line("asks that took a pass over the pool", grouped(self.learner.fallbacks()));
        }
        self.diary.tell_stall(outcome, matches!(stopped, Stopped::NoRow(NoRow::AllZero { .. })));
        if arguments.draw() == DrawName::Top {
            outcome
                .remarks
                .push("`top` has no probabilities: nothing that needs them can be said of this run".to_owned());
        }
        outcome.put("skipped_rows", self.skipped_rows.into());
        if 0 < self.skipped_rows {
            outcome.line("rows left out", grouped(self.skipped_rows));
        }
        if let Some(skipped @ 1..) = self.test.as_ref().map(Test::skipped) {
            outcome.count("test_skipped_rows", "test rows left out", skipped);
        }
        let reason = match stopped {
            Stopped::Not => None,
            Stopped::Advised(why) => Some(why.clone()),
            Stopped::NoRow(reason) => Some(reason.to_string()),
            Stopped::Diverged(diverged) => Some(diverged.to_string()),
        };
        outcome.put("stopped", reason.clone().map_or(Value::Null, Value::from));
        if let Some(reason) = reason {
            outcome.remarks.push(format!("stopped before the budget was spent: {reason}"));
        }
        if let Some(warning) = &self.warning {
            outcome.put("warning", warning.clone().into());
            outcome.remarks.push(warning.clone());
        }
    }
}

fn resolve(arguments: &Arguments, encoder: &Encoder, pool: &Batch) -> Result<Resolved> {
    let labels = build::labels(encoder)?;
    let task = build::task(&arguments.settings, labels)?;
    let rules = build::pool_rules(&arguments.settings, &*task, labels, arguments.is_fitted())?;
    let surroundings = Surroundings {
        task: &*task,
        sample: &pool.rows,
        u_max: rules.max(),
        horizon: Some((arguments.budget as f64 / arguments.batch as f64).ceil()),
        feasible_c: 1.0,
    };
    Ok(Resolved::new(labels, pool.rows.dim(), step::parse(&arguments.settings, &surroundings)?))
}

fn learner(settings: &Settings, resolved: &Resolved, arguments: &Arguments, pool: &Batch) -> Result<PoolLearner> {
    let (rows, draw) = (pool.rows.len(), draw(arguments.draw().name()));
    let learner = if arguments.is_fitted() {
        let made = Fitted { objective: arguments.objective(), empty: pool.rows.empty_like() };
        build::fitted_pool(settings, resolved, draw, made, rows)?
    } else {
        let replacement = if arguments.repeat { Replacement::With } else { Replacement::Without };
        build::pool(settings, resolved, draw, replacement, rows)?
    };
    Ok(match arguments.apart {
        Some(within) => learner.kept_apart(within)?,
        None => learner,
    })
}

/// What makes a run the run it is.
fn header(arguments: &Arguments) -> Value {
    let mut header = json!({
        "format": 1,
        "command": "pool",
        "data": {"file": arguments.data.display().to_string(), "fingerprint": feed::fingerprint(&arguments.data)},
        "budget": arguments.budget,
        "draw": arguments.draw().name(),
        "repeat": arguments.repeat,
        "batch": arguments.batch,
        "test_fraction": arguments.output.test_fraction,
        "settings": arguments.settings,
        "files": arguments.files,
    });
    if let Some(within) = arguments.apart {
        header["apart"] = within.into();
    }
    // A run of steps has the header it always had.
    if arguments.is_fitted() {
        header["fit"] = "refit".into();
        header["objective"] = arguments.objective().into();
        header["stop"] = json!(arguments.stop);
    }
    header
}
